"""What a terminal would act on is escaped in every output that goes to one."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.encoding.visible import clean, escaped_json
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment_cli import main

ACTING = {"Cc", "Cf", "Zl", "Zp", "Co", "Cs"}
INVISIBLE = [
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE10),
    *range(0xE0000, 0xE0200),
]
STYLE = re.compile(r"\x1b\[[0-9;]*m")
"""How colours are written; what is recorded here never looks like one."""


def _acts(char: str) -> bool:
    return unicodedata.category(char) in ACTING or ord(char) in INVISIBLE


HOSTILE = "".join(
    char
    for char in map(chr, range(sys.maxunicode + 1))
    if _acts(char) and unicodedata.category(char) not in ("Co", "Cs")
)
"""Every such code point that a ledger can hold, but most of the private ones."""
TEXT = f"a{HOSTILE}\ue000\U000f0000\U0010fffd b\x1b]0;owned\x07\x1b[2J\x9b2J"
SHORT = "a\x9b2J\u202eb\x1b]0;c\x07\u2066\u200d\ufe0f\u3164"


def _program(run: Run, ticket: str) -> str:
    run.record("note.added", {"text": TEXT, "details": TEXT})
    with run.scope("map/1") as lane:
        lane.effect("asked", {"name": ticket}, lambda _: TEXT)
    return TEXT


def _failing(run: Run) -> str:
    run.effect("asked", {"name": TEXT}, lambda _: 1)
    raise ValueError(TEXT)


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """Make a ledger whose every text is hostile, and stand beside it."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    with Ledger.create(work / ".muniment" / "ledger.db", actor=SHORT) as ledger:
        ledger.register(EffectKind("asked"))
        done = ledger.execute(
            _program, name=SHORT, labels={SHORT: TEXT}, params={"ticket": TEXT}
        )
        ledger.execute(_failing, name=SHORT)
        note = ledger.append(
            "note.added", {"text": TEXT}, actor=SHORT, tenant=SHORT
        ).seq
    return done.run_id, note


RUN = "RUN"
COMMANDS = [
    *(["events"], ["events", "--json"], ["events", "--jsonl"]),
    *(["events", "tail"], ["events", "tail", "--jsonl"]),
    *(["events", "show", "NOTE"], ["events", "show", "NOTE", "--json"]),
    *(["events", "show", "NOTE", "--raw"], ["events", "show", "NOTE", "--envelope"]),
    *(["events", "show", "2"], ["events", "show", "2", "--json"]),
    *(["events", "show", "3"], ["events", "show", "4", "--json"]),
    *(["runs"], ["runs", "--json"], ["runs", "show", RUN]),
    *(["runs", "show", RUN, "--json"], ["runs", "explain", RUN]),
    *(
        ["runs", "explain", RUN, "--json"],
        ["runs", "stats"],
        ["runs", "stats", "--json"],
    ),
    *(["query", "SELECT * FROM events"], ["query", "--json", "SELECT * FROM events"]),
    ["query", "SELECT * FROM runs"],
    ["query", "--csv", "SELECT * FROM runs"],
    ["query", "--json", "SELECT * FROM runs"],
    *(["status"], ["status", "--json"], ["verify"], ["verify", "--json"]),
    *(
        ["verify", SHORT],
        ["verify", SHORT, "--json"],
        ["replay", RUN],
        ["keys", "list"],
    ),
    *(["keys", "list", "--json"], ["events", SHORT], ["--debug", "verify", SHORT]),
    *(["--ledger", SHORT, "status"], ["query", f"SELECT {SHORT}"], [SHORT]),
    *(["--debug", "--ledger", SHORT, "runs"], ["plugins"], ["doctor"]),
]


def _on_a_terminal(arguments: list[str]) -> str:
    pid, terminal = pty.fork()
    if pid == 0:
        code = 1
        try:  # the streams of the test runner are files
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            code = main(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    said = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # how Linux says that the other side has ended
            part = b""
        if not part:
            break
        said += part
    os.close(terminal)
    os.waitpid(pid, 0)
    return said.decode("utf-8", "surrogateescape")


@pytest.mark.slow
def test_on_a_terminal(
    hostile: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that is recorded, named or typed reaches the terminal as it is."""
    monkeypatch.setenv("TERM", "xterm-256color")
    named = {RUN: hostile[0], "NOTE": str(hostile[1])}
    through: dict[str, list[str]] = {}
    for command in COMMANDS:
        said = _on_a_terminal([named.get(one, one) for one in command])
        assert said.strip(), command
        rest = STYLE.sub("", said).replace("\r\n", "\n")
        found = {char for char in rest if char != "\n" and _acts(char)}
        if found:
            through[clean(" ".join(command))] = [f"U+{ord(c):04X}" for c in found]
    assert not through


def test_json_says_the_same(
    hostile: tuple[str, int], capfd: pytest.CaptureFixture[str]
) -> None:
    """A machine gets equal values through a pipe, and what was recorded."""
    named = {RUN: hostile[0], "NOTE": str(hostile[1])}
    compared = 0
    for command in COMMANDS:
        if "--json" not in command or command[0] in ("verify", "status"):
            continue  # these say when they looked
        arguments = [named.get(one, one) for one in command]
        seen = json.loads(_on_a_terminal(arguments))
        capfd.readouterr()
        main(arguments)
        piped = capfd.readouterr().out
        assert not [char for char in piped if char != "\n" and _acts(char)]
        assert seen == json.loads(piped)
        compared += 1
        if command == ["events", "show", "NOTE", "--json"]:
            assert TEXT in _texts(seen)
    assert compared > 8


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return (
        [t for one in inner for t in _texts(one)] if isinstance(inner, Iterable) else []
    )


def test_raw_is_exact_through_a_pipe(
    hostile: tuple[str, int], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The signed bytes are those that were signed; on a terminal, of equal value."""
    note = hostile[1]
    main(["events", "show", str(note), "--raw"])
    raw = capfdbinary.readouterr().out
    assert "\u202e".encode() in raw
    seen = _on_a_terminal(["events", "show", str(note), "--raw"])
    assert json.loads(seen) == json.loads(raw)


@pytest.mark.slow
def test_every_code_point() -> None:
    """Of all there are, what acts or does not show is escaped; the rest stays."""
    for char in map(chr, range(sys.maxunicode + 1)):
        if _acts(char) and char != "\n":
            assert clean(char) != char
            assert clean(char).isascii()
            text = json.dumps(char, ensure_ascii=False)
            assert escaped_json(text).isascii()
            assert json.loads(escaped_json(text)) == char
        elif char.isprintable():
            assert clean(char) == char


@given(st.recursive(st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_json_keeps_its_value(value: object) -> None:
    """Whatever is escaped, JSON reads back what was written."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    assert json.loads(escaped_json(text)) == value
