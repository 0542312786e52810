"""The step that brings code, and accepts none that leaves its bounds.

    synthesis.attempted {"accepted": false, "rule": "capsule/import", "line": 1, …}

Rules:

- Every attempt is a fact, the refused ones with their code, rule and line.
- While attempts are left, a model is asked again, and told what was wrong and what to
  write instead: after a refusal here, and in a pipeline after code failed or a property
  did not hold.
- A later version may word such a remedy differently: a replay asks in the words of the
  record, and without a remedy if the record has none.
- The plugin that answers ``check_code`` reads the code. A model that refused gave none:
  the attempt says so, in the model's words, and so does what is told next.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self, cast

from muniment.errors import RefusedError, UsageError
from muniment_plugins.harness.case import Case
from muniment_plugins.harness.functions.recorded_functions import NO_SOURCES, Sources
from muniment_plugins.harness.refusals import (
    BoundedExecutionError,
    HarnessRefused,
    ModelRefused,
)
from muniment_plugins.harness.requirements import refuse, require_name, require_text
from muniment_plugins.harness.steps.model_call import (
    Llm,
    Model,
    Provider,
    Question,
    ask,
    describe_model,
    model,
    recall_model,
)
from muniment_plugins.harness.steps.prompts import about_code, program_of
from muniment_plugins.harness.surroundings import Surroundings, here

__all__ = ["Synthesize", "bounded_synthesis", "given_code", "without_remedies"]

_WHERE_NOTHING = ("line", "column", "remedy")
"""Members of an error that are left out if they are empty."""


@dataclass(frozen=True, slots=True)
class Synthesize:
    """Takes code as it is given, or asks a model for it, several times if allowed."""

    name: ClassVar[str] = "bounded_synthesis"
    code: str | None = None
    llm: Model | None = None
    entrypoint: str | None = None
    attempts: int = 1
    repair: Model | None = None
    remedies: bool = True
    """Whether a model is told what to write instead of what was refused."""

    def __post_init__(self) -> None:
        require_name(self.entrypoint, f"{self.name}.entrypoint")
        if self.code is not None:
            require_text(self.code, f"{self.name}.code")
        if type(self.attempts) is not int or self.attempts < 1:
            place = f"{self.name}.attempts"
            refuse(f"{self.attempts!r} attempts are none", place, "give 1 or more")

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* with code that stays within the spec.

        Raises:
            BoundedExecutionError: even the last attempt does not.
            ModelRefused: at the last attempt the model refused.

        """
        around = run or here()
        while True:
            attempt = case.attempt + 1
            origin = "code" if case.feedback is None else "repair"
            if case.feedback is None and self.code is None:
                origin = "llm"
            told = {"attempt": attempt, "origin": origin}
            tried: Case | HarnessRefused
            try:
                code = self._code(replace(case, attempt=attempt), around)
            except ModelRefused as refusal:
                code, tried = refusal.text, self._refused(case, refusal, told, around)
            else:
                tried = self._tried(case, code, told, around)
            if isinstance(tried, Case):
                return tried
            if attempt >= self.attempts or not self.repairs:
                raise tried
            case = replace(case, attempt=attempt, feedback=self.feedback(code, tried))

    @property
    def repairs(self) -> bool:
        """Whether a model can be asked again."""
        return self.llm is not None or self.repair is not None

    def feedback(self, code: str, refusal: HarnessRefused) -> dict[str, object]:
        """Return what a model is told about refused *code*."""
        told: dict[str, object] = {
            "code": code,
            "rule": refusal.rule,
            "message": refusal.message,
            "line": getattr(refusal, "line", 0) or None,
        }
        tells = self.remedies and refusal.remedy
        return {**told, "remedy": refusal.remedy} if tells else told

    def _refused(
        self,
        case: Case,
        refusal: ModelRefused,
        told: Mapping[str, object],
        around: Surroundings,
    ) -> HarnessRefused:
        """State an attempt in which the model gave no code, since it refused."""
        names = ("rule", "message", "remedy")
        error = {name: getattr(refusal, name) for name in names}
        attempted = self._attempted(case, refusal.text, told, error, around)
        refusal.remedy = str(_recorded(attempted, error))
        return refusal

    def _tried(
        self, case: Case, code: str, told: Mapping[str, object], around: Surroundings
    ) -> Case | BoundedExecutionError:
        entrypoint = self.entrypoint or case.entrypoint
        request = {"code": code, "entrypoint": entrypoint, **case.the_spec().bounds}
        try:
            answer = around.hook("check_code", request=request)
        except RefusedError as refusal:
            spec = case.the_spec().to_json()
            fact = {"spec": spec, "rule": refusal.rule, "message": refusal.message}
            around.record("spec.refused", fact)
            raise
        error = cast("Mapping[str, Mapping[str, object]]", answer).get("error")
        attempted = self._attempted(case, code, told, error, around)
        if error is not None:
            return BoundedExecutionError.of(
                {**error, "remedy": _recorded(attempted, error)}
            )
        attempt = cast("int", told["attempt"])
        return replace(case, code=code, entrypoint=entrypoint, attempt=attempt)

    def _attempted(
        self,
        case: Case,
        code: str,
        told: Mapping[str, object],
        error: Mapping[str, object] | None,
        around: Surroundings,
    ) -> object:
        """State an attempt with *code*, and what is wrong with it, if anything."""
        fact = {
            "code": code,
            "accepted": error is None,
            "entrypoint": self.entrypoint or case.entrypoint,
            **told,
            **{name: (error or {}).get(name) for name in ("rule", "message")},
            **{n: (error or {}).get(n) or None for n in _WHERE_NOTHING},
        }
        return around.record("synthesis.attempted", fact)

    def _code(self, case: Case, around: Surroundings) -> str:
        """Return the code that is tried."""
        first = case.feedback is None
        if first and self.code is not None:
            return cast("str", given_code(self))
        asked = self.llm if first else self.repair or self.llm
        if asked is None:
            raise AssertionError("nobody is asked who is not there")
        question = _question(case, self.entrypoint or case.entrypoint)
        answer = cast("str", ask(asked, case, around, question))
        fenced = isinstance(asked, Provider) or answer.lstrip().startswith("```")
        code = program_of(answer) if fenced else answer
        return textwrap.dedent(code)

    def under(self, changes: Mapping[str, object]) -> Self:
        """Return the step as a treatment changes it."""
        changed = self
        if changes.get("code") is not None:
            changed = replace(changed, code=cast("str", changes["code"]), llm=None)
        for name in ("llm", "repair"):
            if changes.get(name) is not None:
                asked = model(cast("Llm", changes[name]), f"{self.name}.{name}")
                changed = replace(changed, **{name: asked})  # type: ignore[arg-type]
        if changes.get("llm") is not None:
            changed = replace(changed, code=None)
        return replace(
            changed,
            entrypoint=cast("str | None", changes.get("entrypoint", self.entrypoint)),
            attempts=cast("int", changes.get("attempts", self.attempts)),
        )

    def describe(self) -> dict[str, object]:
        """Return the step as JSON; a model is named, code is included."""
        return {
            "step": self.name,
            "code": self.code,
            "llm": None if self.llm is None else describe_model(self.llm),
            "entrypoint": self.entrypoint,
            "attempts": self.attempts,
            "repair": None if self.repair is None else describe_model(self.repair),
            **({"remedies": True} if self.remedies else {}),
        }

    @classmethod
    def from_json(
        cls, described: Mapping[str, object], sources: Sources = NO_SOURCES
    ) -> Self:
        """Return the step in *described*; *sources* as for `Verifier`."""

        def named(name: str) -> Model | None:
            one = cast("Mapping[str, object] | None", described.get(name))
            return None if one is None else recall_model(one, sources)

        return cls(
            cast("str | None", described["code"]),
            named("llm"),
            cast("str | None", described["entrypoint"]),
            cast("int", described.get("attempts", 1)),
            named("repair"),
            "remedies" in described,
        )


def without_remedies(described: Mapping[str, object]) -> dict[str, object]:
    """Return a described step as it was recorded before models were told remedies."""
    return {name: one for name, one in described.items() if name != "remedies"}


def given_code(step: Synthesize) -> str | None:
    """Return the code that *step* was given, as it is tried, or None."""
    return None if step.code is None else textwrap.dedent(step.code)


def _question(case: Case, entrypoint: str) -> Question:
    recorded = {
        "claim": case.the_claim().to_json(),
        "spec": case.the_spec().to_json(),
        "entrypoint": entrypoint,
        "attempt": case.attempt,
        "feedback": None if case.feedback is None else dict(case.feedback),
    }
    arguments = (case.the_claim(), case.the_spec(), case.told)
    return Question(about_code(case, entrypoint), recorded, arguments, _text)


def _text(answer: object) -> str:
    if isinstance(answer, str):
        return answer
    raise HarnessRefused(
        f"the model's callable returned a value of type {type(answer).__name__}",
        rule="harness/llm",
        remedy='return the code, or (code, {"llm_call": {…}})',
    )


def _recorded(fact: object, error: Mapping[str, object]) -> object:
    """Return the remedy of *error* as the recorded *fact* has it."""
    event = getattr(fact, "written", None)
    return (error if event is None else event.raw).get("remedy") or ""


def bounded_synthesis(
    *,
    code: str | None = None,
    llm: Llm | None = None,
    entrypoint: str | None = None,
    attempts: int = 1,
    repair: Llm | None = None,
) -> Synthesize:
    """Return the step that brings *code*, or asks *llm* for it.

    Args:
        code: the program as it is.
        llm: ``llm(claim, spec, ctx)``, or ``"provider:model"``. It returns the code, or
            ``(code, {"llm_call": {…}})``; ``ctx["feedback"]`` says what was wrong.
        entrypoint: the function that is called with the data.
        attempts: how often code may be tried, including the first time.
        repair: the model to ask after the first attempt; *llm* if not given.

    Raises:
        UsageError: neither or both of *code* and *llm* are given, or *attempts* cannot
            be made.

    """
    if (code is None) == (llm is None):
        raise _misused(
            "either code or an llm callable brings the program", "code= and llm="
        )
    if type(attempts) is not int or attempts < 1:
        raise _misused(f"{attempts!r} attempts are none", "attempts=1 or more")
    if attempts > 1 and llm is None and repair is None:
        raise _misused("nobody can be asked again", "llm= and repair=")
    return Synthesize(
        code,
        None if llm is None else model(llm, "bounded_synthesis.llm"),
        entrypoint,
        attempts,
        None if repair is None else model(repair, "bounded_synthesis.repair"),
    )


def _misused(message: str, what: str) -> UsageError:
    return UsageError(
        message,
        rule="harness/synthesis",
        place="bounded_synthesis",
        remedy=f"give one of {what}",
    )
