"""Reuse of the answers that an earlier run of the same measurement recorded.

    experiment.run(strategy="resume")       another verifier, another acceptance: nothing
                                            is asked, nothing is executed
    answer.taken {"run": "01M8…", "event": 17}      inside each effect that it answered

Rules:

- A measurement is the plan without claims and hypotheses, with its number of replicates:
  what is asked and executed depends on nothing else.
- Each reused answer names its event. The effect belongs to the new run, and a replay
  checks it like every other effect.
- A model that was asked because of another claim is not asked again; the named event
  has the question that it answered. To ask again, say ``rerun``.
- Failed effects, and private ones, are not reused; they are performed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import canonical, sha256_tag
from muniment.encoding.codec import encode
from muniment.events.visibility import is_private
from muniment_plugins.harness.experiment.failures import place_in
from muniment_plugins.harness.steps.claim_and_spec import StateClaim
from muniment_plugins.harness.steps.weakest_isolation import levels_of
from muniment_plugins.harness.surroundings import Surroundings, here

if TYPE_CHECKING:
    from muniment.encoding.registry import ValueTypes
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment.runs.run import Run

__all__ = ["LABEL", "Earlier", "Taking", "measurement", "over"]

LABEL = "measurement"
"""The label of a run that names its measurement."""

KIND = "answer.taken"
_CLAIMED = ("claim", "messages")
"""Members of a question to a model that contain the claim."""

Row = Mapping[str, object]


def measurement(plan: Row) -> str:
    """Return the digest of what a *plan* measures, whatever it claims."""
    steps = [_unclaimed(one) for one in cast("list[Row]", plan["pipeline"])]
    treatments = [_without_claim(one) for one in cast("list[Row]", plan["treatments"])]
    context = cast("Row", plan["context"])
    measured = {
        **{name: one for name, one in plan.items() if name != "hypotheses"},
        "pipeline": steps,
        "treatments": treatments,
        "context": {name: one for name, one in context.items() if name != "claim"},
    }
    return sha256_tag(canonical(encode(measured)))


def _unclaimed(step: Row) -> Row:
    return {"step": step["step"]} if step["step"] == StateClaim.name else step


def _without_claim(treatment: Row) -> Row:
    if "changes" not in treatment:
        return treatment
    changes = cast("Row", treatment["changes"])
    kept = {name: one for name, one in changes.items() if name != "claim"}
    return {**treatment, "changes": kept}


@dataclass(slots=True)
class Earlier:
    """The answers of one run, each reused once."""

    run: str
    levels: Mapping[str, str]
    types: ValueTypes
    answers: dict[bytes, list[tuple[int, object]]] = field(
        default_factory=dict[bytes, list[tuple[int, object]]]
    )

    @classmethod
    def newest(cls, ledger: Ledger, plan: Row) -> Earlier | None:
        """Return the answers of the newest run that measured what *plan* does."""
        labels = {LABEL: measurement(plan)}
        found = next(ledger.runs(labels=labels, order="desc", limit=1), None)
        return None if found is None else cls.of(ledger, found.id)

    @classmethod
    def of(cls, ledger: Ledger, run: str) -> Earlier:
        """Return the answers of *run*."""
        types = ledger.value_types
        made = cls(run, levels_of(ledger, run), types)
        requests: dict[tuple[str | None, int | None], bytes] = {}
        for event in _effects(ledger.events(run=run)):
            kind, _, verb = event.type.rpartition(".")
            at = event.scope, event.ordinal
            if verb == "requested":
                request = ledger.resolve(event)["request"]
                requests[at] = made._key(event.scope or "", kind, request)
            elif verb == "completed" and at in requests and not is_private(event):
                value = ledger.resolve(event).get("value")
                made.answers.setdefault(requests[at], []).append((event.seq, value))
        return made

    def take(self, scope: str, kind: str, request: object) -> tuple[int, object] | None:
        """Return event and value of the next answer to *request*, or None."""
        waiting = self.answers.get(self._key(scope, kind, request))
        return waiting.pop(0) if waiting else None

    def _key(self, scope: str, kind: str, request: object) -> bytes:
        asked = request
        if kind == "llm" and isinstance(request, Mapping):
            members = cast("Row", request)
            asked = {name: members[name] for name in members.keys() - set(_CLAIMED)}
        return canonical(encode([scope, kind, asked], self.types))


def _effects(events: Iterable[Event]) -> Iterable[Event]:
    return (
        one for one in events if one.ordinal is not None and "@" not in str(one.scope)
    )


@dataclass(frozen=True, slots=True)
class Taking:
    """A lane that answers effects from an earlier run as far as possible."""

    lane: Run
    earlier: Earlier

    @property
    def values(self) -> ValueTypes:
        """The classes whose instances are values."""
        return self.lane.values

    def record(self, name: str, data: Mapping[str, object], /) -> object:
        """State a fact of the type called *name*."""
        return self.lane.record(name, data)

    def effect(
        self, kind: str, request: object, perform: Callable[[object], object]
    ) -> object:
        """Reuse the answer, or perform."""
        scope = self.lane.scope_path

        def take(asked: object) -> object:
            found = self.earlier.take(scope, kind, asked)
            if found is None:
                return perform(asked)
            level = self.earlier.levels.get(place_in(scope)[0])
            held = {"level": level} if kind == "execution" else {}
            here().record(KIND, {"run": self.earlier.run, "event": found[0], **held})
            return found[1]

        return self.lane.effect(kind, request, perform=take)

    def hook(self, name: str, /, **arguments: object) -> object:
        """Ask the plugins."""
        return self.lane.hook(name, **arguments)

    def random(self) -> float:
        """Return a number from [0, 1), equal in a replay."""
        return self.lane.random()


def over(lane: Run, earlier: Earlier | None) -> Surroundings:
    """Return *lane*, answered by an *earlier* run if there is one."""
    return lane if earlier is None else Taking(lane, earlier)
