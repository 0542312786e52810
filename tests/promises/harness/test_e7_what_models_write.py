"""What models write every day runs, is recorded as allowed, and replays as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import everyday_models as models
import muniment
from first_hour import begin
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import (
    BoundedExecutionError,
    Case,
    Claim,
    Experiment,
    HarnessRefused,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.case import Step
from muniment_plugins.harness.experiment.editions import before_syntax
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder
from muniment_plugins.harness.steps.prompts import about_code

MUNIMENT = str(Path(sys.executable).with_name("muniment"))
PERM = {"name": "perm", "transform": "permute_rows", "metric": "total"}
NARROW = Spec(properties=[PERM], syntax="narrow")
WIDE = Spec(properties=[PERM])
UNSAID = {"properties": [PERM]}
"""What a person or a model writes who says nothing of syntax."""


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give the test a fresh ledger."""
    with Ledger.create(tmp_path / "ledger.db") as made:
        yield made


def plan(
    spec: Step | None = None, code: str = models.ANSWERS["try"]
) -> ExperimentBuilder:
    """Return an experiment with code that no narrow spec lets through."""
    return (
        Experiment.builder("everyday")
        .datasource(models.rows)
        .add_step(specify_claim(claim=Claim("c", "A sum ignores the order")))
        .add_step(spec or generate_spec(spec=WIDE))
        .add_step(bounded_synthesis(code=code))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(permutations=2))
    )


@pytest.mark.parametrize("value", ["broad", "", None, ["wide"], True])
def test_a_syntax_that_is_none_is_refused(value: Any) -> None:
    """Whoever misspells it is told at once what there is."""
    with pytest.raises(HarnessRefused, match=r"Spec\.syntax.*known: narrow, wide"):
        Spec(syntax=value)


def test_it_is_part_of_the_bounds() -> None:
    """Two specs that allow different code are two, and the capsule is told."""
    assert Spec().syntax == "wide"
    assert Spec() != NARROW
    assert Spec().digest != Spec(syntax="narrow").digest
    assert Spec().bounds["syntax"] == Spec().to_json()["syntax"] == "wide"


def test_a_narrow_spec_is_recorded_as_it_always_was() -> None:
    """A spec without the member was narrow: its record, and its digest, stay."""
    narrow = Spec(syntax="narrow")
    members = {"allowed_imports", "properties", "contracts", "resources"}
    assert narrow.to_json().keys() == members
    assert narrow.bounds.keys() == {"allowed_imports", "resources"}
    assert Spec.recorded(narrow.to_json()) == narrow
    assert Spec.recorded(Spec().to_json()) == Spec()


@pytest.mark.parametrize("code", models.ANSWERS.values(), ids=models.ANSWERS)
def test_a_narrow_spec_names_the_way_out(code: str) -> None:
    """Who holds code to less is told how to allow more, and what to write instead."""
    case = generate_spec(spec=Spec(["numpy"], syntax="narrow"))(
        specify_claim(claim=Claim("c", "t"))(Case([1, 2]))
    )
    with pytest.raises(BoundedExecutionError, match="Forbidden syntax") as caught:
        bounded_synthesis(code=code)(case)
    instead, _, way = caught.value.remedy.partition("; ")
    assert instead
    assert way == 'or allow it by syntax="wide", of the spec or the policy'


def test_the_prompt_says_what_is_allowed() -> None:
    """A model is told of wide syntax; of narrow in the words of every earlier version."""

    def told(spec: Spec) -> str:
        case = Case([1], claim=Claim("c", "t"), spec=spec)
        return about_code(case, "fit_and_eval")[0]["content"]

    assert "try, with, global, nonlocal and class are allowed" in told(Spec())
    assert (
        "It uses no eval, exec, open or __import__, no names with leading underscores, "
        "no global, nonlocal, with, try, class or async.\n"
    ) in told(Spec(syntax="narrow"))


@pytest.mark.parametrize("executor", ["serial", "threads", "processes", "dask"])
def test_every_executor_passes_it_on(ledger: Ledger, executor: str) -> None:
    """Whoever runs it, the code runs under a wide spec and is refused under a narrow."""
    built = plan().treatment("held", {"spec": NARROW}).build()
    result = built.run(replicates=2, executor=executor, ledger=ledger)
    assert result.metrics.baseline.metrics["total"] == [6, 6]
    assert result.metrics.baseline.metrics["perm_pass"] == [True, True]
    assert [one.place for one in result.errors] == [
        f"held, replicate {number}, bounded_synthesis" for number in (0, 1)
    ]
    assert replay(ledger, result.run_id).verdict == "acceptable"


def _answering(answer: object) -> Callable[..., object]:
    return lambda *_: answer


GIVEN: dict[str, tuple[Callable[[], ExperimentBuilder], str]] = {
    "a spec": (lambda: plan(generate_spec(spec=NARROW)), "narrow"),
    "members": (lambda: plan(generate_spec(spec=UNSAID)), "wide"),
    "a model's spec": (
        lambda: plan(generate_spec(llm=_answering(NARROW))),
        "narrow",
    ),
    "a model's members": (lambda: plan(generate_spec(llm=_answering(UNSAID))), "wide"),
    "a model's text": (
        lambda: plan(generate_spec(llm=_answering(json.dumps(UNSAID)))),
        "wide",
    ),
    "a model's narrow text": (
        lambda: plan(
            generate_spec(llm=_answering(json.dumps({**UNSAID, "syntax": "narrow"})))
        ),
        "narrow",
    ),
    "the context's spec": (lambda: plan().initial_ctx({"spec": NARROW}), "narrow"),
    "the context's members": (lambda: plan().initial_ctx({"spec": UNSAID}), "wide"),
}


@pytest.mark.parametrize("given", GIVEN)
def test_whoever_gives_it(ledger: Ledger, given: str) -> None:
    """Given as object, members or text, by whomever: it holds, and holds in a replay."""
    make, syntax = GIVEN[given]
    built = make().build()
    result = built.run(ledger=ledger)
    (issued,) = ledger.events(run=result.run_id, type="spec.issued")
    assert issued.data.get("syntax", "narrow") == syntax
    assert result.ok is (syntax == "wide")
    for program in (None, built.program):
        assert replay(ledger, result.run_id, program=program).verdict == "acceptable"


CHANGED: dict[str, tuple[object, str]] = {
    "a spec": ({"spec": NARROW}, "narrow"),
    "members": ({"spec": UNSAID}, "wide"),
    "a function's spec": (lambda _: {"spec": NARROW}, "narrow"),
    "a function's members": (lambda _: {"spec": UNSAID}, "wide"),
}


@pytest.mark.parametrize("changes", CHANGED)
def test_a_treatment_changes_it(ledger: Ledger, changes: str) -> None:
    """One condition may be narrow and another wide; the record says which."""
    given, syntax = CHANGED[changes]
    result = plan().treatment("other", given).build().run(ledger=ledger)  # type: ignore[arg-type] # both kinds
    assert bool(result.errors) is (syntax == "narrow")
    assert replay(ledger, result.run_id).verdict == "acceptable"


def test_a_run_from_before_is_found_again(ledger: Ledger) -> None:
    """A plan whose spec names no syntax, as all once did, is resumed and not run anew."""
    built = plan(code=models.ANSWERS["try"]).build()
    earlier = replace(built, program=before_syntax(built.program))
    refused = earlier.run(ledger=ledger)
    assert not refused.ok
    assert built.run(strategy="resume", ledger=ledger).run_id == refused.run_id


FORGIVING = """
from muniment_plugins.harness import pipeline_step, verifier

@verifier
def judge(before, now):
    try:
        return {"passed": before["none such"] is not None}
    except KeyError:
        return {"passed": True}
"""


def test_recorded_source_may_use_it(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verifier whose module is gone runs again from its source, ``try`` and all."""
    (tmp_path / "forgiving.py").write_text(FORGIVING)
    monkeypatch.syspath_prepend(str(tmp_path))
    import forgiving  # type: ignore[import-not-found] # noqa: PLC0415 - made above

    built = plan().hypothesis("h", verifier=forgiving.judge).build()
    result = built.run(ledger=ledger)
    assert result.ok, result.errors
    sys.modules.pop("forgiving")
    (tmp_path / "forgiving.py").unlink()
    assert replay(ledger, result.run_id).verdict == "acceptable"


def shell(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``muniment`` in *place*, a process of its own."""
    return subprocess.run(
        [MUNIMENT, *arguments], cwd=place, capture_output=True, text=True, check=False
    )


def test_a_model_that_writes_as_ever_reaches_a_verdict(tmp_path: Path) -> None:
    """Code with ``try``, ``with np.errstate`` and ``global`` passes at the first attempt.

    It is judged, and replays acceptable in another process, all by the command line.
    """
    source = Path(models.__file__)
    (tmp_path / source.name).write_text(source.read_text())
    begin(tmp_path)
    ran = shell(tmp_path, "run", f"{source.name}:experiment", "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told: Mapping[str, Any] = json.loads(ran.stdout)
    verdicts = {(one["condition"], one["passed"]) for one in told["hypotheses"]}
    assert verdicts == {("baseline", True), *((name, True) for name in models.TREATED)}
    with muniment.open(tmp_path / ".muniment" / "ledger.db", readonly=True) as kept:
        tried = [one.data for one in kept.events(type="synthesis.attempted")]
    assert [(one["accepted"], one["attempt"]) for one in tried] == [(True, 1)] * 3
    replayed = shell(tmp_path, "replay", told["run"])
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "acceptable" in replayed.stdout
