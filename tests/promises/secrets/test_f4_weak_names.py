"""Weak names, such as token or pin: what is hidden is told by name and value together.

One list of names holds in every place; numbers, flags and words keep what they say.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from muniment_plugins.providers.secrets.command_lines import redacted
from muniment_plugins.providers.secrets.names import SecretNames
from muniment_plugins.providers.secrets.redaction import Redaction
from muniment_plugins.providers.secrets.variables import secret_values
from recording import PYTHON, Desk

SECRETS = {
    "letters and digits": "Zq7Wv3Kx9Lm2Np5Rt8Yb",
    "hexadecimal": "9f86d081884c7d659a2feaa0c55ad015",
    "base64": "p7Xk2Lm9QwErTy56ZxCvBn0M",
}


def table(text: str) -> list[str]:
    """Return the words of *text*."""
    return text.split()


NAMES = table("""
    token tokens session sessionId session_id sessionid bearer key pass otp totp pin sas
    pat csrf xsrf csrf_token csrfmiddlewaretoken hmac salt ticket user_session db_pass
    admin_pin X-Session-Id PHPSESSID JSESSIONID userSession access_token api_key password
    mcp_token MCP_API_KEY
""")


def json_of(name: str, value: str) -> str:
    """Return an object of JSON with *name*."""
    return json.dumps({"a": "b", name: value, "n": [1]})


def header(name: str, value: str) -> str:
    """Return what is told of a header, in a request and in an answer."""
    ((_, told),) = Redaction().headers([(name, value)])
    return told


def variable(name: str, value: str) -> str:
    """Return *value*, where no variable of that name hides it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(name.replace("-", "_").upper(), value)
        return "" if value in secret_values() else value


PLACES: dict[str, Callable[[str, str], str]] = {
    "query": lambda n, v: Redaction().url(f"https://h/x?page=2&{n}={v}&z=1"),
    "form": lambda n, v: Redaction().text(f"{n}={v}&z=1"),
    "multipart": lambda n, v: Redaction().text(
        f'--b\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n--b--'
    ),
    "json": lambda n, v: Redaction().text(json_of(n, v)),
    "json in json": lambda n, v: Redaction().text(json.dumps({"a": json_of(n, v)})),
    "list": lambda n, v: Redaction().text(json.dumps({n: ["a", v, "b"]})),
    "events": lambda n, v: Redaction().text(f"event: x\ndata: {json_of(n, v)}\n\n"),
    "xml": lambda n, v: Redaction().text(f"<a><{n}>{html.escape(v)}</{n}></a>"),
    "pair": lambda n, v: Redaction().text(json.dumps([{"name": n, "value": v}])),
    "members": lambda n, v: json.dumps(Redaction().value({"a": [{n: v}]})),
    "header": header,
    "cookie": lambda n, v: header("Set-Cookie", f"{n}={v}; Path=/"),
    "option": lambda n, v: " ".join(redacted(["x", f"--{n}", v, "b"])),
    "option with value": lambda n, v: " ".join(redacted(["x", f"--{n}={v}", "b"])),
    "variable": variable,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES)
def test_every_name_in_every_place(name: str, place: str) -> None:
    """What looks like a secret, and is called one, is hidden wherever it stands."""
    for sort, value in SECRETS.items():
        assert value not in PLACES[place](name, value), sort


@pytest.mark.parametrize("name", ["token", "session", "sessionId", "csrf", "pass"])
@pytest.mark.parametrize("place", PLACES)
def test_secrets_of_other_forms(name: str, place: str) -> None:
    """So are UUIDs, and words with digits from eight characters on."""
    for value in (
        "550e8400-e29b-41d4-a716-446655440000",
        "hunter2-hunter2",
        "a1b2c3d4",
    ):
        assert value not in PLACES[place](name, value)


@pytest.mark.parametrize("name", ["otp", "totp", "pin", "pass", "user_pin"])
def test_codes_of_digits(name: str) -> None:
    """A text of four digits or more is a code; a number is a number."""
    for place in ("query", "json", "json in json", "list", "option", "xml"):
        assert "123456" not in PLACES[place](name, "123456"), place
    assert "0412" not in PLACES["json"](name, "0412")


EVERYDAY = (
    """
    {"token": " understanding", "logprob": -0.1, "bytes": [32, 117]}
    {"token": "\\u0120understanding"}   {"token": "2024"}   {"token": "GPT4"}
    {"token": "IllegalArgumentException"}   {"tokens": ["Hello", " world", "\\n2024"]}
    {"max_tokens": 1024, "prompt_tokens": 12, "tokens": 1234567890, "token": 7}
    {"maxTokens": "1024", "cached_tokens": "12345678", "total_tokens": null}
    {"token_type": "bearer"}   {"scheme": "bearer"}   {"pass": true, "pin": 3}
    {"pass": "accepted with notes"}   {"pass": "2"}   {"first_pass": "completed"}
    {"key": "PROJ-1234"}   {"key": "logs/2024/9f86d081884c7d65.json"}   {"otp": false}
    {"key": "menu.file.open-recent2024"}   {"ticket": "INC0012345"}   {"pin": "GPIO17"}
    {"session": "2024-summer-school"}   {"session_id": "support-2024-001"}
    {"session": {"id": 3, "voice": "alloy"}}   {"salt": "sea salt"}   {"sas": "none"}
    {"key": "550e8400-e29b-41d4-a716-446655440000"}   {"csrf": null}   {"pat": "Pat Smith"}
    {"next_page_token": "Zq7Wv3Kx9Lm2Np5Rt8Yb"}   {"signature": "Zq7Wv3Kx9Lm2Np5Rt8Yb"}
""".replace("\n    ", "   ")
    .strip()
    .split("   ")
)


@pytest.mark.parametrize("body", EVERYDAY)
def test_everyday_values_stay(body: str) -> None:
    """Counts, flags, words, paths and numbers of tickets are no secrets."""
    told = json.loads(body)
    for said in (body, json.dumps({"in": body}), f"data: {body}\n\n"):
        assert Redaction().text(said) == said
    assert Redaction().value(told) == told


def test_of_a_list_only_what_looks_like_a_secret() -> None:
    """Where a weak name has a list, each text of it is judged for itself."""
    said = json.dumps({"tokens": ["Hello", SECRETS["base64"], 'a "b"', 7, "x"]})
    hidden = json.loads(Redaction().text(said))
    assert hidden == {"tokens": ["Hello", "[redacted]", 'a "b"', 7, "x"]}
    nested = json.loads(Redaction().text(json.dumps({"in": said})))
    assert json.loads(nested["in"]) == hidden


def test_a_user_decides_about_weak_names() -> None:
    """``--keep token`` keeps it; ``--redact session`` hides every session."""
    names = SecretNames.of(keep=("token",), hide=("session",))
    said = json.dumps({"token": SECRETS["base64"], "session": "blue"})
    told = json.loads(Redaction(names=names).text(said))
    assert told == {"token": SECRETS["base64"], "session": "[redacted]"}


def test_escapes_are_no_digits() -> None:
    """What a format writes for a character does not make a word look random."""
    word = "schönes Wetter".replace(" ", "_")
    assert quote(word) in PLACES["query"]("session", quote(word))
    assert Redaction().text(json_of("token", word)) == json_of("token", word)


LOGIN = """
import os, httpx
client = httpx.Client(base_url=os.environ["BASE"])
S = "Zq7Wv3Kx9Lm2Np5Rt8Yb"
echoed = client.post("/echo", json={"token": S + "001", "pin": 3, "key": "PROJ-1"})
client.post("/echo", json={"text": "use " + S + "001"})
print(echoed.status_code)
"""


def test_a_recorded_login_leaves_no_token(desk: Desk) -> None:
    """The commonest member of a login is in the ledger nowhere; what is none, is."""
    desk.write("agent.py", LOGIN)
    done = desk.record(PYTHON, "agent.py")
    assert (done.code, done.out) == (0, "200\n"), done.err
    assert b"Zq7Wv3Kx9" not in desk.bytes_of_ledger()
    assert b"PROJ-1" in desk.bytes_of_ledger()
    assert desk.data(done.run, "run.started")[0]["params"]["weak_names"] is True
    desk.write("agent.py", LOGIN.replace("Zq7Wv3Kx9L", "Xy8Ab4Cd1M"))
    again = desk.replay(done.run, PYTHON, "agent.py")
    verdict = json.loads(again.out)["verdict"]  # the script is another one: a warning
    assert verdict == "acceptable_with_warnings", again.out


def test_records_of_before_keep_their_names() -> None:
    """A run that was recorded without weak names is replayed without them."""
    names = SecretNames.of(weak=False)
    said = json.dumps({"token": SECRETS["base64"], "api_key": "x"})
    told = json.loads(Redaction(names=names).text(said))
    assert told == {"token": SECRETS["base64"], "api_key": "[redacted]"}
