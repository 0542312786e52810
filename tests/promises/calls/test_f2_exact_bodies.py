"""The body of a request is recorded as what was sent, and two that differ as two.

JSON is parsed in a record only where nothing is lost by it. Another parser, which keeps
every member and every digit, says what a body says.
"""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from json_texts import ODD, bodies, meaning, meaning_of_value
from muniment.encoding.canonical import canonical, parse
from muniment.encoding.codec import decode, encode
from muniment_plugins.providers.clients.exchange import Exchange, Sent
from muniment_plugins.providers.clients.json_bodies import exactly
from recording import PYTHON, Desk

HEAD = (("content-type", "application/json"),)
CHAT = "http://h.example/v1/chat/completions"


def recorded(body: bytes, *volatile: str, url: str = CHAT) -> Exchange:
    """Return the effect that a request with *body* is."""
    return Exchange.of(Sent("POST", url, HEAD, body), volatile)


def digested(body: bytes) -> bytes:
    """Return what a digest of the request is taken of."""
    return canonical(encode(recorded(body).request))


def kept(body: bytes) -> bytes | None:
    """Return the bytes that are recorded of *body*; None where it is parsed."""
    told = recorded(body).request["body"]
    assert isinstance(told, dict)
    if "json" in told:
        return None
    sent = told["text"].encode() if "text" in told else told["bytes"]
    assert isinstance(sent, bytes)
    return sent


@settings(max_examples=400, deadline=None)
@given(bodies())
def test_what_is_recorded_is_what_was_sent(body: bytes) -> None:
    """A body comes out of its record with every member and digit, or byte for byte."""
    told = kept(body)
    if told is not None:
        assert told == body
        return
    request = decode(parse(digested(body)))
    assert isinstance(request, dict)
    assert meaning_of_value(request["body"]["json"]) == meaning(body)


@settings(max_examples=400, deadline=None)
@given(st.lists(bodies(), min_size=2, max_size=12, unique=True))
def test_what_differs_is_recorded_as_two(several: list[bytes]) -> None:
    """Bodies of one digest say the same, member for member and digit for digit."""
    met: dict[bytes, bytes] = {}
    for body in several:
        other = met.setdefault(digested(body), body)
        assert other == body or meaning(other) == meaning(body)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner)
    ),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(VALUES, st.booleans())
def test_what_programs_write_is_parsed(value: object, ascii_only: bool) -> None:
    """Whatever Python's own writer makes of Python's values stays readable as JSON."""
    body = json.dumps(value, ensure_ascii=ascii_only, indent=1).encode()
    assert exactly(body) == value  # what names and texts hide of it is tested elsewhere


@pytest.mark.parametrize("odd", ODD)
def test_odd_bodies_are_kept(odd: str) -> None:
    """Nothing that a parser changes is parsed, byte for byte."""
    assert kept(ODD[odd]) == ODD[odd]


@pytest.mark.parametrize("odd", ODD)
def test_odd_bodies_still_ask_models(odd: str) -> None:
    """A call of a model is one, however its body is spelled."""
    body = ODD[odd].decode("utf-16-le") if odd == "utf-16" else ODD[odd].decode()
    body = body.replace("{", '{"model": "gpt-4o", ', 1)
    sent = body.encode("utf-16-le" if odd == "utf-16" else "utf-8")
    one = recorded(sent)
    assert (one.kind, one.request["model"]) == ("llm", "gpt-4o")
    assert kept(sent) == sent


@pytest.mark.parametrize("odd", ODD)
def test_volatile_members_of_odd_bodies(odd: str) -> None:
    """What is declared volatile is left out of bodies that are kept, too, and only that."""
    code = "utf-16-le" if odd == "utf-16" else "utf-8"

    def body(nonce: str, more: str = "1") -> bytes:
        rest = ODD[odd].decode(code).replace("{", f'{{"n": {nonce}, "m": {more}, ', 1)
        return rest.encode(code)

    def asked(sent: bytes) -> object:
        return recorded(sent, "body.n", "body.x.y").request

    said = canonical(encode(asked(body('{"in": [1, "}"]}'))))
    assert said == canonical(encode(asked(body('"other"'))))
    assert said != canonical(encode(asked(body('"other"', "2"))))


@pytest.mark.parametrize("odd", ODD)
def test_secrets_of_odd_bodies(odd: str) -> None:
    """A password is taken out of a body that is kept, and the rest of it is not."""
    code = "utf-16-le" if odd == "utf-16" else "utf-8"
    text = ODD[odd].decode(code)
    sent = text.replace("{", '{"password": "hunter2-of-ada", ', 1).encode(code)
    hidden = text.replace("{", '{"password": "[redacted]", ', 1).encode(code)
    assert kept(sent) == hidden


def test_boundaries() -> None:
    """A boundary is none of the content, and content is never taken for one."""

    def asked(body: bytes, boundary: str, kind: str = "multipart/form-data") -> bytes:
        head = (("content-type", f"{kind}; boundary={boundary}"),)
        return canonical(encode(Exchange.of(Sent("POST", CHAT, head, body)).request))

    def upload(boundary: str, content: str) -> bytes:
        return f"--{boundary}\r\n\r\n{content}\r\n--{boundary}--\r\n".encode()

    assert asked(upload("X", "some"), "X") == asked(upload("Y", "some"), "Y")
    assert asked(upload("X", "aXb"), "X") != asked(upload("Y", "aYb"), "Y")
    assert asked(upload("X", "aXb"), "X") != asked(upload("X", "amunimentb"), "X")
    assert asked(b"X", "X", "text/plain") != asked(b"muniment", "X", "text/plain")
    other = upload("X", "a\r\n--muniment\r\n\r\nb")
    assert asked(other, "X") != asked(upload("X", "a\r\n--X\r\n\r\nb"), "X")


PROGRAM = """
import sys, urllib.request

for body in sys.argv[2:]:
    asked = urllib.request.Request(sys.argv[1] + "/echo", body.encode())
    asked.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(asked) as answer:
        print(answer.read())
"""


def test_a_replay_answers_each_its_own(desk: Desk) -> None:
    """Bodies that a parser takes for one are answered as two, in any order."""
    desk.write("agent.py", PROGRAM)
    url = desk.server.url
    pairs = ('{"a": 1, "a": 2}', '{"a": 2}', '{"a": 1e400}', '{"a": 1e401}')
    done = desk.record(PYTHON, "agent.py", url, *pairs)
    assert done.code == 0, done.err
    told = [one["request"]["body"] for one in desk.data(done.run, "http.requested")]
    assert told == [
        {"text": pairs[0]},
        {"json": {"a": 2}},
        {"text": pairs[2]},
        {"text": pairs[3]},
    ]
    desk.server_stops()
    again = desk.replay(done.run, PYTHON, "agent.py", url, *pairs)
    assert json.loads(again.out)["verdict"] == "acceptable"
    changed = desk.replay(done.run, PYTHON, "agent.py", url, '{"a": 2, "a": 1}')
    assert json.loads(changed.out)["verdict"] != "acceptable"


NESTED = """
import sys, urllib.request

for depth in range(56, 70):
    body = b'{"d":' * depth + b"1" + b"}" * depth
    asked = urllib.request.Request(sys.argv[1] + "/echo", body)
    asked.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(asked) as answer:
        print(len(answer.read()))
"""


def test_nested_bodies_are_recorded(desk: Desk) -> None:
    """However deep a body is nested, the call is made and recorded."""
    desk.write("agent.py", NESTED)
    done = desk.record(PYTHON, "agent.py", desk.server.url)
    assert (done.code, len(done.out.split())) == (0, 14), done.err
    told = [one["request"]["body"] for one in desk.data(done.run, "http.requested")]
    assert {*told[0], *told[-1]} == {"json", "text"}


BEFORE = """
import asyncio, sys

import muniment
from muniment_plugins.providers.recorder.description import described
from muniment_plugins.providers.recorder.program import RecordedProgram

told = described(sys.argv[1:])
del told["exact_bodies"]
ledger = muniment.open(create=True)
print(asyncio.run(ledger.aexecute(RecordedProgram(sys.argv[1:]), params=told)).run_id)
"""


def test_older_records_replay(desk: Desk) -> None:
    """A run that began before bodies were exact is compared as it was recorded."""
    desk.write("agent.py", PROGRAM)
    desk.write("before.py", BEFORE)
    line = (PYTHON, "agent.py", desk.server.url, '{"a": 1, "a": 2}', '{"a": NaN}')
    done = subprocess.run(
        [PYTHON, "before.py", *line],
        cwd=desk.place,
        env=desk.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    run = done.stdout.split()[-1]
    told = [one["request"]["body"] for one in desk.data(run, "http.requested")]
    assert told[0] == {"json": {"a": 2}}
    again = desk.replay(run, *line)
    assert json.loads(again.out)["verdict"] == "acceptable", again.out
