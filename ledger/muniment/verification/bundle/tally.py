"""How much of a bundle was compared, item by item.

files 12 of 12, rows 42 of 42, signatures 42 of 42, proofs 42 of 42, …
"""

from __future__ import annotations

from muniment.verification.bundle.record import BundleRecord
from muniment.verification.bundle.runs_beside import RunsBeside
from muniment.verification.counts import Count

__all__ = ["covered", "tally"]


def tally(
    record: BundleRecord,
    beside: RunsBeside,
    *,
    proofs: int,
    heads: int,
    closed: bool,
    given: int,
) -> tuple[Count, ...]:
    """Return how much was compared, and how much there is.

    Args:
        record: the events of the run, judged.
        beside: those of other runs.
        proofs: how many inclusion proofs hold.
        heads: how many tree heads were read.
        closed: whether the bundle has a closing event, or should have.
        given: how many of the files that follow from keys are right.

    """
    lines, judged = record.lines + closed + beside.lines, record.record
    series, related = beside.series, beside.related
    sound = beside.sound + (0 if judged is None else judged.sound)
    ends = (0, 0) if judged is None else judged.ends
    decisions = (0, 0) if judged is None else judged.decisions
    blobs, hidden = record.blobs, len(record.withheld.events)
    whole, signatures = lines + hidden, record.signatures + beside.signatures
    return (
        Count("rows", sound, whole, hidden),
        Count("signatures", signatures, whole, hidden),
        Count("proofs", proofs, whole),
        Count("checkpoints", heads, 1 + closed),
        Count("blobs", blobs.compared, len(blobs.known), blobs.withheld, blobs.erased),
        Count("run ends", ends[0] + related.ends[0], ends[1] + related.ends[1]),
        Count(
            "decisions",
            decisions[0] + related.decisions[0],
            decisions[1] + related.decisions[1],
        ),
        Count("places in series", series.compared, series.total),
        Count("trust files", given, 4),
        *([] if record.page is None else [record.page.count]),
        *beside.counts,
    )


def covered(record: BundleRecord | None, *, proven: bool) -> str:
    """Say what the verdict over completeness is about."""
    if record is None or record.record is None:
        return "no run"
    events, run = record.record.rows, record.run
    if proven:
        return f"the end of run {run} covers its {events} events"
    return f"run {run} has no end that covers its {events} events"
