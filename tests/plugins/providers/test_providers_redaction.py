"""Secrets are taken out of texts, headers, bodies and values, and nothing else is."""

from __future__ import annotations

import base64
import json
import tracemalloc
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_plugins.providers.secrets.redaction import MASK, Redaction

KEYS = [
    "sk-proj-AbCdEfGhIjKlMnOpQrStUvWx",
    "sk-ant-api03-AbCdEfGhIjKlMnOp",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "xoxb-123456789012-abcdef",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEF",
    "123456789:AAabcdefghijklmnopqrstuvwxyz0123456",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:8])
def test_shapes(key: str) -> None:
    """Well-known keys are known by their shape, wherever they stand."""
    assert Redaction().text(f"use {key} here") == f"use {MASK} here"
    assert Redaction().text(json.dumps({"text": key})) == json.dumps({"text": MASK})


@pytest.mark.parametrize(
    "text",
    [
        "a risk-averse task-force asks about sk-learn",
        '{"max_tokens": 12, "token": "Hello", "logprob": -0.1}',
        '{"password": {"type": "string"}, "required": ["password"]}',
        "https://example.org/a?page=2&lang=de",
        "basic training, bearer bonds",
    ],
)
def test_everyday_words(text: str) -> None:
    """What only looks like a secret stays."""
    assert Redaction().text(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://ada:hunter2@h/x", f"https://ada:{MASK}@h/x"),
        ("https://h/x?key=abc&alt=sse", f"https://h/x?key={MASK}&alt=sse"),
        ('{"api_key": "abc"}', f'{{"api_key": "{MASK}"}}'),
        (r'{"arguments": "{\"password\": \"abc\"}"}', None),
        ("Bearer abcdefghijklmnop.qrst", f"Bearer {MASK}"),
        ("grant_type=x&client_secret=abc", f"grant_type=x&client_secret={MASK}"),
    ],
)
def test_names(text: str, expected: str | None) -> None:
    """What stands behind the name of a secret is one; around it nothing changes."""
    found = Redaction().text(text)

    assert found == (text.replace("abc", MASK) if expected is None else expected)


def test_credentials_of_the_request() -> None:
    """What a request carries as a credential is taken out of everything else."""
    pair = base64.b64encode(b"ada:hunter22hunter").decode()
    redaction = Redaction.of(
        "https://h/?token=from-the-url",
        [
            ("Authorization", "Bearer plain-looking"),
            ("Proxy-Authorization", f"Basic {pair}"),
            ("Cookie", "a=first-cookie; b=second-cookie"),
        ],
    )
    said = (
        "plain-looking hunter22hunter first-cookie second-cookie from-the-url and more"
    )

    assert redaction.text(said) == f"{' '.join([MASK] * 5)} and more"


def test_headers() -> None:
    """Headers that hold credentials keep their name, and cookies theirs."""
    said = [("Set-Cookie", "a=b; Path=/"), ("Cookie", "a=b"), ("X-Request-Id", "r1")]

    assert Redaction().headers(said) == [
        ("set-cookie", f"a={MASK}; Path=/"),
        ("cookie", MASK),
        ("x-request-id", "r1"),
    ]


def test_value() -> None:
    """Values are searched at every level."""
    key = KEYS[0]
    value = {"a": [key, {"password": "x", "n": 1}], "t": (key,), "password": 7}

    assert Redaction().value(value) == {
        "a": [MASK, {"password": MASK, "n": 1}],
        "t": (MASK,),
        "password": MASK,
    }


@given(st.binary(max_size=60), st.binary(max_size=60), st.lists(st.integers(0, 150)))
def test_chunks(before: bytes, after: bytes, cuts: list[int]) -> None:
    """However a body is cut, the secret is gone and the rest is as it was."""
    key = KEYS[0]
    body = before + b" " + key.encode() + b" " + after
    at = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    chunks = [body[a:b] for a, b in pairwise(at)]
    found = Redaction.knowing(key).chunks(chunks)

    assert len(found) == len(chunks)
    whole = Redaction.knowing(key).chunks([body])
    assert b"".join(found) == whole[0]
    assert key.encode() not in whole[0]
    assert whole[0].startswith(before[:1]) or not before


@given(st.text(max_size=80))
def test_twice(text: str) -> None:
    """What was redacted once stays as it is."""
    redaction = Redaction.knowing("hunter22hunter")
    once = redaction.text(f"password=hunter22hunter&{text} hunter22hunter")

    assert redaction.text(once) == once
    assert "hunter22" not in once


FILLINGS = [
    "a",
    " word",
    "\n",
    "\\",
    "4a",
    "é",
    "%41",
    "'",
    "a,",
    "1,",
    "-",
    "=",
    "<",
    "\r\n",
]
"""What long bodies are long with; quotes between quotes end a text at once."""
AROUND = {
    "a text": ('{"a": "', '"}'),
    "in single quotes": ("{'a': '", "'}"),
    "within JSON": ('{"a": "{\\"a\\": \\"', '\\"}"}'),
    "a list": ('{"a": ["', '"]}'),
    "a tag": ("<a>", "</a>"),
    "a variable": ("A=", "\n"),
    "a parameter": ("?a=", "&b=1"),
    "a part": ('--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n', "\r\n--x--"),
    "an open key": ("-----BEGIN PRIVATE KEY-----", ""),
    "an open text": ('{"a": "', ""),
    "an open text within JSON": ('{"a": "{\\"a\\": \\"', ""),
}
HINTS = '\n{"prompt_tokens": 3, "value": "", "key": 1} </p> form-data; a=b'
LONG, MOST = 20_000, 60


@pytest.mark.parametrize(("form", "filling"), [*product(AROUND, FILLINGS)])
def test_memory(form: str, filling: str) -> None:
    """However long a text is, redacting takes memory in proportion, with a small factor.

    A pattern that remembers a way back for each character takes hundreds of bytes for one,
    and the time of a square, since that memory is copied as it grows.
    """
    begin, end = AROUND[form]
    spelt = json.dumps(filling)[1:-1] if "JSON" in form or "text" in form else filling
    text = begin + spelt * (LONG // len(spelt)) + end + HINTS
    redaction = Redaction()
    tracemalloc.start()
    try:
        redaction.text(text)
        redaction.begun(text.encode())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < MOST * len(text), peak / len(text)
