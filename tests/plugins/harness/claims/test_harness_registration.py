"""What is going to be run is stated before, and a verdict says if that held."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess, harness_ledger
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.capsule import policy
from muniment_plugins.harness import (
    Case,
    Experiment,
    metamorphic,
)
from muniment_plugins.harness.preregistration.integrity import integrity_of
from muniment_plugins.harness.steps.weakest_isolation import LEVELS, weakest
from small_experiment import small

CODE = "def fit_and_eval(data): return {'total': sum(data), 'n': len(data)}"
OTHER = CODE + "  # differently"

pytestmark = pytest.mark.in_process


def drawn(ctx: Mapping[str, Any]) -> list[int]:
    """Return rows that differ for every seed."""
    return [ctx["seed"], 2, 3]


def same(_: object) -> list[int]:
    """Return always the same rows."""
    return [1, 2, 3]


def experiment(code: str = CODE, source: Any = drawn, name: str = "sum") -> Experiment:
    """Return an experiment under a name."""
    return (
        Experiment.builder(name)
        .datasource(source)
        .pipeline(small(code=code))
        .hypothesis("metamorphic", verifier=metamorphic)
        .build()
    )


def status(ledger: Ledger, run: str) -> str:
    """Return what the verdict of *run* says, which its events say again."""
    (verdict,) = ledger.events(run=run, type="verdict.reached")
    said = str(verdict.data["integrity"])
    assert integrity_of(ledger, list(ledger.events(run=run))).status == said
    return said


def test_a_run_registers_itself_first(ledger: Ledger) -> None:
    """Claim, spec, hypotheses, code and replicates are stated before any replicate."""
    result = experiment().run(replicates=2, ledger=ledger)
    events = list(ledger.events(run=result.run_id))
    assert [one.type for one in events[:3]] == [
        "run.started",
        "experiment.registered",
        "replicate.started",
    ]
    said = ledger.resolve(events[1])
    assert (said["experiment"], said["replicates"]) == ("sum", 2)
    assert said["claims"] == [{"id": "c", "text": "A claim", "acceptance": {}}]
    assert said["conditions"] == ["baseline"]
    assert [one["name"] for one in said["hypotheses"]] == ["metamorphic"]  # type: ignore[attr-defined]
    assert status(ledger, result.run_id) == "valid"
    assert str(result.integrity) == "valid"


def test_a_repetition_is_valid(ledger: Ledger) -> None:
    """The same plan on the same data is not a new look; digests stay equal."""
    first = experiment(source=same).run(ledger=ledger)
    second = experiment(source=same).run(ledger=ledger)
    assert status(ledger, second.run_id) == "valid"
    assert first.result_digest == second.result_digest


def test_other_code_than_was_registered(ledger: Ledger) -> None:
    """A registration apart from any run binds the runs of its name."""
    event = experiment().register(replicates=1, ledger=ledger)
    assert (event.run, event.type) == (None, "experiment.registered")
    assert status(ledger, experiment().run(ledger=ledger).run_id) == "valid"
    result = experiment(OTHER).run(ledger=ledger)
    assert status(ledger, result.run_id) == "changed_code"
    assert "not what was registered: code" in str(result.integrity)
    other = experiment(OTHER, name="another").run(ledger=ledger)
    assert status(ledger, other.run_id) != "changed_code"


def test_more_replicates_than_were_registered(ledger: Ledger) -> None:
    """To go on measuring until it fits shows."""
    experiment().register(replicates=2, ledger=ledger)
    assert status(ledger, experiment().run(replicates=2, ledger=ledger).run_id) == (
        "valid"
    )
    more = experiment().run(replicates=3, ledger=ledger)
    assert status(ledger, more.run_id) == "extra_replicates"
    assert "3 replicates ran, 2 were registered" in str(more.integrity)


def test_another_number_of_replicates_after_a_look(ledger: Ledger) -> None:
    """Without any registration apart, a second run with another number shows."""
    first = experiment().run(replicates=1, ledger=ledger)
    more = experiment().run(replicates=4, ledger=ledger)
    assert status(ledger, more.run_id) == "extra_replicates"
    assert f"run {first.run_id} had looked at it with 1" in str(more.integrity)


def test_data_that_another_plan_had_seen(ledger: Ledger) -> None:
    """Another plan for the same claim on the same data shows; on fresh data it is fine."""
    first = experiment(source=same).run(ledger=ledger)
    second = experiment(OTHER, source=same).run(ledger=ledger)
    assert status(ledger, second.run_id) == "reused_data"
    assert f"run {first.run_id} had seen this data" in str(second.integrity)
    fresh = experiment(OTHER, source=drawn).run(ledger=ledger)
    assert status(ledger, fresh.run_id) == "valid"


def test_steps_without_a_registration(ledger: Ledger) -> None:
    """A run that only calls the steps stated nothing before it executed."""
    built = experiment()

    def program(run: Any) -> object:
        return dict(built.program.pipeline(Case(data=[1, 2, 3]), run).metrics)

    done = ledger.execute(program)
    assert done.ok
    assert (
        integrity_of(ledger, list(ledger.events(run=done.run_id))).status
        == "no_registration"
    )


def test_the_status_is_no_part_of_the_result(ledger: Ledger) -> None:
    """A replay accepts a run whatever came before or after it."""
    first = experiment().run(ledger=ledger)
    more = experiment().run(replicates=2, ledger=ledger)
    assert more.integrity.status == "extra_replicates"
    for run in (first, more):
        report = replay(ledger, run.run_id)
        assert (report.verdict, report.result_digest) == (
            "acceptable",
            run.result_digest,
        )


class Held(InProcess):
    """Says of each execution at which level it was held, in turn."""

    def __init__(self, *levels: str) -> None:
        super().__init__()
        self.levels = cycle(levels)

    @hookimpl
    def execute_code(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Run it, and say the next level."""
        told = super().execute_code(request)
        return {**told, "level": next(self.levels)}


def test_the_weakest_level_stands_beside_a_verdict(tmp_path: Path) -> None:
    """One run of code that was held less decides, in event and result."""
    capsule = Held("os-strong", "os-strong", "os-partial")
    with harness_ledger(tmp_path / "ledger.db", capsule) as ledger:
        result = experiment().run(replicates=2, ledger=ledger)
        (verdict,) = ledger.events(run=result.run_id, type="verdict.reached")
        assert verdict.data["level"] == "os-partial"
        assert result.hypothesis("metamorphic").level == "os-partial"
        capsule.levels = cycle(["process"])  # a replay has other walls
        assert replay(ledger, result.run_id).verdict == "acceptable"


def test_levels_are_those_of_the_capsule() -> None:
    """The order is the capsule's; a word that nobody knows ranks below all."""
    assert LEVELS == policy.LEVELS
    assert weakest(["os-strong", None, "engine"]) == "engine"
    assert weakest(["os-strong", "unbreakable", "none"]) == "unbreakable"
    assert weakest([None]) is None
