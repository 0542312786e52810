"""The step that brings code, and lets none pass that leaves its bounds.

    synthesis.attempted {"accepted": false, "rule": "capsule/import", "line": 1, …}

Rules:

- Every attempt is a fact, the refused ones with their code, rule and line.
- A model is asked by an effect of kind ``llm``. What the harness sees itself, request,
  answer and its digest, is recorded whatever the callable reports.
- What reads the code is the plugin that answers ``check_code``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self, cast

from muniment.canonical import sha256_tag
from muniment.errors import UsageError
from muniment_plugins.harness.cases import Case
from muniment_plugins.harness.references import Function, Remembered, refer
from muniment_plugins.harness.refusals import BoundedExecutionError, HarnessRefused
from muniment_plugins.harness.surroundings import Surroundings, here

__all__ = ["Synthesize", "bounded_synthesis"]


@dataclass(frozen=True, slots=True)
class Synthesize:
    """Takes code as it is given, or asks *llm* for it."""

    name: ClassVar[str] = "bounded_synthesis"
    code: str | None
    llm: Function | None
    entrypoint: str | None

    def __call__(self, case: Case, run: Surroundings | None = None) -> Case:
        """Return *case* with code that stays within the spec.

        Raises:
            BoundedExecutionError: it does not.

        """
        around = run or here()
        entrypoint = self.entrypoint or case.entrypoint
        code = textwrap.dedent(self._code(case, around))
        request = {"code": code, "entrypoint": entrypoint, **case.the_spec().bounds}
        answer = around.hook("check_code", request=request)
        error = cast("Mapping[str, Mapping[str, object]]", answer).get("error")
        around.record("synthesis.attempted", self._attempt(code, entrypoint, error))
        if error is not None:
            raise BoundedExecutionError.of(error)
        return replace(case, code=code, entrypoint=entrypoint)

    def _attempt(
        self, code: str, entrypoint: str, error: Mapping[str, object] | None
    ) -> dict[str, object]:
        why = {name: (error or {}).get(name) for name in ("rule", "message")}
        where = {name: (error or {}).get(name) or None for name in ("line", "column")}
        return {
            "code": code,
            "accepted": error is None,
            "entrypoint": entrypoint,
            "origin": "code" if self.llm is None else "llm",
            **why,
            **where,
        }

    def _code(self, case: Case, around: Surroundings) -> str:
        if self.llm is None:
            return cast("str", self.code)
        request = {
            "llm": refer(self.llm),
            "claim": case.the_claim().to_json(),
            "spec": case.the_spec().to_json(),
        }
        answer = around.effect("llm", request, perform=_asking(self.llm, case))
        return cast("str", cast("Mapping[str, object]", answer)["code"])

    def describe(self) -> dict[str, object]:
        """Return the step as JSON; a model is named, code stands as it is."""
        return {
            "step": self.name,
            "code": self.code,
            "llm": None if self.llm is None else refer(self.llm),
            "entrypoint": self.entrypoint,
        }

    @classmethod
    def from_json(cls, described: Mapping[str, object]) -> Self:
        """Return the step that *described* says."""
        llm = cast("Mapping[str, object] | None", described["llm"])
        return cls(
            cast("str | None", described["code"]),
            None if llm is None else Remembered(llm),
            cast("str | None", described["entrypoint"]),
        )


def _asking(llm: Function, case: Case) -> Callable[[object], object]:
    """Return the performer that asks *llm*, and says what it answered."""

    def ask(request: object) -> dict[str, object]:
        del request
        answer = llm(case.the_claim(), case.the_spec(), case)
        told: Mapping[str, object] = {}
        if isinstance(answer, tuple):
            answer, told = cast("tuple[object, Mapping[str, object]]", answer)
        if not isinstance(answer, str):
            raise HarnessRefused(
                f"the model's callable returned a {type(answer).__name__}",
                rule="harness/llm",
                remedy='return the code, or (code, {"llm_call": {…}})',
            )
        return {
            "code": answer,
            "code_digest": sha256_tag(answer.encode("utf-8", "surrogatepass")),
            "calls": _calls(told),
        }

    return ask


def _calls(told: Mapping[str, object]) -> list[object]:
    unknown = sorted(told.keys() - {"llm_call", "llm_calls"})
    if unknown:
        raise HarnessRefused(
            f"{', '.join(unknown)} means nothing beside the code",
            rule="harness/llm",
            remedy='return (code, {"llm_call": {…}}) or (code, {"llm_calls": [{…}]})',
        )
    one = [told["llm_call"]] if "llm_call" in told else []
    return [*one, *cast("list[object]", told.get("llm_calls", []))]


def bounded_synthesis(
    *,
    code: str | None = None,
    llm: Function | None = None,
    entrypoint: str | None = None,
) -> Synthesize:
    """Return the step that brings *code*, or asks ``llm(claim, spec, ctx)`` for it.

    Raises:
        UsageError: neither or both are given.

    """
    if (code is None) == (llm is None):
        raise UsageError(
            "either code or an llm callable brings the program",
            rule="harness/synthesis",
            place="bounded_synthesis",
            remedy="give one of code= and llm=",
        )
    return Synthesize(code, llm, entrypoint)
