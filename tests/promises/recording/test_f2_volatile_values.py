"""What is declared volatile is not recorded, however the body that has it is packed."""

from __future__ import annotations

import gzip
import json
import zlib
from base64 import b64encode
from collections.abc import Callable
from urllib.parse import quote, urlencode

import pytest

from muniment.encoding.canonical import canonical
from muniment.encoding.codec import encode
from muniment_plugins.providers.clients.exchange import Exchange, Sent

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "deflate": zlib.compress,
    "deflate, gzip": lambda data: gzip.compress(zlib.compress(data), mtime=0),
}
BODIES: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "json": (JSON, lambda told: json.dumps({"nonce": told, "a": 1}).encode()),
    "json kept": (JSON, lambda told: f'{{"nonce":"{told}","a":1e400}}'.encode()),
    "escaped name": (JSON, lambda told: f'{{"\\u006eonce":"{told}"}}'.encode()),
    "spelled type": (
        "Application/JSON ; x=1",
        lambda told: f'{{"nonce":"{told}"}}'.encode(),
    ),
    "form": (FORM, lambda told: urlencode({"a": "1", "nonce": told}).encode()),
    "escaped field": (FORM, lambda told: f"n%6fnc%65={quote(told)}&b=2".encode()),
    "spelled form": (
        "Application/X-WWW-Form-URLencoded",
        lambda told: f"nonce={told}".encode(),
    ),
    "no UTF-8": (FORM, lambda told: f"b=\xe4&nonce={told}".encode("latin-1")),
}


def recorded(kind: str, coding: str, body: bytes, *volatile: str) -> bytes:
    """Return what is recorded of a request."""
    head = [("Content-Type", kind)] + [("Content-Encoding", coding)] * bool(coding)
    sent = Sent("POST", "http://h/", tuple(head), PACK[coding](body))
    return canonical(encode(Exchange.of(sent, volatile).request))


@pytest.mark.parametrize("coding", PACK)
@pytest.mark.parametrize("form", BODIES)
def test_a_volatile_value(form: str, coding: str) -> None:
    """Two requests that differ in nothing else are one; in anything else, two."""
    kind, body = BODIES[form]
    told = [
        recorded(kind, coding, body(one), "body.nonce") for one in ("N1-first", "N2")
    ]
    assert told[0] == told[1]
    assert b"[volatile]" in told[0] or b64encode(body("[volatile]")) in told[0]
    assert recorded(kind, coding, body("N1-first") + b" ,&c=3", "body.nonce") != told[0]


@pytest.mark.parametrize("coding", PACK)
@pytest.mark.parametrize("form", BODIES)
def test_what_is_not_volatile_stays(form: str, coding: str) -> None:
    """Where nothing in a body has the name, it is recorded as it was sent."""
    kind, body = BODIES[form]
    said = body("N1-first")
    assert recorded(kind, coding, said, "body.once") == recorded(kind, coding, said)
    assert recorded(kind, coding, said) != recorded(kind, coding, body("N2"))


@pytest.mark.parametrize("name", ["nonce", "n%6fnce", "a%5Bb%5D", "t%C3%A4g", "x+y"])
def test_names_of_parameters(name: str) -> None:
    """A parameter is found by its name, however a URL spells it."""

    def asked(value: str) -> object:
        sent = Sent("GET", f"http://h/?z=1&{name}={value}&y=2#top", ())
        names = [f"query.{one}" for one in ("nonce", "a[b]", "täg", "x y")]
        return Exchange.of(sent, names).request["url"]

    assert asked("1") == asked("2") == f"http://h/?z=1&{name}=[volatile]&y=2#top"
