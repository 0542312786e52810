"""Explaining the state of a run, and which command to give next.

Rules: everything comes from the run's events. An advised command works as it is: a
resume is offered only to users who can write, and if a run that can continue waits for
it. Words that only a person knows are described beside the facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment.formats.lifecycle import (
    CANCELED,
    COMPLETED,
    ENDS,
    FAILED,
    INTERRUPTED,
    LIFE,
    OPEN,
    PAUSED,
)
from muniment_cli.terminal.advice import naming_ledger
from muniment_cli.terminal.doubt_prompt import can_ask
from muniment_cli.terminal.output import count
from muniment_cli.terminal.pasting import again_of, hindrance
from muniment_cli.views.event_view import resolved, short
from muniment_cli.views.failure_words import (
    STATED,
    about,
    caused,
    forked_from,
    stated,
    text,
)
from muniment_cli.views.judgements import judgement_rows, plain, recorded_judgement
from muniment_cli.views.recording_gaps import recording_gaps
from muniment_cli.views.timeline import TimelineStep, steps_of

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["Explanation", "explain", "ways_on"]

_STOPPED = {
    "CancelledError": "the task that awaited it was cancelled",
    "GeneratorExit": "what ran it was closed before it came to an end",
    "Killed": "it was ended by a signal from outside",
    "KeyboardInterrupt": "somebody pressed Ctrl-C, or sent the signal of it",
    "SystemExit": "the program ended its process itself, with sys.exit",
    "Unfinished": "whoever awaited the experiment does so no more",
}
"""Name of an exception → how it stopped the run."""
_NEEDING = ("muniment replay ", "muniment resume ")
"""The commands that the record has to answer."""
_SIGNING = ("muniment approve ", "muniment deny ")
_NEEDING_FACTS = frozenset({"to replay", "to resume"})


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
        return {
            "run": self.run,
            "status": self.status,
            "because": self.because,
            "unverified": self.unverified or None,
            "facts": facts,
            "next": [{"command": one, "does": what} for one, what in self.next],
        }


def explain(ledger: Ledger, run: str, url: str | None = None) -> Explanation:
    """Return why *run* is in its state; commands name the ledger by *url*, if given."""
    events = list(ledger.events(run=run))
    last = next((one for one in reversed(events) if one.type in LIFE), events[0])
    said = _explained(ledger, run, events, last)
    said.facts = forked_from(events[0].raw.get("fork")) + said.facts
    odd = [event for event in events if event.fault]
    said.facts += [(f"malformed, event {one.seq}", one.fault) for one in odd[:STATED]]
    said.facts += recording_gaps(ledger, events)
    _without_what_is_gone(ledger, events, said)
    _without_what_is_edited(ledger, said)
    said.next = [(naming_ledger(one, url), what) for one, what in said.next]
    return said


def ways_on(ledger: Ledger, run: str, url: str | None) -> Iterator[str]:
    """Yield a line for each way to continue *run*, which stopped with this process."""
    events = list(ledger.events(run=run))
    waiting = [step for step in steps_of(events) if step.open]
    said = Explanation(run, "interrupted", "")
    _going_on(said, ledger, waiting, alive=False)
    yield from (f"{name}: {what}" for name, what in said.facts)
    yield from (f"`{naming_ledger(line, url)}` {does}" for line, does in said.next)


def _without_what_is_edited(ledger: Ledger, said: Explanation) -> None:
    """If rows of the run do not verify, say so, and advise nothing that they answer."""
    from muniment.errors import WrongError
    from muniment.runs.resume import verified_events

    try:
        verified_events(ledger, said.run)
    except WrongError as error:
        said.unverified = f"{error.place}: {error.message} [{error.rule}]"
        said.facts = [one for one in said.facts if one[0] not in _NEEDING_FACTS]
        said.next = [
            one for one in said.next if not one[0].startswith(_NEEDING + _SIGNING)
        ]
        said.next.insert(0, ("muniment verify", "judges the whole ledger"))


def _without_what_is_gone(
    ledger: Ledger, events: list[Event], said: Explanation
) -> None:
    """Drop advice that needs an erased or missing blob."""
    refs = {
        ref
        for event in events
        for value in event.raw.values()
        if isinstance(value, dict) and isinstance(ref := value.get("$blob"), str)
    }
    held = sum(map(ledger.holds, refs))
    if held == len(refs):
        return
    gone = f"{count(len(refs) - held, 'blob')} of {len(refs)}; a replay needs all"
    said.facts = [one for one in said.facts if one[0] not in _NEEDING_FACTS]
    said.facts.append(("gone", gone))
    said.next = [one for one in said.next if not one[0].startswith(_NEEDING)]
    erasures = "muniment events --type blob.erased"
    said.next.append((erasures, "says who erased what, and why"))


def _explained(
    ledger: Ledger, run: str, events: list[Event], last: Event
) -> Explanation:
    judged = next((one for one in events if one.type == "replay.judged"), None)
    if last.type == COMPLETED and judged is not None:
        return _judged(ledger, run, judged)
    if last.type == COMPLETED:
        return _completed(ledger, run, events)
    if last.type == FAILED:
        return _failed(ledger, run, events, last)
    if last.type == CANCELED:
        return _canceled(ledger, run, last)
    return _unfinished(ledger, run, events, last)


def _completed(ledger: Ledger, run: str, events: list[Event]) -> Explanation:
    said = Explanation(run, "completed", "the program returned")
    verdicts = [event for event in events if event.type == "verdict.reached"]
    failed = [event for event in verdicts if event.raw.get("passed") is False]
    if failed:
        said.because += f"; {len(failed)} of {len(verdicts)} verdicts failed"
    for event in failed:
        said.facts.append((f"verdict, event {event.seq}", _verdict(ledger, event)))
        said.next.append((f"muniment events show {event.seq}", "prints the verdict"))
    said.next.append(
        (f"muniment runs show {run}", "prints its facts, effects and result")
    )
    said.offer(ledger, "replay", run, "derives the result again")
    return said


def _canceled(ledger: Ledger, run: str, last: Event) -> Explanation:
    reason = short(resolved(ledger, last).get("reason", ""), 300)
    said = Explanation(run, ENDS[CANCELED], "somebody gave it up")
    if reason:
        said.because += f": {reason}"
    said.facts.append(("canceled at", f"event {last.seq}, {last.time}"))
    said.next.append((f"muniment runs show {run}", "prints what it did"))
    return said


def _verdict(ledger: Ledger, event: Event) -> str:
    data = resolved(ledger, event)
    where = f" of {event.scope}" if event.scope else ""
    return f"{data.get('hypothesis')}{where}: {short(data.get('result'), 300)}"


def _judged(ledger: Ledger, run: str, judged: Event) -> Explanation:
    from muniment.recorded.divergence import Divergence

    data = resolved(ledger, judged)
    verdict = str(data.get("verdict")).replace("_", " ")
    of = str(data.get("replay_of"))
    said = Explanation(run, "completed", f"a replay of {of} was judged {verdict}")
    told = recorded_judgement(data)
    if told is not None:
        said.facts += [(name, plain(cell)) for name, cell in judgement_rows(told)]
    findings = None if told is not None else data.get("findings")
    listed = findings if isinstance(findings, list) else []
    found = [Divergence.from_json(one) for one in listed if isinstance(one, dict)]
    for one in sorted(found, key=lambda one: one.warns)[:1]:
        said.facts.append(("a warning" if one.warns else "diverged", str(one)))
    if len(listed) > 1:
        said.facts.append(("findings", f"{len(listed)}, this is the first"))
    said.next = [(f"muniment runs show {of}", "prints the run that was replayed")]
    said.offer(ledger, "replay", of, "judges it again")
    return said


def _failed(ledger: Ledger, run: str, events: list[Event], last: Event) -> Explanation:
    data = resolved(ledger, last)
    status = str(data.get("status", "failed"))
    said = Explanation(run, status, text(data))
    said.facts.append(("ended at", f"event {last.seq}, {last.time}"))
    steps = caused(events, data.get("cause"))
    blamed = [one for one in steps if not _is_failure(one)]
    steps = [one for one in steps if _is_failure(one)]
    for step in blamed:
        words = "the run's end names it as the cause; the record says no failure of it"
        said.facts.append((f"{step.label}, event {_seq(step)}", words))
    for step in steps[:STATED]:
        said.facts += about(ledger, step)
        said.next.append((f"muniment events show {_seq(step)}", "prints the failure"))
    if len(steps) > STATED:
        left = count(len(steps) - STATED, "more effect")
        said.facts.append(("and", f"{left} that failed"))
    facts = list(stated(ledger, events))
    for seq, name, words in facts:
        said.facts.append((name, words))
        said.next.append((f"muniment events show {seq}", "prints it"))
    if steps:
        _offer_resume(said, ledger, "performs what failed again")
    elif status == "refused":
        said.next.append(
            (f"muniment runs show {run}", "prints what happened before the refusal")
        )
    elif not facts and not blamed:
        said.facts.append(("raised by", "the program itself, not by an effect"))
    if not steps and status != "refused":
        said.next.append(
            (f"muniment runs show {run}", "prints what happened before it")
        )
    said.offer(ledger, "replay", run, "runs into the same failure again")
    return said


def _offer_resume(
    said: Explanation, ledger: Ledger, does: str, options: str = ""
) -> None:
    """Advise a resume if this user can; else say who can."""
    if not ledger.home.pins(ledger.id):
        why = "a resume goes live, and none of the ledger's keys is pinned here"
    else:
        why = hindrance(ledger, merely_found=False)
    if why:
        said.facts.append(("to resume", f"not here: {why.removeprefix('none: ')}"))
    else:
        said.offer(ledger, "resume", said.run, does, options)


def _unfinished(
    ledger: Ledger, run: str, events: list[Event], last: Event
) -> Explanation:
    said = Explanation(run, ENDS.get(last.type, OPEN), "")
    alive: bool | None = False
    if last.type == PAUSED:
        said.because = f"it waits: {short(resolved(ledger, last).get('reason'), 300)}"
        said.facts.append(("paused at", f"event {last.seq}, {last.time}"))
        _to_decide(said, ledger, last)
    elif last.type == INTERRUPTED:
        said.because = f"it was stopped: {_stopped_by(str(last.raw.get('reason', '')))}"
        said.facts.append(("stopped at", f"event {last.seq}, {last.time}"))
    else:
        said.because, alive = _owner(last)
    waiting = [step for step in steps_of(events) if step.open]
    for step in waiting:
        said.facts += about(ledger, step)
    _going_on(said, ledger, waiting, alive=alive)
    return said


def _to_decide(said: Explanation, ledger: Ledger, paused: Event) -> None:
    """Say what people are asked, and how an approver answers."""
    from muniment_cli.keys.answers import subject_of

    awaited = paused.raw.get("waits_for")
    for one in ledger.pending() if isinstance(awaited, list) else ():
        if one.asked in cast("list[JsonValue]", awaited):
            approved = sum(each.outcome == "approved" for each in one.answers)
            told = f"event {one.seq}, {approved} of {one.quorum} approved"
            asks = short(one.prompt, 200) or short(subject_of(ledger, one), 200)
            said.facts.append(("asks people", f"{asks} ({told})"))
            said.next.append(
                (f"muniment approve {one.seq}", "approves, by an approver's key")
            )
            said.next.append((f"muniment deny {one.seq}", "denies"))


def _stopped_by(reason: str) -> str:
    """Return a recorded reason in words; most reasons are names of exceptions."""
    name, _, signal = reason.partition(" by ")
    if name not in _STOPPED:
        return short(reason, 300)
    return f"{_STOPPED[name]} ({signal or name})"


def _owner(last: Event) -> tuple[str, bool | None]:
    from muniment.runs.owner import is_alive

    owner = cast("dict[str, JsonValue]", last.raw.get("owner", {}))
    alive = is_alive(owner)
    who = f"process {owner.get('pid')} on {owner.get('host')}"
    if alive:
        return f"{who} is running it", alive
    if alive is None:
        return f"{who} had it, which cannot be looked at from here", alive
    return f"{who} had it, and is gone without an end", alive


def _going_on(
    said: Explanation,
    ledger: Ledger,
    waiting: list[TimelineStep],
    *,
    alive: bool | None,
) -> None:
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
    _offer_resume(said, ledger, does, over)


def _on_doubt(ledger: Ledger, step: TimelineStep) -> str:
    kind = ledger.effect_kinds.get(step.kind)
    # Without the kind's plugin nothing says that it is safe.
    return "refuse" if kind is None else kind.on_doubt


def _is_failure(step: TimelineStep) -> bool:
    """Tell whether the effect failed, or its outcome is unknown."""
    return step.outcome is None or step.outcome.type.endswith(".failed")


def _seq(step: TimelineStep) -> int:
    return step.event.seq if step.outcome is None else step.outcome.seq
