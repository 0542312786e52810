"""A condition is judged by one claim, and an id means one claim in all conditions.

    the claim c means two things: {"metric": "m", …}, and {"metric": "m", …} [harness/claim]

Rule: verdicts are told by the ids of claims. Were two claims of one id, a verdict on the
weaker one would be read as one on the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from muniment_plugins.harness.refusals import HarnessRefused

if TYPE_CHECKING:
    from muniment_plugins.harness.claim import Claim

__all__ = ["two_claims"]

_SHOWN = 80


def two_claims(
    stated: Iterable[Claim], elsewhere: Iterable[Claim]
) -> HarnessRefused | None:
    """Return why no claim can judge a condition; None if one can.

    Args:
        stated: the claims that the condition's replicates state.
        elsewhere: the claims of the other conditions.

    """
    own = list(stated)
    second = next((one for one in own if one != own[0]), None)
    if second is not None:
        what = f"its replicates state more than one claim: {_both(own[0], second)}"
        return _refusal(what, "state one claim in all replicates of a condition")
    for one in own[:1]:
        for other in elsewhere:
            if other.id == one.id and other != one:
                what = f"the claim {one.id} means two things: {_both(other, one)}"
                return _refusal(what, "give the other claim an id of its own")
    return None


def _both(one: Claim, other: Claim) -> str:
    said, instead = one.to_json(), other.to_json()
    name = next(name for name in said if said[name] != instead[name])
    return f"{_shown(said[name])}, and {_shown(instead[name])}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _refusal(message: str, remedy: str) -> HarnessRefused:
    return HarnessRefused(
        message, rule="harness/claim", place="the claims", remedy=remedy
    )
