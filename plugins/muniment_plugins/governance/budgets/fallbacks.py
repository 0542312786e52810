"""What answers an effect that a budget does not let happen.

    "fallback": "skip"                     null
    "fallback": "cached"                   the answer to an equal request, from the ledger
    "fallback": "echo"                     the request itself
    "fallback": "module:function"          what the function returns for the request
    "fallback": {"answer": …}              this value

Rules:

- A fallback performs no effect: one that tries is refused, and so is what it answers for.
  Its answer is recorded as that of a fallback, so that a
  replay repeats it, and never calls the function again.
- A request that was never answered has no cached answer; the run halts there. Answers to
  other tenants are none, and private ones answer only what is private, too.
- A function is found before a run starts, or the run does not start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar

from muniment import EffectKind
from muniment.encoding.canonical import JsonValue, canonical
from muniment.encoding.codec import encode
from muniment.errors import MunimentError
from muniment.events.visibility import is_private
from muniment.formats.statement import BlobRef
from muniment.hookspecs import OpenLedger
from muniment_plugins.governance.budgets.spending import was_performed

__all__ = [
    "ANSWERING",
    "NO_EFFECT",
    "NoCachedAnswer",
    "answer_of",
]

Function = Callable[..., object]

ANSWERING: ContextVar[bool] = ContextVar("muniment_fallback", default=False)
"""Whether a fallback is called here, which may perform no effect."""
NO_EFFECT = "a fallback performs no effect"
_EARLIER = 10_000
"""How many earlier answers of a kind are looked at."""


class NoCachedAnswer(Exception):
    """The ledger holds no answer to an equal request."""


def answer_of(  # noqa: PLR0913 - what is asked, by whom, and out of what it is answered
    fallback: JsonValue,
    kind: EffectKind,
    request: object,
    functions: Mapping[str, Function],
    ledger: OpenLedger,
    tenant: str,
    *,
    private: bool = False,
) -> tuple[object, str | None]:
    """Return the answer of *fallback* to *request*, and the leaf hash of its origin.

    A cached answer has one: of the outcome, in a run of the same *tenant*. It is a private
    one only if the answer is kept *private* where it is given.

    Raises:
        NoCachedAnswer: there is none.

    """
    if isinstance(fallback, dict):
        return fallback["answer"], None
    if fallback == "cached":
        return _cached(kind, request, ledger, tenant, private=private)
    if fallback == "skip":
        return None, None
    if fallback == "echo":
        return request, None
    token = ANSWERING.set(True)
    try:
        return functions[str(fallback)](request), None
    finally:
        ANSWERING.reset(token)


def _cached(
    kind: EffectKind,
    request: object,
    ledger: OpenLedger,
    tenant: str,
    *,
    private: bool,
) -> tuple[object, str]:
    """Return the last answer that a performer gave to an equal request."""
    wanted = canonical(encode(request))
    ended = ledger.events(type=f"{kind.name}.completed", limit=_EARLIER, order="desc")
    for outcome in ended:
        others = outcome.run is None or outcome.tenant != tenant
        withheld = is_private(outcome) and not private
        if others or withheld or not was_performed(outcome):
            continue
        asked = next(
            (
                one
                for one in ledger.events(run=outcome.run, type=f"{kind.name}.requested")
                if (one.scope, one.ordinal) == (outcome.scope, outcome.ordinal)
            ),
            None,
        )
        if asked is None or (not private and is_private(asked)):
            continue
        if _content(ledger, asked.data.get("request")) == wanted:
            return ledger.resolve(outcome).get("value"), outcome.hash
    raise NoCachedAnswer


def _content(ledger: OpenLedger, ref: object) -> bytes | None:
    try:
        return ledger.get_blob(ref) if isinstance(ref, BlobRef) else None
    except MunimentError:
        return None  # erased: nobody can tell whether it is equal
