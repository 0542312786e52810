"""Functions that an experiment names are imported only as they were recorded.

Whatever place a function has in a plan: before a replay, a resume or a fork imports it,
its file and the packages above it are compared with the record, byte for byte.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from forked_commands import ForkedCommands
from muniment import gates
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.programs.functions import describe
from muniment.replays.replay import replay
from named_places import (
    ANSWERED,
    EDITS,
    PLACES,
    edited,
    everywhere,
    forget,
    importing,
    places_in,
)

CALLED = [one for one in PLACES if one not in ANSWERED]


@dataclass(frozen=True, slots=True)
class World:
    """A folder with functions, two runs that named them, and the marks of edits."""

    folder: Path
    ledger: Ledger
    done: str
    failed: str
    left: list[str]
    imports: str = ""
    """A run whose step is in a module that imports the datasource's."""

    def fails(self) -> str:
        """Return a run whose datasource failed."""
        (self.folder / "works").unlink(missing_ok=True)
        failed = everywhere().run(ledger=self.ledger)
        (self.folder / "works").touch()
        assert failed.errors
        return failed.run_id

    def leaves(self, asked: Callable[[], object]) -> RefusedError:
        """Return how *asked* is refused: nothing was imported or written."""
        size = self.ledger.head.size
        with pytest.raises(RefusedError) as refused:
            asked()
        assert (self.left, self.ledger.head.size) == ([], size)
        return refused.value


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run the experiment twice: once to its end, and once with a datasource that fails."""
    folder = tmp_path_factory.mktemp("world")
    marks: Any = ModuleType("marks")
    marks.left = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUNIMENT_HOME", str(folder / "home"))
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setitem(sys.modules, "marks", marks)
        patch.syspath_prepend(str(folder))
        patch.chdir(folder)
        places_in(folder)
        with Ledger.create(folder / ".muniment" / "ledger.db") as ledger:
            made = World(folder, ledger, "", "", marks.left)
            failed, done = made.fails(), everywhere().run(ledger=ledger)
            assert done.errors == ()
            forget()
            imports = importing(folder).run(ledger=ledger).run_id
            forget()
            yield replace(made, done=done.run_id, failed=failed, imports=imports)
        forget()


def test_every_function_of_a_plan_is_described(world: World) -> None:
    """The start of the run has the file of each, and of its packages; no plan has."""
    started = next(world.ledger.events(run=world.done))
    program: Any = started.raw["program"]
    plan = str(world.ledger.resolve(started)["params"])
    for place in PLACES:
        module = f"named_{place}"
        (one,) = (
            row
            for row in program["functions"]
            if row["import"] == f"{module}.functions:named"
        )
        assert set(one["files"]) == {f"{module}/__init__.py", f"{module}/functions.py"}
        assert f"'{one['import']}'" in plan
    assert len(program["functions"]) == len(PLACES)
    assert "'files'" not in plan


@pytest.mark.parametrize("how", EDITS)
@pytest.mark.parametrize("place", PLACES)
def test_nothing_that_changed_goes_live(world: World, place: str, how: str) -> None:
    """A fork and a resume are refused before anything is imported from the file."""
    first = next(world.ledger.events(run=world.done)).seq
    with edited(world.folder, place, how):
        for asked in (
            lambda: world.ledger.fork(world.done, at=first),
            lambda: world.ledger.resume(world.failed),
        ):
            refused = world.leaves(asked)
            assert refused.rule == "program/changed"
            assert f"named_{place}.functions:named" in refused.message


@pytest.mark.parametrize("how", EDITS)
@pytest.mark.parametrize("place", CALLED)
def test_a_replay_calls_nothing_that_changed(
    world: World, place: str, how: str
) -> None:
    """A function that a replay has to call is refused, and none of its file runs."""
    with edited(world.folder, place, how):
        refused = world.leaves(lambda: replay(world.ledger, world.done))
    assert refused.rule == "program/changed"
    assert f"named_{place}.functions:named" in refused.message


def test_a_function_imports_no_other_that_changed(world: World) -> None:
    """A file that the run recorded is compared whoever imports it, in a replay too."""
    first = next(world.ledger.events(run=world.imports)).seq
    assert replay(world.ledger, world.imports).verdict == "acceptable"
    for how in EDITS:
        with edited(world.folder, "datasource", how):
            for asked in (
                lambda: replay(world.ledger, world.imports),
                lambda: world.ledger.fork(world.imports, at=first),
            ):
                refused = world.leaves(asked)
                assert refused.rule == "program/changed"


@pytest.mark.parametrize("how", EDITS)
def test_answers_need_no_function(world: World, how: str) -> None:
    """A replay takes them from the record, whatever became of who gave them."""
    with ExitStack() as stack:
        for place in ANSWERED:
            stack.enter_context(edited(world.folder, place, how))
        report = replay(world.ledger, world.done)
    assert (report.verdict, report.findings, world.left) == ("acceptable", (), [])


def test_what_is_unchanged_runs(world: World) -> None:
    """The same replay, fork and resume, with the files that were recorded."""
    first = next(world.ledger.events(run=world.done)).seq
    failed = world.fails()
    forget()
    assert replay(world.ledger, world.done).verdict == "acceptable"
    assert world.ledger.resume(failed).ok
    fork = world.ledger.fork(world.done, at=first)
    assert fork.ok
    forget()
    for run in (failed, fork.run_id):
        assert replay(world.ledger, run).verdict == "acceptable"
        started = next(world.ledger.events(run=run))
        program = next(world.ledger.events(run=world.done)).raw["program"]
        assert started.raw["program"] == program


def test_earlier_records_have_the_text_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run without files of its functions replays; a function that changed does not."""
    monkeypatch.setattr(gates, "describe_program", describe)
    run = everywhere().run(ledger=world.ledger).run_id
    monkeypatch.undo()
    (started,) = world.ledger.events(run=run, limit=1)
    assert started.raw["program"] == {"name": "muniment:experiment/1"}
    forget()
    assert replay(world.ledger, run).verdict == "acceptable"
    with edited(world.folder, "verifier", "another function"):
        refused = world.leaves(lambda: replay(world.ledger, run))
        assert refused.rule == "program/changed"
        refused = world.leaves(lambda: world.ledger.fork(run, at=started.seq))
        assert refused.rule == "program/changed"
    # A fork of it is a new record, and describes what it found.
    fork = world.ledger.fork(run, at=started.seq).run_id
    described: Any = next(world.ledger.events(run=fork)).raw["program"]
    assert len(described["functions"]) == len(PLACES)


@pytest.mark.parametrize("command", ["replay DONE", "fork DONE --at FIRST"])
def test_the_command_line_refuses_it_too(
    world: World,
    commands: ForkedCommands,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit code 4, and one line with the rule and the remedy."""
    monkeypatch.setenv("MUNIMENT_HOME", str(world.folder / "home"))
    first = next(world.ledger.events(run=world.done)).seq
    known = {"DONE": world.done, "FIRST": str(first)}
    words = [known.get(one, one) for one in command.split()]
    with edited(world.folder, "step", "a line elsewhere"):
        code, said = commands.run(words, world.folder, tmp_path / "out")
    assert (code, said.count("\n")) == (4, 1), said
    assert "[program/changed" in said
    assert "--program FILE:NAME" in said
