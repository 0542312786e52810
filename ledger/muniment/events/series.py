"""The series that an event joins: those of its type, of its program, and those given.

    claim.stated {"id": "c1", …}      →  claim/c1
    an experiment starts              →  its program's ``series_of_run(params)``

Rules:

- A key is a short text, and an event has it once; in the order of canonical JSON.
- In a ledger whose events have no series (`muniment.format_versions.SERIES`), the
  series of a type or a program are left out, and those that a caller asks for are
  refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import cast

from muniment.errors import RefusedError
from muniment.events.types import Prepared
from muniment.format_versions import SERIES
from muniment.formats.series import MAX_KEY, is_key

__all__ = ["of_run", "with_series"]


def with_series(prepared: Prepared, given: Iterable[str], version: int) -> Prepared:
    """Return *prepared* with the series of its type, and those *given*.

    Args:
        prepared: the event's data.
        given: the keys that the caller asks for.
        version: the version of the ledger's events.

    Raises:
        RefusedError: one is not a key, or the ledger's events have no series.

    """
    asked = (given,) if isinstance(given, str) else tuple(given)
    if version < SERIES and asked:
        raise _refused(
            prepared,
            f"the events of this ledger have version {version}, which knows no series",
            "leave series out, or go on in a successor: "
            "`muniment init DIR --continues LEDGER --reason R`",
        )
    keys = () if version < SERIES else (*prepared.series, *asked)
    for key in keys:
        if not is_key(key):
            raise _refused(
                prepared,
                f"the key of a series is a text of 1 to {MAX_KEY} bytes, "
                f"not {key!r:.80}",
                "give a short name, such as `claim/c1`",
            )
    joined = set(asked).difference(prepared.series)
    series = tuple(sorted(set(keys), key=_as_written))
    return replace(prepared, series=series, joined=tuple(sorted(joined)))


def of_run(
    program: object, params: Mapping[str, object], version: Callable[[], int]
) -> tuple[str, ...]:
    """Return the series that the start of a run of *program* joins."""
    said = getattr(program, "series_of_run", None)
    if not callable(said):
        return ()
    keys = tuple(cast("Callable[..., Iterable[str]]", said)(params))
    return keys if keys and version() >= SERIES else ()


def _as_written(key: str) -> bytes:
    """Return the bytes by which canonical JSON sorts names."""
    return key.encode("utf-16-be")


def _refused(prepared: Prepared, message: str, remedy: str) -> RefusedError:
    place = prepared.type.name
    return RefusedError(message, rule="event/series", place=place, remedy=remedy)
