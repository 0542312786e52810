"""The boundary of an upload does not count, and nothing else is taken for one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.encoding.canonical import canonical
from muniment.encoding.codec import encode
from muniment_plugins.providers.clients.exchange import Exchange, Sent

BOUNDARIES = ("ab", "abc", "cd", "a", "b--", "a.b", "ab c")


def asked(body: bytes, boundary: str) -> bytes:
    """Return what a digest of an upload is taken of."""
    head = (("content-type", f'multipart/form-data; boundary="{boundary}"'),)
    return canonical(encode(Exchange.of(Sent("POST", "http://h/", head, body)).request))


def upload(boundary: str, *parts: str) -> bytes:
    """Return an upload, as libraries write it."""
    said = "".join(f"--{boundary}\r\n\r\n{one}\r\n" for one in parts)
    return f"{said}--{boundary}--\r\n".encode()


def read(body: bytes, boundary: str, line: bytes) -> list[bytes]:
    """Return the parts of *body* as a reader has them that takes *line* for an end."""
    marked = re.escape(b"--" + boundary.encode())
    return re.split(rb"(?:\A|(?<=\n))" + marked + line, body)


READERS = {
    "exact lines": rb"(?:--)?[ \t]*(?:\r\n|\Z)",
    "beginnings of lines": rb"",
    "any line ends": rb"(?:--)?[ \t]*(?:\r?\n|\Z)",
}
PIECES = ["x", "--", "-", "{}", "\r\n--{}", "\n--{}", "ab", "cd", " ", "\n", "\r\n"]
CONTENT = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@settings(max_examples=300, deadline=None)
@given(CONTENT, st.booleans())
def test_what_differs_is_recorded_as_two(content: str, whole: bool) -> None:
    """Uploads of one digest have the same parts, whoever reads them."""
    met: dict[bytes, dict[str, list[bytes]]] = {}
    for boundary in BOUNDARIES:
        said = content.format(*[boundary] * content.count("{}"))
        body = upload(boundary, said) if whole else said.encode()
        parts = {name: read(body, boundary, line) for name, line in READERS.items()}
        assert met.setdefault(asked(body, boundary), parts) == parts


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text("xy-\r\n \t\u00e4", max_size=20), max_size=4))
def test_boundaries_do_not_count(parts: list[str]) -> None:
    """Two random boundaries are one, whatever else is in the parts."""
    one, other = upload("f3a9", *parts), upload("c07b", *parts)
    assert asked(one, "f3a9") == asked(other, "c07b")
    assert b"f3a9" not in asked(one, "f3a9")


@pytest.mark.parametrize("line", ["--{}c", "--{}--c", "--{} c", "a--{}", "--{}\nend"])
def test_a_line_that_begins_like_a_boundary(line: str) -> None:
    """Content stays what was sent, where a boundary is only a part of its line."""
    bodies = [(name, upload(name, line.format(name), "end")) for name in ("ab", "cd")]
    one, other = (asked(body, name) for name, body in bodies)
    assert one != other
    assert b"--munimentc" not in one
