"""If what ran is what was registered, on data that was new to it; else, which move it was.

    verdict.reached       {…, "integrity": "valid", "denominator": {"claim": 1, …}}

    valid                 what ran is what was registered, on data that was new to it
    no_registration       nothing was stated before the first execution
    changed_claim …       see `moves`
    registered_after_data it was registered when a run had seen this data already
    reused_data           a run that differs, in plan or code, had seen this data
    unknown_data          the data of an earlier run was erased, and cannot be compared
    several_registrations another registration says otherwise, and no run came of it

Rules:

- Only what stood in the ledger before the run counts, so that the status can be derived
  again from the events at any time. It is no part of a result.
- A registration made apart from any run binds the runs of its name: everything that ran
  otherwise is a change. Without one, a run is held against each look before it.
- What is registered after a look, and run on data that nobody had seen, may change
  everything but what the claim says, who judges it, and what is tested.
- Where several names apply, the first of `MOVES` is the status; reasons name all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment.canonical import sha256_tag
from muniment_plugins.harness.looks import Look, Looks, resolved
from muniment_plugins.harness.moves import (
    Move,
    moved_bounds,
    moved_claims,
    moves_between,
)
from muniment_plugins.harness.registration import KIND

if TYPE_CHECKING:
    from muniment.events import Event
    from muniment.ledger import Ledger

__all__ = ["MOVES", "Integrity", "integrity_of"]

MOVES = (
    *("no_registration", "changed_claim", "changed_spec", "changed_conditions"),
    *("changed_code", "extra_replicates", "fewer_replicates"),
    *("registered_after_data", "reused_data", "unknown_data", "several_registrations"),
)
"""Every status but ``valid``, the gravest first."""


@dataclass(frozen=True, slots=True)
class Integrity:
    """A status, and why; and how many runs of the same question there are."""

    status: str
    reasons: tuple[str, ...] = ()
    denominator: dict[str, int] = field(default_factory=dict[str, int])

    def __str__(self) -> str:
        """One line."""
        return "; ".join((self.status.replace("_", " "), *self.reasons))


def integrity_of(ledger: Ledger, events: Sequence[Event]) -> Integrity:
    """Return if what ran is what was registered, from the *events* of a run."""
    own = next((one for one in events if one.type == KIND), None)
    executed = next((one for one in events if one.type == "execution.requested"), None)
    if own is None or (executed is not None and executed.seq < own.seq):
        return Integrity("no_registration", ("nothing was stated before it ran",))
    looks = Looks(ledger, own, resolved(ledger, own))
    moves = list(dict.fromkeys(_Judge(looks, events).moves()))
    status = min((name for name, _ in moves), key=MOVES.index, default="valid")
    ranked = sorted(moves, key=lambda move: MOVES.index(move[0]))
    return Integrity(status, tuple(why for _, why in ranked), looks.denominator)


class _Judge:
    """Holds one run against everything that stood before it."""

    def __init__(self, looks: Looks, events: Sequence[Event]) -> None:
        self.looks = looks
        self.own = looks.own
        self.seq = looks.own.event.seq
        self.events = events
        apart = [one for one in looks.family if one.run is None]
        named = [one for one in apart if looks.has_name(one)]
        self.apart = apart
        self.standing = named[-1] if named else None
        # A look counts if it came before the plan was fixed.
        self.since = self.seq if self.standing is None else self.standing.event.seq

    def moves(self) -> Iterator[Move]:
        """Yield every difference that a reader of the verdict has to know."""
        if self.standing is not None:
            for name, what in moves_between(self.standing.said, self.own.said):
                yield name, f"not what was registered: {what}"
        yield from self._own()
        for look in self.looks.earlier:
            if look.run is not None and look.looked(self.since):
                if self.looks.is_kin(look):
                    yield from self._against(look)
                yield from self._data(look)
        yield from self._several()

    def _own(self) -> Iterator[Move]:
        """Yield how the run itself is not what it registered."""
        planned = cast("int", self.own.said["replicates"])
        if self.standing is not None:
            planned = cast("int", self.standing.said["replicates"])
        started = [one for one in self.events if one.type == "replicate.started"]
        ran = len({cast("int", one.raw["replicate"]) for one in started})
        if ran > planned:
            yield (
                "extra_replicates",
                f"{ran} replicates ran, {planned} were registered",
            )
        elif started and ran < planned:
            yield (
                "fewer_replicates",
                f"{ran} replicates ran, {planned} were registered",
            )
        known = cast("list[str]", self.own.said["code"])
        for event in self.events:
            if event.type == "synthesis.attempted":
                data = resolved(self.own.ledger, event)
                code = str(data.get("code")).encode("utf-8", "surrogatepass")
                if data.get("origin") == "code" and sha256_tag(code) not in known:
                    yield "changed_code", f"the code of event {event.seq} is another"
                    return

    def _against(self, look: Look) -> Iterator[Move]:
        """Yield what moved after *look*, which is of the same question."""
        run = f"run {look.run} had looked at it"
        bounds = [
            *moved_claims(look.said, self.own.said),
            *moved_bounds(look.said, self.own.said),
        ]
        for name, what in bounds:
            yield name, f"{run}, and {what}"
        if self.standing is not None:
            return
        for name, what in moves_between(look.said, self.own.said):
            if name.endswith("_replicates"):
                yield name, f"{run} with {look.said['replicates']} replicates"
            elif name == "changed_conditions":
                yield name, f"{run}, {what}"
        if look.seed != self.own.seed:
            yield "changed_conditions", f"{run}, drawing from other seeds"

    def _data(self, look: Look) -> Iterator[Move]:
        """Yield that *look* had seen the data, or that a repetition saw other data."""
        run = f"run {look.run}"
        if look.was_erased or self.own.was_erased:
            yield (
                "unknown_data",
                f"the data of {run} was erased, and cannot be compared",
            )
            return
        same_plan = look.said["plan"] == self.own.said["plan"]
        theirs, ours = look.contents, self.own.contents
        exact = theirs <= ours or ours <= theirs
        if same_plan and exact and look.code == self.own.code:
            return  # a repetition, which tells nothing new
        seen = look.saw(self.own)
        if seen is not None:
            name = "reused_data" if self.standing is None else "registered_after_data"
            how = "with other code" if exact else "before it was changed"
            how = how if same_plan else "under another plan"
            yield name, f"{run} had seen {seen} {how}"
        elif same_plan and self.standing is None:
            yield "extra_replicates", f"{run} had measured the same on other data"

    def _several(self) -> Iterator[Move]:
        """Yield registrations that say otherwise, and that no run came of before."""
        for one in self.apart:
            if one is self.standing or self._came_of(one):
                continue
            differs = moves_between if self.looks.has_name(one) else moved_claims
            for _, what in differs(one.said, self.own.said):
                why = f"event {one.event.seq} registered otherwise: {what}"
                yield "several_registrations", why
                break

    def _came_of(self, apart: Look) -> bool:
        """Tell whether a run of this plan came of it before the plan was fixed."""
        return any(
            one.said["plan"] == apart.said["plan"]
            and apart.event.seq < one.event.seq < self.since
            for one in self.looks.family
            if one.run is not None
        )
