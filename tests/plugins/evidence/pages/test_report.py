"""The report about a run: what is on it, and that all of it can be checked."""

from __future__ import annotations

import itertools
import json
import math
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from bundled import Bundles, evidence_plugins, program
from every_kind import make
from forge import Forge
from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError, UsageError, WrongError
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment.verification.page.quotes import plain
from muniment_plugins.evidence import check_report, write_report
from muniment_plugins.evidence.report.record import RunReader
from muniment_plugins.evidence.report.style import STYLE
from muniment_plugins.evidence.report.write import report_text
from report_pages import HOSTILE, MARK, Page, hostile, spoiled

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2"),
    *("h3", "p", "dl", "dt", "dd", "data", "div", "table", "tr", "th", "td"),
}
NAMES = {
    *("lang", "charset", "http-equiv", "content", "name", "value", "title", "class"),
    *("data-run", "data-size", "data-event", "data-path", "data-head", "data-as"),
    *("data-rule", "data-of", "data-type", "role", "aria-label", "tabindex"),
}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give an empty ledger."""
    place = tmp_path / "own" / "ledger.db"
    place.parent.mkdir()
    with Ledger.create(place, plugins=evidence_plugins()) as opened:
        yield opened


def clean(ledger: Ledger, html: str) -> int:
    """Return how many citations were compared, none of which differs."""
    checked = check_report(ledger, html)
    assert checked.findings == ()
    assert checked.compared == len(Page(html).cited)
    return checked.compared


def test_what_is_on_it(bundles: Bundles) -> None:
    """Claim, code, what the model was asked and said, and how to check all of it."""
    html = report_text(bundles.ledger, bundles.other_run)
    page = Page(html)

    assert clean(bundles.ledger, html) > 40
    for told in ("it holds", "def f(): ...", "llm.requested", bundles.root, "intact"):
        assert told in page.quoted
    for said in ("What was claimed", "Verdicts", "Proof", "proves nothing against"):
        assert said in page.own
    assert bundles.root not in page.own
    assert bundles.other_run not in page.own


def test_markdown_cites_too(bundles: Bundles) -> None:
    """Each value is followed by the number of its event and the way to it."""
    text = report_text(bundles.ledger, bundles.other_run, ".md")
    (claim,) = bundles.ledger.events(run=bundles.other_run, type="claim.stated")

    assert f"`c1` [{claim.seq}/id]" in text
    assert f"[{claim.seq}/text]\n\n  ```text\n  it holds\n  ```" in text
    assert "<" not in text


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_the_same_checkpoint_gives_the_same_bytes(
    bundles: Bundles, tmp_path: Path, suffix: str
) -> None:
    """Although events follow, and whoever writes it."""
    ledger = bundles.ledger
    first = write_report(ledger, bundles.run, tmp_path / f"a{suffix}")
    ledger.append("note.added", {"text": "later"})
    with Ledger.open(
        ledger.path, home=ledger.home, plugins=evidence_plugins()
    ) as other:
        again = write_report(other, bundles.run[:12], tmp_path / f"b{suffix}")

    assert first.path.read_bytes() == again.path.read_bytes()
    assert (first.run, first.checkpoint) == (again.run, again.checkpoint)
    assert first.size == first.path.stat().st_size


def test_runs_of_every_kind(tmp_path: Path) -> None:
    """Failed, canceled, resumed, asking, called: each run has a page that holds."""
    make(tmp_path / "ledger.db", notes=3).close()
    with Ledger.open(tmp_path / "ledger.db", plugins=evidence_plugins()) as ledger:
        runs = [one.run for one in ledger.events(type="run.started")]
        pages = {run: report_text(ledger, str(run)) for run in runs}
        for html in pages.values():
            assert clean(ledger, html) > 10
        failed = [one.run for one in ledger.events(type="run.failed")]
        assert "ValueError" in Page(pages[failed[0]]).quoted
        (reached,) = ledger.events(type="decision.reached")
        assert "approved" in Page(pages[reached.run]).quoted
        (given_up,) = ledger.events(type="run.canceled")
        assert "nobody came" in Page(pages[given_up.run]).quoted
        assert "Claim" in report_text(ledger, str(runs[0]), ".md")


def test_a_fork_and_an_empty_run(ledger: Ledger) -> None:
    """A fork names the run that it follows; a run without facts has a page, too."""
    first = ledger.execute(program)
    (asked,) = ledger.events(run=first.run_id, type="tool.requested")
    fork = ledger.fork(first.run_id, at=asked.seq)
    empty = ledger.execute(lambda _: None)
    ledger.checkpoint()
    html = report_text(ledger, fork.run_id)

    assert first.run_id in Page(html).quoted
    assert clean(ledger, html) > 40
    page = report_text(ledger, empty.run_id)
    assert clean(ledger, page) > 10
    assert "states no claim" in Page(page).own


def test_a_run_whose_start_says_no_more_than_it_must(tmp_path: Path) -> None:
    """What an event may leave out is left out, and keeps nobody from the page."""
    forge = Forge("one").open()
    run = "01M842YZYX2TNYV5CM979Y8N90"
    forge.append("run.started", {"name": "bare", "seed": "0"}, run=run)
    forge.end_run(run)
    forge.checkpoint()
    file = forge.write(tmp_path / "bare.db")
    with Ledger.open(file, readonly=True, plugins=evidence_plugins()) as ledger:
        html = report_text(ledger, run)

        assert clean(ledger, html) > 10
        assert "bare" in Page(html).quoted


def test_what_was_erased_is_shown_as_erased(bundles: Bundles) -> None:
    """A page from before the erasure is not borne out by the ledger any more."""
    html = report_text(bundles.ledger, bundles.run)
    (asked,) = bundles.ledger.events(run=bundles.run, type="llm.requested")
    ref = asked.raw["request"]
    assert isinstance(ref, dict)
    assert clean(bundles.ledger, html) > 40
    bundles.ledger.erase(str(ref["$blob"]), reason="asked to")
    after = report_text(bundles.ledger, bundles.run)
    findings = check_report(bundles.ledger, html).findings

    assert f'value="erased" data-event="{asked.seq}" data-path="/request"' in after
    assert clean(bundles.ledger, after) > 40
    assert findings
    named = {one.citation.split("/")[0] for one in findings}
    assert named == {str(asked.seq)}


@pytest.mark.parametrize("what", ["value", "text", "event", "path"])
def test_a_change_to_any_citation_is_found(bundles: Bundles, what: str) -> None:
    """Each one is named, with its line; nothing else is."""
    html = report_text(bundles.ledger, bundles.other_run)
    cited = Page(html).cited
    marks = {"event": {"data-event"}, "path": {"data-path", "data-head"}}
    changed = [one for one in cited if marks.get(what, {"value"}) & one.keys()]
    findings = check_report(bundles.ledger, spoiled(html, what)).findings

    assert len(findings) == len(changed) > 30
    assert all(one.line > 1 and one.citation for one in findings)


def test_rules_and_their_events(bundles: Bundles) -> None:
    """What follows from several events is counted again, under the rule that it names."""
    html = report_text(bundles.ledger, bundles.other_run)
    rules = [one for one in Page(html).cited if "data-rule" in one]
    findings = check_report(bundles.ledger, spoiled(html, "rule")).findings

    assert {one["data-rule"] for one in rules} == {
        "checkpoint",
        "count",
        "runs",
        "sum",
        "verify",
    }
    assert len(findings) == len(rules)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<main>", '<main><data value="1">1</data>'),
        ("<data ", '<data value="twice" '),
        ("</data>", "<b>and more</b></data>"),
        ('data-run="', 'data-run="0'),
        ('data-size="', 'data-size="9'),
        ('data-size="', 'data-size="-'),
    ],
)
def test_pages_that_are_no_report(bundles: Bundles, old: str, new: str) -> None:
    """A value that cites nothing, or twice; a page about nothing here."""
    html = report_text(bundles.ledger, bundles.other_run)

    assert check_report(bundles.ledger, html.replace(old, new, 1)).findings


def test_a_page_that_cites_nothing_is_a_finding(bundles: Bundles) -> None:
    """Nothing was compared, and that is said: silence would read as agreement."""
    html = report_text(bundles.ledger, bundles.other_run)
    checked = check_report(bundles.ledger, re.sub(r"</?data\b[^>]*>", "", html))

    assert checked.compared == 0
    told = {one.message for one in checked.findings}
    assert "it cites nothing: nothing was compared" in told
    assert checked.verdict == "cannot tell"


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_breaks_out(ledger: Ledger, name: str) -> None:
    """Whatever a ledger says stays text: inside a citation, and visible as it is."""
    run = ledger.execute(hostile, params={"text": HOSTILE[name]}).run_id
    ledger.checkpoint()
    html = report_text(ledger, run)
    page = Page(html)

    assert clean(ledger, html) > 40
    assert page.tags <= TAGS
    assert page.names <= NAMES
    assert MARK in page.quoted
    assert MARK not in page.own
    assert all(char.isprintable() for char in html.replace("\n", ""))
    assert len(html) < 150_000
    assert MARK in "".join(markdown_code(report_text(ledger, run, ".md")))


def markdown_code(text: str) -> Iterator[str]:
    """Yield all code of a Markdown text; nothing else may say anything hostile."""
    for block in MarkdownIt("commonmark").parse(text):
        for one in [block, *(block.children or ())]:
            assert not {"html", "image", "link"} & set(one.type.split("_")), one
            if one.type in ("fence", "code_inline"):
                yield one.content
            elif one.type != "inline":
                assert MARK not in one.content, one
    assert all(char.isprintable() for char in text.replace("\n", ""))


def test_texts_of_ten_megabytes(ledger: Ledger) -> None:
    """They are cut; the page says how much is missing, and where to read it."""

    def long(run: Run) -> None:
        text = "<&> " * 2_500_000
        run.effect("llm", {"prompt": text, text: 1}, lambda _: {"said": [text]})

    run = ledger.execute(long).run_id
    ledger.checkpoint()
    html = report_text(ledger, run)
    (asked,) = ledger.events(run=run, type="llm.requested")

    assert len(html) < 100_000
    assert f"more characters: muniment events show {asked.seq} --full)" in html
    assert len(report_text(ledger, run, ".md")) < 100_000
    assert clean(ledger, html) > 10


def test_nothing_comes_from_elsewhere(bundles: Bundles) -> None:
    """No script, address or import; the policy allows the one style sheet inside."""
    html = report_text(bundles.ledger, bundles.other_run)
    page = Page(html)

    assert page.tags <= TAGS
    assert page.names <= NAMES
    assert not re.search(r"https?:|url\(|@import|javascript:", html)
    assert "default-src &#x27;none&#x27;" in html or "default-src 'none'" in html
    assert "unsafe" not in html
    assert len(STYLE) < 10_000
    frame = len(html) - len(page.quoted) - sum(len(str(one)) for one in page.cited)
    assert frame < 60_000


def test_what_is_refused(bundles: Bundles, tmp_path: Path) -> None:
    """Other endings, names that are taken, runs that are unknown or not covered yet."""
    ledger, taken = bundles.ledger, tmp_path / "taken.html"
    taken.symlink_to(tmp_path / "nowhere")
    for path, rule in [
        (tmp_path / "report.pdf", "evidence/output"),
        (tmp_path / "report", "evidence/output"),
        (taken, "evidence/output"),
        (tmp_path / "no" / "report.html", "evidence/output"),
    ]:
        with pytest.raises(UsageError) as refused:
            write_report(ledger, bundles.run, path)
        assert refused.value.rule == rule
    with pytest.raises(UsageError, match="run/unknown"):
        write_report(ledger, "nonsense", tmp_path / "report.html")
    uncovered = pytest.raises(CannotTellError, match="muniment checkpoint")
    with ledger.run("open") as run, uncovered:
        write_report(ledger, run.id, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == [taken]


def test_a_record_that_does_not_verify_gets_no_report(
    ledger: Ledger, tmp_path: Path
) -> None:
    """A changed row is named, and nothing is written."""
    run = ledger.execute(program).run_id
    ledger.checkpoint()
    with closing(sqlite3.connect(ledger.path)) as forger, forger:
        forger.execute("DROP TRIGGER event_no_update")
        forger.execute(
            "UPDATE event SET signature = zeroblob(64) WHERE type = 'claim.stated'"
        )
    with pytest.raises(WrongError, match="the record of the run does not verify"):
        write_report(ledger, run, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("number", [12, 13, 40])
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("claim.stated", {"id": "{}", "text": "t"}),
        ("spec.issued", {"allowed_imports": ["{}"]}),
        ("synthesis.attempted", {"code": "{}", "accepted": False}),
        ("verdict.reached", {"hypothesis": "{}", "verifier": "v", "passed": True}),
    ],
)
def test_what_is_cut_is_said(
    ledger: Ledger, kind: str, data: dict[str, object], number: int
) -> None:
    """Whoever writes many of something first hides nothing without a word."""
    text = json.dumps(data)

    def many(run: Run) -> None:
        for one in range(number):
            run.record(kind, json.loads(text.replace("{}", f"n{one}")))

    run = ledger.execute(many).run_id
    ledger.checkpoint()
    html = report_text(ledger, run)
    cited = {one.get("data-event") for one in Page(html).cited}
    seqs = {str(one.seq) for one in ledger.events(run=run, type=kind)}

    assert len(seqs) == number
    assert (seqs <= cited) != ("There are more" in Page(html).own)


NUMBERS: tuple[float, ...] = (
    *(0, 1, -1, 2**53, 2**53 + 1, -(2**63), 10**30, -(10**150)),
    *(0.5, -0.0, 1e300, 5e-324),
)


@pytest.mark.parametrize("pair", [*itertools.combinations(NUMBERS, 2)])
def test_every_number_counts(ledger: Ledger, pair: tuple[float, float]) -> None:
    """However large, and however it is written: none is left out of a sum or a mean."""

    def measures(run: Run) -> None:
        for one in pair:
            run.record("note.added", {"text": "n", "details": {"n": one}})

    run = ledger.execute(measures).run_id
    record = RunReader(ledger, run, ledger.head.size)
    about: dict[str, JsonValue] = {"run": run, "type": "note.added"}
    about["path"] = "/details/n"

    both = sum(map(Fraction, pair))
    exact = both if all(isinstance(one, int) for one in pair) else float(both)
    assert plain(json.loads(record.quote({"rule": "sum", **about}).value)) == exact
    mean = plain(json.loads(record.quote({"rule": "mean", **about}).value))
    assert mean == float(exact / 2)


@pytest.mark.parametrize(
    "number",
    [10**301, -(10**4_000), float("nan"), float("inf")],
    ids=["large", "small", "nan", "inf"],
)
def test_a_mean_that_is_no_number_says_so(ledger: Ledger, number: float) -> None:
    """One value beyond all floats makes the mean infinite, and is not passed over."""

    def measures(run: Run) -> None:
        for one in (1, number):
            run.record("note.added", {"text": "n", "details": {"n": one}})

    run = ledger.execute(measures).run_id
    record = RunReader(ledger, run, ledger.head.size)
    cited: dict[str, JsonValue] = {"rule": "mean", "run": run, "type": "note.added"}
    told = float(record.quote({**cited, "path": "/details/n"}).text)

    assert not math.isfinite(told) or abs(told) > 1e300
