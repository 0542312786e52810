"""Putting an eval together with its runs, or from the run that recorded it.

Rules:

- Runs are found before anything is written: a name that leads nowhere is refused.
- From a record, nothing is read again but what a resume still has to read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError
from muniment.formats.statement import BlobRef
from muniment.programs.stable_names import name_of
from muniment_plugins.evals.documents.suite import EvalSuite
from muniment_plugins.evals.engine.binding import bound_cases
from muniment_plugins.evals.engine.program import EvalProgram
from muniment_plugins.evals.engine.reading import read_views

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["assembled", "rebuild"]


def assembled(
    ledger: Ledger,
    suite: EvalSuite,
    runs: Sequence[str] = (),
    against: Sequence[str] = (),
    pair_by: str = "case",
    fail_on: str = "worse",
) -> EvalProgram:
    """Return the program that holds *runs* against *suite*.

    Raises:
        UsageError: there is no such run, or nothing is held to it.

    """
    bound = bound_cases(ledger, suite, runs, against)
    return EvalProgram(suite, bound, partial(read_views, ledger), pair_by, fail_on)


def rebuild(ledger: Ledger, run: str) -> EvalProgram | None:
    """Return the program of *run* from its start, or None if it is no eval."""
    started = next(ledger.events(run=run, limit=1))
    program = cast("Mapping[str, object]", started.data.get("program") or {})
    params = started.data.get("params")
    known = ledger.plugins.names.of(program)
    if known is None or known.name != name_of(EvalProgram):
        return None
    if not isinstance(params, BlobRef):
        return None
    said = cast("Mapping[str, JsonValue]", ledger.value(params))
    suite = EvalSuite(
        cast("dict[str, JsonValue]", said["suite"]), f"suite of run {run}"
    )
    bound = cast("list[dict[str, Any]]", said["bound"])
    reader = partial(_read_again, ledger)
    pairing = str(said["pair_by"]), str(said["fail_on"])
    return EvalProgram(suite, bound, reader, *pairing)


def _read_again(
    ledger: Ledger, suite: EvalSuite, reads: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Read runs for a resume; records in files are not here any more.

    Raises:
        CannotTellError: it would need one.

    """
    files = [one["run_path"] for one in reads if "run_path" in one]
    if files:
        raise CannotTellError(
            "the record in a file is not part of an eval's record",
            rule="evals/file-gone",
            place=files[0],
            remedy="start the eval again: `muniment eval SUITE`",
        )
    return read_views(ledger, suite, reads)
