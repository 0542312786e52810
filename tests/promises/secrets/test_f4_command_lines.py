"""No secret of a command line is written or shown, whichever option brings it."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from muniment_plugins.providers.secrets.command_lines import redacted
from recording import PYTHON, Desk

SECRET = "Zq7Wv3Kx9Lm2Np5Rt8Yb"  # noqa: S105 - of nobody

LINES: dict[str, list[str]] = {
    "user": ["curl", "-s", "-u", "ada:{}", "http://h/"],
    "user, attached": ["curl", "-s", "-uada:{}", "http://h/"],
    "user, long": ["curl", "--user", "ada:{}", "http://h/"],
    "user, with equals": ["curl", "--user=ada:{}", "http://h/"],
    "proxy user": ["curl", "-U", "ada:{}", "--proxy-user", "bob:{}", "http://h/"],
    "header": ["curl", "-H", "X-Api-Key: {}", "http://h/"],
    "header, attached": ["curl", "-HX-Api-Key: {}", "http://h/"],
    "header, long": ["curl", "--header", "Private-Token:{}", "http://h/"],
    "header, with equals": ["x.py", "--header=X-Api-Key:{}"],
    "authorization": ["curl", "-H", "Authorization: Bearer {}", "http://h/"],
    "odd authorization": ["curl", "-H", "Authorization: {}", "http://h/"],
    "header as a word": ["http", "http://h/", "X-Api-Key:{}"],
    "cookie": ["curl", "-b", "session={}; other={}", "http://h/"],
    "cookie, attached": ["curl", "-bsession={}", "http://h/"],
    "cookie, long": ["curl", "--cookie", "id={}", "http://h/"],
    "cookie as a header": ["curl", "-H", "Cookie: id={}", "http://h/"],
    "bearer": ["curl", "--oauth2-bearer", "{}", "http://h/"],
    "certificate": ["curl", "-E", "a.pem:{}", "--cert", "b.pem:{}", "http://h/"],
    "password": ["x", "--password", "{}", "b"],
    "password, with equals": ["x", "--db-password={}", "b"],
    "token": ["x", "--token", "{}"],
    "session": ["x", "--session-id", "{}"],
    "url": ["curl", "http://ada:{}@h/?api_key={}#access_token={}"],
    "form": ["curl", "-d", "api_key={}&page=2", "http://h/"],
    "json": ["curl", "-d", '{{"token": "{}"}}', "http://h/"],
    "variable": ["env", "API_KEY={}", "x"],
}

WRAPPED: dict[str, Callable[[list[str]], list[str]]] = {
    "alone": lambda line: line,
    "behind env": lambda line: ["env", "A=b", *line],
    "shell": lambda line: ["sh", "-c", shlex.join(line)],
    "shell with more": lambda line: [
        "/bin/bash",
        "-lc",
        f"cd /x && {shlex.join(line)} | grep 'a  b'; echo done",
    ],
    "shell in a shell": lambda line: [
        "sh",
        "-c",
        shlex.join(["exec", "bash", "-c", shlex.join(line)]),
    ],
    "other machine": lambda line: ["ssh", "host", shlex.join(line)],
    "other machine, words": lambda line: ["ssh", "host", *line],
}


@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize("line", LINES)
def test_what_options_bring(line: str, wrapped: str) -> None:
    """Hidden are headers, cookies and passwords, also in texts for a shell."""
    for secret in (SECRET, "p4ss w0rd 1234567"):
        if " " in secret and line in ("session", "url", "form", "json", "variable"):
            continue  # told by the value, or percent-encoded in life
        command = WRAPPED[wrapped]([one.format(*[secret] * 3) for one in LINES[line]])
        told = redacted(command)
        assert secret not in " ".join(told), told
        assert not {*secret.split()} & {*" ".join(told).replace("'", " ").split()}
        assert "[redacted]" in " ".join(told)
        assert len(told) == len(command)


HARMLESS = [
    ["python", "-u", "agent.py", "--page", "2"],
    ["sed", "-u", "s/a/b/"],
    ["grep", "-E", "name: value"],
    ["gobuster", "-u", "http://h:80/x"],
    ["curl", "-H", "Accept: text/plain", "-b", "jar.txt", "http://h/a:b"],
    ["x", "label:bug", "--pin", "3", "--pass", "first", "--session", "main"],
    ["sh", "-c", "echo 'it  is' \"a $X\" > /dev/null 2>&1 & wait"],
    ["sh", "-c", 'for i in *.txt; do cat "$i"; done # not closed: \''],
    ["python", "-c", "x = {'a': 1}\nprint(x['a'])"],
    ["x", "please explain what --user and tokens are for"],
]


@pytest.mark.parametrize("command", HARMLESS, ids=lambda one: " ".join(one[:2]))
def test_command_lines_stay(command: list[str]) -> None:
    """What holds no secret is written as it was, character for character."""
    assert redacted(command) == command


def test_only_the_secret_is_hidden() -> None:
    """Names, operators and quotes around it can still be read."""
    said = (
        f"curl -u 'ada:{SECRET}' -H \"X-Api-Key: {SECRET}\" h | tee a.txt; echo 'b  c'"
    )
    (*_, told) = redacted(["sh", "-c", said])
    assert told == (
        "curl -u ada:[redacted] -H 'X-Api-Key: [redacted]' h | tee a.txt; echo 'b  c'"
    )


STARTS = """
import subprocess
S = "Zq7Wv3Kx9Lm2Np5Rt8Yb"
for line in (
    ["true", "-u", "ada:" + S], ["true", "-H", "X-Api-Key: " + S],
    ["sh", "-c", "true --password " + S + "; true"], ["true", "-b", "session=" + S],
):
    subprocess.run(line, check=True)
"""


def test_started_programs_leave_no_secret(desk: Desk) -> None:
    """Neither record nor terminal tell what a started program was given."""
    desk.write("agent.py", STARTS)
    done = desk.record(
        PYTHON, "agent.py", "--user", f"me:{SECRET}", f"X-Api-Key:{SECRET}"
    )
    assert done.code == 0, done.err
    shown = desk.muniment("runs", "explain", done.run).out
    shown += desk.muniment("events", "list", "--jsonl").out
    assert "started `true -u 'ada:[redacted]'`" in done.err
    assert SECRET not in done.err + shown
    assert SECRET.encode() not in desk.bytes_of_ledger()
