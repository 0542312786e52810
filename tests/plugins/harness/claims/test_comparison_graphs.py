"""The pictures of comparisons: all of what a verdict says, and nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comparing import (
    agreeing_page,
    compared,
    comparing,
    comparing_ledger,
    shrinking,
)
from muniment import Run
from muniment.ledger import Ledger
from muniment.verification.page.marks import DRAWN
from muniment_plugins.evidence import check_report
from muniment_plugins.harness import meets_claim, verifier
from muniment_plugins.harness.evidence_files import comparison_graphs
from report_pages import Page


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with the harness, and the plugin that writes reports."""
    with comparing_ledger(tmp_path / "ledger.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ledger, str]]:
    """Give a ledger with one experiment, and its page."""
    with shrinking(tmp_path_factory.mktemp("graphs") / "ledger.db") as opened:
        yield opened, agreeing_page(opened)


def changes(html: str) -> list[float]:
    """Return the numbers of all dots that are pairs."""
    found = [
        one for one in Page(compared(html)).cited if one.get("data-rule") == "change"
    ]
    return [float(one["data-value"]) for one in found if "cx" in one]


def test_the_pairs_are_those_that_the_verdict_is_about(
    written: tuple[Ledger, str],
) -> None:
    """There is one for each pair, and their mean is the one that the verdict states."""
    ledger, html = written
    (verdict,) = ledger.events(type="verdict.reached")
    result = verdict.data["result"]
    assert isinstance(result, dict)
    pairs = changes(html)
    assert len(pairs) == result["pairs"] == 6
    assert math.isclose(math.fsum(pairs) / 6, result["pct_improvement"])


def test_all_that_is_drawn(written: tuple[Ledger, str]) -> None:
    """Mean, interval, bound and level: each from the event that states it."""
    ledger, html = written
    (verdict,) = ledger.events(type="verdict.reached")
    marks = [one for one in Page(compared(html)).cited if "data-value" in one]
    drawn = {
        (one.get("class", "dot"), one.get("data-rule") or one["data-path"])
        for one in marks
    }
    assert drawn == {
        ("dot", "change"),
        ("dot", "/result/pct_improvement"),
        ("span", "/result/interval_95"),
        ("full", "zero"),
        ("dashed", "/acceptance/min_improvement_pct"),
        ("dot", "/p_value"),
        ("dot", "/p_adjusted"),
        ("full", "one"),
        ("dashed", "/result/alpha"),
    }
    for one in marks:
        if one.get("data-path", "").startswith("/result"):
            assert one["data-event"] == str(verdict.seq)


def test_no_mark_may_be_elsewhere(written: tuple[Ledger, str]) -> None:
    """A tenth of a pixel at either end of any mark is wrong."""
    ledger, html = written
    section = compared(html)
    moved = 0
    for mark in re.finditer(DRAWN, section):
        for place in set(re.findall(r'(?:cx|x1|x2)="([^"]*)"', mark[0])):
            other = mark[0].replace(f'="{place}"', f'="{float(place) + 0.1:.1f}"')
            there = section[: mark.start()] + other + section[mark.end() :]
            page = html.replace(section, there)
            assert check_report(ledger, page).verdict == "wrong", mark[0]
            moved += 1
    assert moved == 19


def test_no_mark_may_say_another_number(written: tuple[Ledger, str]) -> None:
    """In its value, or in the words that are shown over it."""
    ledger, html = written
    start = html.index("<h2>What was compared</h2>")
    parts = [
        one
        for one in re.finditer(r'data-value="([^"]*)|<title>([^<]*)', html)
        if one.start() > start
    ]
    assert len(parts) > 35
    for one in parts:
        page = f"{html[: one.end()]}1{html[one.end() :]}"
        assert check_report(ledger, page).verdict == "wrong", one[0]


FORGERIES: dict[str, tuple[str, str]] = {
    "a pair is left out": (r"<circle[^>]*data-rule=.change.*?</circle>", ""),
    "a pair is there twice": (
        r"(<circle[^>]*data-rule=.change.*?</circle>)",
        r"\1\1",
    ),
    "a pair is turned around": (r'data-of="(\d+),(\d+)"', r'data-of="\2,\1"'),
    "another scale": (r'<figure data-scale="log">', "<figure>"),
    "powers of ten": (r"<figure>", '<figure data-scale="log">'),
    "the bound is a full line": (r'class="dashed"', 'class="full"'),
    "the span is a line": (r'class="span"', 'class="dashed"'),
    "the bound is hidden": (r'class="dashed"', 'class="none"'),
    "a mark of another size": (r'r="5"', 'r="9"'),
    "a mark that is higher": (r'y1="1"', 'y1="9"'),
    "no bound": (r'<line class="dashed".*?</line>', ""),
    "a mark without a picture": (r"<figure>", ""),
    "an axis that is longer": (r'x2="360"', 'x2="180"'),
    "a mark without a citation": (
        r"<circle",
        '<circle cx="9.0" cy="10" r="5"/><circle',
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_picture_that_somebody_changed(
    written: tuple[Ledger, str], name: str
) -> None:
    """No page agrees that shows another picture; one place at a time, or all."""
    ledger, html = written
    pattern, by = FORGERIES[name]
    head, title, rest = html.partition("<h2>What was compared</h2>")
    for count in (1, 0):
        page = head + title + re.sub(pattern, by, rest, count=count)
        assert page != html
        assert check_report(ledger, page).verdict != "agrees"


def test_markdown_says_the_same(written: tuple[Ledger, str]) -> None:
    """Each mark of a picture is a value there, and a change to any of them is wrong."""
    ledger, html = written
    text = agreeing_page(ledger, ".md")
    marks = {
        (one["data-of"], one["data-value"])
        for one in Page(compared(html)).cited
        if one.get("data-rule") == "change" and "cx" in one
    }
    found = list(re.finditer(r"`([^`]+)` `\[change\?of=(\d+,\d+)&", text))
    assert {one[2] for one in found} == {of for of, _ in marks}
    for one in found:
        page = f"{text[: one.end(1)]}1{text[one.end(1) :]}"
        assert check_report(ledger, page).verdict == "wrong"


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_the_verdict_and_its_denominator_come_first(
    written: tuple[Ledger, str], suffix: str
) -> None:
    """Nobody reads that it holds without reading of how many runs it is one."""
    ledger, _ = written
    text = agreeing_page(ledger, suffix)
    first = re.split(r"<section>|\n## ", text)[1]
    (verdict,) = ledger.events(type="verdict.reached")
    assert "holds" in first
    assert "One of " in first
    assert "runs of the claim" in first
    assert (f'data-event="{verdict.seq}"' in first) or (f"[{verdict.seq}/" in first)
    for lie in (first.replace("holds", "refuted"), re.sub(r">1<|`1`", ">9<", first)):
        assert lie != first
        assert check_report(ledger, text.replace(first, lie)).verdict != "agrees"


def test_a_claim_of_no_change_has_two_bounds(ledger: Ledger) -> None:
    """The other is the number with its sign turned, by a rule that says so."""
    comparing({"metric": "size", "max_change_pct": 80.0}).run(
        replicates=5, ledger=ledger
    )
    marks = Page(compared(agreeing_page(ledger))).cited
    bounds = {one["data-value"] for one in marks if one.get("class") == "dashed"}
    assert {"-80", "0.05"} < bounds
    assert {float(one) for one in bounds - {'{"$float":"80.0"}'}} == {-80.0, 0.05}


def test_more_is_better(ledger: Ledger) -> None:
    """Then a pair that grew is above zero, as the verdict counts it."""
    comparing(judge=meets_claim(direction="increase")).run(replicates=5, ledger=ledger)
    (verdict,) = ledger.events(type="verdict.reached")
    result = verdict.data["result"]
    assert isinstance(result, dict)
    pairs = changes(agreeing_page(ledger))
    assert all(one < 0 for one in pairs)
    assert math.isclose(math.fsum(pairs) / 5, result["pct_improvement"])


def same(_: Any) -> list[float]:
    """Return the same data for each replicate."""
    return [1.0, 2.0]


def same_half(_: Any) -> dict[str, object]:
    """Return half of that."""
    return {"data": [0.5, 1.0]}


def test_copies_are_named(ledger: Ledger) -> None:
    """They are drawn where they are, and said to be copies."""
    comparing(data=same, treatment=same_half).run(replicates=3, ledger=ledger)
    html = agreeing_page(ledger)
    assert changes(html) == [50.0, 50.0, 50.0]
    assert "copies among them" in html


@verifier
def by_hand(baseline: Any, condition: Any) -> dict[str, object]:
    """Judge in a way of its own."""
    return {"passed": max(condition["size"]) < max(baseline["size"]), "p_value": 0.25}


def test_the_p_value_of_somebody_else_is_theirs(ledger: Ledger) -> None:
    """Nothing is said of a bound that it may not be about, and no pairs are drawn."""
    comparing(judge=by_hand).run(replicates=3, ledger=ledger)
    html = agreeing_page(ledger)
    assert "says it is" in html
    assert "claimed bound" not in html
    assert changes(html) == []
    assert '<circle cx="8.0" cy="10" r="5" data-value="0.25"' in compared(html)


def old(run: Run) -> None:
    """State what the first edition stated."""
    for at, size in (("baseline", 4.0), ("halved", 2.0)):
        with run.scope(f"{at}/replicate/0") as lane:
            lane.record(
                "metrics.measured",
                {"replicate": 0, "metrics": {"size": size}, "order": ["size"]}
                | {"outputs": {}},
            )
    result = {"metric": "size", "direction": "decrease", "pct_improvement": 50.0}
    told = {"hypothesis": "h", "verifier": "muniment:meets-claim/1", "passed": True}
    read = [f"{at}/replicate/0" for at in ("baseline", "halved")]
    with run.scope("halved") as lane:
        lane.record(
            "verdict.reached",
            {**told, "result": result, "p_value": 0.5, "inputs": read},
        )


def test_the_first_edition_tested_no_bound(ledger: Ledger) -> None:
    """Its p-value is about no improvement at all, and the page says so."""
    ledger.execute(old)
    ledger.checkpoint()
    html = agreeing_page(ledger)
    assert "no improvement at all: not the claimed bound" in html
    assert changes(html) == [50.0]


@pytest.mark.parametrize(
    "result",
    [
        "text",
        {"metric": 3, "direction": "decrease", "pct_improvement": 1.0},
        {"metric": "size", "direction": "sideways", "pct_improvement": 1.0},
        {"metric": "size", "direction": "decrease", "pct_improvement": "1"},
        {"metric": "s" * 999, "direction": "decrease", "pct_improvement": 1.0},
        {"metric": "other", "direction": "decrease", "pct_improvement": 1.0},
        {"criteria": 3, "interval_95": [1, "2"], "alpha": "x", "copies": {}},
        {"metric": "size", "direction": "decrease", "pct_improvement": math.inf},
    ],
)
@pytest.mark.parametrize("inputs", [[], ["baseline/replicate/0"], ["x", "/", "a/b/c"]])
def test_verdicts_that_say_something_else(
    ledger: Ledger, result: object, inputs: list[str]
) -> None:
    """Whatever a program states as a verdict, the page is written and holds."""

    def program(run: Run) -> None:
        told = {"hypothesis": "h", "verifier": "v", "passed": True, "p_value": 0.0}
        run.record("verdict.reached", {**told, "result": result, "inputs": inputs})

    ledger.execute(program)
    ledger.checkpoint()
    assert changes(agreeing_page(ledger)) == []


@pytest.mark.parametrize(
    "sizes", [(0.0, 1.0), (1e200, 1.0), (1e-200, 1.0), (10**160, 1)]
)
def test_numbers_that_no_percentage_can_be_told_of(
    ledger: Ledger, sizes: tuple[float, float]
) -> None:
    """The page says that nothing was drawn, and does not break."""

    def program(run: Run) -> None:
        for at, size in zip(("baseline", "halved"), sizes, strict=True):
            with run.scope(f"{at}/replicate/0") as lane:
                lane.record(
                    "metrics.measured",
                    {"replicate": 0, "metrics": {"size": size}, "order": ["size"]}
                    | {"outputs": {}},
                )
        result = {"metric": "size", "direction": "decrease", "pct_improvement": 5.0}
        read = [f"{at}/replicate/0" for at in ("baseline", "halved")]
        told = {"hypothesis": "h", "verifier": "v", "passed": True, "result": result}
        with run.scope("halved") as lane:
            lane.record("verdict.reached", {**told, "inputs": read})

    ledger.execute(program)
    ledger.checkpoint()
    html = agreeing_page(ledger)
    assert "no pair is drawn" in html
    assert changes(html) == []


def test_what_was_erased_is_not_drawn(ledger: Ledger) -> None:
    """Of what is left, no picture is made: it would be another one."""
    comparing().run(replicates=5, ledger=ledger)
    before = agreeing_page(ledger)
    (started,) = ledger.events(type="run.started")
    ledger.erase(str(started.run), reason="asked to")
    ledger.checkpoint()
    after = agreeing_page(ledger)
    assert len(changes(before)) == 5
    assert len(changes(after)) in (0, 5)
    assert check_report(ledger, before).verdict == "cannot tell"


def test_the_frame_is_small(written: tuple[Ledger, str]) -> None:
    """What is not of the record takes less than 60 kB, with all pictures."""
    _, html = written
    page = Page(html)
    assert (
        len(html) - len(page.quoted) - sum(len(str(one)) for one in page.cited) < 60_000
    )


def test_limits_are_said(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of pairs in a picture, and of verdicts on a page."""
    comparing().run(replicates=5, ledger=ledger)
    monkeypatch.setattr(comparison_graphs, "_PAIRS", 4)
    html = agreeing_page(ledger)
    assert changes(html) == []
    assert "more pairs than a picture should have" in html
    monkeypatch.setattr(comparison_graphs, "_VERDICTS", 0)
    assert "There are more verdicts than a page should" in agreeing_page(ledger)
