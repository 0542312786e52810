"""What every reader of a bundle answers alike, and how it says that something is not here."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from muniment import EventFilters
from muniment.encoding.canonical import parse
from muniment.encoding.codec import decode
from muniment.errors import CannotTellError, ErasedError, MunimentError, UsageError
from muniment.formats.evidence import CLOSING, WITHHELD, Withheld
from muniment.formats.statement import BlobRef, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["BundleContents", "NotInBundle", "WithheldFromBundle", "absent"]

_ANSWERED = {"type", "run", "series", "from_seq", "to_seq", "limit", "order"}


class NotInBundle(CannotTellError):
    """The ledger may have it; the bundle does not."""


class WithheldFromBundle(NotInBundle):
    """Whoever wrote the bundle withholds it, and says so there."""


class BundleContents:
    """Answers that follow from what a bundle is about, and from its events and blobs."""

    path: Path
    run: str
    withheld: Withheld

    def get_blob(self, ref: BlobRef) -> bytes:
        """Return the content of a blob, without its salt."""
        raise NotImplementedError

    def run_id(self, prefix: str) -> str:
        """Return the id of the run whose id begins with *prefix*.

        Raises:
            UsageError: that is not the run of the bundle.

        """
        if prefix and self.run.startswith(prefix):
            return self.run
        raise UsageError(
            f"the bundle is of another run than {prefix!r:.40}",
            rule="run/unknown",
            place=str(self.path),
            remedy=f"it is of {self.run}",
        )

    def value(self, ref: BlobRef) -> object:
        """Return the Python value of the blob *ref*."""
        content = self.get_blob(ref)
        if ref.media.startswith("application/json"):
            return decode(parse(content))
        return content.decode() if ref.media.startswith("text/plain") else content

    def resolve(self, event: Event) -> dict[str, object]:
        """Return the data of *event* with blobs in place of references."""
        return {
            name: self.value(value) if isinstance(value, BlobRef) else value
            for name, value in event.data.items()
        }

    def selecting(
        self, shown: frozenset[str], **filters: Unpack[EventFilters]
    ) -> Callable[[Event], bool]:
        """Return what tells whether an event passes; *shown* are the series that are here.

        Raises:
            UsageError: a filter is one that only a ledger has.
            NotInBundle: the series is not shown whole.

        """
        if odd := filters.keys() - _ANSWERED:
            what = f"a bundle does not filter by {min(odd)}"
            raise UsageError(what, rule="query/filter", place=str(self.path))
        names = (filters.get("type") or "*").split(",")
        run, series = filters.get("run"), filters.get("series")
        if series is not None and series not in shown:
            raise absent(f"the whole of the series {series!a:.80}", CLOSING)
        start, end = filters.get("from_seq") or 0, filters.get("to_seq")
        return lambda one: (
            start <= one.seq
            and (end is None or one.seq < end)
            and (run is None or (one.run or "").startswith(run))
            and (series is None or any(link.key == series for link in one.series))
            and any(fnmatchcase(one.type, name) for name in names)
        )

    def refuse_withheld(self, seq: int) -> None:
        """Raise `WithheldFromBundle` if the event *seq* is."""
        if any(one.seq == seq for one in self.withheld.events):
            raise WithheldFromBundle(
                f"event {seq} is withheld",
                rule="bundle/withheld",
                place=WITHHELD,
                remedy="ask whoever wrote the bundle for it",
            )

    def lacks(self, ref: BlobRef, erasures: Iterable[Event]) -> MunimentError:
        """Return why a blob is not here; the *erasures* are the events that erased some."""
        for one in erasures:
            listed = one.raw.get("blobs")
            if isinstance(listed, list) and ref.digest in listed:
                return ErasedError(
                    "the blob was erased",
                    rule="blob/erased",
                    place=ref.digest,
                    remedy=f"event {one.seq} says by whom and why",
                )
        if ref.digest in self.withheld.blobs:
            return WithheldFromBundle(
                "the blob is withheld",
                rule="bundle/withheld",
                place=ref.digest,
                remedy="ask whoever wrote the bundle for it",
            )
        return absent("the blob", ref.digest)


def absent(what: str, place: str) -> NotInBundle:
    """Return the error of what is not in this bundle."""
    return NotInBundle(
        f"{what} is not in this bundle",
        rule="bundle/absent",
        place=place,
        remedy="ask the keeper of the ledger for it",
    )
