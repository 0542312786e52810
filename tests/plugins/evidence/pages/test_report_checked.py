"""Pages that somebody changed: nothing that a reader would see passes unseen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bundled import Bundles, evidence_plugins
from every_kind import make
from muniment.ledger import Ledger
from muniment_plugins.evidence import check_report
from muniment_plugins.evidence.report.write import report_text
from report_pages import HOSTILE, Page, hostile

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
    checked = check_report(ledger, html)

    assert checked.verdict == "cannot tell"
    assert {one.message for one in checked.findings} == {"it was erased since"}
    assert {one.event for one in checked.findings} == {asked.seq}


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
        f'<p><data value="0" data-rule="count" data-type="t{one}" '
        f'title="count?type=t{one}">0</data></p>'
        for one in range(1_001)
    )
    more = f"<section><h2>so</h2>{asks}</section></main>"
    checked = check_report(bundles.ledger, html.replace("</main>", more))

    assert checked.verdict == "cannot tell"
    assert all("at most 1000 values" in one.message for one in checked.findings)


EDITS: dict[str, Callable[[list[str], int], list[str]]] = {
    "leaves out": lambda lines, at: [*lines[:at], *lines[at + 1 :]],
    "exchanges": lambda lines, at: [
        *lines[:at],
        *lines[at : at + 2][::-1],
        *lines[at + 2 :],
    ],
}


@pytest.mark.parametrize("suffix", [".html", ".md"])
@pytest.mark.parametrize("name", EDITS)
def test_no_line_of_a_page_may_be_another(
    bundles: Bundles, name: str, suffix: str
) -> None:
    """Left out, or elsewhere: a page agrees if all of it is the report's."""
    text = report_text(bundles.ledger, bundles.other_run, suffix)
    lines = text.splitlines(keepends=True)
    first = lines.index("<main>\n") if suffix == ".html" else 0
    agreeing = [
        at
        for at in range(first, len(lines) - 1)
        if (other := EDITS[name](lines, at)) != lines
        and check_report(bundles.ledger, "".join(other)).verdict == "agrees"
    ]

    assert agreeing == []


def test_no_word_of_a_page_may_be_another(bundles: Bundles) -> None:
    """Each text outside of citations, too: labels, sentences, titles of sections."""
    html = report_text(bundles.ledger, bundles.other_run)
    at = html.index("<section>")
    words = [
        one for one in re.finditer(r">[^<>\n]*[a-z][^<>\n]*<", html) if one.start() > at
    ]
    for one in words:
        page = f"{html[: one.end() - 1]}: not{html[one.end() - 1 :]}"
        checked = check_report(bundles.ledger, page)
        assert checked.verdict != "agrees"
        assert checked.findings[0].line == html.count("\n", 0, one.end()) + 1
    assert len(words) > 60


# -- Markdown --------------------------------------------------------------------------


def clean(ledger: Ledger, run: str) -> str:
    """Return the Markdown page about *run*; it cites all that the other form cites."""
    text = report_text(ledger, run, ".md")
    cited = Page(report_text(ledger, run)).cited
    names = [one for one in cited if one.get("data-as") in ("name", "path")]
    checked = check_report(ledger, text)

    assert checked.findings == ()
    assert checked.verdict == "agrees"
    assert checked.compared == len(cited) - len(names) > 10
    return text


def test_markdown_of_runs_of_every_kind(tmp_path: Path) -> None:
    """Failed, canceled, resumed, asking, called: each citation is found and holds."""
    make(tmp_path / "ledger.db", notes=3).close()
    with Ledger.open(tmp_path / "ledger.db", plugins=evidence_plugins()) as ledger:
        for one in ledger.events(type="run.started"):
            clean(ledger, str(one.run))


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_of_hostile_texts(bundles: Bundles, name: str) -> None:
    """Fences, spans, brackets and breaks in a value are part of the value."""
    ledger = bundles.ledger
    run = ledger.execute(hostile, params={"text": HOSTILE[name]}).run_id
    ledger.checkpoint()
    clean(ledger, run)
    ledger.erase(run, reason="asked to")
    ledger.checkpoint()
    clean(ledger, run)


def changes(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is changed in a Markdown page, and the page with the change."""
    for found in re.finditer(r"(?<= )`[^`\n]+`(?= \[)", text):
        yield found[0], f"{text[: found.end() - 1]}x{text[found.end() - 1 :]}"
    for found in re.finditer(r"\[(\d+)([#/][^]]*)\]", text):
        start, end = found.span()
        yield found[0], f"{text[:start]}[9{found[1]}9{found[2]}]{text[end:]}"
        yield found[0], f"{text[: end - 1]}/x{text[end - 1 :]}"
        yield found[0], f"{text[:start]}{text[end:]}"
    for found in re.finditer(r"`\[(\w+)\?[^`]*`", text):
        yield found[0], f"{text[: found.start() + 2]}x{text[found.start() + 2 :]}"
    for found in re.finditer(r"```text\n  ", text):
        yield found[0], f"{text[: found.end()]}x{text[found.end() :]}"


def test_any_change_to_a_citation_in_markdown(bundles: Bundles) -> None:
    """To its text, its event, its path or its rule: the page does not agree any more."""
    text = clean(bundles.ledger, bundles.other_run)
    changed = list(changes(text))
    assert len(changed) > 100
    for what, page in changed:
        checked = check_report(bundles.ledger, page)
        assert checked.verdict != "agrees", what
        assert checked.findings, what


@pytest.mark.parametrize(
    "added",
    [
        "`0.01`",
        "- `p`: `0.01`",
        "```text\n0.01\n```",
        "<b>0.01</b>",
        "<!-- `c1`",
        "![x](http://evil.example/x.png)",
        "[45/id]: http://evil.example",
        "| a |",
        "*0.01*",
        "~~~",
        "&lt;",
        "`never closed",
        "`0.01` [a rule]",
        "`0.01` [99999]",
        "`0.01` [count]",
        "[45/id]",
        "`` 0.01 ` [1/x]",
    ],
)
def test_nothing_else_looks_like_a_value_in_markdown(
    bundles: Bundles, added: str
) -> None:
    """Code that cites nothing, and whatever Markdown acts on, is named with its line."""
    text = clean(bundles.ledger, bundles.other_run)
    for page in (f"{text}\n{added}\n", text.replace("\n## ", f"\n{added}\n\n## ", 1)):
        checked = check_report(bundles.ledger, page)
        assert checked.verdict != "agrees"
        line = page[: page.index(added)].count("\n") + 1
        assert line in [one.line for one in checked.findings]


@pytest.mark.parametrize("old", ["# Evidence report", "About run ", ", in the first "])
def test_markdown_that_is_no_report(bundles: Bundles, old: str) -> None:
    """Without the lines that say what it is about, nothing of it can be compared."""
    text = report_text(bundles.ledger, bundles.other_run, ".md")
    checked = check_report(bundles.ledger, text.replace(old, "# Other ", 1))

    assert (checked.verdict, checked.compared) == ("cannot tell", 0)
    assert checked.findings


@pytest.mark.parametrize(
    "part", ["`", "` ", "`` ` ", "[1/x]\n\n  ```text\n  ", "[", "\n#"]
)
def test_no_markdown_takes_longer_than_its_length(bundles: Bundles, part: str) -> None:
    """Megabytes of something that never ends are read once."""
    text = report_text(bundles.ledger, bundles.other_run, ".md")
    page = text + "\n" + part * (4_000_000 // len(part))

    assert check_report(bundles.ledger, page).verdict == "cannot tell"
