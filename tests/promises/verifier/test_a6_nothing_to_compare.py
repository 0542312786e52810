"""Who compares says how much: nothing to compare is counted, or named, never passed over."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from attacking import small
from first_hour import Newcomer
from forge import Forge, keyid, make_key
from forked_commands import ForkedCommands
from muniment.verification.verify import verify
from muniment_cli import main

# --- anchors that were given -------------------------------------------------------

ANCHORS: dict[str, Callable[[Forge], bytes]] = {
    "early": lambda forge: forge.note(5),
    "late": lambda forge: forge.note(14),
    "of no events": lambda forge: forge.note(0),
    "of a stranger": lambda forge: forge.note(5, make_key("stranger")),
    "of another ledger": lambda _: small("two").note(),
}
GOOD = {"early", "late"}


@pytest.fixture(scope="module")
def forge() -> Forge:
    """Return a ledger with every kind of thing in it."""
    return small()


@pytest.mark.parametrize("lines", [False, True], ids=["notes", "lines"])
@pytest.mark.parametrize(
    "kinds",
    [one for number in (1, 2) for one in itertools.permutations(ANCHORS, number)],
    ids=", ".join,
)
def test_every_anchor_is_compared_or_named(
    forge: Forge, tmp_path: Path, kinds: tuple[str, ...], lines: bool
) -> None:
    """A note that was given confirms the log, or it is said why it does not."""
    notes = [ANCHORS[kind](forge) for kind in kinds]
    listed = [json.dumps({"note": note.decode()}).encode() for note in notes]
    anchor = tmp_path / "anchor"
    anchor.write_bytes(b"\n".join(listed if lines else notes))
    keys = [keyid(forge.key("root"))]
    report = verify(forge.write(tmp_path / "ledger.db"), keys=keys, anchor=anchor)
    said = " ".join([*map(str, report.findings), *report.notes])
    if GOOD.issuperset(kinds):
        assert (report.exit_code, said) == (0, "")
        assert "independently by anchor" in report.anchored
    elif not GOOD.intersection(kinds):
        assert report.exit_code in (1, 3)
    assert bool(said) is not GOOD.issuperset(kinds)


# --- commands where there is nothing -----------------------------------------------

PROGRAMS = {
    "no events": None,
    "nothing in it": "def main(run):\n    pass\n",
    "a fact": "def main(run):\n    run.record('note.added', {'text': 'x'})\n",
    "an effect": "def main(run):\n    run.effect('tool', {'name': 'x'}, lambda _: 1)\n",
    "no end": "def main(run):\n    raise KeyboardInterrupt\n",
}
GOOD_WORDS = re.compile(r"\b(intact|acceptable|equal|same|checked)\b")
COUNTED = re.compile(r"^(compared|equal|same).*\d", re.MULTILINE)


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Newcomer]:
    """Give a ledger for each program, made as a user makes it."""
    made: dict[str, Newcomer] = {}
    for name, text in PROGRAMS.items():
        folder, home = (tmp_path_factory.mktemp(one) for one in ("desk", "home"))
        made[name] = one = Newcomer(folder, home)
        one.begin()
        if text is not None:
            (folder / "program.py").write_text(text)
            one.muniment("run", "program.py:main")
        shutil.copy(folder / ".muniment" / "ledger.db", folder / "copy.db")
        assert one.muniment("prove", "0", "-o", "proof").code == 0
    return made


def run_of(desk: Newcomer) -> str:
    """Return the only run of the ledger there."""
    (run,) = json.loads(desk.muniment("runs", "--json").out)
    return str(run["id"])


COMMANDS: dict[str, Callable[[Newcomer], list[str]]] = {
    "verify": lambda _: ["verify"],
    "verify --fast": lambda _: ["verify", "--fast"],
    "verify a proof": lambda _: ["verify", "proof"],
    "compare": lambda _: ["compare", ".muniment/ledger.db", "copy.db"],
    "runs diff": lambda desk: ["runs", "diff", *(run for run, _ in desk.runs() * 2)],
    "replay": lambda desk: [
        *("replay", desk.runs()[0][0], "--no-record", "--trust-program"),
    ],
}


@pytest.mark.parametrize("whose", ["mine", "a stranger's"])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_good_is_counted(
    desks: dict[str, Newcomer],
    commands: ForkedCommands,
    tmp_path: Path,
    program: str,
    command: str,
    whose: str,
) -> None:
    """A command that is content says how much it compared, also where that is nothing."""
    if PROGRAMS[program] is None and command in ("runs diff", "replay"):
        return  # there is no run to name
    desk = desks[program]
    if whose == "a stranger's":
        desk = Newcomer(desk.folder, tmp_path)
    said = desk.forked(commands, *COMMANDS[command](desk))
    assert said.code in (0, 3), said
    assert bool(said.out) is bool(GOOD_WORDS.search(said.out))
    assert bool(said.out) is bool(COUNTED.search(said.out)), said.out


def test_two_runs_without_an_end_have_no_results(desks: dict[str, Newcomer]) -> None:
    """Nothing that neither run has is called equal."""
    desk = desks["nothing in it"]
    run = run_of(desk)
    said = desk.muniment("runs", "diff", run, run)
    assert said.out.splitlines()[-1].split(maxsplit=1) == [
        "equal",
        "0 facts, 0 effects, 0 outcomes, 1 result",
    ]
    desk = desks["no end"]
    run = run_of(desk)
    for options in ((), ("--accept", "exact_match"), ("--json",)):
        said = desk.muniment("runs", "diff", run, run, *options)
        assert (said.code, "nothing that could be compared" in said.err) == (3, True)


def test_a_proof_is_counted(desks: dict[str, Newcomer]) -> None:
    """A tree of one event needs no hash; a proof of it says so."""
    for name in ("no events", "a fact"):
        found = json.loads(desks[name].muniment("verify", "proof", "--json").out)
        assert found["hashes"] == (found["size"] - 1).bit_length()


# --- what the examination of a machine says ----------------------------------------


def changed(place: Path, statement: str, *values: object) -> None:
    """Change a ledger past its triggers."""
    with closing(sqlite3.connect(place)) as database, database:
        kept = database.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in kept:
            database.execute(f"DROP TRIGGER {name}")
        database.execute(statement, values)
        for _, sql in kept:
            database.execute(sql)


NOTES: dict[str, Callable[[Forge], tuple[int, bytes]]] = {
    "of a stranger": lambda forge: (15, forge.note(15, make_key("stranger"))),
    "of another root": lambda _: (15, other_history().note(15)),
    "beyond the end": lambda _: (16, other_history().note(16)),
    "of another ledger": lambda _: (15, small("two").note()),
    "no note": lambda _: (15, b"hello\n"),
}


def other_history() -> Forge:
    """Return the same ledger with another end, one event longer."""
    longer = small()
    del longer.rows[14:]
    for text in ("other", "one more"):
        longer.append("note.added", {"text": text})
    return longer


@pytest.fixture
def examined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[[Path], dict[str, dict[str, str]]]:
    """Return what `doctor` says of a ledger, by name of the check."""

    def examine(place: Path) -> dict[str, dict[str, str]]:
        assert tmp_path.is_dir()
        main(["--ledger", str(place), "doctor", "--json"])
        return {one["name"]: one for one in json.loads(capsys.readouterr().out)}

    return examine


@pytest.mark.parametrize("note", NOTES)
def test_doctor_counts_no_head_that_does_not_hold(
    forge: Forge,
    tmp_path: Path,
    examined: Callable[[Path], dict[str, dict[str, str]]],
    note: str,
) -> None:
    """Events are under a signed head where a key of the ledger signed their root."""
    place = forge.write(tmp_path / "ledger.db")
    changed(place, "DELETE FROM checkpoint")
    changed(place, "INSERT INTO checkpoint VALUES (?, ?)", 15, forge.note(15))
    assert examined(place)["checkpoint"]["verdict"] == "ok"
    changed(place, "DELETE FROM checkpoint")
    changed(place, "INSERT INTO checkpoint VALUES (?, ?)", *NOTES[note](forge))
    assert examined(place)["checkpoint"]["verdict"] == "bad"


def test_doctor_speaks_of_the_home_that_it_looked_into(
    forge: Forge,
    tmp_path: Path,
    examined: Callable[[Path], dict[str, dict[str, str]]],
) -> None:
    """A root key that lies elsewhere on the machine is not said to be nowhere."""
    seen = examined(forge.write(tmp_path / "ledger.db"))["recovery"]["seen"]
    assert seen.startswith(f"no root key in {os.environ['MUNIMENT_HOME']}")
