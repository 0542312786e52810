"""Pages in a browser without network, as a person sees them who was sent the file.

    @NEEDS_BROWSER
    def test_it(browser: Browser, tmp_path: Path) -> None:
        with opened(browser, tmp_path / "report.html", scheme="dark", width=390) as page:
            page.view.click("text=Verify")         # a Playwright page
            assert page.view.inner_text("h1") == "Report"
            assert page.errors == []               # of the console, and uncaught ones
            assert serious(page) == []             # axe-core
            page.view.screenshot(path="dark.png", full_page=True)

The fixture ``browser`` is one Chromium for the tests of a file. Rules:

- The browser is Debian's, by `make browser`; without it a test is skipped by name.
- A page that asks for anything but its own file fails the test, also if nothing answers.
- Each page has a profile of its own: nothing stays from one test to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from shutil import which
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

__all__ = [
    "CHROMIUM",
    "NEEDS_BROWSER",
    "NO_BROWSER",
    "Browser",
    "Opened",
    "Scheme",
    "chromium",
    "opened",
    "serious",
]

Scheme = Literal["light", "dark"]
CHROMIUM = which("chromium")
NO_BROWSER = "Chromium: make browser"
NEEDS_BROWSER = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)

_QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--font-render-hinting=none"),
]
_OWN = ("data:", "blob:")
"""What a page has inside itself."""
_GRAVE = ("serious", "critical")


@dataclass
class Opened:
    """A page, and what it did so far."""

    view: Page
    errors: list[str] = field(default_factory=list)
    """Errors and warnings of the console, and exceptions that nothing caught."""
    requests: list[str] = field(default_factory=list)
    """Addresses it asked for, its own file not among them."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Lend a browser that nobody sees."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_QUIET)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser,
    file: Path,
    *,
    scheme: Scheme = "light",
    width: int = 1200,
    height: int = 900,
    scripts: bool = True,
) -> Iterator[Opened]:
    """Open *file* as if somebody clicked on it; check in the end that it asked for nothing."""
    address = file.resolve().as_uri()
    context = browser.new_context(
        offline=True,
        color_scheme=scheme,
        viewport={"width": width, "height": height},
        java_script_enabled=scripts,
        service_workers="block",
    )
    page = Opened(context.new_page())

    def asked(route: Route) -> None:
        if route.request.url.split("#")[0] == address:
            route.continue_()
        else:
            page.requests.append(route.request.url)
            route.abort()

    context.route(lambda url: not url.startswith(_OWN), asked)
    page.view.on("websocket", lambda socket: page.requests.append(socket.url))
    page.view.on("pageerror", lambda error: page.errors.append(str(error)))
    page.view.on(
        "console",
        lambda said: (
            page.errors.append(said.text) if said.type in ("error", "warning") else None
        ),
    )
    try:
        page.view.goto(address)
        yield page
    finally:
        context.close()
    assert page.requests == [], f"the page asked for {page.requests}"


def serious(page: Opened) -> list[str]:
    """Return what axe-core finds serious or worse: the rule, and the first places.

    All its rules are asked, the experimental ones excepted.
    """
    page.view.evaluate(_axe())
    found = page.view.evaluate("axe.run({resultTypes: ['violations', 'passes']})")
    assert found["passes"], "axe-core compared nothing"
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in _GRAVE
    ]


@cache
def _axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
