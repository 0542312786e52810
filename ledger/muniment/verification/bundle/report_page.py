"""The report in a bundle, and its view of the run, compared with the events.

    values of the report 212 of 212

Rules:

- Each value on the report is compared with the event that it cites, while the events are
  read, none of which is kept for it.
- What ``run.json`` says is derived from the events again.
- A style sheet, or a member, that is not known here may be one of a later muniment: then
  nobody can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from muniment.encoding.canonical import JsonValue
from muniment.errors import MunimentError
from muniment.formats.evidence import MOST_BYTES, REPORT, RUN, Withheld, blob_name
from muniment.verification.counts import Count
from muniment.verification.page.comparison import PageComparison
from muniment.verification.page.computed import BundleEnd, Lacking
from muniment.verification.page.quotes import MOST_CONTENT, decoded
from muniment.verification.page.run_view import MOST_VIEW, RunView
from muniment.verification.page.wording import IS_LARGE
from muniment.verification.statements.blob_references import SALT

if TYPE_CHECKING:
    from muniment.verification.bundle.members import Members
    from muniment.verification.report import Findings

__all__ = ["BundlePage", "compare_view"]

_ASK = "ask its sender for the bundle as `muniment bundle` wrote it"


class BundlePage:
    """Compares the report of a bundle."""

    def __init__(self, members: Members, text: str) -> None:
        """Read the page *text*."""
        self._members = members
        self._check = PageComparison(text, self._content)

    @classmethod
    def of(cls, members: Members, findings: Findings) -> BundlePage | None:
        """Return the page of a bundle; None if it has none that can be read."""
        if REPORT not in members.sizes:
            return None
        try:
            return cls(members, members.read(REPORT, MOST_BYTES[REPORT]).decode())
        except MunimentError as error:
            findings.add_error("edited", error)
        except UnicodeDecodeError:
            what = "it is not UTF-8"
            findings.add("edited", "report/frame", what, place=REPORT, remedy=_ASK)
        return None

    def take(self, statement: Any, leaf: bytes, keyid: str, ledger: str) -> None:
        """Compare whatever cites this event."""
        self._check.take(statement, leaf.hex(), keyid, ledger)

    def finish(self, end: BundleEnd, run: str, findings: Findings) -> None:
        """Report what differs."""
        check = self._check
        check.finish(end, run)
        if not check.page.known and check.page.run:
            what = "its style sheet is not known here: a later muniment may have it"
            remedy = "verify it with the version that wrote it, or a later one"
            findings.add(
                "unreadable", "report/frame", what, place=REPORT, remedy=remedy
            )
        for line, what in check.faults:
            place = f"{REPORT}:{line}"
            findings.add("edited", "report/value", what, place=place, remedy=_ASK)

    @property
    def count(self) -> Count:
        """How many values there are, and how many were compared."""
        return Count("values of the report", self._check.compared, self._check.total)

    def _content(self, reference: Mapping[str, JsonValue]) -> JsonValue:
        size = cast("int", reference["size"])
        if size > MOST_CONTENT:
            raise Lacking(IS_LARGE)
        tag = str(reference["$blob"])
        name = blob_name(tag)
        if self._members.sizes.get(name) != size + SALT:
            raise Lacking(tag)
        data = b"".join(self._members.pieces(name))[SALT:]
        return decoded(data, str(reference.get("media", "")))


def compare_view(
    view: RunView, members: Members, hidden: Withheld, findings: Findings
) -> None:
    """Report what ``run.json`` says, and the events of the run do not."""
    text = members.read(RUN, MOST_VIEW)
    for what in view.wrong(text, len(hidden.events), len(hidden.blobs)):
        findings.add("edited", "bundle/view", what, place=RUN)
    for name in view.unknown(text):
        what = f"its member {name:.80} is not known here: a later muniment may have it"
        remedy = "verify it with the version that wrote it, or a later one"
        findings.add("unreadable", "bundle/view", what, place=RUN, remedy=remedy)
