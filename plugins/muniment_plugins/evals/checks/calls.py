"""How the calls of tools, and the other effects, of two stages differ, in words.

    call_changes([{"tool": "read", "status": "done", …}], [], gone)
    ["call 1: read done, nothing"]

Rules:

- Calls are compared in their order: the tool, how it ended, why it was denied, and the digest
  of the arguments.
- Arguments that were erased, or that are not known, equal nothing: of these nobody can tell.
- Of what is private on one side only nobody can tell whether it is the same.
- What a run asked for stays asked: of one that has no end yet another call, or one more, is a
  change for good; a call that is missing, or waits, may come yet.
- Other effects are compared so, too: the kind, how it ended, the digest of the request.
- What one side does not know at all, as a record in a file does not, is no change.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from muniment_plugins.evals.views.rows import Row
from muniment_plugins.evals.views.sealed import hides_otherwise
from muniment_plugins.evals.views.view import CALLS

__all__ = ["call_changes", "is_beyond", "of_calls"]

_NAMES = (*CALLS, "kind", "hidden")
_DIGESTS = ("arguments", "request", "hidden")


def call_changes(
    mine: list[Row], its: list[Row], what: str = "call"
) -> tuple[list[str], bool]:
    """Return in which words two lists of calls differ, and whether something is not known."""
    found = [*_changes(mine, its, what)]
    unknown = any(
        not _is_known(one, other, name)
        for one, other in zip(mine, its, strict=False)
        for name in _DIGESTS
        if name in one or name in other
    )
    return found, unknown


def _is_known(one: Row, other: Row, name: str) -> bool:
    """Tell whether the digests *name* of two calls can be compared."""
    given = one.get(name), other.get(name)
    return None not in given and not hides_otherwise(*given)


def _changes(mine: list[Row], its: list[Row], what: str) -> Iterator[str]:
    for number, (one, other) in enumerate(zip_longest(mine, its), 1):
        if one is None or other is None or _is_another(one, other):
            yield f"{what} {number}: {_said(one)}, {_said(other)}"
            continue
        for name in ("arguments", "request"):
            if _is_known(one, other, name) and one[name] != other[name]:
                with_other = "arguments" if name == "arguments" else "contents"
                yield f"{what} {number}: {_said(one)}, with other {with_other}"


def _is_another(one: Row, other: Row) -> bool:
    if "hidden" in one and "hidden" in other:
        known = None not in (one["hidden"], other["hidden"])
        return known and one["hidden"] != other["hidden"]
    if "hidden" in one or "hidden" in other:
        return bool(one["status"] != other["status"])
    return any(one.get(name) != other.get(name) for name in _NAMES)


def is_beyond(mine: list[Row], its: list[Row] | None) -> bool:
    """Tell whether *its* calls can become *mine* no more, whatever else is called."""
    rows = its or []
    both = zip(mine, rows, strict=False)
    return len(rows) > len(mine) or any(_is_other(*one) for one in both)


def _is_other(one: Row, other: Row) -> bool:
    """Tell whether two calls are not of the same, however they end."""
    names = ["arguments", "request"]
    if one["status"] == other["status"]:
        names.append("hidden")
    if any(_is_known(one, other, it) and one[it] != other[it] for it in names):
        return True
    if "hidden" in one or "hidden" in other:
        return False
    return any(one.get(it) != other.get(it) for it in ("tool", "kind"))


def _said(call: Row | None) -> str:
    if call is None:
        return "nothing"
    words = [call.get("tool") or call.get("kind") or "(private)", call["status"]]
    why = [call[name] for name in ("code", "place") if call.get(name)]
    return " ".join(words) + (f" ({' '.join(why)})" if why else "")


def of_calls(
    mine: list[Row] | None, its: list[Row] | None, what: str = "call"
) -> tuple[list[str], bool]:
    """Return the same of two lists of which one may not be known."""
    if mine is not None and its is not None:
        return call_changes(mine, its, what)
    return [], bool(mine or its)
