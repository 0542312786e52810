"""A secret is hidden however JSON escapes it, and as often as a form encodes it."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.encoding.canonical import canonical
from muniment.encoding.codec import encode
from muniment_plugins.providers.clients.exchange import Exchange, Sent
from muniment_plugins.providers.secrets.redaction import Redaction
from muniment_plugins.providers.secrets.wide_texts import plain_text

SECRET = "Qz0042Xy/Lm3Rk8Vt0294"  # noqa: S105 - of nobody
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


def escaped(text: str, which: list[bool]) -> str:
    """Return *text* within JSON, with escapes for some of its characters."""
    said: list[str] = []
    for one, is_escaped in zip(text, which * len(text), strict=False):
        units = one.encode("utf-16-be")
        pairs = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
        plain = json.dumps(one, ensure_ascii=False)[1:-1]
        said.append("".join(f"\\u{pair}" for pair in pairs) if is_escaped else plain)
    return "".join(said)


BODIES = {
    "member": '{"m": "%s", "a": 1}',
    "name": '{"%s": 1}',
    "kept": '{"m": "%s", "z": 1e400}',
    "lines": '{"m": "%s"}\n{"n": 1}\n',
    "in a text": '{"m": "my key is %s, yours?"}',
}
SPELLED = st.lists(st.booleans(), min_size=1, max_size=5)


def recorded(body: bytes, kind: str, key: str = "") -> str:
    """Return what is recorded of a request that carries the *key*."""
    head = (("Content-Type", kind), ("X-Api-Key", key))
    sent = Sent("POST", "http://h.example/", head, body)
    return canonical(encode(Exchange.of(sent).request)).decode()


def read(text: str) -> str:
    """Return *text* as the most patient reader has it, over and over again."""
    for _ in range(5):
        plain = plain_text(text)
        text = text if plain is None else plain.text
    return text.replace("\\", "")


@pytest.mark.parametrize("place", BODIES)
@settings(max_examples=60, deadline=None)
@given(SPELLED, st.integers(1, 2), st.sampled_from(["", 'ä"', "\\€", "😀\n"]))
def test_a_credential(place: str, which: list[bool], deep: int, more: str) -> None:
    """A key of a header is found in any of its escapes, also in JSON in JSON."""
    key = f"{SECRET}{more}{SECRET[::-1]}"
    body = BODIES[place] % escaped(key, which)
    body = body if deep == 1 else json.dumps({"a": body}, ensure_ascii=False)
    for kind in (JSON, "text/plain", "application/x-ndjson"):
        told = recorded(body.encode(), kind, key)
        assert SECRET not in read(told)
        assert "[redacted]" in told


@settings(max_examples=60, deadline=None)
@given(SPELLED, st.sampled_from(["password", "clientSecret", "api_key", "dbPasswd"]))
def test_a_name(which: list[bool], name: str) -> None:
    """What an escaped name says is secret is hidden where the name is kept as text."""
    said = escaped(name, which)
    for rest in ('"%s", "z": 1e400}', '"%s"}\n{}\n', '["%s"], "z": NaN}'):
        body = f'{{"{said}": {rest % "hunter2-of-ada"}'
        told = recorded(body.encode(), JSON)
        assert "hunter2" not in told
        assert "[redacted]" in told


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("letters", [False, True])
@pytest.mark.parametrize("key", [SECRET, 'pä"&s€ w=rd-%41😀'])
def test_an_encoded_credential(key: str, letters: bool, times: int) -> None:
    """It is found in a form, however often it is encoded, with letters and without."""
    said = key
    for _ in range(times):
        every = "".join(f"%{byte:02X}" for byte in said.encode())
        said = every if letters else quote(said, safe="")
    told = recorded(f"a=1&m={said}&b=2".encode(), FORM, key)
    assert '{"text":"a=1&m=[redacted]&b=2"}' in told


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["\\", "u", "0", "2", "22", "5c", "d8", '"', "/", "a"])
    ).map("".join)
)
def test_places_in_any_text(text: str) -> None:
    """Whatever is escaped, each character has its place, and none is lost."""
    plain = plain_text(text)
    if plain is not None:
        assert len(plain.starts) == len(plain.ends) == len(plain.text) + 1
        assert [*plain.starts] == sorted(plain.starts)
        assert plain.starts[-1] == len(text)
    Redaction.of("", (("X-Api-Key", SECRET),)).chunks([text.encode()])


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(), st.text() | st.integers()))
def test_json_stays_json(value: dict[str, object]) -> None:
    """With escapes or without, what has no secret is recorded as it was sent."""
    value = {f"x{name}": told for name, told in value.items()}
    body = json.dumps(value).encode()
    (told,) = Redaction().chunks([body])
    assert json.loads(told).keys() == value.keys()
