"""The browser of the tests sees what a person would, and what a page must not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser import NEEDS_BROWSER, Browser, opened, serious

pytestmark = NEEDS_BROWSER

PAGE = "<!doctype html><html lang=en><title>t</title><main><h1>One</h1>{}</main>"
ASKING = {
    "picture": '<img alt="" src="http://192.0.2.1/x.png">',
    "neighbour": '<script src="other.js"></script>',
    "fetch": "<script>fetch('http://192.0.2.1/').catch(() => 0)</script>",
    "style": "<style>@import url(https://192.0.2.1/a.css);</style>",
    "socket": "<script>new WebSocket('ws://192.0.2.1/')</script>",
}


def write(folder: Path, inside: str) -> Path:
    """Write a page with *inside* it."""
    file = folder / "page.html"
    file.write_text(PAGE.format(inside))
    return file


@pytest.mark.parametrize("name", ASKING)
def test_a_page_that_asks_for_anything_fails(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    """Be it the network or the file beside it."""
    (tmp_path / "other.js").write_text("1")
    with (
        pytest.raises(AssertionError, match=r"192\.0\.2\.1|other\.js"),
        opened(browser, write(tmp_path, ASKING[name])) as page,
    ):
        page.view.wait_for_timeout(200)


def test_a_page_with_all_inside_asks_for_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    """Data addresses, blobs and anchors are the page itself."""
    inside = (
        '<a href="#here">go</a><p id=here>x</p><img alt="" src="data:image/gif;base64,'
        'R0lGODlhAQABAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw=="><script>'
        'new Worker(URL.createObjectURL(new Blob(["1"])))</script>'
    )
    with opened(browser, write(tmp_path, inside)) as page:
        page.view.click("a")
        assert page.view.inner_text("h1") == "One"
    assert page.errors == []


def test_errors_of_scripts_are_seen(browser: Browser, tmp_path: Path) -> None:
    """Those that something logged, those that nothing caught, and what a policy refused."""
    inside = (
        "<meta http-equiv=Content-Security-Policy content=\"img-src 'none'\">"
        "<script>console.error('said');throw Error('thrown')</script>"
        '<img alt="" src="data:image/gif;base64,R0lGODlhAQABAAAAADs=">'
    )
    with opened(browser, write(tmp_path, inside)) as page:
        page.view.wait_for_timeout(100)
    seen = "\n".join(page.errors)
    assert "said" in seen
    assert "thrown" in seen
    assert "Content Security Policy" in seen


def test_axe_finds_what_somebody_cannot_read(browser: Browser, tmp_path: Path) -> None:
    """Grey on grey in the dark, and a picture without words."""
    inside = (
        "<style>@media(prefers-color-scheme:dark){p{background:#222;color:#444}}</style>"
        '<p>read me</p><svg role="img" width=9 height=9></svg>'
    )
    file = write(tmp_path, inside)
    with opened(browser, file, scheme="dark") as page:
        rules = {one.split(":")[0] for one in serious(page)}
        assert rules == {"color-contrast", "svg-img-alt"}
    with opened(browser, file, scheme="light") as page:
        assert {one.split(":")[0] for one in serious(page)} == {"svg-img-alt"}
