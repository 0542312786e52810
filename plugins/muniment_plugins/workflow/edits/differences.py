"""The patch that leads from one JSON document to another, small and to be read.

    patch_between({"nodes": {"a": {"kind": "stage"}}}, {"nodes": {"a": {"kind": "verify"}}})
    [{"op": "replace", "path": "/nodes/a/kind", "value": "verify"}]

Rules:

- ``apply_patch(one, patch_between(one, other))`` is the other one, whatever they are.
- Members are compared by name; items by what stays in its place: what both lists have once
  is where they are aligned, and between two such items those of one place are compared.
- Whatever is written shorter as a whole is replaced as a whole.
- Equal documents have equal patches, in whatever order their members were written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from muniment.encoding.canonical import JsonValue, canonical
from muniment_plugins.workflow.edits.patches import PatchOperation, own_copy, same_json
from muniment_plugins.workflow.edits.pointers import Tokens, pointer_to

__all__ = ["patch_between"]

_WHOLE = 40
"""About how many bytes an operation takes beside its value and its path."""


def patch_between(before: JsonValue, after: JsonValue) -> list[PatchOperation]:
    """Return the patch (RFC 6902) that makes *after* of *before*; empty if they are the same.

    Raises:
        ValueRefused: one of them is no JSON document.

    """
    if canonical(before) == canonical(after):
        return []
    return _changes(before, after, ())


def _changes(before: JsonValue, after: JsonValue, path: Tokens) -> list[PatchOperation]:
    if same_json(before, after):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        found = [*_of_members(before, after, path)]
    elif isinstance(before, list) and isinstance(after, list):
        found = [*_of_items(before, after, path)]
    else:
        return [_operation("replace", path, after)]
    return (
        found if _is_short(found, after, path) else [_operation("replace", path, after)]
    )


def _is_short(found: list[PatchOperation], after: JsonValue, path: Tokens) -> bool:
    """Tell whether operations are written shorter than the whole."""
    if len(found) == 1:
        return True
    most = len(canonical(after)) + len(pointer_to(path)) + _WHOLE
    taken = 0
    for one in found:
        taken += _WHOLE + len(str(one["path"]))
        if "value" in one:
            taken += len(canonical(one["value"]))
        if taken > most:
            return False
    return True


def _of_members(
    before: dict[str, JsonValue], after: dict[str, JsonValue], path: Tokens
) -> Iterator[PatchOperation]:
    for name in sorted(before.keys() - after.keys()):
        yield _operation("remove", (*path, name))
    for name in sorted(before.keys() & after.keys()):
        yield from _changes(before[name], after[name], (*path, name))
    for name in sorted(after.keys() - before.keys()):
        yield _operation("add", (*path, name), after[name])


def _of_items(
    before: list[JsonValue], after: list[JsonValue], path: Tokens
) -> Iterator[PatchOperation]:
    """Yield the operations in the order of the list, which they change as they go."""
    at = old = new = 0
    for here, there in [*_aligned(before, after), (len(before), len(after))]:
        both = min(here - old, there - new)
        for number in range(both):
            there_is = (*path, str(at + number))
            yield from _changes(before[old + number], after[new + number], there_is)
        at += both
        for _ in range(here - old - both):
            yield _operation("remove", (*path, str(at)))
        for item in after[new + both : there]:
            yield _operation("add", (*path, str(at)), item)
            at += 1
        at, old, new = at + 1, here + 1, there + 1


def _aligned(before: list[JsonValue], after: list[JsonValue]) -> list[tuple[int, int]]:
    """Return the indexes of items that stay, in both lists, both rising.

    Those are what the lists begin and end with alike, and in between the longest series
    of items that each has once ("patience").
    """
    ours = [canonical(one) for one in before]
    theirs = [canonical(one) for one in after]
    start, most = 0, min(len(ours), len(theirs))
    while start < most and ours[start] == theirs[start]:
        start += 1
    end = 0
    while end < most - start and ours[-1 - end] == theirs[-1 - end]:
        end += 1
    head = [(number, number) for number in range(start)]
    tail = [(len(ours) - one, len(theirs) - one) for one in range(end, 0, -1)]
    between = _once_in_both(
        ours[start : len(ours) - end], theirs[start : len(theirs) - end]
    )
    return [*head, *((one + start, other + start) for one, other in between), *tail]


def _once_in_both(ours: list[bytes], theirs: list[bytes]) -> list[tuple[int, int]]:
    counted, others = Counter(ours), Counter(theirs)
    where = {one: number for number, one in enumerate(theirs) if others[one] == 1}
    pairs = [
        (number, where[one])
        for number, one in enumerate(ours)
        if counted[one] == 1 and one in where
    ]
    return _rising(pairs)


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest series of *pairs* whose second numbers rise."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, one) in enumerate(pairs):
        length = bisect_left(ends, one)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [one]
        last[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _operation(op: str, path: Tokens, *value: JsonValue) -> PatchOperation:
    made: PatchOperation = {"op": op, "path": pointer_to(path)}
    return {**made, "value": own_copy(value[0])} if value else made
