"""The differences between two registrations of one question, each with its name.

    changed_claim        the claim says something else, or another verifier judges it,
                         or other settings: threshold, metric, direction, alpha
    changed_spec         other properties are tested, or more or less strictly
    changed_conditions   other treatments, another context, other seeds
    changed_code         other code, functions or steps
    extra_replicates     more replicates
    fewer_replicates     fewer

Rules:

- A claim is identified by its id. Saying something else under the same id is the move.
- Registrations of the first edition lack parts of the plan. If their plans differ, and
  nothing that they say does, the conditions count as changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

__all__ = [
    "Move",
    "claim_ids",
    "moved_bounds",
    "moved_claims",
    "moved_counts",
    "moves_between",
]

Row: TypeAlias = "Mapping[str, object]"
Move: TypeAlias = "tuple[str, str]"
"""The name of the difference, and its description."""

_JUDGED = ("properties", "contracts", "allow_non_finite")
"""The members of a spec that are tested; the rest bounds code."""
_SAME = ("code", "functions", "specs")


def claim_ids(said: Row) -> set[str]:
    """Return the ids of the claims of a registration; none if they were erased."""
    return {str(one["id"]) for one in _rows(said, "claims")}


def moves_between(before: Row, now: Row) -> Iterator[Move]:
    """Yield every difference between *before* and *now*."""
    found = [
        *moved_claims(before, now),
        *moved_bounds(before, now),
        *_moved_conditions(before, now),
        *_moved_code(before, now),
    ]
    yield from found
    yield from moved_counts(cast("int", before["replicates"]), now)
    if not found and before["plan"] != now["plan"]:
        yield "changed_conditions", "the plan is another one"


def moved_counts(planned: int, now: Row) -> Iterator[Move]:
    """Yield how *now* differs in its number of replicates."""
    count = cast("int", now["replicates"])
    if count != planned:
        name = "extra_replicates" if count > planned else "fewer_replicates"
        yield name, f"{count} replicates, not {planned}"


def moved_claims(before: Row, now: Row) -> Iterator[Move]:
    """Yield how claims differ, their verifiers, and the verifiers' settings."""
    first = {str(one["id"]): one for one in _rows(before, "claims")}
    second = {str(one["id"]): one for one in _rows(now, "claims")}
    for one in sorted(first.keys() & second.keys()):
        if first[one] != second[one]:
            yield "changed_claim", f"the claim {one} says something else"
    if before["experiment"] == now["experiment"] and first.keys() != second.keys():
        yield "changed_claim", f"the claims are {_listed(second)}, not {_listed(first)}"
    judges = (
        {str(one["name"]): one for one in _rows(a, "hypotheses")} for a in (before, now)
    )
    earlier, later = judges
    for name in sorted(earlier.keys() | later.keys()):
        if name not in later:
            yield "changed_claim", f"the hypothesis {name} was dropped"
        elif name not in earlier:
            yield "changed_claim", f"the hypothesis {name} was added"
        elif earlier[name] != later[name]:
            yield "changed_claim", f"the hypothesis {name} is judged otherwise"


def moved_bounds(before: Row, now: Row) -> Iterator[Move]:
    """Yield how the tests of the code differ."""
    specs = ([_judged(one) for one in _rows(said, "specs")] for said in (before, now))
    earlier, later = specs
    if earlier != later:
        yield "changed_spec", "other properties are tested"
    if not _same_part(before, now, "tests"):
        yield "changed_spec", "properties are tested in another way"


def _moved_conditions(before: Row, now: Row) -> Iterator[Move]:
    first, second = (cast("Sequence[str]", one["conditions"]) for one in (before, now))
    if gone := [one for one in first if one not in second]:
        yield "changed_conditions", f"without {', '.join(gone)}"
    if new := [one for one in second if one not in first]:
        yield "changed_conditions", f"with {', '.join(new)}"
    for name in first:
        if name in second and not _same_part(before, now, f"treatment {name}"):
            yield "changed_conditions", f"{name} changes something else"
    for name in ("context", "outputs"):
        if not _same_part(before, now, name):
            yield "changed_conditions", f"another {name.removesuffix('s')}"


def _moved_code(before: Row, now: Row) -> Iterator[Move]:
    for name in _SAME:
        if before.get(name) != now.get(name):
            yield "changed_code", name
    if not _same_part(before, now, "steps"):
        yield "changed_code", "steps"


def _judged(spec: Row) -> dict[str, object]:
    return {name: spec[name] for name in _JUDGED if name in spec}


def _rows(said: Row, name: str) -> list[Row]:
    """Return the rows of a member; none if they were erased."""
    rows = said.get(name)
    return cast("list[Row]", rows) if isinstance(rows, list) else []


def _part(said: Row, name: str) -> object:
    return cast("Row", said.get("parts") or {}).get(name)


def _same_part(before: Row, now: Row, name: str) -> bool:
    """Tell whether a part is the same in both; true if either lacks it."""
    parts = _part(before, name), _part(now, name)
    return None in parts or parts[0] == parts[1]


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(sorted(names)) or "none"
