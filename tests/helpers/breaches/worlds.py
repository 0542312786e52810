"""Small worlds, each of which breaks one sentence of the specification and no other.

    @breaks("event", "and its `prev` MUST be that event's leaf hash", "series/prev")
    def another_predecessor(world: World, wrong: bool) -> None:
        first = world.note(series={"a": {"count": 1}})
        ...

Rules:

- One function builds a world twice: *wrong*, and sound. Nothing is different but the
  breach, so whatever is found is found because of it.
- A world is a ledger, a trust home and what a person gives. A case that is about
  something else (a proof, a bundle) judges that itself, and returns what broke.
- Whoever forges has every key of the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forge import RUN, Forge, Row, keyid
from muniment.errors import MunimentError
from muniment.trust.home import TrustHome
from muniment.verification.report import Report
from muniment.verification.verify import verify

__all__ = ["BREACHES", "Breach", "Outcome", "World", "breaks", "refused"]

Outcome = Report | set[str] | None
"""A report, the rules that broke, or nothing: then the ledger is verified."""


@dataclass
class World:
    """A ledger whose root is known, a trust home, and an anchor that was given."""

    folder: Path
    forge: Forge = field(default_factory=lambda: Forge("one").open())
    place: Path = field(init=False)
    home: TrustHome = field(init=False)
    anchor: Path | None = None
    keys: list[str] | None = field(init=False)
    """The keys that are given; None for the pins of the home."""

    def __post_init__(self) -> None:
        """Lay out the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.place = self.folder / "ledger.db"
        self.home = TrustHome(self.folder / "home")
        self.keys = [keyid(self.forge.key("root"))]

    @property
    def known(self) -> Path:
        """What the home knows of the ledger: a folder."""
        return self.folder / "home" / "ledgers" / self.forge.ledger[7:]

    def note(self, text: str = "x", **rest: Any) -> Row:
        """Append a note."""
        return self.forge.append("note.added", {"text": text}, **rest)

    def start(self, run: str = RUN, **rest: Any) -> Row:
        """Start a run."""
        started = {"name": "x", "seed": "0"}
        return self.forge.append("run.started", started, run=run, **rest)

    def write(self) -> Path:
        """Write the file of the ledger, if it is not written yet."""
        if not self.place.exists():
            self.forge.write(self.place)
        return self.place

    def verified(self, **options: Any) -> Report:
        """Verify the ledger, with its root pinned."""
        given = {"anchor": self.anchor, "home": self.home, "keys": self.keys}
        return verify(self.write(), **given | options)


Case = Callable[[World, bool], Outcome]


@dataclass(frozen=True)
class Breach:
    """A sentence, what breaks it, and how that is called."""

    page: str
    sentence: str
    rules: frozenset[str]
    case: Case

    def judged(self, folder: Path, *, wrong: bool) -> set[str]:
        """Build the world in *folder*; return the rules that it breaks."""
        world = World(folder)
        outcome = self.case(world, wrong)
        report = world.verified() if outcome is None else outcome
        if isinstance(report, set):
            return report
        found = {one.rule for one in report.findings}
        assert report.ok is not bool(found), str(report)
        return found


BREACHES: dict[str, Breach] = {}
"""Every case by its name."""


def breaks(
    page: str, *sentences: str, rule: str | Iterable[str]
) -> Callable[[Case], Case]:
    """Return what enters a case for *sentences* of a *page*: its breach is *rule*."""
    rules = frozenset({rule} if isinstance(rule, str) else rule)

    def enter(case: Case) -> Case:
        for number, sentence in enumerate(sentences, 1):
            name = f"{page}: {case.__name__.replace('_', ' ').strip()}"
            name += f" ({number})" if number > 1 else ""
            assert name not in BREACHES, name
            BREACHES[name] = Breach(page, sentence, rules, case)
        return case

    return enter


def refused(call: Callable[[], object]) -> set[str]:
    """Return the rule by which *call* is refused; nothing if it is not."""
    try:
        call()
    except MunimentError as error:
        return {error.rule}
    return set()
