"""Models are asked, asked again, and whatever they say is evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess
from muniment.encoding.canonical import sha256_tag
from muniment.errors import UsageError
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
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
    metamorphic,
    run_metamorphic_tests,
    specify_claim,
)

PERM = {"name": "perm", "transform": "permute_rows", "metric": "total"}
FORBIDDEN = "import os\ndef fit_and_eval(data): return {'total': 1}"
WRONG = "def fit_and_eval(data): return {'total': data[0]}"
BROKEN = "def fit_and_eval(data): return {'total': 1 / 0}"
RIGHT = "def fit_and_eval(data): return {'total': sum(data)}"


class Models:
    """Answers *complete this prompt* with one answer after the other."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.requests: list[Mapping[str, Any]] = []

    @hookimpl
    def complete_prompt(self, request: Mapping[str, Any]) -> object:
        """Answer for the provider *fake*."""
        if not request["model"].startswith("fake:"):
            return None
        self.requests.append(request)
        usage = {"input_tokens": 3, "output_tokens": 4}
        return {"text": self.answers.pop(0), "model": "fake-1-0", "usage": usage}


@pytest.fixture
def models() -> Models:
    """Give the test models whose answers it sets."""
    return Models()


@pytest.fixture
def ledger(tmp_path: Path, models: Models) -> Iterator[Ledger]:
    """Give the test a ledger with the harness, a capsule in this process, and models."""
    extra = {"in-process": InProcess(), "models": models}
    plugins = Plugins(["harness"], extra)
    with Ledger.create(tmp_path / "ledger.db", plugins=plugins) as made:
        yield made


def experiment(spec: object = None, **synthesis: Any) -> Experiment:
    """Return an experiment whose code comes as *synthesis* says."""
    issued = generate_spec(spec=Spec(properties=[PERM])) if spec is None else spec
    return (
        Experiment.builder()
        .datasource(lambda _: [1, 2, 3])
        .add_step(specify_claim(claim=Claim("c", "The sum", {"min_value": 1})))
        .add_step(issued)  # type: ignore[arg-type]
        .add_step(bounded_synthesis(**synthesis))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(permutations=2))
        .hypothesis("metamorphic", verifier=metamorphic)
        .build()
    )


def answering(*answers: str) -> tuple[Callable[..., str], list[Any]]:
    """Return a model that gives one answer after the other, and what it was told."""
    left, seen = list(answers), list[Any]()

    def model(claim: Claim, spec: Spec, ctx: Mapping[str, Any]) -> str:
        assert (claim.id, spec.properties[0]["name"]) == ("c", "perm")
        seen.append(ctx["feedback"])
        return left.pop(0)

    return model, seen


def attempts_of(ledger: Ledger, run: str) -> list[tuple[object, object]]:
    """Return number and acceptance of every attempt at code."""
    events = ledger.events(run=run, type="synthesis.attempted")
    return [(event.data["attempt"], event.data["accepted"]) for event in events]


def test_a_model_repairs_what_was_refused(ledger: Ledger) -> None:
    """Refusal, exception and refuted property go back to it; each attempt is a fact."""
    model, seen = answering(FORBIDDEN, BROKEN, WRONG, RIGHT)
    result = experiment(llm=model, attempts=4).run(ledger=ledger)
    assert result.ok
    assert result.metrics.baseline.metrics == {"total": [6], "perm_pass": [True]}
    assert attempts_of(ledger, result.run_id) == [
        (1, False),
        (2, True),
        (3, True),
        (4, True),
    ]
    assert seen[0] is None
    assert [one["rule"] for one in seen[1:]] == [
        "capsule/import",
        "capsule/exception",
        "harness/property",
    ]
    assert [one["code"] for one in seen[1:]] == [FORBIDDEN, BROKEN, WRONG]
    assert seen[1]["line"] == 1
    assert "perm does not hold" in seen[3]["message"]
    assert replay(ledger, result.run_id).verdict == "acceptable"


def test_the_last_attempt_stands(ledger: Ledger) -> None:
    """Without attempts left a refuted property is measured, a refusal is the failure."""
    model, _ = answering(WRONG, WRONG)
    refuted = experiment(llm=model, attempts=2).run(ledger=ledger)
    assert refuted.metrics.baseline.metrics["perm_pass"] == [False]
    model, _ = answering(FORBIDDEN, FORBIDDEN)
    refused = experiment(llm=model, attempts=2).run(ledger=ledger)
    (failure,) = refused.errors
    assert failure.rule == "capsule/import"
    assert attempts_of(ledger, refused.run_id) == [(1, False), (2, False)]
    codes = [
        ledger.resolve(event)["code"]
        for event in ledger.events(run=refused.run_id, type="synthesis.attempted")
    ]
    assert codes == [FORBIDDEN, FORBIDDEN]


def test_somebody_else_may_repair(ledger: Ledger) -> None:
    """Given code is tried first; the repairer gets what was wrong with it."""
    repairer, seen = answering(RIGHT)
    built = experiment(code=FORBIDDEN, attempts=2, repair=repairer)
    result = built.run(ledger=ledger)
    assert result.ok
    assert seen[0]["code"] == FORBIDDEN
    events = list(ledger.events(run=result.run_id, type="synthesis.attempted"))
    assert [event.data["origin"] for event in events] == ["code", "repair"]


def test_a_provider_is_asked_by_name(ledger: Ledger, models: Models) -> None:
    """Claim, bounds and feedback go to the plugin; its answer is recorded as it is."""
    models.answers = [
        f"Here:\n```python\n{FORBIDDEN}\n```",
        f"```\n{RIGHT}\n```\nThat is it.",
    ]
    result = experiment(llm="fake:one", attempts=2).run(ledger=ledger)
    assert result.ok
    first, second = (one["messages"] for one in models.requests)
    assert [one["role"] for one in first] == ["system", "user"]
    assert "The sum" in first[1]["content"]
    assert "fit_and_eval" in first[0]["content"]
    assert FORBIDDEN in second[2]["content"]
    assert "in line 1: Import not allowed: os" in second[3]["content"]
    answers = list(ledger.events(run=result.run_id, type="llm.completed"))
    value = ledger.resolve(answers[0])["value"]
    assert isinstance(value, dict)
    assert value["model"] == "fake-1-0"
    assert value["digest"] == sha256_tag(value["text"].encode())
    assert answers[0].data["about"] == {
        "model": "fake-1-0",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    assert replay(ledger, result.run_id).verdict == "acceptable"
    assert len(models.requests) == 2


def test_a_provider_that_is_not_there_fails_the_effect(ledger: Ledger) -> None:
    """Nobody answers for it: the call failed, which a resume performs again."""
    result = experiment(llm="other:one").run(ledger=ledger)
    (failure,) = result.errors
    assert failure.place == "baseline, replicate 0, bounded_synthesis"
    assert "other:one: no provider answers for this model" in failure.message


def test_a_name_without_a_model_is_refused() -> None:
    """What names no model is refused when the step is made."""
    with pytest.raises(HarnessRefused, match=r"names no model.*provider:model"):
        bounded_synthesis(llm="gpt-4o")


def test_a_model_proposes_the_spec(ledger: Ledger, models: Models) -> None:
    """A callable returns a Spec or its members, a provider their JSON."""
    members = {"allowed_imports": ["math"], "properties": [PERM]}
    told: dict[str, object] = {"llm_call": {}}
    proposers: list[Callable[..., object]] = [
        lambda *_: Spec.of(members),
        lambda *_: (members, told),
    ]
    for llm in proposers:
        proposed = generate_spec(llm=llm)
        result = experiment(proposed, code=RIGHT).run(ledger=ledger)
        (issued,) = ledger.events(run=result.run_id, type="spec.issued")
        assert issued.data["allowed_imports"] == ["math"]
        assert replay(ledger, result.run_id).verdict == "acceptable"
    text = '{"properties": [{"name": "perm", "transform": "permute_rows"}]}'
    models.answers = [f"```json\n{text}\n```"]
    result = experiment(generate_spec(llm="fake:one"), code=RIGHT).run(ledger=ledger)
    assert result.ok


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"allowed_import": ["os"]}, "allowed_import means nothing here"),
        ({"allowed_imports": "math"}, "is not a list"),
        ("no JSON at all", "proposed no spec"),
    ],
)
def test_a_refused_spec_leaves_evidence(
    ledger: Ledger, answer: object, message: str
) -> None:
    """What a model proposed in vain stands in the record, with the rule."""
    proposed = generate_spec(llm=lambda *_: answer)
    result = experiment(proposed, code=RIGHT).run(ledger=ledger)
    assert result.exit_code == 1
    (failure,) = result.errors
    assert message in failure.message
    asked = list(ledger.events(run=result.run_id, type="llm.completed"))
    assert len(asked) == 1
    refused = list(ledger.events(run=result.run_id, type="spec.refused"))
    if isinstance(answer, dict):
        assert ledger.resolve(refused[0])["spec"] == answer


def test_a_failing_call_leaves_evidence(ledger: Ledger) -> None:
    """A model that raises is ``llm.failed``, and a resume asks it again."""
    answers: list[object] = [ConnectionError("no route"), RIGHT]

    def model(*_: object) -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    built = experiment(llm=model)
    failed = built.run(ledger=ledger)
    assert failed.exit_code == 1
    assert str(failed.errors[0]) == (
        "baseline, replicate 0, bounded_synthesis: ConnectionError: no route "
        "[effect/llm]"
    )
    (event,) = ledger.events(run=failed.run_id, type="llm.failed")
    assert event.data["error_type"] == "ConnectionError"
    resumed = built.run(strategy="resume", ledger=ledger)
    assert (resumed.run_id, resumed.ok) == (failed.run_id, True)


def test_attempts_by_hand() -> None:
    """The step alone asks again after refusals, and raises the last one."""
    case = generate_spec(spec=Spec())(specify_claim(claim=Claim("c", "t"))(Case()))
    told: list[Any] = []

    def model(_: Claim, __: Spec, ctx: Mapping[str, Any]) -> str:
        told.append(ctx["feedback"])
        return FORBIDDEN if len(told) == 1 else RIGHT

    assert bounded_synthesis(llm=model, attempts=2)(case).code == RIGHT
    assert told[1]["message"] == "Import not allowed: os"
    with pytest.raises(BoundedExecutionError, match="Import not allowed"):
        bounded_synthesis(llm=lambda *_: FORBIDDEN, attempts=2)(case)


def test_attempts_that_nobody_can_make_are_refused() -> None:
    """More than one attempt needs somebody to ask, and none is not a number."""
    with pytest.raises(UsageError, match="nobody can be asked again"):
        bounded_synthesis(code=RIGHT, attempts=2)
    with pytest.raises(UsageError, match="0 attempts are none"):
        bounded_synthesis(llm=lambda *_: RIGHT, attempts=0)
    with pytest.raises(UsageError, match="either a spec or an llm"):
        generate_spec()
