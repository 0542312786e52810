"""A page of one part of a record, compared with another part of it, or with the whole.

What one side withholds cannot be compared: a page that tells the truth is never *wrong*.
What both sides have is compared: a page that lies about it always is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import pluggy
import pytest

import muniment_plugins.evidence
from bundled import program
from calling_programs import inner, outer
from forged_pages import Noted
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment_plugins.evidence import check_report, open_bundle, write_bundle
from muniment_plugins.evidence.report.pages import read_html
from muniment_plugins.evidence.report.record import RunReader, Source
from muniment_plugins.evidence.report.write import report_text


def failing(run: Run) -> None:
    """Perform effects of two kinds alike, with words that look like absence, and fail."""
    run.record("claim.stated", {"id": "c1", "text": "withheld"})
    run.record("note.added", {"text": "not in this bundle", "details": {"n": 7}})
    for kind in ("llm", "tool", "llm", "tool"):
        run.effect(kind, {"prompt": kind}, _answered)
    run.record("verdict.reached", {"hypothesis": "h", "verifier": "v", "passed": False})
    raise ValueError("erased")


def _answered(request: object) -> object:
    return {"said": request, "usage": {"input_tokens": 3}}


PROGRAMS: dict[str, Callable[..., object]] = {
    "noted": Noted(),
    "simple": program,
    "failing": failing,
    "calling": outer,
}
LISTS: dict[str, dict[str, list[str] | None]] = {
    "noted": {"notes": ["note.added"], "models": ["llm.*"]},
    "simple": {"tools": ["tool.*", "tool.*/*"], "models": ["llm.*"]},
    "failing": {"tools": ["tool.*"], "models": ["llm.*"], "notes": ["note.*"]},
    "calling": {"data": ["data.*"], "answers": ["data.*", "data.completed/*"]},
}
"""Program → what redacted bundles of its run disclose, beside all and nothing."""
FORMS = {
    "whole": None,
    "nothing": [],
    "payloads": ["*"],
    "everything": ["*", "*/*"],
}


_HOOK = pluggy.HookimplMarker("muniment")


class _Sums:
    """A plugin whose section counts, sums and draws whatever events there are."""

    @_HOOK
    def report_sections(self, ledger: Any, run: str, size: int) -> Any:
        """Cite sums, means, counts and dots of notes, and what a scope has."""
        notes = list(ledger.events(run=run, type="note.added", to_seq=size))
        about: dict[str, Any] = {"run": run, "type": "note.added"}
        path = {"path": "/details/n"}
        points = [{"event": one.seq, **path} for one in notes if "details" in one.raw]
        facts: list[Any] = [
            *([["mean", {"rule": "mean", **about, **path}]] if points else []),
            ["sum", {"rule": "sum", **about, **path}],
            ["count", {"rule": "count", **about}],
            ["in a scope", {"rule": "count", "run": run, "scope": "map"}],
            *(["number", point] for point in points),
            *(["hash", {"event": one.seq, "head": "/hash"}] for one in notes),
        ]
        drawn = [{"dots": [{"name": "all", "points": points}]}] if points else []
        return [{"title": "Sums", "blocks": [{"facts": facts}, *drawn]}]


def plugins() -> Plugins:
    """Return the evidence plugin, and the one above."""
    return Plugins([], {"evidence": muniment_plugins.evidence, "sums": _Sums()})


@dataclass(frozen=True)
class _Shown:
    """A run, what shows all or a part of it, and the pages that were written from these."""

    run: str
    sources: dict[str, Source]
    pages: dict[tuple[str, str], str]
    """Source and form → page; the form ``own`` is the ``report.html`` of a bundle."""


@pytest.fixture(scope="module", params=PROGRAMS)
def parts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[_Shown]:
    """Give a run with its ledger and bundles, and all pages of these."""
    base, name = tmp_path_factory.mktemp("parts"), request.param
    with ExitStack() as stack:
        ledger = Ledger.create(
            base / "ledger.db", home=base / "home", plugins=plugins()
        )
        stack.enter_context(ledger)
        run = _performed(ledger, PROGRAMS[name])
        sources: dict[str, Source] = {}
        pages = {("ledger", end): report_text(ledger, run, end) for end in ENDINGS}
        size = ledger.checkpointed
        ledger.execute(inner, params={"number": 1})
        write_bundle(ledger, run, base / "raw", raw=True)
        for kind, shown in {**FORMS, **LISTS[name]}.items():
            write_bundle(ledger, run, base / kind, disclose=shown)
        for kind in ("raw", *FORMS, *LISTS[name]):
            lent = open_bundle(base / kind, plugins())
            sources[kind] = stack.enter_context(lent)
            assert sources[kind].checkpointed == size
            for end in ENDINGS:
                pages[kind, end] = report_text(sources[kind], run, end)
            if kind != "raw":
                pages[kind, "own"] = (base / kind / "report.html").read_text()
        yield _Shown(run, {"ledger": ledger, **sources}, pages)


ENDINGS = (".html", ".md")


def _performed(ledger: Ledger, what: Callable[..., object]) -> str:
    try:
        return ledger.execute(what).run_id
    except ValueError:
        return str(next(ledger.events(type="run.failed")).run)


def test_a_page_that_tells_the_truth_is_never_wrong(parts: _Shown) -> None:
    """It agrees with what it was written from, if it is that report; else nobody can tell.

    Each page is compared with the ledger, with the whole bundle and with every redacted one.
    """
    seen = set[str]()
    for (kind, form), other in product(parts.pages, parts.sources):
        checked = check_report(parts.sources[other], parts.pages[kind, form])
        said = (kind, form, other, checked.findings)
        same = kind == other and form != "own"
        alike = parts.pages[kind, form] == parts.pages.get((other, form))
        expected = "agrees" if same or (alike and form != "own") else "cannot tell"
        assert "wrong" not in {one.kind for one in checked.findings}, [
            one for one in checked.findings if one.kind == "wrong"
        ]
        assert checked.verdict == expected, said
        assert checked.compared or kind != other, said
        seen.add(checked.verdict)
    assert seen == {"agrees", "cannot tell"}


# -- pages that lie ----------------------------------------------------------------------

_VALUE = re.compile(r'<data value="([^"]*)"([^>]*)>([^<]*)</data>')
LACKING = ("withheld", "not in this bundle")


def _changed(value: re.Match[str], by: int = 1) -> str:
    """Return a value of a page as another one, of the same sort where that is easy."""
    told, marks, text = value.groups()
    if re.fullmatch("-?[0-9]+", told) and told == text:
        return f'<data value="{int(told) + by}"{marks}>{int(text) + by}</data>'
    if told.startswith("&quot;"):
        told = f"{told.removesuffix('&quot;')}x&quot;"
    return f'<data value="{told}"{marks}>{text}x</data>'


def _lies(text: str, by: int = 1) -> Iterator[tuple[dict[str, str], str]]:
    """Yield what each rule on the page is about, and the page with another number there."""
    for one in _VALUE.finditer(text):
        about = dict(re.findall(r' data-(\w+)="([^"]*)"', one[2]))
        if "rule" in about and one[1] not in LACKING:
            page = text[: one.start()] + _changed(one, by) + text[one.end() :]
            yield about, page


def _pages(parts: _Shown) -> Iterator[tuple[str, str, str, Source]]:
    """Yield HTML pages, of what each is, and the sources with which it is compared."""
    some = ("ledger", "whole", "nothing", [*parts.sources][-1])
    for kind, other in product(some, ("raw", *some)):
        yield kind, other, parts.pages[kind, ".html"], parts.sources[other]


def test_what_both_sides_have_is_compared(parts: _Shown) -> None:
    """Each value of an event that the page changed is *wrong* where the source has it."""
    for kind, other, text, source in _pages(parts):
        page = read_html(text)
        record = RunReader(source, page.run, page.size)
        had = [
            one
            for one in page.cited
            if "event" in one.citation
            and not one.kind
            and one.value not in LACKING
            and record.quote(one.citation).value not in LACKING
        ]
        lie = _VALUE.sub(
            lambda one: _changed(one) if "data-event" in one[2] else one[0], text
        )
        checked = check_report(source, lie)
        wrong = [one for one in checked.findings if one.kind == "wrong"]
        told = Counter(one.line for one in wrong if one.event is not None)
        expected = Counter(one.line for one in had)
        assert told >= expected, (kind, other, expected - told)
        assert had


def test_no_invented_number_passes_for_one_that_is_withheld(parts: _Shown) -> None:
    """A number of its own source is exact; of another part, it has a least and a most."""
    rules = set[str]()
    for kind, other, text, source in _pages(parts):
        for about, page in _lies(text, 1 if kind == other else 10**6):
            whole = (
                about["rule"] in ("count", "checkpoint") or about.get("of") == "events"
            )
            partly = kind != other and {"series", "type"} & about.keys()
            if about.get("of") == "blobs":
                continue  # nobody knows how many contents withheld events have
            if kind == other or (whole and not partly):
                checked = check_report(source, page)
                assert checked.verdict == "wrong", (kind, other, about)
                rules.add(about["rule"])
    assert rules >= {"count", "sum", "withheld", "checkpoint", "verify"}


def test_one_event_more_or_less_is_wrong(parts: _Shown) -> None:
    """What a page counts, and what it says that it withholds, are together the run."""
    for kind, other, text, source in _pages(parts):
        for by in (1, -1):
            for about, page in _lies(text, by):
                whole = about.keys() == {"rule", "run"} and about["rule"] == "count"
                if whole or (about["rule"], about.get("of")) == ("withheld", "events"):
                    assert check_report(source, page).verdict == "wrong", (kind, other)


def test_the_ledger_bounds_what_a_page_of_a_part_counts_and_sums(
    parts: _Shown,
) -> None:
    """The ledger has every event: no part of them gives more, and none a word."""
    ledger = parts.sources["ledger"]
    for kind, other, text, _ in _pages(parts):
        if other == "ledger":
            for about, page in _lies(text, 10**60):
                if about["rule"] != "verify" or kind == other:
                    checked = check_report(ledger, page)
                    assert checked.verdict == "wrong", (kind, about)


@pytest.mark.parametrize("word", LACKING)
def test_a_value_is_not_withheld_by_saying_so(parts: _Shown, word: str) -> None:
    """A page that shows an event shows it whole, but for what the record keeps in blobs."""
    ledger = parts.sources["ledger"]
    for kind, other, text, source in _pages(parts):
        known = [one for one in read_html(text).cited if one.value not in LACKING]
        seen = Counter(str(one.citation.get("event")) for one in known)
        size = parts.sources["raw"].checkpointed
        record = RunReader(source, parts.run, size)
        for one in islice(_VALUE.finditer(text), 0, None, 7):
            about = dict(re.findall(r' data-(\w+)="([^"]*)"', one[2]))
            event, path = about.get("event"), about.get("path", "")
            if other not in (kind, "ledger") or one[1] in LACKING or event is None:
                continue
            if ledger.event(int(event)).run != parts.run or seen[event] < 2:
                continue
            said = f'<data value="{word}"{one[2]}>{word}</data>'
            page = text[: one.start()] + said + text[one.end() :]
            name = path.partition("/")[2].partition("/")[0]
            raw = ledger.event(int(event)).raw.get(name)
            blob = word == "withheld" and isinstance(raw, dict) and "$blob" in raw
            lacks = record.quote(_cited(about)).value in LACKING
            expected = {"wrong"} if not (blob or lacks) else {"wrong", "cannot tell"}
            assert check_report(source, page).verdict in expected, (kind, other, about)


def _cited(about: dict[str, str]) -> dict[str, Any]:
    return {**about, "event": int(about["event"])}


def _other_lies(text: str) -> Iterator[str]:
    """Yield the lies about anything but what the page withholds."""
    return (page for about, page in _lies(text) if about["rule"] != "withheld")


@pytest.mark.parametrize("events", [0, 1, 3, 10**6])
def test_a_page_that_claims_to_withhold_is_held_to_it(
    parts: _Shown, events: int
) -> None:
    """Nothing is excused by a claim: a page of the whole record withholds no event."""
    said = "".join(
        f'<p>So <data value="{number}" data-rule="withheld" data-of="{of}" '
        f'title="withheld?of={of}">{number}</data></p>\n'
        for of, number in (("events", events), ("blobs", 0))
    )
    ledger = parts.sources["ledger"]
    for kind in ("ledger", "whole"):
        text = parts.pages[kind, ".html"].replace("</h2>\n", f"</h2>\n{said}", 1)
        verdict = check_report(ledger, text).verdict
        assert verdict == ("wrong" if events else "cannot tell")
        for page in islice(_other_lies(text), 4):
            assert check_report(ledger, page).verdict == "wrong"


@pytest.mark.parametrize("shown", ["it holds", "", "not in this bundle."])
def test_what_lacks_shows_nothing_else(parts: _Shown, shown: str) -> None:
    """The text of a value that cannot be compared is that of the value, and no other."""
    for kind, other, text, source in _pages(parts):
        lie = text.replace(">withheld</data>", f">{shown}</data>")
        if lie != text:
            assert check_report(source, lie).verdict == "wrong", (kind, other)


@pytest.mark.parametrize("of", ["", "x", "event"])
def test_nothing_else_is_withheld(parts: _Shown, of: str) -> None:
    """A page says how many events and contents it withholds, and no other number."""
    said = (
        f'<p>So <data value="5" data-rule="withheld" data-of="{of}" '
        f'title="withheld?of={of}">5</data></p>\n'
    )
    text = parts.pages["ledger", ".html"].replace("</h2>\n", f"</h2>\n{said}", 1)
    assert check_report(parts.sources["ledger"], text).verdict == "wrong"
