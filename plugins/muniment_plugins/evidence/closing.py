"""The event that closes a bundle: found again, or appended once.

Rules:

- A bundle of the same content has the same closing event, however often it is written:
  one that states the digest of this MANIFEST is looked for first.
- MANIFEST depends on the keys up to the closing event, on its signer and on the log's
  key, and on the runs in the series of the run. They are known before it is appended; if
  another writer comes in between, that event closes nothing, and another is appended. An
  event that would miscount a series is not written at all.
- An earlier closing event is as good until something comes to a series: a further run,
  or the end of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from muniment.errors import AppendRefused, CannotTellError, KeyRefused
from muniment.formats.checkpoint import TlogProof
from muniment.formats.dsse import Envelope
from muniment.formats.evidence import (
    CLOSED,
    CLOSING,
    CLOSING_CHECKPOINT,
    CONSISTENCY,
    HANDED_OVER,
    MANIFEST,
    REPORT,
    consistency_text,
)
from muniment.formats.sigstore import SigstoreBundle
from muniment.keys.ed25519 import PublicKey
from muniment_plugins.evidence.files import (
    Files,
    digest_of,
    listed_files,
    own_line,
    tree_files,
)
from muniment_plugins.evidence.report.preview import BundlePreview
from muniment_plugins.evidence.report.record import RunReader
from muniment_plugins.evidence.report.write import page_of
from muniment_plugins.evidence.selection import Selected, size_of
from muniment_plugins.evidence.series import SeriesOfRun

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["Closed", "closed_files"]

_TRIES = 3


@dataclass(frozen=True, slots=True)
class Closed:
    """The files of a bundle, and the event that closes it."""

    files: Files
    event: Event


def closed_files(selected: Selected, views: Mapping[str, bytes]) -> Closed:
    """Return all files of the bundle; append the closing event unless there is one.

    Raises:
        KeyRefused: there is none, and no key here signs events.
        CannotTellError: no checkpoint covers it, and none can be signed here.

    """
    ledger = selected.ledger
    series = SeriesOfRun.of(selected)
    page = _Page(selected)
    for event in _earlier(selected):
        if series.last < event.seq and (
            found := _closed_by(event, selected, series, views, page)
        ):
            return found
    for _ in range(_TRIES):
        try:
            event = _append(selected, series, views, page)
        except AppendRefused as refused:
            if refused.rule != "event/counts":
                raise
            series = SeriesOfRun.of(selected)
            continue
        series = SeriesOfRun.of(selected, event.seq)
        if found := _closed_by(event, selected, series, views, page):
            return found
    raise CannotTellError(
        "keys or series of the ledger changed each time while the bundle was closed",
        rule="evidence/changing",
        place=str(ledger.path),
        remedy="write the bundle again",
    )


def _earlier(selected: Selected) -> Iterator[Event]:
    """Yield the events that closed bundles of the run, the newest first."""
    listed = selected.ledger.events(type=CLOSED, order="desc", from_seq=selected.last)
    return (one for one in listed if one.raw.get("run") == selected.run)


class _Page:
    """The report, written once for each state of the bundle."""

    def __init__(self, selected: Selected) -> None:
        self._selected = selected
        self._known: tuple[object, bytes] = (None, b"")

    def written(self, series: SeriesOfRun, before: int | None = None) -> bytes:
        """Return the report in the bundle, whose closing event is number *before*."""
        selected, ledger = self._selected, self._selected.ledger
        end = ledger.head.size if before is None else before
        keys = selected.last_with_keys(end)
        note = ledger.first_checkpoint_over(max(keys, series.last))
        state = note, keys, [one.seq for one in series.events], series.data
        if self._known[0] != state:
            bundle = BundlePreview(selected, series, note, end)
            text = page_of(RunReader(bundle, selected.run, size_of(note)), ".html")
            self._known = state, text.encode()
        return self._known[1]


def _append(
    selected: Selected,
    series: SeriesOfRun,
    views: Mapping[str, bytes],
    page: _Page,
) -> Event:
    ledger = selected.ledger
    signer, log = ledger.signer, ledger.checkpoint_signer
    if signer is None:
        raise KeyRefused(
            "no key here can sign the event that closes the bundle",
            rule="evidence/no-key",
            place=str(ledger.path),
            remedy="write it where the writer's key is, or without that event: --raw",
        )
    if log is None:
        raise CannotTellError(
            "there is no checkpoint key here, and the closing event needs a tree head",
            rule="evidence/no-checkpoint-key",
            place=str(ledger.path),
            remedy="write it where the key is, or without that event: --raw",
        )
    more = {**views, REPORT: page.written(series)}
    files = listed_files(
        selected, selected.with_keys, series.events, (signer.raw, log), more
    )
    about = _about(files)
    data = _data(selected, series, about)
    return ledger.append(CLOSED, data, subject=about)


def _data(
    selected: Selected, series: SeriesOfRun, about: list[tuple[str, str]]
) -> dict[str, object]:
    """Return the data of the closing event."""
    data: dict[str, object] = {"run": selected.run, "manifest": dict(about)[MANIFEST]}
    return {**data, "series": series.data} if series.stated else data


def _about(files: Files) -> list[tuple[str, str]]:
    """Return the files that a closing event is about, with the tags of their digests."""
    return [
        (name, f"sha256:{digest_of(files[name]).hex()}")
        for name in HANDED_OVER
        if name in files
    ]


def _closed_by(
    event: Event,
    selected: Selected,
    series: SeriesOfRun,
    views: Mapping[str, bytes],
    page: _Page,
) -> Closed | None:
    """Return the files of the bundle that *event* closed; None if they differ."""
    ledger = selected.ledger
    note, log = own_line(ledger.first_checkpoint_over(event.seq), ledger)
    enrolled = {one.public: one.since for one in ledger.keys.entries}
    if enrolled[log] >= event.seq:
        return None
    events = partial(selected.with_keys, event.seq)
    more = {**views, REPORT: page.written(series, event.seq)}
    files = listed_files(selected, events, series.events, (event.key, log), more)
    about = _about(files)
    data = _data(selected, series, about)
    stated = [(one.name, one.digest) for one in event.subject]
    if event.raw != data or stated != about or event.run is not None:
        return None  # it is another's, or nobody's: whatever says it closes a bundle
    last = max(selected.last_with_keys(event.seq), series.last)
    over = ledger.first_checkpoint_over(last)
    others = partial(selected.others, series.events)
    tree = tree_files(
        ledger, lambda: chain(events(), others()), selected.withheld, over
    )
    return Closed({**files, **tree, **_closing(ledger, event, over, note, log)}, event)


def _closing(
    ledger: Ledger, event: Event, over: bytes, note: bytes, log: PublicKey
) -> Files:
    signer = PublicKey(event.key)
    envelope = Envelope(event.payload, signer.keyid, event.signature)
    proof = TlogProof(event.seq, ledger.prove(event.seq, note).hashes, note)
    sigstore = SigstoreBundle(envelope, proof).to_json(signer, log)
    old = size_of(over)
    grown = consistency_text(old, ledger.prove_growth(old, size_of(note)), note)
    return {
        CLOSING: lambda: (sigstore,),
        CLOSING_CHECKPOINT: lambda: (note,),
        CONSISTENCY: lambda: (grown,),
    }
