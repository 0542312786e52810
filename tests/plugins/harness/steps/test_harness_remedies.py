"""A model is told what to write instead, and a replay tells it in the record's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    Claim,
    Experiment,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    specify_claim,
)

FORBIDDEN = "import os\ndef fit_and_eval(data): return {'total': 1}"
BROKEN = "def fit_and_eval(data): return {'total': 1 / 0}"
RIGHT = "def fit_and_eval(data): return {'total': sum(data)}"
TOLD: list[Mapping[str, Any] | None] = []


class Prompted:
    """A provider that answers one program after the other, and keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @hookimpl
    def complete_prompt(self, request: Mapping[str, Any]) -> object:
        """Answer for the provider *fake*."""
        self.asked.append(request["messages"][-1]["content"])
        code = (FORBIDDEN, BROKEN, RIGHT)[len(self.asked) - 1]
        return {"text": f"```python\n{code}\n```"}


@pytest.fixture
def capsule() -> InProcess:
    """Give the test a capsule that refuses with a remedy."""
    made = InProcess()
    made.remedy = "add it to allowed_imports"
    return made


@pytest.fixture
def prompted() -> Prompted:
    """Give the test the provider."""
    return Prompted()


@pytest.fixture
def ledger(tmp_path: Path, capsule: InProcess, prompted: Prompted) -> Iterator[Ledger]:
    """Give the test a ledger with both."""
    extra = {"in-process": capsule, "prompted": prompted}
    plugins = Plugins(["harness"], extra)
    with Ledger.create(tmp_path / "ledger.db", plugins=plugins) as made:
        yield made


def told(_claim: Claim, _spec: Spec, ctx: Mapping[str, Any]) -> str:
    """Keep the feedback, and answer one program after the other."""
    TOLD.append(ctx["feedback"])
    return (FORBIDDEN, BROKEN, RIGHT)[ctx["attempt"] - 1]


def experiment(step: Any) -> Experiment:
    """Return an experiment that takes the third answer."""
    return (
        Experiment.builder("remedies")
        .datasource(lambda _: [1, 2, 3])
        .add_step(specify_claim(claim=Claim("c", "The sum", {"min_value": 1})))
        .add_step(generate_spec(spec=Spec()))
        .add_step(step)
        .add_step(execute_capsule())
        .build()
    )


def test_a_model_is_told_what_to_write_instead(ledger: Ledger) -> None:
    """Code that is refused, and code that broke, go back with their remedy."""
    TOLD.clear()
    result = experiment(bounded_synthesis(llm=told, attempts=3)).run(ledger=ledger)
    assert result.ok
    remedy = "add it to allowed_imports"
    assert [one and one["remedy"] for one in TOLD] == [None, remedy, remedy]
    attempts = ledger.events(run=result.run_id, type="synthesis.attempted")
    assert [one.raw.get("remedy") for one in attempts] == [remedy, None, None]


def test_a_provider_reads_it_in_the_prompt(ledger: Ledger, prompted: Prompted) -> None:
    """Whoever is asked by messages finds it behind what was wrong."""
    asked = bounded_synthesis(llm="fake:one", attempts=3)
    assert experiment(asked).run(ledger=ledger).ok
    assert all("Remedy: add it to" in one for one in prompted.asked[1:])
    assert "Remedy" not in prompted.asked[0]


def test_without_a_remedy_nothing_is_said_of_one(
    ledger: Ledger, capsule: InProcess, prompted: Prompted
) -> None:
    """What has no remedy is told as it always was."""
    capsule.remedy = ""
    asked = bounded_synthesis(llm="fake:one", attempts=3)
    assert experiment(asked).run(ledger=ledger).ok
    assert not any("Remedy" in one for one in prompted.asked)


@pytest.mark.parametrize("llm", [told, "fake:one"], ids=["callable", "provider"])
def test_a_version_with_better_words_replays_the_same(
    ledger: Ledger, capsule: InProcess, llm: Any
) -> None:
    """The model is asked in the words of the record, by whichever version replays."""
    built = experiment(bounded_synthesis(llm=llm, attempts=3))
    result = built.run(ledger=ledger)
    for remedy in ("in better words", "", "add it to allowed_imports"):
        capsule.remedy = remedy
        for program in (None, built.program):
            report = replay(ledger, result.run_id, program)
            assert (report.verdict, report.findings) == ("acceptable", ())


def test_a_record_of_before_replays_without_remedies(ledger: Ledger) -> None:
    """Models were not told of remedies once; a replay of such a record asks as they were."""
    step = replace(bounded_synthesis(llm=told, attempts=3), remedies=False)
    built = experiment(step)
    assert not any("remedies" in one for one in built.program.pipeline.describe())  # type: ignore[operator] # dicts
    TOLD.clear()
    result = built.run(ledger=ledger)
    assert all(one is None or "remedy" not in one for one in TOLD)
    today = experiment(bounded_synthesis(llm=told, attempts=3)).program
    for program in (None, today):
        report = replay(ledger, result.run_id, program)
        assert (report.verdict, report.findings) == ("acceptable", ())
