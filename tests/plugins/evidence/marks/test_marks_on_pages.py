"""A mark is the first thing on a report, and no page without it is taken for one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bundled import evidence_plugins
from forged_pages import written_with
from governed_programs import entropy, policy
from marked_runs import MARK, WAYS, Marked, marked_ledger, verdict_with_calls
from muniment import Run
from muniment.ledger import Ledger
from muniment.verification.page.frame import read_page
from muniment_plugins.evidence import check_report, open_bundle, write_bundle
from muniment_plugins.evidence.report.write import report_text
from muniment_plugins.governance.governed import governed
from report_pages import Page
from three_verifiers import NEEDS_NODE, Verifiers, verifiers

FORMS: dict[str, list[str] | None] = {"whole": None, "redacted": []}
MARKS = re.compile("<dl>\n<dt>marked</dt>.*?</dl>\n", re.DOTALL)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("disclose", [None, []])
def test_the_mark_comes_first(
    marked: Marked, tmp_path: Path, way: str, disclose: list[str] | None
) -> None:
    """The first two values of a page are the mark and its reason, citing its event."""
    run = marked.runs[way]
    (event,) = marked.ledger.events(run=run, type="run.marked")
    path = write_bundle(marked.ledger, run, tmp_path / "b", disclose=disclose).path
    for page in ((path / "report.html").read_text(), report_text(marked.ledger, run)):
        first, second, *_ = Page(page).cited
        assert (first["title"], first["value"]) == (f"{event.seq}/mark", f'"{MARK}"')
        assert second["title"] == f"{event.seq}/reason"
        before, _, _ = page.partition("<data ")
        assert "no verdict on it may be relied upon" in before


@pytest.mark.parametrize("way", WAYS)
def test_markdown_says_it_first(marked: Marked, way: str) -> None:
    """So does the report in Markdown; it agrees with the ledger."""
    run = marked.runs[way]
    (event,) = marked.ledger.events(run=run, type="run.marked")
    text = report_text(marked.ledger, run, ".md")
    head, _, rest = text.partition("\n## In short\n\n")
    assert "`" not in head
    assert rest.startswith("This run is marked: no verdict on it may be relied upon.\n")
    assert f"- marked: `{MARK}` [{event.seq}/mark]" in rest.splitlines()
    assert check_report(marked.ledger, text).verdict == "agrees"


def test_a_run_without_a_mark(marked: Marked) -> None:
    """Its page says nothing of marks, and nothing of governance."""
    page = report_text(marked.ledger, marked.runs["none"])
    assert "<dt>marked</dt>" not in page
    assert "<h2>Governance</h2>" not in page


def test_the_mark_is_there_without_the_plugin(marked: Marked, tmp_path: Path) -> None:
    """It is a fact of the kernel: evidence alone says it, of a ledger and of a bundle."""
    run = marked.runs["budget"]
    path = write_bundle(marked.ledger, run, tmp_path / "b").path
    with open_bundle(path, evidence_plugins()) as bundle:
        page = report_text(bundle, run)
    assert Page(page).cited[0]["value"] == f'"{MARK}"'
    assert "<h2>Governance</h2>" not in page


def test_the_section_on_governance(marked: Marked, tmp_path: Path) -> None:
    """Policy, budgets, fallbacks and violations are cited; what there was none of is said."""
    said = {
        "budget": ("max_count", "No effect was answered by", "No violation was noted"),
        "unsafe": ("No budget was exhausted", "budget/max_count", "unsafe"),
    }
    for way, words in said.items():
        run = marked.runs[way]
        (adopted,) = marked.ledger.events(run=run, type="policy.adopted")
        for name, how in FORMS.items():
            place = tmp_path / f"{way}-{name}"
            write_bundle(marked.ledger, run, place, disclose=how)
            page = (place / "report.html").read_text()
            _, _, section = page.partition("<h2>Governance</h2>")
            section = section.partition("</section>")[0]
            for member in ("policy", "digest", "mode"):
                assert f'title="{adopted.seq}/{member}"' in section
            assert str(adopted.raw["digest"]) in section
            assert all(one in section for one in words)


def test_a_degraded_run_names_its_fallbacks(tmp_path: Path) -> None:
    """Each effect that a fallback answered is a row of its own."""
    budget = entropy(max_count=2, exhaustion_action="degrade", fallback="skip")
    with marked_ledger(tmp_path) as ledger:
        with governed(ledger, policy(entropy_budget=budget)):
            run = ledger.execute(verdict_with_calls()).run_id
        ledger.checkpoint()
        page = report_text(ledger, run)
        degraded = [one.seq for one in ledger.events(run=run, type="effect.degraded")]
        assert len(degraded) == 2
        assert all(f'title="{one}/fallback"' in page for one in degraded)
        assert check_report(ledger, page).verdict == "agrees"
        assert "<dt>marked</dt>" not in page


def _many(run: Run, number: int) -> None:
    for at in range(number):
        run.mark(f"seen_{at}", "x" * 10_000)
        run.mark(f"seen_{at}", "again")
    run.mark(MARK, "late")
    run.record("verdict.reached", {"hypothesis": "h", "verifier": "v", "passed": True})


@NEEDS_NODE
@pytest.mark.parametrize("number", [1, 20, 21, 90])
@pytest.mark.parametrize("disclose", [None, []])
def test_many_marks(tmp_path: Path, number: int, disclose: list[str] | None) -> None:
    """*non_certifiable* is there however many come before it; of others, the first twenty.

    Each has the reason of its first event, which may be a withheld blob.
    """
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as ledger:
        run = ledger.execute(_many, params={"number": number}).run_id
        ledger.checkpoint()
        written = write_bundle(ledger, run, tmp_path / "b", disclose=disclose)
    with verifiers(written.root, tmp_path / "nobody") as three:
        codes, said = three.codes(tmp_path / "b")
        assert codes == (0, 0, 0), said
    page = (tmp_path / "b" / "report.html").read_text()
    cited = read_page(page).cited
    kept = min(number, 20) + 1
    assert cited[0].text == MARK
    marks = [one.text for one in cited[: 2 * kept : 2]]
    assert marks == [MARK, *(f"seen_{at}" for at in range(kept - 1))]
    assert ("It has more marks" in page) is (number > 20)
    assert ("withheld" in {one.text for one in cited[1 : 2 * kept : 2]}) is (
        disclose is not None
    )


def _moved(page: str) -> str:
    found = MARKS.search(page)
    assert found is not None
    before, end, after = page.replace(found[0], "", 1).rpartition("</section>")
    return before + found[0] + end + after


def _doubled(page: str) -> str:
    """Put another value before the marks."""
    data = '<p><data value="0" data-rule="zero" title="zero">0</data></p>\n'
    return page.replace("<h2>In short</h2>\n", f"<h2>In short</h2>\n{data}", 1)


FORGERIES: dict[str, Callable[[str], str]] = {
    "no marks": lambda page: MARKS.sub("", page, count=1),
    "no mark": lambda page: re.sub("<dt>marked</dt>.*?</dd>\n", "", page, count=1),
    "no reason": lambda page: re.sub("<dt>because</dt>.*?</dd>\n", "", page, count=1),
    "behind everything else": _moved,
    "another value before": _doubled,
    "another mark": lambda page: page.replace(f">{MARK}<", ">certified<", 1),
    "the name of the member": lambda page: re.sub(
        'value="[^"]*"( data-event="[0-9]*" data-path="/mark")([^>]*)>[^<]*<',
        r'value="&quot;mark&quot;"\1 data-as="path"\2>mark<',
        page,
        count=1,
    ),
}


def _page(change: Callable[[str], str], page: str) -> bytes:
    changed = change(page)
    assert changed != page
    return changed.encode()


@NEEDS_NODE
@pytest.mark.parametrize("what", FORGERIES)
@pytest.mark.parametrize("disclose", [None, []])
def test_a_page_that_does_not_say_the_mark_first(
    marked: Marked,
    three: Verifiers,
    tmp_path: Path,
    what: str,
    disclose: list[str] | None,
) -> None:
    """A key holder who closes a bundle with such a page: three verifiers refuse it."""
    for way in WAYS:
        path = written_with(
            marked.ledger,
            marked.runs[way],
            tmp_path / way,
            partial(_page, FORGERIES[what]),
            disclose=disclose,
        )
        codes, said = three.codes(path)
        assert codes == (1, 1, 1), said
        assert said.count("report.html") >= 2, said


@NEEDS_NODE
def test_more_words_about_a_mark_are_free(
    marked: Marked, three: Verifiers, tmp_path: Path
) -> None:
    """The order of mark and reason, and words around them, are the writer's."""

    def reworded(page: str) -> bytes:
        found = re.search(
            "<dt>marked</dt>.*?\n(<dt>because</dt>.*?\n)", page, re.DOTALL
        )
        assert found is not None
        turned = found[1] + found[0].removesuffix(found[1])
        told = page.replace(found[0], turned, 1)
        return told.replace("no verdict on it", "not one verdict on it", 1).encode()

    path = written_with(marked.ledger, marked.runs["budget"], tmp_path / "b", reworded)
    codes, said = three.codes(path)
    assert codes == (0, 0, 0), said
