"""What the first commands of a newcomer print is true, and its advice works.

Through the real command line, on the paths that the pages print.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from functools import partial

import pytest

from first_hour import Newcomer, Said
from forked_commands import ForkedCommands

Type = Callable[..., Said]

PROGRAMS = """
import os


def done(run):
    run.record("claim.stated", {"id": "c1", "text": "Prices come from the cache."})
    return run.effect("data", 1, lambda n: n)


def stops(run):
    raise KeyboardInterrupt


def waits(run):
    run.pause("until noon")


def fails(run):
    raise ValueError("no")


def fails_once(_):
    if os.path.exists("failed"):
        os.kill(os.getpid(), 9)
    open("failed", "w").close()
    raise ValueError("once")


def flaky(run):
    return run.effect("data", 1, fails_once)


def asks(run):
    return run.decide({"n": None, "ok": True, "parts": ("a", 0.5)}, "publish?").approved
"""


@pytest.fixture
def type_(newcomer: Newcomer, commands: ForkedCommands) -> Type:
    """Return what types a command line of a newcomer who has a ledger."""
    (newcomer.folder / "programs.py").write_text(PROGRAMS)
    typed = partial(newcomer.forked, commands)
    assert typed("init").code == 0
    return typed


def test_one_word_for_one_state(type_: Type) -> None:
    """`status` says of each run without a result what `runs` says of it."""
    for name in ("done", "stops", "waits", "fails"):
        type_("run", f"programs.py:{name}")
    runs = {one["id"]: one["status"] for one in json.loads(type_("runs", "--json").out)}
    left = {
        run: word for run, word in runs.items() if word in ("interrupted", "paused")
    }
    assert len(left) == 2, runs

    facts = json.loads(type_("status", "--json").out)
    assert facts["unfinished"] == left
    assert facts["open_runs"] == [*facts["unfinished"]]
    said = type_("status").out
    rows = [line.split()[1:] for line in said.splitlines() if "unfinished" in line]
    assert rows == [[run, word] for run, word in facts["unfinished"].items()]
    assert "open run" not in said + type_("verify").out


def test_a_run_that_goes_on_after_a_failure_is_unfinished(type_: Type) -> None:
    """Its last start counts, not that it failed before."""
    assert type_("run", "programs.py:flaky").code == 1
    assert json.loads(type_("status", "--json").out)["unfinished"] == {}
    run = json.loads(type_("runs", "--json").out)[0]["id"]
    assert type_("resume", run).code == -signal.SIGKILL
    assert json.loads(type_("status", "--json").out)["unfinished"] == {run: "open"}


def test_a_request_without_a_ledger_names_the_id(
    newcomer: Newcomer, commands: ForkedCommands
) -> None:
    """The ledger is elsewhere: its id is wanted, and no new ledger."""
    for known in ({}, {"MUNIMENT_LEDGER": str(newcomer.folder / "none.db")}):
        runner = Newcomer(newcomer.folder, newcomer.home, known)
        said = runner.forked(commands, "keys", "request", "--name", "ci")
        assert said.code == 3
        assert "--id" in said.err
        assert "muniment init" not in said.err
    asked = "sha256:" + "0" * 64
    given = newcomer.forked(commands, "keys", "request", "--id", asked, "-o", "ci.json")
    assert given.code == 0, given


SUBJECT = '{"n":null,"ok":true,"parts":{"$tuple":["a",0.5]}}'


def test_a_subject_is_said_as_it_is_signed(type_: Type) -> None:
    """JSON, in the list, before a signature, and in the explanation of the run."""
    assert type_("run", "programs.py:asks").code == 5
    run = json.loads(type_("runs", "--json").out)[0]["id"]
    assert type_("keys", "request", "--role", "approver", "-o", "me.json").code == 0
    assert SUBJECT in type_("inbox").out
    signed = type_("approve", run, "-o", "yes.json")
    assert f"subject {SUBJECT}" in signed.err, signed


def test_a_key_that_is_not_enrolled_is_named(type_: Type, newcomer: Newcomer) -> None:
    """The answer is written, and a line says that it does not count yet, and why."""
    type_("run", "programs.py:asks")
    run = json.loads(type_("runs", "--json").out)[0]["id"]
    type_("keys", "request", "--role", "approver", "-o", "me.json")
    for verb in ("approve", "deny"):
        said = type_(verb, run, "-o", f"{verb}.json")
        assert said.code == 0
        assert (newcomer.folder / f"{verb}.json").exists()
        assert "warning: SHA256:" in said.err
        assert "counts only once the key is enrolled" in said.err
        assert "`muniment keys enrol`" in said.err
    assert type_("inbox", "add", "approve.json").code == 4
    root = shutil.move(next(newcomer.home.rglob("recovery/root.pem")), newcomer.folder)
    assert type_("keys", "enrol", "me.json", "--root", root).code == 0
    now = type_("approve", run, "-o", "again.json")
    assert (now.code, "warning" in now.err) == (0, False), now
    assert type_("inbox", "add", "again.json").code == 0


def test_an_edited_run_is_not_explained_away(type_: Type, newcomer: Newcomer) -> None:
    """First that it does not verify and where; then `verify`, and no replay."""
    type_("run", "programs.py:done")
    run = json.loads(type_("runs", "--json").out)[0]["id"]
    whole = json.loads(type_("runs", "explain", run, "--json").out)
    assert whole["unverified"] is None
    assert any(one["command"].startswith("muniment replay") for one in whole["next"])
    ledger = newcomer.folder / ".muniment" / "ledger.db"
    for one in (ledger, ledger.with_name("ledger.db-wal")):
        if one.exists():
            one.write_bytes(one.read_bytes().replace(b"Prices", b"Orders"))

    told = json.loads(type_("runs", "explain", run, "--json").out)
    assert "event 2" in told["unverified"]
    assert told["next"][0]["command"] == "muniment verify"
    assert not any("replay" in one["command"] for one in told["next"])
    lines = type_("runs", "explain", run).out.splitlines()
    assert lines[1].startswith("NOT verified")
    assert type_("verify").code == 1
