"""axe-core finds nothing serious on a report, and nobody is asked for anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from browser import NEEDS_BROWSER, Browser, Scheme, opened, serious
from bundled import Bundles
from comparing import newest_run, shrinking
from muniment import Run
from muniment_plugins.evidence import open_bundle, write_report

pytestmark = [NEEDS_BROWSER, pytest.mark.slow]
VIEWS: dict[str, tuple[Scheme, int]] = {
    "light": ("light", 1200),
    "dark": ("dark", 1200),
    "phone": ("light", 390),
}


@dataclass(frozen=True)
class Pages:
    """A page of each sort."""

    files: dict[str, Path]


def failing(run: Run) -> NoReturn:
    """Fail with hostile words."""
    run.record("claim.stated", {"id": "c9", "text": "<b>bold</b> " + "long " * 200})
    raise ValueError('<script>alert("x")</script>')


@pytest.fixture(scope="module")
def pages(bundles: Bundles, tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """Write the pages of runs that were erased, failed, compared, bundled, redacted."""
    base = tmp_path_factory.mktemp("pages")
    files = {
        name: base / f"{name}.html"
        for name in ("erased", "failed", "whole", "redacted")
    }
    ledger = bundles.ledger
    write_report(ledger, bundles.run, files["erased"])
    done = ledger.execute(failing)
    assert done.status == "failed"
    ledger.checkpoint()
    write_report(ledger, done.run_id, files["failed"])
    for name, folder in (("whole", bundles.folder), ("redacted", bundles.redacted)):
        with open_bundle(folder) as bundle:
            write_report(bundle, bundle.run, files[name])
    files["compared"] = base / "compared.html"
    with shrinking(base / "shrinking.db") as other:
        write_report(other, newest_run(other), files["compared"])
    return Pages(files)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("which", ["erased", "failed", "whole", "redacted", "compared"])
def test_nothing_serious(which: str, view: str, pages: Pages, browser: Browser) -> None:
    """In light and dark, wide and narrow; no error, and no sideways scrolling."""
    scheme, width = VIEWS[view]
    with opened(browser, pages.files[which], scheme=scheme, width=width) as page:
        assert serious(page) == []
        assert page.errors == []
        wide = page.view.evaluate("document.documentElement.scrollWidth")
        assert wide <= width


@pytest.mark.parametrize("view", VIEWS)
def test_marks_are_seen(view: str, pages: Pages, browser: Browser) -> None:
    """Each is in its picture, and has at least a pixel of its own in each direction."""
    scheme, width = VIEWS[view]
    with opened(browser, pages.files["compared"], scheme=scheme, width=width) as page:
        shown = page.view.evaluate(
            """[...document.querySelectorAll('svg [data-value]')].map(one => {
              const [a, b] = [one, one.ownerSVGElement].map(x => x.getBoundingClientRect())
              const stroke = parseFloat(getComputedStyle(one).strokeWidth)
              return [a.left >= b.left - 1 && a.right <= b.right + 1,
                Math.max(a.width, stroke) >= 1 && Math.max(a.height, stroke) >= 1]
            })"""
        )
    assert len(shown) > 30
    assert all(inside and seen for inside, seen in shown)
