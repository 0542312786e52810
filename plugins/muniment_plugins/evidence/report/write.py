"""Writes the report about a run: one page, HTML or Markdown.

    write_report(ledger, "01JD3", Path("report.html"))
    write_report(bundle, bundle.run, Path("report.html"))

Rules: the same run and checkpoint give the same bytes. Nothing is overwritten. Only a run
that verifies gets a report; the one in a bundle is judged with the bundle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muniment.errors import CannotTellError, UsageError
from muniment.files.folder import write_new
from muniment.formats.evidence import NOTHING
from muniment_plugins.evidence.bundle_contents import BundleContents
from muniment_plugins.evidence.report.facts import after, before
from muniment_plugins.evidence.report.html import as_html
from muniment_plugins.evidence.report.markdown import as_markdown
from muniment_plugins.evidence.report.preview import BundlePreview
from muniment_plugins.evidence.report.proof import proof
from muniment_plugins.evidence.report.record import RunReader, Source
from muniment_plugins.evidence.report.sections.summary import summary

if TYPE_CHECKING:
    from muniment_plugins.evidence.report.blocks import Block, Section

__all__ = [
    "Reported",
    "page_of",
    "refuse_taken",
    "report_text",
    "write_page",
    "write_report",
]

Render = Callable[[RunReader, "Iterable[Section]"], Iterator[str]]

_FORMS: dict[str, Render] = {".html": as_html, ".md": as_markdown}


@dataclass(frozen=True, slots=True)
class Reported:
    """A report as it was written."""

    path: Path
    run: str
    checkpoint: int
    """How many events the checkpoint covers up to which the ledger was read."""
    size: int
    """In bytes."""
    private: int = 0
    """How many private contents are in the evidence that the page carries."""


def write_report(ledger: Source, run: str, path: Path) -> Reported:
    """Write the report about *run* to the new file *path*, ``.html`` or ``.md``.

    The ledger may be a bundle, as `open_bundle` lends it. What it does not hold is said.

    Raises:
        UsageError: there is no such run, the name has another ending or is taken.
        CannotTellError: a blob is gone, or no checkpoint covers the run.
        WrongError: the record of the run does not verify.

    """
    form = path.suffix.lower()
    if form not in _FORMS:
        raise _usage("a report is .html or .md", path, "choose a name that ends so")
    refuse_taken(path)
    record = _record(ledger, run)
    return write_page(page_of(record, form), path, record.run, record.size)


def write_page(text: str, path: Path, run: str, size: int) -> Reported:
    """Write the page *text* about *run*, in the first *size* events, to *path*.

    Raises:
        UsageError: the name is taken, or nothing can be written there.

    """
    refuse_taken(path)
    data = text.encode()
    try:
        write_new(path, [data])
    except OSError as error:
        what = f"the report cannot be written ({error.strerror or error})"
        raise _usage(what, path, "choose another place") from error
    return Reported(path, run, size, len(data))


def refuse_taken(path: Path) -> None:
    """Raise `UsageError` if there is something at *path*."""
    if path.is_symlink() or path.exists():
        raise _usage("there is something already", path, "choose another name")


def report_text(ledger: Source, run: str, suffix: str = ".html") -> str:
    """Return the report about *run*, as `write_report` would write it."""
    return page_of(_record(ledger, run), suffix)


def page_of(record: RunReader, suffix: str) -> str:
    """Return the report about the run of *record*, up to its checkpoint."""
    if not isinstance(record.ledger, BundlePreview):
        record.verified()
    return "".join(_FORMS[suffix](record, _sections(record)))


def _record(ledger: Source, run: str) -> RunReader:
    chosen, size = ledger.run_id(run), ledger.checkpointed
    for event in ledger.events(run=chosen, order="desc", limit=1):
        if event.seq >= size:
            raise CannotTellError(
                "no checkpoint covers the whole run",
                rule="report/checkpoint",
                place=f"run {chosen}, event {event.seq}",
                remedy="sign one, where the key is: muniment checkpoint",
            )
    return RunReader(ledger, chosen, size)


def _sections(record: RunReader) -> Iterator[Section]:
    yield from summary(record)
    if isinstance(record.ledger, BundleContents):
        yield _of_bundle(record.ledger)
    yield from before(record)
    asked = record.ledger.plugins.ask(
        "report_sections", ledger=record.ledger, run=record.run, size=record.size
    )
    for _, sections in asked:
        yield from cast("Iterable[Section]", sections or ())
    yield from after(record)
    yield from proof(record)


def _of_bundle(bundle: BundleContents) -> Section:
    """Return what a page says first that was written from a bundle."""
    redacted: list[Block] = [
        {
            "say": [
                "It is redacted: ",
                {"rule": "withheld", "of": "events"},
                " events of the run and ",
                {"rule": "withheld", "of": "blobs"},
                " contents are withheld, and named there by their hashes.",
            ]
        },
        {"say": "Whatever this page counts is counted without these events."},
    ]
    return {
        "title": "What this page was written from",
        "blocks": [
            *(redacted if bundle.withheld != NOTHING else []),
            {
                "say": "An evidence bundle: the record of one run, and of the other runs in "
                "its series the starts, ends, marks and verdicts."
            },
            {
                "say": "Not in this bundle are contents of other runs, runs and "
                "registrations outside these series, and whatever came after its tree "
                "head. The ledger may hold more."
            },
        ],
    }


def _usage(what: str, path: Path, remedy: str) -> UsageError:
    return UsageError(what, rule="evidence/output", place=str(path), remedy=remedy)
