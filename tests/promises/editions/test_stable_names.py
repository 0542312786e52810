"""Names of our own code in signed records stay when the code moves."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import muniment
from editions import PATHS, Kept, path_programs, with_paths
from machines import helpers
from muniment.errors import CannotTellError, UsageError
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.programs.functions import describe, find
from muniment.programs.stable_names import StableName, StableNames, name_of, stable_name
from muniment.verification.verify import verify
from muniment_plugins.harness import Experiment, Pipeline, pipeline_step, verifier

ROOT = Path(__file__).parents[3]
MUNIMENT = str(Path(sys.executable).with_name("muniment"))


@stable_name("acme:triage/1")
def triage(run: muniment.Run) -> object:
    """Be a stranger's program."""
    return run.random()


@verifier
@stable_name("acme:small/1")
def small(baseline: Any, condition: Any) -> Any:
    """Be a stranger's verifier."""
    del baseline
    return {"passed": max(condition["n"]) < 9}


@pipeline_step
@stable_name("acme:count/1")
def count(data: list[int]) -> object:
    """Be a stranger's step."""
    return data, {"n": len(data)}


def numbers(ctx: object) -> list[int]:
    """Be a datasource."""
    del ctx
    return [1, 2, 3]


class Acme:
    """A stranger's plugin, which declares names as the built-in ones do."""

    @hookimpl
    def stable_names(self) -> list[StableName]:
        """Name the functions above, and what one of them was."""
        here = __name__
        return [
            StableName("acme:triage/1", f"{here}:triage", {"acme.old:triage": None}),
            StableName("acme:small/1", f"{here}:small"),
            StableName("acme:count/1", f"{here}:count"),
        ]


def acme(place: Path) -> Ledger:
    """Open a ledger that the stranger's plugin serves too."""
    plugins = Plugins(extra={"acme": Acme()})
    return Ledger.create(place / "ledger.db", plugins=plugins)


def test_a_strangers_program_is_found_by_its_name(tmp_path: Path) -> None:
    """A run records the name, no path and no digest; a replay finds the program."""
    with acme(tmp_path) as ledger:
        done = ledger.execute(triage)
        started = next(ledger.events(run=done.run_id))
        assert started.data["program"] == {"name": "acme:triage/1"}
        assert muniment.replay(ledger, done.run_id).verdict == "acceptable"


def test_a_strangers_functions_are_found_by_their_names(tmp_path: Path) -> None:
    """Steps and verifiers of an experiment too, from the events alone."""
    experiment = (
        Experiment.builder("named")
        .datasource(numbers)
        .pipeline(Pipeline([count()]))
        .hypothesis("small", verifier=small)
        .build()
    )
    with acme(tmp_path) as ledger:
        result = experiment.run(ledger=ledger)
        result.raise_for_errors()
        run = str(result.run_id)
        verdict = next(ledger.events(run=run, type="verdict.reached"))
        step = next(ledger.events(run=run, type="step.applied"))
        assert verdict.data["verifier"] == "acme:small/1"
        assert step.data["step"] == "count"
        program = _rebuilt(ledger, run)
        assert program.hypotheses[0].verifier.function.function is small.function
        assert muniment.replay(ledger, run, experiment.program).verdict == "acceptable"


def _rebuilt(ledger: Ledger, run: str) -> Any:
    asked = ledger.plugins.ask(
        "rebuild_program", ledger=ledger, run=run, trust_source=False
    )
    return next(found for _, found in asked if found is not None)


def test_a_name_that_nobody_declares_is_not_imported(tmp_path: Path) -> None:
    """A record names; what is imported, plugins say."""
    with acme(tmp_path) as ledger:
        done = ledger.execute(triage)
    with (
        Ledger.open(tmp_path / "ledger.db", readonly=True) as stranger,
        pytest.raises(CannotTellError, match="no active plugin declares"),
    ):
        muniment.replay(stranger, done.run_id)
    with pytest.raises(CannotTellError, match="no active plugin declares"):
        find({"name": "os:system/1"}, "01M")


def test_wrappers_and_subclasses_are_others() -> None:
    """Only what was given the name bears it."""
    from functools import wraps  # noqa: PLC0415 - shown here

    @wraps(triage)
    def wrapped(run: muniment.Run) -> object:
        return triage(run)

    @stable_name("acme:program/1")
    class Program:
        def __call__(self, run: muniment.Run) -> None: ...

    class Other(Program): ...

    assert name_of(triage) == "acme:triage/1"
    assert name_of(Program()) == name_of(Program) == "acme:program/1"
    assert name_of(wrapped) is None
    assert name_of(Other()) is None
    with pytest.raises(UsageError, match="program/path"):
        describe(wrapped)


@pytest.mark.parametrize(
    "name", ["triage", "acme:triage", "Acme:x/1", "a:b/0", "a:b/1 "]
)
def test_a_name_has_a_prefix_and_a_version(name: str) -> None:
    """Else it would not say whose it is, and what it does."""
    with pytest.raises(UsageError, match="is not a stable name"):
        stable_name(name)


def test_a_name_belongs_to_one() -> None:
    """Two plugins that declare one name are refused, and so is an earlier path."""
    one = StableName("acme:x/1", "a:b", {"old:x": None})
    assert StableNames([one, one]).of({"name": "acme:x/1"}) == one
    for other in (
        StableName("acme:x/1", "a:c"),
        StableName("acme:y/1", "a:b", {"old:x": None}),
    ):
        with pytest.raises(UsageError, match="declared twice"):
            StableNames([one, other])


def test_a_declaration_leads_to_what_bears_the_name() -> None:
    """A table that leads elsewhere is not believed."""
    names = StableNames([StableName("acme:x/1", f"{__name__}:numbers")])
    with pytest.raises(CannotTellError, match="does not bear it"):
        find({"name": "acme:x/1"}, "01M", names=names)


def test_another_source_was_another_function() -> None:
    """An earlier path is known with its digest; with another it is left as it is."""
    names = StableNames([StableName("a:x/1", "a:b", {"old:x": "sha256:1"})])
    known: dict[str, object] = {"import": "old:x", "source": "sha256:1", "settings": {}}
    assert names.now(known) == {"name": "a:x/1", "settings": {}}
    assert names.before(names.now([known])) == [known]
    other = {**known, "source": "sha256:2"}
    assert names.now(other) == other


def test_what_is_in_the_box_bears_what_it_declares() -> None:
    """Every declared name leads to what has it, and to nothing else."""
    declared = Plugins(["capsule", "executors", "harness", "providers"]).names.declared
    assert {one.name for one in declared} == {
        "muniment:experiment/1",
        "muniment:meets-claim/1",
        "muniment:meets-claim/2",
        "muniment:metamorphic/1",
        "muniment:recorded-program/1",
    }
    for one in declared:
        assert name_of(one.load()) == one.name


def run(kept: Kept, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run ``muniment`` beside the ledger."""
    return subprocess.run(
        [MUNIMENT, *arguments],
        cwd=kept.path.parent.parent,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", PATHS)
def test_ledgers_with_import_paths_verify_and_are_listed(
    name: str, tmp_path: Path
) -> None:
    """Nothing is wrong with them, and their runs have their ends."""
    kept = with_paths(name, tmp_path)
    report = verify(kept.path, keys=[kept.root])
    assert (report.integrity, report.exit_code) == ("intact", 0), str(report)
    assert report.size == int(kept.facts["size"])
    listed = run(kept, "runs", "list", "--json")
    assert kept.facts["completed"] in listed.stdout, listed.stderr
    assert kept.facts["interrupted"] in listed.stdout


@pytest.mark.parametrize("given", [True, False])
def test_experiments_with_import_paths_replay(given: bool, tmp_path: Path) -> None:
    """With the program that is given, and with the one that the events say."""
    kept, programs = with_paths("experiment", tmp_path), path_programs()
    program = programs.robust().program if given else None
    with muniment.open(kept.path) as ledger:
        report = muniment.replay(ledger, kept.facts["completed"], program=program)
    assert report.verdict == "acceptable", report


@pytest.mark.parametrize("how", ["given", "rebuilt", "experiment"])
def test_experiments_with_import_paths_resume(how: str, tmp_path: Path) -> None:
    """What was cut off goes on under the names it began with, and holds."""
    kept, programs = with_paths("experiment", tmp_path), path_programs()
    cut, experiment = kept.facts["interrupted"], programs.robust("cut")
    with muniment.open(kept.path) as ledger:
        if how == "experiment":
            result = experiment.run(replicates=5, strategy="resume", ledger=ledger)
            assert result.run_id == cut
        else:
            program = experiment.program if how == "given" else None
            assert ledger.resume(cut, program).status == "completed"
        said = {
            str(one.data["verifier"])
            for one in ledger.events(run=cut, type="verdict.reached")
        }
        assert said == {
            "muniment_plugins.harness.verifiers:judge_properties",
            "muniment_plugins.harness.judgement:judge_acceptance",
        }
        assert muniment.replay(ledger, cut).verdict == "acceptable"
    assert verify(kept.path).exit_code == 0


def test_what_completed_under_import_paths_is_found_again(tmp_path: Path) -> None:
    """Who resumes it gets the run that completed, and nothing is asked."""
    kept, programs = with_paths("experiment", tmp_path), path_programs()
    with muniment.open(kept.path) as ledger:
        result = programs.robust().run(replicates=5, strategy="resume", ledger=ledger)
    assert result.run_id == kept.facts["completed"]


def test_a_registration_by_import_paths_still_binds(tmp_path: Path) -> None:
    """What is run under names is held against it, and is the same."""
    kept, programs = with_paths("experiment", tmp_path), path_programs()
    with muniment.open(kept.path) as ledger:
        result = programs.robust().run(replicates=5, ledger=ledger)
        found = {
            one.data["integrity"]
            for one in ledger.events(run=result.run_id, type="verdict.reached")
        }
    assert found == {"valid"}


def test_recorded_programs_with_import_paths_replay_and_resume(tmp_path: Path) -> None:
    """The program gets the answers that it got; one that was killed comes to its end."""
    kept = with_paths("recorded", tmp_path)
    base, command = kept.facts["base"], ("--", "python3", "agent.py")
    replayed = run(kept, "replay", kept.facts["completed"], *command, BASE=base)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    explained = run(kept, "runs", "explain", kept.facts["interrupted"])
    assert "-- python3 agent.py" in explained.stdout, explained.stderr
    resumed = run(kept, "resume", kept.facts["interrupted"], *command, BASE=base)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert verify(kept.path).exit_code == 0


MOVED = {
    "harness/statistics/first_acceptance": "harness/statistics/claims_then",
    "harness/statistics/judgement": "harness/statistics/claims_now",
    "harness/experiment/program": "harness/experiment/experiment_program",
    "harness/statistics/verifiers": "harness/statistics/who_judges",
    "providers/recorder/program": "providers/recorder/command",
}
"""Where everything goes that has a stable name."""

KINDS = ("refusals", "experiment", "resumed", "recorded")
CHANGED = ("def judge_properties(", "def judge_claim(", "def judge_acceptance(")

REPLAY = """
import importlib.util, os, sys
import muniment, muniment_plugins
from editions import first_edition, first_refusals, path_programs, with_paths
from muniment.plugins import Plugins
from muniment.programs.functions import source_digest
from pathlib import Path

place, copy = map(Path, sys.argv[1:])
assert Path(muniment_plugins.__file__).is_relative_to(copy), muniment_plugins.__file__
for gone in sys.stdin.read().split():
    assert importlib.util.find_spec(f"muniment_plugins.{gone}") is None, gone

for one in Plugins().names.declared:
    assert source_digest(one.load()) not in one.formerly.values(), one

def replayed(kept, run, program=None):
    with muniment.open(kept.path) as ledger:
        return muniment.replay(ledger, kept.facts[run], program).verdict

first, paths = first_edition("refusals", place), with_paths("experiment", place)
for program in (None, first_refusals().repaired().program):
    print("refusals", replayed(first, "completed", program))
for program in (None, path_programs().robust().program):
    print("experiment", replayed(paths, "completed", program))
with muniment.open(paths.path) as ledger:
    print("resumed", ledger.resume(paths.facts["interrupted"]).status)
for kept in (first_edition("recorded", place), with_paths("recorded", place)):
    os.environ["BASE"] = kept.facts["base"]
    os.chdir(kept.path.parent.parent)
    with muniment.open(kept.path) as ledger:
        run = kept.facts["completed"]
        asked = ledger.plugins.ask("rebuild_program", ledger=ledger, run=run, trust_source=False)
        program = next(one for _, one in asked if one is not None)
        command = program.commanded([sys.executable, "agent.py"], None)
        print("recorded", muniment.replay(ledger, run, command).verdict)
"""


def moved(place: Path) -> Path:
    """Copy the plugins to *place*, with their modules elsewhere and their texts changed."""
    copy = place / "moved"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "plugins", copy, ignore=ignored)
    home = copy / "muniment_plugins"
    for before, after in MOVED.items():
        (home / f"{before}.py").rename(home / f"{after}.py")
    for file in home.rglob("*.py"):
        text = file.read_text()
        for before, after in MOVED.items():
            old, new = before.replace("/", "."), after.replace("/", ".")
            plugin, _, inside = old.partition(".")
            there = new.partition(".")[2]
            text = re.sub(rf"(from muniment_plugins\.){old}\b", rf"\g<1>{new}", text)
            if home / plugin in file.parents:
                text = text.replace(f'": ".{inside}"', f'": ".{there}"')
                text = text.replace(f"_HERE}}.{inside}:", f"_HERE}}.{there}:")
        for one in CHANGED:
            text = text.replace(one, f"{one}  # as before, in other words\n    ")
        file.write_text(text)
    return copy


def test_what_moved_and_changed_its_text_replays(tmp_path: Path) -> None:
    """Old ledgers replay where no module stands where it stood, and no text is the same."""
    copy = moved(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", REPLAY, str(tmp_path), str(copy)],
        input=" ".join(one.replace("/", ".") for one in MOVED),
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(copy), helpers()]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.split()[0] in KINDS]
    assert told == [
        *["refusals acceptable"] * 2,
        *["experiment acceptable"] * 2,
        "resumed completed",
        *["recorded acceptable"] * 2,
    ]
