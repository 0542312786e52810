"""A recorded program leaves no secret on disk, and replays with any other, or none.

One program sends its own secrets in every place and format, quotes a variable of its
environment in every encoding, and gets a token that it sends again.
"""

from __future__ import annotations

import json
from pathlib import Path

from recording import PYTHON, Desk

NAMES = ("A_KEY", "B_TOKEN", "C_SECRET", "D_PASSWORD")
VALUES = [f"c4nary-{name.lower()}-&\"<'ö/+" for name in NAMES]

PROGRAM = """
import base64, html, json, os, sys, httpx
from urllib.parse import quote, quote_plus
BASE = os.environ["BASE"]
a, b, c, d = (os.environ[name] for name in ("A_KEY", "B_TOKEN", "C_SECRET", "D_PASSWORD"))
plain = "c4nary.own." + a[7:12]
client = httpx.Client(base_url=BASE)
def post(path, **asked):
    done = client.post(path, **asked)
    print(done.status_code, plain in done.text)
post("/echo", headers={"x-vault-token": plain, "DD-API-KEY": plain}, json={"hi": 1})
post("/echo?sig=" + quote(b, safe="") + "&page=2")
post("/echo", json={"clientSecret": c, "deep": [{"password": plain}], "pin_code": 3})
post("/echo", data={"password": d, "page": "2"})
post("/echo", files={"api_key": (None, plain), "n": (None, "x")})
post("/echo", content=f"<a><password>{html.escape(d)}</password><b>1</b></a>")
post("/bot123456:" + "c4naryBotBotBotBot" + "/send")
data = d.encode()
for said in (d, json.dumps(d), quote(d), quote_plus(d),
             html.escape(d), data.hex(), base64.b64encode(b"xy" + data).decode(),
             base64.urlsafe_b64encode(data).decode()):
    post("/echo", json={"text": "it is " + said})
token = client.post("/token").json()["access_token"]
post("/me", headers={"authorization": "Bearer " + token})
post("/me", json={"note": token, "b": base64.b64encode(token.encode()).decode()})
post("/me?x=" + token)
print(len(token), file=sys.stderr)
"""


def spellings(value: str) -> list[bytes]:
    """Return *value* in parts that every spelling of it holds, and in hexadecimal."""
    return [value[:12].encode(), value.encode().hex()[:24].encode()]


def everything(desk: Desk) -> bytes:
    """Return all that is on disk of ledger, caches and trust home, and its contents."""
    home = Path(desk.place.parent / "home")
    files = [one for top in (desk.place / ".muniment", home) for one in top.rglob("*")]
    shown = desk.muniment("events", "list", "--jsonl").out.encode()
    return shown + b"".join(one.read_bytes() for one in files if one.is_file())


def test_no_canary_is_on_disk(desk: Desk) -> None:
    """Ledger, blobs, caches and trust home hold no secret, in any spelling."""
    desk.write("agent.py", PROGRAM)
    desk.variables |= dict(zip(NAMES, VALUES, strict=True))
    command = (PYTHON, "agent.py", "--auth", "c4nary-of-argv")
    done = desk.record(*command)
    assert done.code == 0, done.err
    live = done.out.splitlines()
    assert live[0] == "200 True"
    assert len(live) == 18
    assert {line.split()[0] for line in live} == {"200"}
    written = everything(desk)
    for value in (*VALUES, "c4nary.own.", "c4naryBotBot", "c4nary-of-argv"):
        assert not [one for one in spellings(value) if one in written], value
    assert b"token-4f4f4f" not in written
    desk.server_stops()
    again = desk.replay(done.run, *command)
    assert again.code == 0, again.err[-900:]
    assert json.loads(again.out)["verdict"] == "acceptable", again.out
    desk.variables |= {name: f"0ther-{name.lower()}-&\"<'ö/+-longer" for name in NAMES}
    other = desk.replay(done.run, *command[:2], "--auth", "another")
    assert other.code == 0, other.err[-900:]
    assert json.loads(other.out)["verdict"] == "acceptable", other.out


KEYS = """
import os, httpx
key = os.environ.get("API_KEY", "")
client = httpx.Client(base_url=os.environ["BASE"])
for asked in (
    {"headers": {"x-api-key": key}}, {"params": {"api_key": key, "page": 2}},
    {"data": {"api_key": key, "page": "2"}}, {"json": {"api_key": key or None, "n": 1}},
    {"json": {"clientSecret": key}}, {"files": {"api_key": (None, key), "n": (None, "x")}},
    {"headers": {"authorization": "Bearer " + key}},
):
    print(client.post("/me", **asked).status_code)
"""


def test_a_replay_with_another_key(desk: Desk) -> None:
    """What a program brings matches by name and place, with another key, however short."""
    desk.write("agent.py", KEYS)
    command = (PYTHON, "agent.py")
    desk.variables["API_KEY"] = "the-first-key-1"
    done = desk.record(*command)
    assert done.code == 0, done.err
    for key in ("the-first-key-1", "another-key-22222", "short"):
        desk.variables["API_KEY"] = key
        again = desk.replay(done.run, *command)
        assert again.code == 0, (key, again.out, again.err[-900:])
        assert json.loads(again.out)["verdict"] == "acceptable"
        assert json.loads(again.out)["compared"] == 7
