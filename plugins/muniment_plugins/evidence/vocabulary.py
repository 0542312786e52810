"""The event types that the evidence plugin adds to the kernel's vocabulary.

    bundle.closed        {"manifest": "sha256:…", "run": "01JD…", "series": [{"count": 20, …}]}
    attestation.issued   {"statement": {…}, "keyid": "SHA256:…", "signature": "<b64>"}

Rules:

- The events are in no run, and their subjects are the files that people hand to tools
  which look for the plain digest of one file.
- `bundle.closed` is written only while each series that it counts has so many events.
- A statement in a standard predicate is signed by the ledger and recorded at once:
  `Ledger.append_statement`.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment.errors import RefusedError, WrongError
from muniment.events.types import EventType, PlainData
from muniment.formats.evidence import CLOSED, read_stated

__all__ = ["ATTESTED", "TYPES"]

ATTESTED = "attestation.issued"


class BundleClosed(PlainData):
    """An evidence bundle of a run was written, with exactly these files."""

    run: str
    manifest: str
    """SHA-256 of MANIFEST, which lists every file that proves nothing by itself."""
    series: list[dict[str, object]] | None = None
    """Every series that the run is in, with how many events each has."""


class AttestationIssued(PlainData):
    """The ledger signed a statement about a run, in a predicate that others read."""

    statement: dict[str, object]
    """The in-toto Statement; its canonical bytes are what was signed."""
    keyid: str
    signature: str
    """Base64 of the signature over its pre-authentication encoding (DSSE)."""


def _counts(data: Mapping[str, object]) -> dict[str, int]:
    if data.get("series") is None:
        return {}
    try:
        return {one.key: one.count for one in read_stated(data)}
    except WrongError as error:
        what, rule = error.message, error.rule
        remedy = "let `write_bundle` close bundles"
        raise RefusedError(what, rule=rule, place=CLOSED, remedy=remedy) from error


TYPES: tuple[EventType, ...] = (
    EventType(CLOSED, BundleClosed, counts=_counts),
    EventType(ATTESTED, AttestationIssued),
)
