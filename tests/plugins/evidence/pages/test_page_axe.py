"""axe-core finds nothing serious on a report, and nobody is asked for anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from browser import NEEDS_BROWSER, Browser, Scheme, opened, serious
from bundled import Bundles
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
    """Write the page of an erased run, a failed one, a bundle, and a redacted bundle."""
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
    return Pages(files)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("which", ["erased", "failed", "whole", "redacted"])
def test_nothing_serious(which: str, view: str, pages: Pages, browser: Browser) -> None:
    """In light and dark, wide and narrow; no error, and no sideways scrolling."""
    scheme, width = VIEWS[view]
    with opened(browser, pages.files[which], scheme=scheme, width=width) as page:
        assert serious(page) == []
        assert page.errors == []
        wide = page.view.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
