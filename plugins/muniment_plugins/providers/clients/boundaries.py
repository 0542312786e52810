r"""The random boundary between the parts of an upload, which is none of what is asked for.

    Content-Type: multipart/form-data; boundary=ab     boundary=muniment
    --ab\r\n … \r\n--ab--\r\n                          --muniment\r\n … \r\n--muniment--\r\n

Rules:

- A delimiter is a line of its own: at the beginning or after CRLF, ``--`` and the boundary,
  ``--`` after the last part, white space, and CRLF or the end (RFC 2046, 5.1.1).
- A boundary is written as another one only where each place that has it is a delimiter.
  Where it also stands elsewhere, be it as the beginning of a line, readers differ on what
  the parts are: everything stays as it was sent. So two uploads of which some reader says
  that they differ are never recorded as one.
"""

from __future__ import annotations

import re

__all__ = ["ANY_BOUNDARY", "boundary_of", "renamed", "without_boundary"]

ANY_BOUNDARY = "muniment"
"""What is written for boundaries."""

_PARAMETER = re.compile(r"(boundary=)\"?([^\";]+)\"?")


def boundary_of(kind: str, body: bytes, *, exact: bool = True) -> str:
    """Return what separates the parts of *body*; "" where it counts, or is none.

    Where it need not be *exact*, it need not be a line of its own, as it once was.
    """
    found = _PARAMETER.findall(kind) if kind.lower().startswith("multipart/") else []
    if not found or b"--" + ANY_BOUNDARY.encode() in body:
        return ""
    boundary: str = found[0][1]
    if not exact:
        return boundary
    marked = b"--" + boundary.encode("latin-1", "replace")
    lines = rb"(?:\A|(?<=\r\n))" + re.escape(marked) + rb"(?:--)?[ \t]*(?=\r\n|\Z)"
    delimiters = len(re.findall(lines, body))
    places = len(re.findall(rb"(?=" + re.escape(marked) + rb")", body))
    is_one = len(found) == 1 and delimiters and delimiters == places
    return boundary if is_one else ""


def without_boundary(body: bytes, boundary: str) -> bytes:
    """Return *body* with another one for the *boundary*, if there is any."""
    if not boundary:
        return body
    line = rb"(^|\n)--" + re.escape(boundary.encode("latin-1", "replace"))
    return re.sub(line, rb"\1--" + ANY_BOUNDARY.encode(), body)


def renamed(kind: str, boundary: str) -> str:
    """Return a content type with another one for the *boundary*, if there is any."""
    return _PARAMETER.sub(rf"\1{ANY_BOUNDARY}", kind) if boundary else kind
