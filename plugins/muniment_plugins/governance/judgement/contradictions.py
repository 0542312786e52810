"""The contradictions of a run, counted: each once, whoever found it again.

    found = contradictions_in(entries, claims)
    new_among(found, expected)         1: one that was not expected

Rules:

- A contradiction is what the engine of that name says is wrong, with what the claims that
  it names by their ids state: of other statements it is another contradiction. Of two
  claims that oppose each other it does not matter which came first.
- The flow is judged by all that its steps reason, so it has what they have. Of the same
  contradiction there are as many as the steps found together, or the flow, if that is more.
- One that is new counts, also if another one went.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from muniment.encoding.canonical import JsonValue, canonical
from muniment.replays.account import AccountEntry

__all__ = ["Contradiction", "contradictions_in", "lost_among", "new_among"]

Contradiction: TypeAlias = tuple[bytes, tuple[str, ...]]
"""What is wrong, and what the claims state of which that is said."""

_ENGINE = "contradiction"
_WHOLE = "flow"
"""The target of a verdict on all steps."""
_OF_POLICY = ("severity", "status")
"""What a policy says of a violation: it makes no other contradiction of it."""
_NAMED = re.compile(r"\bclaim (.+?)(?= says | names | with |$)", re.DOTALL)
_OPPOSED = re.compile(r"claim (.+) says the opposite of claim (.+)", re.DOTALL)
_NAME = 80
"""As many letters of a claim's id are in a violation."""


def contradictions_in(
    entries: Iterable[AccountEntry], claims: Iterable[tuple[str, str]]
) -> Counter[Contradiction]:
    """Return how often each contradiction was found; *claims* are ids with statements."""
    said: dict[str, list[str]] = {}
    for name, statement in sorted(claims):
        said.setdefault(name[:_NAME], []).append(statement)
    whole: Counter[Contradiction] = Counter()
    parts: Counter[Contradiction] = Counter()
    for entry in entries:
        into = whole if entry.data.get("target") == _WHOLE else parts
        into.update(_identified(one, said) for one in _violations(entry))
    return whole | parts


def new_among(
    observed: Counter[Contradiction], expected: Counter[Contradiction]
) -> int:
    """Return how many of *observed* were not expected."""
    return (observed - expected).total()


def lost_among(
    observed: Counter[Contradiction], expected: Counter[Contradiction]
) -> int:
    """Return how many of *expected* were not observed."""
    return (expected - observed).total()


def _violations(entry: AccountEntry) -> Iterator[JsonValue]:
    if entry.type == "verification.judged" and entry.data.get("engine") == _ENGINE:
        listed = entry.data.get("violations")
        yield from listed if isinstance(listed, list) else []


def _identified(found: JsonValue, said: Mapping[str, list[str]]) -> Contradiction:
    if not isinstance(found, dict):
        return canonical(found), ()
    wrong = {name: one for name, one in found.items() if name not in _OF_POLICY}
    detail = wrong.get("detail")
    if not isinstance(detail, str):
        return canonical(wrong), ()
    names = list(dict.fromkeys(_NAMED.findall(detail)))
    if opposed := _OPPOSED.fullmatch(detail):  # which came first makes no other
        names = sorted(opposed.groups())
        wrong["detail"] = "claims say the opposite: {} and {}".format(*names)
    stated = (one for name in names for one in said.get(name, ()))
    return canonical(wrong), tuple(stated)
