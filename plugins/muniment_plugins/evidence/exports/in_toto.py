"""The statements about a run for in-toto's tools: an envelope (DSSE) a line.

    muniment attest 01JD3 --predicate test-result
    muniment export 01JD3 --format in-toto -o run.intoto.jsonl

Rules:

- Nothing is signed here. The lines are those that `attest` signed and recorded, as long as
  the run did not go on, in the order of the log.
- What the run is marked with is in each of them, signed: `marks` of the member `muniment`.
- Each is derived from the record again before it is given out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment import Ledger
from muniment.errors import CannotTellError
from muniment_plugins.evidence.attestations.issuance import true_attestations

if TYPE_CHECKING:
    from muniment_plugins.evidence.report.record import Source

__all__ = ["as_in_toto"]


def as_in_toto(ledger: Source, run: str) -> bytes:
    """Return the statements, one a line.

    Raises:
        CannotTellError: there is none about the run as it is, or *ledger* is a bundle.
        WrongError: one is not signed, or does not follow from the record.

    """
    if not isinstance(ledger, Ledger):
        raise CannotTellError(
            "statements are recorded outside of runs, and a bundle holds one run",
            rule="attestation/bundle",
            place=f"run {run}",
            remedy="export them from the ledger, and hand them over beside the bundle",
        )
    found = true_attestations(ledger, run)
    if not found:
        raise CannotTellError(
            "no statement was issued about the run as it is now",
            rule="attestation/none",
            place=f"run {run}",
            remedy=f"`muniment attest {run} --predicate svr` issues one",
        )
    return b"".join(one.envelope.to_json() + b"\n" for one in found)
