"""The part of the standalone verifier that compares the report with the events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from muniment.verification.page.comparison import PageComparison
from muniment.verification.page.computed import BundleEnd, Lacking
from muniment.verification.page.quotes import MOST_CONTENT, decoded
from muniment.verification.page.wording import IS_LARGE
from muniment_plugins.evidence.standalone.bundle_files import Files
from muniment_plugins.evidence.standalone.events import EVENTS, BundleLines
from muniment_plugins.evidence.standalone.formats import (
    SignedHead,
    Unchecked,
    require,
    unbase64,
)
from muniment_plugins.evidence.standalone.kin import RELATED
from muniment_plugins.evidence.standalone.other_runs import SERIES, OtherRuns

__all__ = ["LARGEST_PAGE", "REPORT", "compare_page"]

REPORT = "report.html"
LARGEST_PAGE = 32 << 20


def compare_page(
    files: Files, record: BundleLines, others: OtherRuns, head: SignedHead
) -> str:
    """Compare each value on the report; return how many there are.

    Raises:
        Refused: one differs, or it is no report.
        Unchecked: it has a style sheet that is not known here.

    """
    text = b"".join(files.pieces(REPORT)).decode()

    def content(reference: Mapping[str, Any]) -> Any:
        tag, size = reference["$blob"], reference["size"]
        if size > MOST_CONTENT:
            raise Lacking(IS_LARGE)
        name = f"blobs/{tag.replace(':', '-')}"
        if name not in files:
            raise Lacking(tag)
        data = b"".join(files.pieces(name))[32:]
        return decoded(data, reference.get("media", ""))

    check = PageComparison(text, content)
    shown = (EVENTS, record.events), (RELATED, others.below), (SERIES, others.events)
    for name, events in shown:
        lines = files.lines(name) if name in files else iter(())
        for event, line in zip(events, lines, strict=True):
            payload = unbase64(json.loads(line)["payload"], None, name)
            leaf, ledger = event.leaf.hex(), record.keys.ledger
            check.take(json.loads(payload), leaf, event.keyid, ledger)
    hidden = {one.seq for one in record.hidden}
    root, gone = head.root.hex(), record.erased
    end = BundleEnd(head.size, root, gone, record.kept, hidden, others.shown)
    check.finish(end, record.run)
    for at, what in check.faults:
        require(None, f"{REPORT}:{at}", what)
    good = check.compared == check.total > 0
    require(good, REPORT, "not every value was compared")
    if not check.page.known:
        what = "its style sheet is not known here; a later muniment may have it"
        raise Unchecked(f"{REPORT}: {what}")
    return f"{check.compared} values of the report"
