"""Whether what ran is what was registered, on new data; if not, what changed.

    verdict.reached       {…, "integrity": "valid", "denominator": {"claim": 1, …}}

    valid                 what ran is what was registered, on new data
    no_registration       nothing was stated before the first execution
    changed_claim …       see `moves`
    registered_after_data it was registered after a run had seen this data
    reused_data           a run with another plan or other code had seen this data
    unknown_data          the data of an earlier run was erased, and cannot be compared
    several_registrations another registration says otherwise, and was never run

Rules:

- Only what was in the ledger before the run counts, so that the status can be derived
  again from the events at any time. It is not part of a result.
- A registration made apart from any run binds the runs of its name: every difference is
  a change. Without one, a run is compared with each run that looked before it.
- An experiment that is registered after such a look, and runs on data that nobody had
  seen, may change everything but the claim's text, its verifiers, and what is tested.
- If several names apply, the first of `MOVES` is the status; the reasons name all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import sha256_tag
from muniment_plugins.harness.erasure import left_of
from muniment_plugins.harness.preregistration.earlier_looks import (
    Look,
    Looks,
    runs_counted,
)
from muniment_plugins.harness.preregistration.moves import (
    Move,
    moved_bounds,
    moved_claims,
    moves_between,
)
from muniment_plugins.harness.preregistration.registration import KIND

if TYPE_CHECKING:
    from muniment.formats.statement import Event
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
    """A status and its reasons, and how many runs of the same question there are."""

    status: str
    reasons: tuple[str, ...] = ()
    denominator: dict[str, int] = field(default_factory=dict[str, int])

    def __str__(self) -> str:
        """One line."""
        return "; ".join((self.status.replace("_", " "), *self.reasons))


def integrity_of(ledger: Ledger, events: Sequence[Event]) -> Integrity:
    """Return whether what ran is what was registered, from the *events* of a run."""
    own = next((one for one in events if one.type == KIND), None)
    executed = next((one for one in events if one.type == "execution.requested"), None)
    if own is None or (executed is not None and executed.seq < own.seq):
        return Integrity("no_registration", ("nothing was stated before it ran",))
    looks = Looks(ledger, own, left_of(ledger, own))
    moves = list(dict.fromkeys(_Judge(looks, events).moves()))
    status = min((name for name, _ in moves), key=MOVES.index, default="valid")
    ranked = sorted(moves, key=lambda move: MOVES.index(move[0]))
    counted = runs_counted(ledger, events[0]) or looks.denominator
    return Integrity(status, tuple(why for _, why in ranked), counted)


class _Judge:
    """Compares one run with everything that was registered before it."""

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
        """Yield how the run differs from what was registered."""
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
                data = left_of(self.own.ledger, event)
                code = str(data.get("code")).encode("utf-8", "surrogatepass")
                if data.get("origin") == "code" and sha256_tag(code) not in known:
                    yield "changed_code", f"the code of event {event.seq} is another"
                    return

    def _against(self, look: Look) -> Iterator[Move]:
        """Yield what changed after *look*, which asks the same question."""
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
        """Yield a move if *look* saw the data before, or measured the same on other."""
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
        seen = look.saw(self.own, by_value=self.looks.by_value)
        if seen is not None:
            name = "reused_data" if self.standing is None else "registered_after_data"
            how = "with other code" if exact else "before it was changed"
            how = how if same_plan else "under another plan"
            yield name, f"{run} had seen {seen} {how}"
        elif same_plan and self.standing is None:
            yield "extra_replicates", f"{run} had measured the same on other data"

    def _several(self) -> Iterator[Move]:
        """Yield registrations that say otherwise, and that were never run."""
        for one in self.apart:
            if one is self.standing or self._came_of(one):
                continue
            differs = moves_between if self.looks.has_name(one) else moved_claims
            for _, what in differs(one.said, self.own.said):
                why = f"event {one.event.seq} registered otherwise: {what}"
                yield "several_registrations", why
                break

    def _came_of(self, apart: Look) -> bool:
        """Tell whether a run of its plan followed it before our plan was fixed."""
        return any(
            one.said["plan"] == apart.said["plan"]
            and apart.event.seq < one.event.seq < self.since
            for one in self.looks.family
            if one.run is not None
        )
