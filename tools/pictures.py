"""Pictures of a report for the documentation: light, dark, on a phone, on paper.

    make pictures       writes docs/pictures/report-*.png, from the page of the tour's run

Rule: what is shown is what `muniment demo` writes, in the browser of the tests; what verdicts
compare is shown of an experiment of the tests, since the tour compares nothing.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from muniment_plugins.evidence import write_report

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "pictures"
for room in ("experiments", "pages"):
    sys.path.append(str(ROOT / "tests" / "helpers" / room))

from browser import chromium, opened  # noqa: E402 - helpers of the tests
from comparing import comparing, comparing_ledger, newest_run  # noqa: E402

VIEWS = {
    "light": ("light", 900, 1100, "screen"),
    "dark": ("dark", 900, 1100, "screen"),
    "phone": ("light", 390, 844, "screen"),
    "paper": ("light", 794, 1123, "print"),
}
"""Name → colours, width and height in pixels, medium."""


def page_of_the_tour(folder: Path) -> Path:
    """Take the tour in *folder*, and return the page that it writes."""
    told = subprocess.run(  # noqa: S603 - our own command
        [Path(sys.executable).with_name("muniment"), "demo"],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    place = re.search(r"cd (\S+)", told)
    (page,) = Path(place[1] if place else folder).glob("report-*.html")
    return page


def drawn(ctx: Any) -> list[float]:
    """Return data that differ from replicate to replicate."""
    chance = random.Random(ctx["replicate"])  # noqa: S311 - a sample, no secret
    return [10 + chance.gauss(0, 2), 1 + chance.random()]


def smaller(ctx: Any) -> dict[str, object]:
    """Return data that are smaller, more or less."""
    chance = random.Random(99 - ctx["replicate"])  # noqa: S311 - the same
    return {"data": [one * (0.7 + chance.gauss(0, 0.1)) for one in drawn(ctx)]}


def page_of_a_comparison(folder: Path) -> Path:
    """Run an experiment in *folder*, and write its page."""
    page = folder / "compared.html"
    with comparing_ledger(folder / "compared.db", folder / "keys") as ledger:
        study = comparing(data=drawn, treatment=smaller)
        study.run(replicates=12, ledger=ledger)
        write_report(ledger, newest_run(ledger), page)
    return page


def take(target: Path) -> list[Path]:
    """Write the pictures into *target*; return their files."""
    target.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = page_of_the_tour(Path(folder))
        for name, (scheme, width, height, medium) in VIEWS.items():
            path = target / f"report-{name}.png"
            with opened(browser, page, scheme=scheme, width=width) as seen:  # type: ignore[arg-type]
                seen.view.emulate_media(media=medium, color_scheme=scheme)  # type: ignore[arg-type]
                seen.view.set_viewport_size({"width": width, "height": height})
                seen.view.screenshot(path=path)
            written.append(path)
        compared = page_of_a_comparison(Path(folder))
        with opened(browser, compared, width=760) as seen:
            path = target / "report-compared.png"
            part = seen.view.locator("section", has_text="What was compared")
            part.screenshot(path=path)
            written.append(path)
    return written


if __name__ == "__main__":
    for one in take(TARGET):
        print(f"{one.relative_to(ROOT)}: {one.stat().st_size:,} bytes")
