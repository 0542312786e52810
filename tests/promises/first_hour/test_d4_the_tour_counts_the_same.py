"""The tour prints the same counts each time, and README shows what it prints.

How many children of an execution a machine holds alike, and which of them is done
first, is not a part of how long a record is: one fact measures one execution.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muniment
from first_hour import Newcomer
from in_process import InProcess, harness_ledger
from muniment.hookspecs import hookimpl
from muniment_cli.tour.demo import experiment
from muniment_plugins.harness.steps.weakest_isolation import LEVELS, held_by

README = Path(__file__).parents[3] / "README.md"
HASHES = re.compile(r"(?<![a-z])(?=\w*\d)[0-9a-f]{12}\b|\b[0-9A-Z]{13,26}\b")
KEYS = re.compile(r"SHA256:\S+|\d+\.\d+ s\b")


@pytest.mark.slow
def test_each_tour_prints_the_same(newcomer: Newcomer) -> None:
    """But for hashes, ids, keys, times and where it was taken, no word differs."""
    told: list[str] = []
    for place in ("one", "two"):
        said = newcomer.muniment("demo", place)
        assert said.code == 0, said.err
        plain = KEYS.sub("…", HASHES.sub("…", said.out))
        told.append(plain.replace(str(newcomer.folder / place), "DIR"))
    assert told[0] == told[1]
    assert re.search(r"compared  \d+ facts", told[0])


@pytest.mark.slow
def test_readme_shows_what_it_prints(newcomer: Newcomer) -> None:
    """Every line of the excerpt is printed, in its order, with its numbers."""
    (excerpt,) = re.findall(
        r"^```text\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL
    )
    shown = re.sub(r"sha256:[0-9a-f]{12}…", "sha256:…", excerpt)
    printed = newcomer.muniment("demo", "tour").out
    printed = re.sub(r"sha256:[0-9a-f]{12}…", "sha256:…", printed)
    first, second = shown.split("\n…\n")
    assert first in printed
    assert second in printed.partition(first)[2]
    assert len(re.findall(r"\d+", shown)) > 4


class Varying(InProcess):
    """Holds every third of its children alike."""

    @hookimpl
    def execute_code(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Run it, and say another limit each time."""
        told = super().execute_code(request)
        limits = {"as": self.executed % 3, "core": 0}
        return {**told, "layers": {"rlimits": limits}}


def test_an_execution_is_measured_once(tmp_path: Path) -> None:
    """Children that were held otherwise make no more facts, and all are named."""
    with harness_ledger(tmp_path / "ledger.db", Varying()) as ledger:
        run_id = experiment().run(replicates=3, ledger=ledger).run_id
        asked = list(ledger.events(run=run_id, type="execution.requested"))
        measured = list(ledger.events(run=run_id, type="execution.measured"))
        assert len(measured) == len(asked) == 6
        for event in measured:
            told: dict[str, Any] = ledger.resolve(event)
            assert (len(told["usage"]) > 1) == bool(told.get("others"))
        report = muniment.replay(ledger, run_id)
    assert report.verdict == "acceptable"


def test_what_is_not_compared_is_not_counted(tmp_path: Path) -> None:
    """A report counts what a replay held against the record, and nothing beside it."""
    with harness_ledger(tmp_path / "ledger.db", InProcess()) as ledger:
        run_id = experiment().run(replicates=3, ledger=ledger).run_id
        events = [
            one
            for one in ledger.events(run=run_id)
            if one.run and "@" not in str(one.scope)
        ]
        report = muniment.replay(ledger, run_id)
    effects = sum(one.type.endswith(".requested") for one in events)
    facts = len(events) - 2 * effects - 2  # without the run's own start and end
    assert report.compared == facts + effects


holding = st.fixed_dictionaries(
    {
        "level": st.sampled_from(LEVELS),
        "layers": st.dictionaries(
            st.sampled_from("abc"),
            st.integers(0, 2)
            | st.dictionaries(st.sampled_from("xy"), st.integers(0, 2)),
        ),
        "environment": st.dictionaries(st.sampled_from("abc"), st.integers(0, 2)),
    }
)


@given(st.lists(holding, min_size=1, max_size=6))
def test_nothing_that_held_a_child_is_lost(runs: list[dict[str, object]]) -> None:
    """What is said of an execution gives back what held each child, the weakest first."""
    told = held_by(runs)
    others = {one["run"]: one for one in told.get("others", [])}  # type: ignore[attr-defined]
    common = {name: told[name] for name in ("level", "layers", "environment")}
    for number, run in enumerate(runs):
        differing = {k: v for k, v in others.get(number, {}).items() if k != "run"}
        assert merged(common, differing) == run
    ranks = [LEVELS.index(str(run["level"])) for run in runs]
    assert LEVELS.index(str(told["level"])) == min(ranks)


def merged(common: object, differing: object) -> object:
    """Put *differing* members over those of *common*; None takes one away."""
    if not isinstance(common, dict) or not isinstance(differing, dict):
        return differing
    found = {**common}
    for name, value in differing.items():
        found[name] = merged(common.get(name), value)
    return {name: value for name, value in found.items() if value is not None}
