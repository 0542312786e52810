"""Which command continues a run, or answers it, and who can give it.

Rules: an advised command works as it is. A resume is offered only to users who can write,
and never where it would be refused. Words that only a person knows are described beside
the facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment_cli.terminal.advice import naming_ledger
from muniment_cli.terminal.doubt_prompt import can_ask
from muniment_cli.terminal.pasting import again_of, hindrance
from muniment_cli.views.event_view import short, subject_of
from muniment_cli.views.explaining.reasons import marks_json
from muniment_cli.views.timeline import TimelineStep, steps_of

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger
    from muniment_plugins.governance.failures.reading import RunFailure

__all__ = ["Explanation", "going_on", "offer_resume", "to_decide", "ways_on"]


@dataclass(slots=True)
class Explanation:
    """The reason, the place, and what to do."""

    run: str
    status: str
    because: str
    facts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The known facts about the cause: name and value."""
    next: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """A command, and what it does."""
    unverified: str = ""
    """Why the run's events prove nothing: the first of them that does not verify."""
    failure: RunFailure | None = None
    """Class and reason code, if the run failed."""
    marks: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What the run was marked with, and why."""

    def offer(
        self, ledger: Ledger, verb: str, run: str, does: str, options: str = ""
    ) -> None:
        """Advise *verb* of *run*; if a word of the command is not known, say which."""
        again = again_of(ledger, run)
        command = f"muniment {verb} {run}{options}{again.suffix}"
        if again.typed:
            self.facts.append((f"to {verb}", f"type `{command}`, with {again.typed}"))
        else:
            self.next.append((command, does))

    def to_json(self) -> dict[str, JsonValue]:
        """Return the explanation as plain JSON; a repeated name is numbered."""
        facts: dict[str, JsonValue] = {}
        times: Counter[str] = Counter()
        for name, value in self.facts:
            times[name] += 1
            facts[name if times[name] == 1 else f"{name} {times[name]}"] = value
        reason: dict[str, JsonValue] = {
            "class": None,
            "reason_code": None,
            "event": None,
            "retry": None,
        }
        if self.failure is not None:
            reason = self.failure.to_json()
        return {
            "run": self.run,
            "status": self.status,
            "because": self.because,
            "unverified": self.unverified or None,
            **reason,
            "marks": marks_json(self.marks),
            "facts": facts,
            "next": [{"command": one, "does": what} for one, what in self.next],
        }


def ways_on(ledger: Ledger, run: str, url: str | None) -> Iterator[str]:
    """Yield a line for each way to continue *run*, which stopped with this process."""
    events = list(ledger.events(run=run))
    waiting = [step for step in steps_of(events) if step.open]
    said = Explanation(run, "interrupted", "")
    going_on(said, ledger, waiting, alive=False)
    yield from (f"{name}: {what}" for name, what in said.facts)
    yield from (f"`{naming_ledger(line, url)}` {does}" for line, does in said.next)


def offer_resume(
    said: Explanation, ledger: Ledger, does: str, options: str = ""
) -> None:
    """Advise a resume if this user can; else say who can, or what has to be before."""
    if (halted := _halted(ledger, said.run)) is not None:
        said.facts.append(("to resume", f"a resume is refused: {halted}"))
        return
    if not ledger.home.pins(ledger.id):
        why = "a resume goes live, and none of the ledger's keys is pinned here"
    else:
        why = hindrance(ledger, merely_found=False)
    if why:
        said.facts.append(("to resume", f"not here: {why.removeprefix('none: ')}"))
    else:
        said.offer(ledger, "resume", said.run, does, options)


def _halted(ledger: Ledger, run: str) -> str | None:
    """Say why a run that its budget halted is not resumed; None if none halts it."""
    started = next(ledger.events(run=run, limit=1))
    labels = started.raw.get("labels")
    if not isinstance(labels, dict) or "policy" not in labels:
        return None  # nothing governs it, and there is no reason to import what would
    from muniment_plugins.governance.budgets.table import halted_for

    return halted_for(ledger, run)


def to_decide(said: Explanation, ledger: Ledger, paused: Event) -> None:
    """Say what people are asked, and how an approver answers."""
    from muniment.events.visibility import INSTEAD, is_private

    awaited = paused.raw.get("waits_for")
    for one in ledger.pending() if isinstance(awaited, list) else ():
        if one.asked in cast("list[JsonValue]", awaited):
            approved = sum(each.outcome == "approved" for each in one.answers)
            told = f"event {one.seq}, {approved} of {one.quorum} approved"
            asks = short(one.prompt, 200) or short(subject_of(ledger, one), 200)
            if is_private(ledger.event(one.seq)):
                asks = f"{INSTEAD}, which `muniment inbox` shows"
            said.facts.append(("asks people", f"{asks} ({told})"))
            said.next.append(
                (f"muniment approve {one.seq}", "approves, by an approver's key")
            )
            said.next.append((f"muniment deny {one.seq}", "denies"))


def going_on(
    said: Explanation,
    ledger: Ledger,
    waiting: list[TimelineStep],
    *,
    alive: bool | None,
) -> None:
    """Advise how to follow a run that is under way, or to continue one that is not."""
    if alive:
        said.next.append((f"muniment events tail -f --run {said.run}", "follows it"))
        return
    over = " --take-over" if alive is None else ""
    does = "continues; completed effects are not repeated"
    in_doubt = {step.kind: _on_doubt(ledger, step) for step in waiting}
    named = {"refuse"} if can_ask() else {"refuse", "ask"}
    if refused := sorted(kind for kind, doubt in in_doubt.items() if doubt in named):
        over += "".join(f" --repeat-doubtful {kind}" for kind in refused)
        does = "performs effects with an unknown outcome again, and continues"
    elif "ask" in in_doubt.values():
        does = "asks about effects with an unknown outcome, and continues"
    offer_resume(said, ledger, does, over)


def _on_doubt(ledger: Ledger, step: TimelineStep) -> str:
    kind = ledger.effect_kinds.get(step.kind)
    # Without the kind's plugin nothing says that it is safe.
    return "refuse" if kind is None else kind.on_doubt
