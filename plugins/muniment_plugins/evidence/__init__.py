"""Evidence: what is handed to people who do not have the ledger.

    written = write_bundle(ledger, "01JD3", Path("evidence.zip"))
    write_report(ledger, "01JD3", Path("report.html"))
    attest(ledger, "01JD3", ["test-result"])

A report is a page about one run, for people to read. A bundle is the record of one run, in files, with proofs; `muniment verify` checks it
offline, and so do other people's tools. The plugin manager loads this module: it offers
the hooks and knows the other modules by name only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from muniment.events.types import EventType
    from muniment_plugins.evidence.attestations.attestation import Attestation
    from muniment_plugins.evidence.attestations.issuance import attest
    from muniment_plugins.evidence.bundle import Written, write_bundle
    from muniment_plugins.evidence.bundle_reader import BundleReader, open_bundle
    from muniment_plugins.evidence.event_proof import (
        SigstoreProof,
        event_entry,
        sigstore_proof,
    )
    from muniment_plugins.evidence.raw_record import verified_record
    from muniment_plugins.evidence.report.carried import (
        carried_evidence,
        check_carried,
        write_carrying,
        write_carrying_run,
    )
    from muniment_plugins.evidence.report.check import ReportCheck, check_report
    from muniment_plugins.evidence.report.record import Source
    from muniment_plugins.evidence.report.write import Reported, write_report

__all__ = [
    "Attestation",
    "BundleReader",
    "ReportCheck",
    "Reported",
    "SigstoreProof",
    "Written",
    "attest",
    "carried_evidence",
    "check_carried",
    "check_report",
    "event_entry",
    "event_types",
    "exporters",
    "hookspecs",
    "open_bundle",
    "sigstore_proof",
    "verified_record",
    "write_bundle",
    "write_carrying",
    "write_carrying_run",
    "write_report",
]

# The kernel's own marker is equal, but importing it would load the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "Attestation": ".attestations.attestation",
        "BundleReader": ".bundle_reader",
        "ReportCheck": ".report.check",
        "Reported": ".report.write",
        "SigstoreProof": ".event_proof",
        "Written": ".bundle",
        "attest": ".attestations.issuance",
        "carried_evidence": ".report.carried",
        "check_carried": ".report.carried",
        "check_report": ".report.check",
        "event_entry": ".event_proof",
        "open_bundle": ".bundle_reader",
        "sigstore_proof": ".event_proof",
        "verified_record": ".raw_record",
        "write_bundle": ".bundle",
        "write_carrying": ".report.carried",
        "write_carrying_run": ".report.carried",
        "write_report": ".report.write",
    },
)


@hookimpl
def event_types() -> Iterable[EventType]:
    """Add the events that close a bundle, and that record a signed statement."""
    from muniment_plugins.evidence.vocabulary import TYPES  # noqa: PLC0415 - lazy

    return TYPES


@hookimpl
def exporters() -> Mapping[str, Callable[[Source, str], bytes]]:
    """Add the formats of other people's tools."""
    from muniment_plugins.evidence.exports.formats import FORMATS  # noqa: PLC0415 - lazy

    return FORMATS


@hookimpl
def hookspecs() -> Iterable[type]:
    """Declare the hooks by which plugins say what their runs found."""
    from muniment_plugins.evidence.hooks import EvidenceHooks  # noqa: PLC0415 - lazy

    return (EvidenceHooks,)
