"""What confirms a guess of what is private, and what ends the process, is told to nobody."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet import WORD
from muniment.ledger import Ledger
from muniment.replays.replay import replay

Shell = Any
DIGEST = re.compile("sha256:[0-9a-f]{64}")
PROGRAMS = f"""
import asyncio

from muniment_plugins.workflow.sessions import RunSession

WORD = "{WORD}"


def everything(run):
    run.keep_private(everywhere=True)
    return run.effect("data", 1, lambda _: WORD)


def a_lane(run):
    with run.scope("a") as lane:
        lane.keep_private()
        lane.record("note.added", {{"text": WORD}})
    return run.effect("data", 1, lambda _: 2)


def effects(run):
    run.keep_private(effects=True)
    return len(run.effect("data", 1, lambda _: WORD))


def a_performer(run):
    def perform(_):
        run.keep_private()
        return WORD

    return len(run.effect("data", 1, perform))


def a_call(run):
    return len(run.call(everything))


def thoughts(run):
    with RunSession.join(run, "thinks") as session:
        session.inject({{"role": "assistant", "content": "Hm.", "reasoning": WORD}})
    return run.effect("data", 1, lambda _: 2)


def failing(run):
    run.effect("data", 1, lambda _: 2)
    with run.scope("a") as lane:
        lane.keep_private()
        raise ValueError(WORD)


def public(run):
    return run.effect("data", 1, lambda _: WORD)


class Odd(BaseException):
    pass




def end(run, error, effects=False, inside=False, again=False):
    def perform(_):
        raise error

    try:
        if effects:
            run.keep_private(effects=True)
            raise error
        with run.scope("a") as lane:
            lane.keep_private()
            if inside:
                lane.effect("data", 1, perform)
            raise error
    except BaseException as first:
        if again:
            raise SystemExit(f"it says {{WORD}}") from first
        raise


def exits(run):
    end(run, SystemExit(WORD))


def exits_inside(run):
    end(run, SystemExit(WORD), inside=True)


def exits_by_effects(run):
    end(run, SystemExit(WORD), effects=True)


def exits_again(run):
    end(run, SystemExit(WORD), again=True)


def exits_after_an_error(run):
    end(run, ValueError(WORD), again=True)


def odd(run):
    end(run, Odd(WORD))


def cancelled(run):
    end(run, asyncio.CancelledError(WORD))


def grouped(run):
    end(run, BaseExceptionGroup("several", [Odd(WORD)]))


def in_public(run):
    raise SystemExit(WORD)


def waiting(run):
    with run.scope("a") as lane:
        lane.keep_private()
        lane.record("note.added", {{"text": WORD}})
    run.pause("till then")
    return 1


def returns(run):
    run.keep_private(everywhere=True)
    return WORD


def fails(run):
    with run.scope("a") as lane:
        lane.keep_private()
        raise ValueError(WORD)
"""
HIDING = (
    *("everything", "a_lane", "effects", "a_performer", "a_call", "thoughts"),
    "failing",
)
ENDING = (
    *("exits", "exits_inside", "exits_by_effects", "exits_again"),
    *("exits_after_an_error", "odd", "cancelled", "grouped"),
)


@pytest.fixture(autouse=True)
def programs(work: Path) -> Iterator[None]:
    """Have the programs here, imported anew."""
    (work / "hiding.py").write_text(PROGRAMS)
    yield
    sys.modules.pop("hiding", None)


def digest_of(ledger_of: Path, run: str) -> str:
    """Return the result digest of *run*, as a program is told it."""
    with Ledger.open(ledger_of / "ledger.db", home=ledger_of / "home") as ledger:
        return str(replay(ledger, run).result_digest)


@pytest.mark.parametrize("name", HIDING)
def test_no_digest_of_what_is_private(
    desk: Ledger, shell: Shell, work: Path, name: str
) -> None:
    """Neither `run`, `fork`, `replay` nor another way out has it; programs are told it."""
    desk.close()
    found = shell("run", f"hiding.py:{name}")
    (run, *_) = re.findall(r"run\s+([0-9A-Z]{26})", found.out)
    digest = digest_of(work, run)
    assert DIGEST.fullmatch(digest)
    first = shell("events", "--run", run, "--json", "--order", "asc").json[0]["seq"]
    forked = ("fork", run, "--at", first)
    ways = [("run", f"hiding.py:{name}"), forked, ("replay", run)]
    for words in ways:
        said = shell(*words)
        assert re.search(r"result digest\s+\(private\)", said.out), said
        assert not DIGEST.search(said.out), said
        told = shell(*words, "--json")
        assert told.json["result_digest"] is None, told
    for words in (("runs", "show", run, "--json"), ("events", "--json"), ("runs",)):
        assert digest not in shell(*words).out
    shell("report", run, "-o", "a.md")
    shell("report", run, "-o", "a.html", "--evidence")
    for file in (*Path().glob("a.*"), work / "ledger.db"):
        assert digest.removeprefix("sha256:") not in file.read_bytes().decode("latin-1")


def test_the_digest_of_a_public_run_is_told(
    desk: Ledger, shell: Shell, work: Path
) -> None:
    """It is what it ever was, in each way."""
    desk.close()
    found = shell("run", "hiding.py:public", "--json")
    digest = digest_of(work, found.json["run"])
    assert found.json["result_digest"] == digest
    for words in (("run", "hiding.py:public"), ("replay", found.json["run"])):
        assert digest in shell(*words).out


def test_a_resumed_run_with_a_private_past(desk: Ledger, shell: Shell) -> None:
    """What was private before the pause is private after it."""
    desk.close()
    run = shell("run", "hiding.py:waiting", "--json").json["run"]
    said = shell("resume", run)
    assert re.search(r"result digest\s+\(private\)", said.out), said


@pytest.mark.parametrize("name", ENDING)
def test_what_ends_the_process_is_not_told(
    desk: Ledger, shell: Shell, name: str
) -> None:
    """Its words are private, whoever says them: `run` and `resume`, plain and as JSON."""
    desk.close()
    ways = [("run", f"hiding.py:{name}"), ("resume", "last")]
    for words in [*ways, *((*one, "--json") for one in ways)]:
        said = shell(*words)
        assert said.code not in (0, None), said
        assert WORD not in said.out + said.err, said
        assert "(private)" in said.err, said
    for words in (("runs", "show", "last", "--json"), ("runs", "explain", "last")):
        assert WORD not in shell(*words).out


def test_what_ends_the_process_in_public_is_told(desk: Ledger, shell: Shell) -> None:
    """One that came out of no private lane says what it says."""
    desk.close()
    assert WORD in shell("run", "hiding.py:in_public").err
    assert WORD in shell("resume", "last").err


@pytest.mark.parametrize(("name", "shown"), [("returns", "result"), ("fails", "error")])
def test_a_dry_run_tells_nothing_private(
    desk: Ledger, shell: Shell, name: str, shown: str
) -> None:
    """Neither what it returns, nor by what it fails, nor the digest of that."""
    desk.close()
    plain, told = (
        shell("run", f"hiding.py:{name}", "--dry", *more) for more in ((), ("--json",))
    )
    for said in (plain, told):
        assert WORD not in said.out + said.err, said
        assert "(private)" in said.out
        assert not DIGEST.search(said.out), said
    assert "(private)" in told.json[shown]
