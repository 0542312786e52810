"""What answers an effect that a budget does not let happen.

    "fallback": "skip"                     null
    "fallback": "cached"                   the answer to an equal request, from the ledger
    "fallback": "echo"                     the request itself
    "fallback": "module:function"          what the function returns for the request
    "fallback": {"answer": …}              this value

Rules:

- A fallback performs no effect. Its answer is recorded as that of a fallback, so that a
  replay repeats it, and never calls the function again.
- A request that was never answered has no cached answer; the run halts there. Answers to
  other tenants are none.
- A function is found before a run starts, or the run does not start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

from muniment import EffectKind
from muniment.encoding.canonical import JsonValue, canonical
from muniment.encoding.codec import encode
from muniment.errors import MunimentError
from muniment.formats.statement import BlobRef
from muniment.hookspecs import OpenLedger
from muniment.programs.references import Named
from muniment_plugins.governance.budgets.spending import was_performed
from muniment_plugins.governance.documents.budgets import EntropyBudget
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.places import At
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.parts import FunctionFinder

__all__ = ["NoCachedAnswer", "answer_of", "functions_of", "spelt"]

Function = Callable[..., object]

_EARLIER = 10_000
"""How many earlier answers of a kind are looked at."""
_BUILT_IN = ("skip", "cached", "echo")


class NoCachedAnswer(Exception):
    """The ledger holds no answer to an equal request."""


def spelt(fallback: JsonValue) -> str:
    """Return what people call *fallback*."""
    return fallback if isinstance(fallback, str) else "answer"


def functions_of(
    policy: GovernancePolicy, flow: FlowManifest | None
) -> dict[str, Named]:
    """Return the functions that the documents name as fallbacks, by their names.

    Raises:
        UsageError: one cannot be found.
        CannotTellError: importing one fails.

    """
    found: dict[str, Named] = {}
    for place, fallback in _fallbacks(policy, flow):
        if not isinstance(fallback, str) or fallback in (*_BUILT_IN, *found):
            continue
        at = At(place, "policy").key("fallback")
        finder = FunctionFinder(Path(place).parent)
        found[fallback] = cast("Named", finder.imported(fallback, at))
    return found


def _fallbacks(
    policy: GovernancePolicy, flow: FlowManifest | None
) -> Iterator[tuple[str, JsonValue]]:
    budgets = [(policy.place, policy.entropy_budget)]
    yield policy.place, policy.execution_budget.fallback
    if flow is not None:
        yield flow.place, flow.execution_budget.fallback
        parts = [one.entropy_budget for one in flow.parts.values()]
        budgets += [(flow.place, one) for one in (flow.entropy_budget, *parts)]
    for place, budget in budgets:
        yield from ((place, one) for one in _of_budget(budget))


def _of_budget(budget: EntropyBudget | None) -> Iterator[JsonValue]:
    if budget is not None:
        yield from (one.fallback for one in (budget.total, *budget.per_source.values()))


def answer_of(
    fallback: JsonValue,
    kind: EffectKind,
    request: object,
    functions: Mapping[str, Function],
    ledger: OpenLedger,
    tenant: str,
) -> tuple[object, str | None]:
    """Return the answer of *fallback* to *request*, and the leaf hash of its origin.

    A cached answer has one: of the outcome, in a run of the same *tenant*.

    Raises:
        NoCachedAnswer: there is none.

    """
    if isinstance(fallback, dict):
        return fallback["answer"], None
    if fallback == "cached":
        return _cached(kind, request, ledger, tenant)
    if fallback == "skip":
        return None, None
    if fallback == "echo":
        return request, None
    return functions[str(fallback)](request), None


def _cached(
    kind: EffectKind, request: object, ledger: OpenLedger, tenant: str
) -> tuple[object, str]:
    """Return the last answer that a performer gave to an equal request."""
    wanted = canonical(encode(request))
    ended = ledger.events(type=f"{kind.name}.completed", limit=_EARLIER, order="desc")
    for outcome in ended:
        others = outcome.run is None or outcome.tenant != tenant
        if others or not was_performed(outcome):
            continue
        asked = next(
            (
                one
                for one in ledger.events(run=outcome.run, type=f"{kind.name}.requested")
                if (one.scope, one.ordinal) == (outcome.scope, outcome.ordinal)
            ),
            None,
        )
        if asked is not None and _content(ledger, asked.data.get("request")) == wanted:
            return ledger.resolve(outcome).get("value"), outcome.hash
    raise NoCachedAnswer


def _content(ledger: OpenLedger, ref: object) -> bytes | None:
    try:
        return ledger.get_blob(ref) if isinstance(ref, BlobRef) else None
    except MunimentError:
        return None  # erased: nobody can tell whether it is equal
