"""What tests read of a report, and texts that would like to be more than text."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

from muniment.runs.run import Run

__all__ = ["HOSTILE", "MARK", "Page", "hostile", "spoiled"]

MARK = "Mallory"
"""Is in every hostile text, so that each can be found again."""

_CITING = ("data", "circle", "line")

HOSTILE = {
    "script": "</data></pre><script>alert('Mallory')</script>",
    "attribute": "\" onmouseover=\"alert('Mallory')\" x='",
    "style": "</style><style>*{display:none}/*Mallory",
    "section": "]]> --> Mallory <!-- <![CDATA[",
    "entity": "&lt;img src=x onerror=Mallory&gt; &#60;b&#62;",
    "link": "[Mallory](http://evil.example) ![x](http://evil.example/x.png)",
    "fence": "```\n# Mallory\n````` <b>x</b>\n~~~",
    "span": "`` ` Mallory ` `` ```",
    "list": "\n- Mallory\n\n> x\n\n---\n| a | b |\n|---|---|",
    "bidi": "\u202emallory\u202c Mallory \u2066x\u2069 \u200b\u200f\ufeff",
    "control": "\x1b[31mMallory\x07\x00\x9b \r\n\u2028\t\x85",
    "percent": "Mallory \U000e0041 %00 %3Cb%3E \\u003cb",
    "blank": " Mallory ",
    "pointer": "~1~0/~/Mallory//",
    "long": "Mallory<b>" * 1_000,
}


def hostile(run: Run, text: str) -> object:
    """Put *text* wherever a program can."""
    run.record(
        "claim.stated", {"id": text[:80], "text": text, "acceptance": {text[:80]: text}}
    )
    run.record("spec.issued", {"allowed_imports": [text], "resources": {text: text}})
    run.record(
        "synthesis.attempted", {"code": text, "accepted": False, "rule": text[:9]}
    )
    run.record("note.added", {"text": text, "details": text})
    with run.scope(f"s/{text[:20]}") as lane:
        lane.effect("llm", {text: [text, {text: text}]}, lambda request: request)
    try:
        run.effect("tool", {"name": text}, _fails)
    except Exception:  # noqa: BLE001 - it is to fail
        run.record("note.added", {"text": "as it should"})
    run.record(
        "verdict.reached",
        {
            "hypothesis": text[:80],
            "verifier": text[:80],
            "passed": None,
            "result": text,
        },
    )
    return {text: text}


def _fails(request: Any) -> object:
    raise OSError(request["name"])


class Page(HTMLParser):
    """The elements of a page, the texts outside of citations, and all attributes."""

    def __init__(self, html: str) -> None:
        """Read *html*."""
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.cited: list[dict[str, str]] = []
        self.own = ""
        """Texts that cite nothing."""
        self.quoted = ""
        """Texts that cite something."""
        self._inside = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the element."""
        marks = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.names |= marks.keys()
        if tag in _CITING:
            self._inside += 1
            self.cited.append(marks)

    def handle_endtag(self, tag: str) -> None:
        """Leave it."""
        self._inside -= tag in _CITING

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what has no inside: the axis of a picture, which cites nothing."""
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        if self._inside:
            self.quoted += data
        else:
            self.own += data


def _aside(place: str) -> str:
    """Return another place on a picture; nothing for none."""
    return place and f"{352.1 - float(place):.1f}"


def spoiled(html: str, what: str) -> str:
    """Return the page with the same thing done to each of its citations."""
    spoilings: dict[str, tuple[str, str | Callable[[re.Match[str]], str]]] = {
        "value": (r'(<data| data)(-value| value)="([^"]*)"', r'\1\2="\g<3>1"'),
        "text": (r"(<data [^>]*>)", r"\g<1>1"),
        "event": (r'data-event="(\d+)"', r'data-event="9\g<1>99"'),
        "path": (r' data-(path|head)="([^"]*)"', r' data-\1="\2/x"'),
        "rule": (r'data-rule="([^"]*)"', r'data-rule="\1s"'),
        "place": (
            r'(class="\w+" x1="|cx=")([^"]*)("(?: x2=")?)([0-9.]*)',
            lambda found: found[1] + _aside(found[2]) + found[3] + _aside(found[4]),
        ),
    }
    pattern, by = spoilings[what]
    return re.sub(pattern, by, html)
