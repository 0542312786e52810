"""What of a record is private, for an eval: it is compared, and nobody is told of it.

    sealed(record, opened)["artifacts"][1]["text"]     Private("the whole text")

Rules:

- What the record shows only to whoever asks for private parts is `Private` here: what the
  two views of a run say otherwise, and what is known to be withheld.
- A content that is private is never in what an eval records. It is compared by a digest
  under a key that is made for one reading and kept nowhere: whoever reads the digest cannot
  try guesses on it, and digests of one reading are comparable.
- The names of what a run published are for everybody, though each value be private.
- What probes look for in it is not answered: the answer would be public.
- Of a record in a file the private parts are not there: they equal nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast

from muniment_plugins.evals.views.rows import Row, listed, part
from muniment_plugins.workflow.records.contents import is_erased
from muniment_plugins.workflow.runtime.failures import PRIVATE_FAILURE

__all__ = [
    "IS_PRIVATE",
    "PRIVATE",
    "Private",
    "has_erased",
    "has_private",
    "hides_otherwise",
    "is_keyed",
    "sealed",
    "unsealed",
]

IS_PRIVATE = "it is private"
"""Why nobody is told."""
PRIVATE = "private"
"""What a fixture has in place of a digest, and how one under a key begins."""
_WITHHELD = "[private]"
"""What a verifier that is private says it found; its artifact has that, in private."""
_NAMED = ("published",)
"""Members of a record that have contents by their names, which are for everybody: a record
lacks one of which all is private."""
_PARTS = ("text", "data")
_TELLING = ("error", "attempts", "verification")


@dataclass(frozen=True, slots=True)
class Private:
    """A content that is private."""

    value: Any = None
    known: bool = True
    """Whether it is here; of a record in a file it is not."""


_UNKNOWN = Private(known=False)


def is_keyed(digest: object) -> bool:
    """Tell whether *digest* is of something private."""
    return isinstance(digest, str) and digest.startswith(PRIVATE)


def hides_otherwise(mine: object, its: object) -> bool:
    """Tell whether one of two digests, or of two lists of them, is of something private.

    The other one is not: then nobody can tell whether they are of the same.
    """
    one, other = _items(mine), _items(its)
    if one is not None and other is not None:
        return any(map(hides_otherwise, one, other))
    return bool(mine and its) and is_keyed(mine) != is_keyed(its)


def _items(value: object) -> list[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None


def has_private(value: object) -> bool:
    """Tell whether a part of *value* is private."""
    if isinstance(value, dict):
        return any(map(has_private, cast("Row", value).values()))
    if isinstance(value, list):
        return any(map(has_private, cast("list[object]", value)))
    return isinstance(value, Private)


def has_erased(value: object) -> bool:
    """Tell whether a part of *value* was erased, or is not here."""
    if isinstance(value, Private):
        return not value.known or has_erased(value.value)
    if is_erased(value):
        return True
    if isinstance(value, dict):
        return any(map(has_erased, cast("Row", value).values()))
    if isinstance(value, list):
        return any(map(has_erased, cast("list[object]", value)))
    return False


def unsealed(value: Any) -> Any:
    """Return *value* with the private parts themselves."""
    if isinstance(value, Private):
        return value.value
    if isinstance(value, dict):
        members = cast("Row", value)
        return {name: unsealed(one) for name, one in members.items()}
    if isinstance(value, list):
        return [unsealed(one) for one in cast("list[object]", value)]
    return value


def sealed(
    record: Mapping[str, Any],
    opened: Mapping[str, Any] | None = None,
    asked: Collection[str] = (),
    failures: Mapping[str, Any] | None = None,
) -> Row:
    """Return *record* with what is private in it as `Private`.

    Args:
        record: the record of a run, as everybody reads it.
        opened: the same with its private parts; None if they are not known.
        asked: the questions that are private, by their hashes.
        failures: what stages failed by in private, by the ids of the stages.

    """
    found: Row = dict(record)
    if opened is not None:
        found = {**{name: {} for name in _NAMED if name in opened}, **found}
        found = cast("Row", _apart(found, dict(opened)))
        if "erased" in opened:
            found["erased"] = opened["erased"]
    lacking = _UNKNOWN if opened is None else Private()
    found["artifacts"] = [_artifact(one, lacking) for one in found["artifacts"]]
    hidden = {
        one["id"] for one in found["artifacts"] if one.get("visibility") == PRIVATE
    }
    said = failures or {}
    found["stages"] = [_stage(one, hidden, said) for one in found["stages"]]
    found["hitl_questions"] = [
        _question(one, asked) for one in listed(found, "hitl_questions")
    ]
    if part(found, "error"):
        found["error"] = _covered(found["error"], _UNKNOWN)
    return found


def _apart(shown: Any, opened: Any) -> Any:
    """Return *shown*, with what *opened* says otherwise as private."""
    if isinstance(shown, dict) and isinstance(opened, dict):
        mine, whole = cast("Row", shown), cast("Row", opened)
        both = {
            name: _apart(one, whole[name]) if name in whole else one
            for name, one in mine.items()
        }
        more = {name: Private(one) for name, one in whole.items() if name not in mine}
        return {**both, **more}
    if isinstance(shown, list) and isinstance(opened, list):
        rows, others = cast("list[object]", shown), cast("list[object]", opened)
        if len(rows) == len(others):
            return [_apart(one, other) for one, other in zip(rows, others, strict=True)]
    return cast("Any", shown) if shown == opened else Private(opened)


def _artifact(row: Row, lacking: Private) -> Row:
    """Return an artifact; of a private one each content is private, also one it lacks."""
    if row.get("visibility") != PRIVATE:
        return row
    return {**dict.fromkeys(_PARTS, lacking), **row}


def _stage(row: Row, hidden: Collection[str], failures: Mapping[str, Any]) -> Row:
    why = Private(failures[row["id"]]) if row["id"] in failures else _UNKNOWN
    said = {name: row[name] for name in _TELLING if name in row}
    found: Row = {**row, **_covered(said, why)}
    if "visible_text" not in row and any(
        one in hidden for one in row["produced_artifact_ids"]
    ):
        found["visible_text"] = _UNKNOWN
    return found


def _question(row: Row, asked: Collection[str]) -> Row:
    prompt = row.get("prompt")
    if row["request_id"] not in asked or isinstance(prompt, Private):
        return row
    return {**row, "prompt": Private(prompt)}


def _covered(value: Any, by: Private) -> Any:
    """Return *value* with each text that says only that something is private as *by*."""
    if isinstance(value, dict):
        return {name: _covered(one, by) for name, one in cast("Row", value).items()}
    if isinstance(value, list):
        return [_covered(one, by) for one in cast("list[object]", value)]
    if isinstance(value, str) and PRIVATE_FAILURE in value:
        return by
    return Private(value) if value == _WITHHELD else value
