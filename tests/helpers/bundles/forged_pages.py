"""Reports that a key holder changes before the bundle is closed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pluggy

import muniment_plugins.evidence
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment.verification.page.marks import AXIS
from muniment_plugins.evidence import bundle, closing, write_bundle

__all__ = ["NUMBERS", "Noted", "forgeries", "page_plugins", "written_with"]

NUMBERS: tuple[float, ...] = (
    *(0, 1, -1, 2**53, 2**53 + 1, -(10**30), 0.1, 0.2, -0.25, 1e300, 5e-324),
    *(100000.5, 1000005.0, 0.000012345678, 123456.5, 1.5),
    *(4503599627370496.0, 4503599627370496.0, 2**53 - 1, 1e21),
)
"""Numbers whose sums and spellings differ where somebody is careless."""
_HOOK = pluggy.HookimplMarker("muniment")
_CITED = re.compile(r"<data [^<]*</data>|<circle [^<]*<title>[^<]*</title></circle>")


class _Sections:
    """A plugin whose section cites in every way that there is."""

    @_HOOK
    def report_sections(self, ledger: Any, run: str, size: int) -> Any:
        """Cite sums, means, counts, dots, names, heads, blocks and verdicts."""
        notes = list(ledger.events(run=run, type="note.added", to_seq=size))
        told: dict[str, Any] = {"run": run, "type": "note.added"}
        path = {"path": "/details/n"}
        of_series = {"rule": "runs", "of": '["pages/é \\"1\\""]'}
        points = [{"event": one.seq, **path} for one in notes]
        facts: list[Any] = [
            *([["mean", {"rule": "mean", **told, **path}]] if notes else []),
            ["sum", {"rule": "sum", **told, **path}],
            ["count", {"rule": "count", **told}],
            ["in a scope", {"rule": "count", "run": run, "scope": "é/0"}],
            ["runs", of_series],
            ["tree", {"rule": "checkpoint", "of": "root"}],
        ]
        for one in notes:
            facts += [
                [
                    {"event": one.seq, **path, "as": "name"},
                    {"event": one.seq, "path": "/details"},
                ],
                ["text", {"event": one.seq, "path": "/text", "as": "block"}],
                ["one line", {"event": one.seq, "path": "/text"}],
                ["head", {"event": one.seq, "head": "/hash"}],
                ["series", {"event": one.seq, "head": "/series"}],
            ]
        blocks: list[dict[str, Any]] = [
            {"facts": facts},
            {"dots": [{"name": "all", "points": points}]},
        ]
        rows = [points[:2]] if points else []
        blocks.append({"table": {"head": ["é", "so"], "rows": rows}})
        return [{"title": "Every way", "blocks": blocks}]


def page_plugins() -> Plugins:
    """Return the evidence plugin, and one whose section cites in every way."""
    return Plugins([], {"evidence": muniment_plugins.evidence, "ways": _Sections()})


class Noted:
    """A program with numbers and texts of every sort, in a series."""

    name = "noted"

    def __call__(self, run: Run, text: str = "a") -> str:
        """Record each number, and texts that pages have to escape."""
        texts = (
            text,
            "",
            "long " * 1_200,
            "two\nlines\ttab \x9b \u202e \u00ad \U0001f600 &<\"'>%25 é\u2028",
            "null",
            "newer than some \U0001fae8 \U000105c0",
        )
        for at, one in enumerate(NUMBERS):
            odd = {"__proto__": 1, "constructor": {"$float": "0.001 (significant)"}}
            details = {"n": one, 'b"%é~/': [None, True, {"x": 1e-7}], **odd}
            run.record("note.added", {"text": texts[at % 6], "details": details})
        run.mark("non_certifiable", texts[2])
        run.mark("looked_at", texts[5])
        with run.scope("é/0") as lane:
            lane.effect("llm", {"prompt": texts[3]}, lambda request: {"said": request})
        run.record("claim.stated", {"id": "c1", "text": texts[2]})
        verdict = {"hypothesis": "h", "verifier": "v", "passed": None, "p_value": 0.04}
        run.record("verdict.reached", verdict)
        return texts[3]

    def series_of_run(self, _: object) -> tuple[str, ...]:
        """Count its runs."""
        return ('pages/é "1"',)


def written_with(
    ledger: Ledger, run: str, place: Path, change: Callable[[str], bytes], **how: Any
) -> Path:
    """Write the bundle of *run* as a key holder would, with the page that *change* makes."""
    honest = closing._Page.written

    def written(self: Any, *state: Any) -> bytes:
        return change(honest(self, *state).decode())

    with (
        patch.object(closing._Page, "written", written),
        patch.object(closing, "_earlier", lambda _: ()),
        patch.object(bundle, "check_written"),
    ):
        return write_bundle(ledger, run, place, **how).path


def forgeries(text: str, chance: Random) -> Iterator[tuple[str, bytes]]:
    """Yield changes of a page, without end: what, and the page."""
    kinds = list(_OF_PAGE.items()) + list(_OF_VALUE.items()) * 3
    cited = [one.span() for one in _CITED.finditer(text)]
    while True:
        what, change = chance.choice(kinds)
        if what in _OF_PAGE:
            changed = change(text, chance)
        else:
            start, end = chance.choice(cited)
            changed = text[:start] + change(text[start:end], chance) + text[end:]
        if changed != text:
            yield what, changed.encode(errors="surrogatepass")


def _inserted(what: str) -> Callable[[str, Random], str]:
    def change(text: str, chance: Random) -> str:
        places = [one.start() for one in re.finditer("</p>|</dd>|</dt>|</h2>", text)]
        at = chance.choice(places)
        return text[:at] + what + text[at:]

    return change


def _swap(one: str, other: str) -> Callable[[str, Random], str]:
    return lambda text, _: text.replace(one, other, 1)


_ZERO = '<data value="0" data-rule="zero" title="zero">0</data>'


def _mark_of(text: str) -> str:
    found = re.search("<circle [^<]*<title>[^<]*</title></circle>", text)
    return "<circle>" if found is None else found[0]


_MARKS = re.compile("<dl>\n<dt>marked</dt>.*?</dl>\n", re.DOTALL)


def _moved_marks(text: str, _: Random) -> str:
    """Say the marks of the run at the end of the page."""
    found = _MARKS.search(text)
    told = "" if found is None else found[0]
    before, end, after = text.replace(told, "", 1).rpartition("</section>")
    return before + told + end + after


def _named_mark(text: str, chance: Random) -> str:
    """Show the name of the member in place of what the run is marked with."""
    form = chance.choice(["name", "path"])
    return re.sub(
        'value="[^"]*"( data-event="[0-9]*" data-path="/mark")([^>]*)>[^<]*<',
        rf'value="&quot;mark&quot;"\1 data-as="{form}"\2>mark<',
        text,
        count=1,
    )


_OF_PAGE: Mapping[str, Callable[[str, Random], str]] = {
    "a number": _inserted(" p = 0.001"),
    "a full-width number": _inserted("\uff11"),
    "a number by reference": _inserted("&#49;"),
    "a named reference": _inserted("&frac12;"),
    "a script": _inserted("<script>1</script>"),
    "an image": _inserted('<img src="x">'),
    "a comment": _inserted("<!-- -->"),
    "bold": _inserted("<b>so</b>"),
    "a class": _inserted('<p class="x">so</p>'),
    "a hidden part": _inserted("<p hidden>so</p>"),
    "a value that cites nothing": _inserted('<data value="1">1</data>'),
    "a value of no rule": _inserted(
        '<data value="1" data-rule="median" title="median">1</data>'
    ),
    "the verdict on itself": _inserted(
        '<data value="&quot;intact&quot;" data-rule="verify" data-of="integrity" '
        'title="verify?of=integrity">intact</data>'
    ),
    "a zero-width space": _inserted("\u200b"),
    "a null": _inserted("\0"),
    "another run": lambda text, _: re.sub(
        'data-run="[^"]*"', 'data-run="01"', text, count=1
    ),
    "another size": lambda text, _: re.sub(
        'data-size="[0-9]*"', 'data-size="7"', text, count=1
    ),
    "a size with a zero before": _swap('data-size="', 'data-size="0'),
    "cut off": lambda text, chance: text[: chance.randrange(len(text))],
    "something behind": lambda text, _: text + "\n",
    "no citation at all": lambda text, _: _CITED.sub("", text),
    "no policy": _swap('<meta http-equiv="Content-Security-Policy"', "<meta"),
    "a policy that lets scripts in": _swap("default-src 'none'", "default-src *"),
    "digits side by side": lambda text, _: re.sub(
        "</dd>", _ZERO + "." + _ZERO + "</dd>", text, count=1
    ),
    "two values with a space": lambda text, _: re.sub(
        "</dd>", f"{_ZERO} {_ZERO}</dd>", text, count=1
    ),
    "a value struck through": lambda text, _: text.replace(
        "</data>", "</data>\u0336", 1
    ),
    "a minus before": lambda text, _: text.replace("<dd><data", "<dd>-<data", 1),
    "a percent behind": lambda text, _: text.replace(
        "</data></dd>", "</data>%</dd>", 1
    ),
    "an emoji that is a number": _inserted("\U0001f51f"),
    "a numeral of another script": _inserted(" \u96f6\u70b9\u4e00"),
    "a letter that looks like a number": _inserted(" \u041e.\u041eOl"),
    "letters from right to left": _inserted(" \u05d0\u05d1"),
    "a picture that is open": _inserted(AXIS),
    "a table cell outside": _inserted("<td>so</td>"),
    "an element that is not closed": _inserted("<span>"),
    "an element closed twice": _inserted("</p>"),
    "a mark outside of a picture": lambda text, _: text.replace(
        "</section>", f"{_mark_of(text)}</section>", 1
    ),
    "a mark twice": lambda text, _: text.replace(
        "</svg>", f"{_mark_of(text)}</svg>", 1
    ),
    "other ends of a scale": lambda text, _: text.replace(
        "<figcaption>", f"<figcaption>{_ZERO}<span>to</span>", 1
    ),
    "no word on what is withheld": lambda text, _: re.sub(
        "<p>It is redacted.*?</p>", "", text, count=1
    ),
    "no word on a mark": lambda text, _: re.sub(
        "<dt>marked</dt>.*?</dd>\n", "", text, count=1
    ),
    "no reason for a mark": lambda text, _: re.sub(
        "<dt>because</dt>.*?</dd>\n", "", text, count=1
    ),
    "no marks": lambda text, _: _MARKS.sub("", text, count=1),
    "marks at the end": _moved_marks,
    "a mark by the name of its member": _named_mark,
    "another title": _swap("<title>Evidence report", "<title>Proof"),
}


def _marked(name: str, value: str) -> Callable[[str, Random], str]:
    return lambda one, _: re.sub(f' {name}="[^"]*"', f' {name}="{value}"', one, count=1)


def _next_digit(one: str, chance: Random) -> str:
    places = [found.start() for found in re.finditer("[0-9]", one)]
    if not places:
        return one
    at = chance.choice(places)
    return one[:at] + str((int(one[at]) + chance.randrange(1, 10)) % 10) + one[at + 1 :]


_OF_VALUE: Mapping[str, Callable[[str, Random], str]] = {
    "a digit": _next_digit,
    "another value": _marked("(?:data-)?value", "12345"),
    "another text": lambda one, _: re.sub(
        ">[^<]*</(data|title)", r">so</\1", one, count=1
    ),
    "a text with more": lambda one, _: re.sub(
        "(</data>|</title>)", r" \1", one, count=1
    ),
    "another event": lambda one, chance: re.sub(
        'data-event="[0-9]*"', f'data-event="{chance.randrange(60)}"', one, count=1
    ),
    "another path": _marked("data-path", "/text/0"),
    "no path": lambda one, _: re.sub(' data-path="[^"]*"', "", one, count=1),
    "an attribute that the rule has not": lambda one, _: re.sub(
        '( data-rule="(?:count|runs|checkpoint)")',
        r'\1 data-path="/p = 0.001"',
        one,
        count=1,
    ),
    "of another run": lambda one, _: re.sub(
        ' data-run="[^"]*"( data-type)', r' data-run="01"\1', one, count=1
    ),
    "of every run": lambda one, _: re.sub(
        ' data-run="[^"]*"( data-type)', r"\1", one, count=1
    ),
    "another form": lambda one, chance: re.sub(
        "(<data|<circle [^>]*r=.5.)",
        rf'\1 data-as="{chance.choice(["block", "verdict", "x", "name"])}"',
        one,
        count=1,
    ),
    "another rule": _marked("data-rule", "count"),
    "another type": _marked("data-type", "run.*"),
    "erased": lambda one, _: re.sub(
        '(value=")[^"]*("[^>]*>(?:<title>)?)[^<]*<', r"\1erased\2erased<", one, count=1
    ),
    "withheld": lambda one, _: re.sub(
        '(value=")[^"]*("[^>]*>(?:<title>)?)[^<]*<',
        r"\1withheld\2withheld<",
        one,
        count=1,
    ),
    "another title": _marked("title", "1/text"),
    "an attribute more": lambda one, _: one.replace(" data-", ' id="x" data-', 1),
    "an attribute twice": lambda one, _: re.sub(
        '( data-event="[^"]*")', r"\1\1", one, count=1
    ),
    "a place": _marked("cx", "9.0"),
    "a place that is not a number": _marked("cx", "1.2.3"),
    "a larger dot": _marked("r", "50"),
    "left out and said": lambda _one, _: "42",
}
