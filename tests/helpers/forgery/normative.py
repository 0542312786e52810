"""The sentences of the specification that demand something, and what breaks each.

    >>> PAGE = Page("canonical")
    >>> @PAGE.demands("A number MUST be finite.")
    ... def not_a_number(folder: Path) -> None:
    ...     assert "event/canonical" in rules(forged(b'{"x":NaN}'), folder)

Rules:

- What a page demands is said with the word MUST, in capitals, as BCP 14 has it; examples
  in fences and the sentence that names the key words demand nothing.
- A case quotes its sentence so far that it holds the word: each MUST of a page stands in
  a quotation of a case, and each quotation stands on its page once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from forge import Forge, keyid
from muniment.verification.verify import Report, verify

__all__ = ["SPEC", "Case", "Page", "judged", "rules"]

SPEC = Path(__file__).parents[3] / "docs" / "spec"
Case = Callable[[Path], None]

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_KEY_WORDS = re.compile(r"The key words .*? all capitals\.")
_AROUND = 60


@dataclass
class Page:
    """A page of the specification and the cases of its sentences."""

    name: str
    cases: dict[str, Case] = field(default_factory=dict)
    quotes: dict[str, str] = field(default_factory=dict)
    """The sentence of each case."""

    @property
    def text(self) -> str:
        """The page in one line, without what demands nothing."""
        page = _FENCE.sub(" ", (SPEC / f"{self.name}.md").read_text())
        return _KEY_WORDS.sub(" ", re.sub(r"\s+", " ", page))

    def demands(self, *quotes: str) -> Callable[[Case], Case]:
        """Return what enters a case, a function of a folder, for its sentences."""

        def enter(case: Case) -> Case:
            for quote in quotes:
                self.add(f"{case.__name__}: {quote}", quote, case)
            return case

        return enter

    def add(self, name: str, quote: str, case: Case) -> None:
        """Enter *case* under *name*."""
        assert name not in self.cases, name
        self.cases[name], self.quotes[name] = case, quote

    def strangers(self) -> list[str]:
        """Return the quotations that do not stand on the page once, with a MUST."""
        return [
            quote
            for quote in self.quotes.values()
            if "MUST" not in quote or self.text.count(quote) != 1
        ]

    def unmet(self) -> list[str]:
        """Return each MUST of the page, with what stands around it, without a case."""
        text = self.text
        met = [
            (at, at + len(q)) for q in self.quotes.values() if (at := text.find(q)) >= 0
        ]
        return [
            text[max(0, word.start() - _AROUND) : word.end() + _AROUND]
            for word in re.finditer(r"\bMUST\b", text)
            if not any(start <= word.start() < end for start, end in met)
        ]


def judged(forge: Forge, folder: Path) -> Report:
    """Write the ledger into *folder* and verify it with its root pinned."""
    place = forge.write(folder / "ledger.db")
    home, pins = folder / "home", [keyid(forge.key("root"))]
    return verify(place, home=home, keys=pins)


def rules(forge: Forge, folder: Path) -> set[str]:
    """Return the rules that the ledger breaks."""
    report = judged(forge, folder)
    assert not report.ok, str(report)
    return {finding.rule for finding in report.findings}
