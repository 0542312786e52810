"""Checking a page of ``muniment report`` for ``muniment verify``.

Rules:

- The ledger is verified first, as `muniment verify` does it. A page that agrees with a
  ledger that does not verify agrees with nothing: it is not compared.
- The exit code is the worse of both: 1 if the ledger contradicts itself or the page, 3
  if either cannot be told.
- A page is a regular file of limited size; what is no page of this form is not guessed.
- A page that carries its bundle needs no ledger: the bundle is verified, with the report
  in it, and the page must show that.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import CannotTellError
from muniment.formats.evidence import REPORT
from muniment_cli.keys.evidence_forms import form_of
from muniment_cli.shell.context import Session
from muniment_cli.shell.new_places import require_own_files
from muniment_cli.terminal.output import Cell, count, fields, hint, prose, say

if TYPE_CHECKING:
    from muniment.verification.report import Report
    from muniment_plugins.evidence import ReportCheck

__all__ = [
    "PageFile",
    "PageVerdict",
    "compared",
    "is_bundle",
    "is_page",
    "ledger_in",
    "page_at",
]

_MOST, _CARRYING = 16 << 20, 128 << 20
"""How many bytes a page has, and one that carries its evidence."""
_SHOWN = 20
_STYLES = {"agrees": "green", "wrong": "bold red", "cannot tell": "bold yellow"}
_CODES = {"agrees": 0, "wrong": 1, "cannot tell": 3}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page as it was read."""

    path: Path
    text: str

    carried: bytes | None
    """The bundle that it carries, as a zip file; None if it carries none."""

    @contextmanager
    def evidence(self) -> Generator[Path | None]:
        """Lend the bundle that the page carries, as a file; None if it carries none."""
        if self.carried is None:
            yield None
            return
        require_own_files()
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "evidence.zip"
            place.write_bytes(self.carried)
            yield place


@dataclass(frozen=True, slots=True)
class PageVerdict:
    """What came of a page, beside what came of its ledger."""

    path: Path
    ledger: Report
    checked: ReportCheck | None
    """None if the ledger does not verify."""

    @property
    def verdict(self) -> str:
        """``agrees``, ``wrong`` or ``cannot tell``."""
        return "cannot tell" if self.checked is None else self.checked.verdict

    @property
    def exit_code(self) -> int:
        """That of the ledger and the page together."""
        codes = {self.ledger.exit_code, _CODES[self.verdict]}
        return 1 if 1 in codes else max(codes)

    def to_json(self) -> dict[str, object]:
        """Return what a page adds to the document about its ledger."""
        checked = self.checked
        return {
            "ok": self.ledger.ok and self.verdict == "agrees",
            "exit_code": self.exit_code,
            "page": {
                "file": str(self.path),
                "verdict": self.verdict,
                "run": None if checked is None else checked.run or None,
                "size": None if checked is None else checked.size,
                "compared": 0 if checked is None else checked.compared,
                "findings": []
                if checked is None
                else [asdict(one) for one in checked.findings],
            },
        }

    def show(self) -> None:
        """Say it to people, below what was said of the ledger."""
        checked = self.checked
        say()
        if checked is None:
            fields([("page", str(self.path)), ("values", _cell(self.verdict, ""))])
            prose("✗ the ledger does not verify: the page was not compared", "bold red")
            return
        compared = f"{count(checked.compared, 'value')} compared"
        size = self.ledger.size
        of = f"{checked.size} of {size}" if checked.size < size else str(checked.size)
        about = f"{checked.run}, in the first {of} events"
        rows: list[tuple[str, Cell]] = [
            ("page", str(self.path)),
            *([("about run", about)] if checked.run else []),
            ("values", _cell(self.verdict, compared)),
        ]
        fields(rows)
        for one in checked.findings[:_SHOWN]:
            say()
            prose(f"✗ {one.kind}: {one.message}", "bold red")
            prose(f"  at {self.path}:{one.line}: {one.citation}")
        if (more := len(checked.findings) - _SHOWN) > 0:
            prose(f"\n  and {more} more: --json names all")
        if checked.compared and checked.findings:
            hint(
                "\nAll other words of the page are those of whoever sent it: they were "
                "not compared."
            )
        elif checked.run and checked.size < size:
            hint("\nWhat came later, such as other runs of its claims, is not on it.")


def _cell(word: str, more: str) -> Cell:
    return [(f"{word:<15}", _STYLES[word]), (more, "")]


def is_page(target: str) -> bool:
    """Tell whether *target* is a page, by its content; or is named as one."""
    path = Path(target)
    return not path.is_dir() and form_of(path) in ("html", "markdown")


def ledger_in(target: str) -> str:
    """Return *target*, or the ledger inside if it is the directory of one."""
    from muniment.places import DEFAULT_PLACE

    for inside in (DEFAULT_PLACE, Path(DEFAULT_PLACE.name)):
        if (Path(target) / inside).is_file():
            return str(Path(target) / inside)
    return target


def is_bundle(path: Path) -> bool:
    """Tell whether *path* is, or should be, an evidence bundle."""
    from muniment.formats.evidence import TELLING

    if path.is_dir():
        told = any(os.path.lexists(path / name) for name in TELLING)
        return told and not Path(ledger_in(str(path))).is_file()
    return form_of(path) == "zip"


def compared(
    session: Session,
    page: PageFile,
    ledger: Report,
    bundle: Path | None = None,
    *,
    carries: bool = False,
) -> PageVerdict:
    """Compare *page* with the ledger at hand, or with *bundle*.

    Args:
        session: knows the ledger.
        page: the page.
        ledger: what is said of the ledger, or of the bundle.
        bundle: where the bundle is, if there is one.
        carries: whether it is that which the page carries, and the report of which it shows.

    """
    from muniment_plugins.evidence import check_carried, check_report, open_bundle

    if ledger.findings:
        return PageVerdict(page.path, ledger, None)
    if bundle is None:
        with session.open() as opened:
            return PageVerdict(page.path, ledger, check_report(opened, page.text))
    with open_bundle(bundle) as reader:
        if not carries:
            return PageVerdict(page.path, ledger, check_report(reader, page.text))
        told = b"".join(reader.files.get(REPORT, tuple)()).decode()
    return PageVerdict(page.path, ledger, check_carried(page.text, told))


def page_at(path: Path) -> PageFile:
    """Read the page in *path*.

    Raises:
        CannotTellError: it is no file that can be read, or too large.

    """
    from muniment.files.folder import read_given
    from muniment_plugins.evidence import carried_evidence

    try:
        text = read_given(path, _CARRYING).decode()
    except UnicodeDecodeError:
        what = "it is not UTF-8"
    except (OSError, ValueError) as error:
        what = str(getattr(error, "strerror", None) or error)
    else:
        carries = carried_evidence(text) if form_of(path) == "html" else None
        if len(text) <= _MOST or carries is not None:
            return PageFile(path, text, carries)
        what = f"it has more than {_MOST:,} bytes, and no evidence in it"
    raise CannotTellError(
        f"the page cannot be read: {what}",
        rule="report/page",
        place=str(path),
        remedy="ask its sender for the page as `muniment report` wrote it",
    )
