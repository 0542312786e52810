"""Pages that somebody changed: nothing that a reader would see passes unseen."""

from __future__ import annotations

import pytest

from bundled import Bundles
from muniment_plugins.evidence import check_report
from muniment_plugins.evidence.report.write import report_text

HIDING = {
    "a style of its own": ("</style>", "data{display:none}</style>"),
    "another style sheet": ("</main>", "<style>data{font-size:0}</style></main>"),
    "an attribute": ("<h2>", '<h2 style="display:none">'),
    "an attribute of a value": ("<data value", "<data hidden value"),
    "an attribute without marks": ("<data value", "<data class=x value"),
    "an event handler": ("<section>", '<section onclick="x()">'),
    "a comment": ("<h2>", "<!-- <h2>"),
    "an instruction": ("<h2>", "<?x <h2>"),
    "a text field": ("<h2>", "<textarea><h2>"),
    "a title": ("<p>", "<title><p>"),
    "a template": ("<section>", "<template><section>"),
    "a script": ("</main>", "<script>x()</script></main>"),
    "a picture": ("</main>", '<img src="x.png"></main>'),
    "a link": ("</main>", '<a href="x">y</a></main>'),
    "capitals": ("<h2>", "<H2>"),
    "a line break in a tag": ("<h2>", "<h2\n>"),
    "no policy": ("Content-Security-Policy", "X-Policy"),
    "a second body": ("<main>", '<main><body data-run="x">'),
    "no end": ("</html>\n", ""),
    "more after the end": ("</html>\n", "</html>\n<p>more</p>\n"),
    "a value inside of a value": ("</data>", '<data value="1">1</data></data>'),
    "a value that cites nothing": ("<main>", '<main><data value="1">1</data>'),
    "event and rule": ('data-rule="count"', 'data-rule="count" data-event="1"'),
    "path and head": ('data-head="', 'data-path="/x" data-head="'),
    "two events": ("data-event=", 'data-event="1" data-event='),
    "another spelling": ('data-event="', 'data-event="0'),
    "another title": (' title="', ' title="9'),
    "no value": ("<data value=", "<data data-value="),
    "deep": ('data-rule="count"', f'data-rule="runs" data-of="{"[" * 9_000}"'),
    "an event without end": ('data-event="', f'data-event="{"9" * 9_000}'),
    "another kind of digit": ('data-event="', 'data-event="\u0663'),
}


@pytest.mark.parametrize("name", HIDING)
def test_nothing_hides_what_is_cited(bundles: Bundles, name: str) -> None:
    """A page that a browser would show in another way does not agree."""
    html = report_text(bundles.ledger, bundles.other_run)
    old, new = HIDING[name]
    assert check_report(bundles.ledger, html).verdict == "agrees"
    assert old in html
    checked = check_report(bundles.ledger, html.replace(old, new, 1))

    assert checked.verdict != "agrees"
    assert checked.findings
    assert all(len(one.message) < 1_000 for one in checked.findings)


def test_what_is_wrong_and_what_cannot_be_told(bundles: Bundles) -> None:
    """What the ledger contradicts is wrong; what it says nothing about is not."""
    ledger = bundles.ledger
    html = report_text(ledger, bundles.other_run)
    (claim,) = ledger.events(run=bundles.other_run, type="claim.stated")
    (found,) = check_report(ledger, html.replace(">it holds<", ">it fails<")).findings

    assert (found.kind, found.event, found.path) == ("wrong", claim.seq, "/text")
    assert (found.page, found.ledger) == ("it fails", "it holds")
    assert html.splitlines()[found.line - 1].count(">it holds<") == 1
    for other in ("", "<p>hello</p>", html.replace(bundles.other_run, "0" * 26)):
        checked = check_report(ledger, other)
        assert (checked.verdict, checked.compared) == ("cannot tell", 0)
        assert checked.findings


def test_a_size_that_no_checkpoint_has(bundles: Bundles) -> None:
    """A page states up to which checkpoint it reads: that there is one is checked."""
    ledger = bundles.ledger
    for text in ("one", "two"):
        ledger.append("note.added", {"text": text})
    ledger.checkpoint()
    size = ledger.checkpointed
    ledger.append("note.added", {"text": "three"})
    html = report_text(ledger, bundles.other_run)
    for other in (size - 1, size + 1, size + 2, 10**17):
        page = html.replace(f'data-size="{size}"', f'data-size="{other}"')
        checked = check_report(ledger, page)
        assert (checked.verdict, checked.compared) == ("cannot tell", 0)
    assert ledger.checkpointed == size


def test_what_was_erased_since_cannot_be_told(bundles: Bundles) -> None:
    """Nobody can say any more whether the page was right about it."""
    ledger = bundles.ledger
    html = report_text(ledger, bundles.other_run)
    (asked,) = ledger.events(run=bundles.other_run, type="llm.requested")
    ref = asked.raw["request"]
    assert isinstance(ref, dict)
    ledger.erase(str(ref["$blob"]), reason="asked to")
    told = {
        one.kind
        for one in check_report(ledger, html).findings
        if one.event == asked.seq
    }

    assert told == {"cannot tell"}


@pytest.mark.parametrize("part", ["<!--", "<a ", "<a b='", "<data ", "<", "&#", "\n<!"])
def test_no_page_takes_longer_than_its_length(bundles: Bundles, part: str) -> None:
    """Ten megabytes of something that never ends are read once."""
    html = report_text(bundles.ledger, bundles.other_run)
    page = html.replace("<main>", "<main>" + part * (10_000_000 // len(part)), 1)

    assert check_report(bundles.ledger, page).verdict == "cannot tell"


def test_values_that_need_many_events_are_bounded(bundles: Bundles) -> None:
    """Each counts the ledger anew, so that a page must not ask for it without end."""
    html = report_text(bundles.ledger, bundles.other_run)
    asks = "".join(
        f'<data value="0" data-rule="count" data-type="t{one}" title="count">0</data>'
        for one in range(1_001)
    )
    checked = check_report(bundles.ledger, html.replace("</main>", asks + "</main>"))

    assert checked.verdict == "cannot tell"
    assert all("at most 1000 values" in one.message for one in checked.findings)
