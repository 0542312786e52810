"""What a policy or a manifest names in its budgets has to exist.

    p.json: execution_budget.effect_limits.lmm: nothing declares the effect kind 'lmm'
    p.json: execution_budget.fallback: there is no module nosuch
    p.json: execution_budget.fallback: skip stands for no check effect: it has exit_status, …

Rules:

- It is one mistake of the document, with file and key path, like those of its shape.
- Where a limit names a kind, a fallback that is declared with its answer has to be one of
  that kind. An object is judged at the effect: its request says which members it has.
- Functions are looked for as soon as the document is read: their modules are imported.
- Kinds are those of the kernel and of the active plugins; a program may register more on
  the ledger that it opens. So a run is asked about the kinds of its ledger, as it starts.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
from muniment.events.effect_kinds import EffectKind
from muniment.events.vocabulary import Vocabulary
from muniment.programs.finder import FunctionFinder
from muniment.programs.references import Named
from muniment_plugins.governance.documents.budgets import (
    EntropyBudget,
    ExecutionBudget,
    spelt,
)
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy

if TYPE_CHECKING:
    from muniment.plugins import Plugins

__all__ = [
    "functions_of",
    "kinds_of",
    "require_functions",
    "require_kinds",
    "require_named",
]

_SAID = 8
"""Of how many kinds all are said."""
_BUILT_IN = ("skip", "cached", "echo")


def kinds_of(plugins: Plugins) -> Mapping[str, EffectKind]:
    """Return the effect kinds of the kernel and of *plugins*, by name.

    Raises:
        CannotTellError: a plugin fails.

    """
    words = Vocabulary()
    plugins.declare(words.register)
    return words.kinds


def require_named(
    policy: GovernancePolicy, flow: FlowManifest | None, kinds: Mapping[str, EffectKind]
) -> None:
    """Refuse documents whose budgets name what does not exist.

    Raises:
        UsageError: an effect kind is none of *kinds*, or a function cannot be found.
        CannotTellError: importing one fails.

    """
    require_kinds(policy, flow, kinds)
    require_functions(policy, flow)


def require_kinds(
    policy: GovernancePolicy, flow: FlowManifest | None, kinds: Mapping[str, EffectKind]
) -> None:
    """Refuse limits of effect kinds that are none of *kinds*, or have another fallback.

    Raises:
        UsageError: there is one.

    """
    known = sorted(kinds)
    for budget, at in _execution_budgets(policy, flow):
        _require_kinds(budget, at.key("effect_limits"), frozenset(known), known)
        if budget.exhaustion_action == "degrade":
            _require_fitting(budget, at.key("fallback"), kinds)


def _require_kinds(
    budget: ExecutionBudget, at: At, known: Container[str], listed: list[str]
) -> None:
    for name in budget.effect_limits:
        if name not in known:
            raise at.key(name).wrong(
                f"nothing declares the effect kind {name!r:.80}",
                "kind",
                near(name, listed, most=_SAID)
                or "name one of the kernel, or of a plugin that may load",
            )


def _require_fitting(
    budget: ExecutionBudget, at: At, kinds: Mapping[str, EffectKind]
) -> None:
    """Refuse a fallback whose answer is none of a kind that the budget limits."""
    for name in budget.effect_limits:
        wrong = _misfit(kinds[name], budget.fallback)
        if wrong is not None:
            raise at.wrong(
                f"{spelt(budget.fallback)} stands for no {name} effect: {wrong}",
                "fallback",
                "give an answer of that form, or let the budget halt",
            )


def _misfit(kind: EffectKind, fallback: JsonValue) -> str | None:
    """Return what is wrong with a declared answer, as far as it is known by itself."""
    value = fallback["answer"] if isinstance(fallback, dict) else None
    if isinstance(value, dict) or not (
        isinstance(fallback, dict) or fallback == "skip"
    ):
        return None
    try:
        return kind.fault_of({}, value)
    except LookupError:
        return None  # its request says


def require_functions(policy: GovernancePolicy, flow: FlowManifest | None) -> None:
    """Refuse fallbacks that cannot be taken.

    Raises:
        UsageError: a function is not there, or no step has such an answer.
        CannotTellError: importing one fails.

    """
    for budget, at in _execution_budgets(policy, flow):
        if budget.step_limit is not None and budget.fallback == "cached":
            raise at.key("fallback").wrong(
                "step_limit falls back to cached, and no step has a cached answer",
                "fallback",
                'use skip, an agent, or {"answer": …}',
            )
    functions_of(policy, flow)


def _execution_budgets(
    policy: GovernancePolicy, flow: FlowManifest | None
) -> Iterator[tuple[ExecutionBudget, At]]:
    key = "execution_budget"
    yield policy.execution_budget, At(policy.place, "policy").key(key)
    if flow is not None:
        yield flow.execution_budget, At(flow.place, "flow").key(key)


def functions_of(
    policy: GovernancePolicy, flow: FlowManifest | None
) -> dict[str, Named]:
    """Return the functions that the documents name as fallbacks, by their names.

    Raises:
        UsageError: one cannot be found.
        CannotTellError: importing one fails.

    """
    found: dict[str, Named] = {}
    for at, fallback in _fallbacks(policy, flow):
        if not isinstance(fallback, str) or fallback in (*_BUILT_IN, *found):
            continue
        finder = FunctionFinder(Path(at.file).parent)
        found[fallback] = cast("Named", finder.imported(fallback, at))
    return found


def _fallbacks(
    policy: GovernancePolicy, flow: FlowManifest | None
) -> Iterator[tuple[At, JsonValue]]:
    """Yield the fallbacks of the documents, and where they stand."""
    at = At(policy.place, "policy")
    yield _told(at, "execution_budget"), policy.execution_budget.fallback
    yield from _of_budget(policy.entropy_budget, at)
    if flow is None:
        return
    at = At(flow.place, "flow")
    yield _told(at, "execution_budget"), flow.execution_budget.fallback
    yield from _of_budget(flow.entropy_budget, at)
    for agent, part in flow.parts.items():
        yield from _of_budget(part.entropy_budget, at.key("parts").key(agent))


def _of_budget(budget: EntropyBudget | None, at: At) -> Iterator[tuple[At, JsonValue]]:
    if budget is None:
        return
    yield _told(at, "entropy_budget"), budget.total.fallback
    slices = at.key("entropy_budget").key("per_source")
    for number, one in enumerate(budget.per_source.values()):
        yield slices.item(number).key("fallback"), one.fallback


def _told(at: At, budget: str) -> At:
    return at.key(budget).key("fallback")
