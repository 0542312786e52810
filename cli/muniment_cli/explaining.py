"""Why a run is as it is, and which command to give next.

Rules: what is said comes from the run's events. The advice is a command that can be
given as it stands, and works: a resume is offered to who can write, and where a run that
can go on is waiting for it. What only a person knows is said beside the facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from muniment_cli.advice import naming_ledger
from muniment_cli.output import count
from muniment_cli.pasting import again_of, hindrance
from muniment_cli.showing import content_json, resolved, short
from muniment_cli.timeline import Step, steps_of

if TYPE_CHECKING:
    from muniment.canonical import JsonValue
    from muniment.events import Event
    from muniment.ledger import Ledger

__all__ = ["Explanation", "explain", "ways_on"]

_STATED = 3
"""How many facts about failures are said; more of them say the same."""

_STOPPED = {
    "CancelledError": "the task that awaited it was cancelled",
    "GeneratorExit": "what ran it was closed before it came to an end",
    "Killed": "the recorded program was ended by a signal from outside",
    "KeyboardInterrupt": "somebody pressed Ctrl-C, or sent the signal of it",
    "SystemExit": "the program ended its process itself, with sys.exit",
    "Unfinished": "whoever awaited the experiment does so no more",
}
"""What stops a run, by the name of what was raised."""

_ENDS = frozenset({"run.started", "run.resumed", "run.interrupted"}) | {
    "run.completed",
    "run.failed",
}


@dataclass(slots=True)
class Explanation:
    """Why, where, and what to do."""

    run: str
    status: str
    because: str
    facts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What is known about the cause, name by name."""
    next: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """A command, and what it does."""

    def offer(
        self, ledger: Ledger, verb: str, run: str, does: str, options: str = ""
    ) -> None:
        """Advise *verb* of *run*; where a word of it is not known, say which."""
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
            "facts": facts,
            "next": [{"command": one, "does": what} for one, what in self.next],
        }


def explain(ledger: Ledger, run: str, url: str | None = None) -> Explanation:
    """Return why *run* is as it is; its commands name the ledger as *url* does, if any."""
    from muniment.reading import events_of_run

    events = list(events_of_run(ledger.store.database, run))
    last = next((one for one in reversed(events) if one.type in _ENDS), events[0])
    said = _explained(ledger, run, events, last)
    odd = [event for event in events if event.fault]
    said.facts += [(f"malformed, event {one.seq}", one.fault) for one in odd[:_STATED]]
    _without_what_is_gone(ledger, events, said)
    said.next = [(naming_ledger(one, url), what) for one, what in said.next]
    return said


def ways_on(ledger: Ledger, run: str, url: str | None) -> Iterator[str]:
    """Yield a line for each way to go on with *run*, in which this process was stopped."""
    from muniment.reading import events_of_run

    events = list(events_of_run(ledger.store.database, run))
    waiting = [step for step in steps_of(events) if step.kind and step.outcome is None]
    said = Explanation(run, "interrupted", "")
    _going_on(said, ledger, waiting, alive=False)
    yield from (f"{name}: {what}" for name, what in said.facts)
    yield from (f"`{naming_ledger(line, url)}` {does}" for line, does in said.next)


def _without_what_is_gone(
    ledger: Ledger, events: list[Event], said: Explanation
) -> None:
    """Advise nothing that needs a content which was erased, or is missing."""
    refs = {
        ref
        for event in events
        for value in event.raw.values()
        if isinstance(value, dict) and isinstance(ref := value.get("$blob"), str)
    }
    with ledger.store.database.reading() as driver:
        held = sum(ledger.store.blobs.holds(driver.execute, ref) for ref in refs)
    if held == len(refs):
        return
    gone = f"{count(len(refs) - held, 'content')} of {len(refs)}; a replay needs all"
    needing = ("muniment replay ", "muniment resume ")
    said.facts = [one for one in said.facts if one[0] not in {"to replay", "to resume"}]
    said.facts.append(("gone", gone))
    said.next = [one for one in said.next if not one[0].startswith(needing)]
    erasures = "muniment events --type blob.erased"
    said.next.append((erasures, "says who erased what, and why"))


def _explained(
    ledger: Ledger, run: str, events: list[Event], last: Event
) -> Explanation:
    judged = next((one for one in events if one.type == "replay.judged"), None)
    if last.type == "run.completed" and judged is not None:
        return _judged(ledger, run, judged)
    if last.type == "run.completed":
        return _completed(ledger, run, events)
    if last.type == "run.failed":
        return _failed(ledger, run, events, last)
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


def _verdict(ledger: Ledger, event: Event) -> str:
    data = resolved(ledger, event)
    where = f" of {event.scope}" if event.scope else ""
    return f"{data.get('hypothesis')}{where}: {short(data.get('result'), 300)}"


def _judged(ledger: Ledger, run: str, judged: Event) -> Explanation:
    from muniment.divergence import Divergence

    data = resolved(ledger, judged)
    verdict = str(data.get("verdict")).replace("_", " ")
    of = str(data.get("replay_of"))
    said = Explanation(run, "completed", f"a replay of {of} was judged {verdict}")
    findings = data.get("findings")
    listed = findings if isinstance(findings, list) else []
    for one in listed[:1]:
        if isinstance(one, dict):
            said.facts.append(("diverged", str(Divergence.from_json(one))))
    if len(listed) > 1:
        said.facts.append(("findings", f"{len(listed)}, this is the first"))
    said.next = [(f"muniment runs show {of}", "prints the run that was replayed")]
    said.offer(ledger, "replay", of, "judges it again")
    return said


def _failed(ledger: Ledger, run: str, events: list[Event], last: Event) -> Explanation:
    data = resolved(ledger, last)
    status = str(data.get("status", "failed"))
    said = Explanation(run, status, _text(data))
    said.facts.append(("ended at", f"event {last.seq}, {last.time}"))
    steps = _caused(events, data.get("cause"))
    for step in steps[:_STATED]:
        said.facts += _about(ledger, step)
        said.next.append((f"muniment events show {_seq(step)}", "prints the failure"))
    if len(steps) > _STATED:
        left = count(len(steps) - _STATED, "more effect")
        said.facts.append(("and", f"{left} that failed"))
    stated = list(_stated(ledger, events))
    for seq, name, words in stated:
        said.facts.append((name, words))
        said.next.append((f"muniment events show {seq}", "prints it"))
    if steps:
        _offer_resume(said, ledger, "performs what failed again")
    elif status == "refused":
        said.next.append(
            (f"muniment runs show {run}", "prints what happened before the refusal")
        )
    elif not stated:
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
    """Advise to go on, where this user can; say who can, where not."""
    if not ledger.home.pins(ledger.id):
        why = "a resume goes live, and none of the ledger's keys is pinned here"
    else:
        why = hindrance(ledger, merely_found=False)
    if why:
        said.facts.append(("to resume", f"not here: {why.removeprefix('none: ')}"))
    else:
        said.offer(ledger, "resume", said.run, does, options)


def _stated(ledger: Ledger, events: list[Event]) -> Iterator[tuple[int, str, str]]:
    """Yield seq, type and words of the first facts that say what failed, and why.

    Such a fact has a message, with the rule that was broken and what to do about it.
    """
    said = 0
    for event in events:
        verb = event.type.rpartition(".")[2]
        if verb not in ("failed", "refused", "unjudged") or event.type in _ENDS:
            continue
        if event.type.removesuffix("failed") + "requested" in ledger.port.types:
            continue  # the failure of an effect is among the causes
        if said == _STATED:
            return
        said += 1
        data = resolved(ledger, event)
        words = (
            f"{_where(event, data)}{short(data.get('message', ''), 300)}{_broken(data)}"
        )
        yield event.seq, f"{event.type}, event {event.seq}", words


def _where(event: Event, data: dict[str, JsonValue]) -> str:
    """Return scope and function of a failure, as far as it has them."""
    step = data.get("function") or data.get("step")
    judging = f"hypothesis {data['hypothesis']}" if "hypothesis" in data else ""
    parts = [str(one) for one in (event.scope, step, judging) if one]
    return f"{', '.join(parts)}: " if parts else ""


def _unfinished(
    ledger: Ledger, run: str, events: list[Event], last: Event
) -> Explanation:
    interrupted = last.type == "run.interrupted"
    status = "interrupted" if interrupted else "open"
    said = Explanation(run, status, "")
    if interrupted:
        said.because = f"it was stopped: {_stopped_by(str(last.raw.get('reason', '')))}"
        said.facts.append(("stopped at", f"event {last.seq}, {last.time}"))
        alive: bool | None = False
    else:
        said.because, alive = _owner(last)
    waiting = [step for step in steps_of(events) if step.kind and step.outcome is None]
    for step in waiting:
        said.facts += _about(ledger, step)
    _going_on(said, ledger, waiting, alive=alive)
    return said


def _stopped_by(reason: str) -> str:
    """Return what a recorded reason means to people; most are names of exceptions."""
    name, _, signal = reason.partition(" by ")
    if name not in _STOPPED:
        return short(reason, 300)
    return f"{_STOPPED[name]} ({signal or name})"


def _owner(last: Event) -> tuple[str, bool | None]:
    from muniment.executing import is_alive

    owner = cast("dict[str, JsonValue]", last.raw.get("owner", {}))
    alive = is_alive(owner)
    who = f"process {owner.get('pid')} on {owner.get('host')}"
    if alive:
        return f"{who} is running it", alive
    if alive is None:
        return f"{who} had it, which cannot be looked at from here", alive
    return f"{who} had it, and is gone without an end", alive


def _going_on(
    said: Explanation, ledger: Ledger, waiting: list[Step], *, alive: bool | None
) -> None:
    if alive:
        said.next.append((f"muniment events tail -f --run {said.run}", "follows it"))
        return
    over = " --take-over" if alive is None else ""
    does = "goes on; what completed is not repeated"
    if any(_doubtful(ledger, step) for step in waiting):
        over += " --repeat-doubtful"
        does = "performs the effects again whose outcome is unknown, and goes on"
    _offer_resume(said, ledger, does, over)


def _doubtful(ledger: Ledger, step: Step) -> bool:
    from muniment.errors import UsageError

    try:
        return ledger.port.kind(step.kind).on_doubt != "repeat"
    except UsageError:
        return True  # the kind's plugin is not here; nobody can say that it is safe


def _about(ledger: Ledger, step: Step) -> list[tuple[str, str]]:
    from muniment.events import BlobRef

    scope = f' in scope "{step.event.scope}"' if step.event.scope else ""
    facts = [("effect", f"{step.label}{scope}, event {step.event.seq}")]
    request = step.event.raw.get("request")
    if isinstance(request, dict) and "$blob" in request:
        value = content_json(ledger, BlobRef.from_json(request))
        facts.append(("request", short(value, 300)))
    attempt = step.event.raw.get("attempt", 1)
    if isinstance(attempt, int) and attempt > 1:
        facts.append(("attempt", str(attempt)))
    if step.outcome is None:
        facts.append(("outcome", "unknown: it may have happened"))
        return facts
    data = resolved(ledger, step.outcome)
    facts.append(("failed with", f"{_text(data)}{_broken(data.get('data'))}"))
    facts.append(("failed at", f"event {step.outcome.seq}"))
    by = data.get("answered_by")
    if isinstance(by, dict) and by.get("who") != "performer":
        facts.append(("answered by", " ".join(str(one) for one in by.values())))
    return facts


def _broken(data: JsonValue) -> str:
    """Return line, rule and remedy, where a failure says them."""
    if not isinstance(data, dict):
        return ""
    line = f", line {data['line']}" if data.get("line") else ""
    rule = f" [{data['rule']}]" if data.get("rule") else ""
    remedy = f"; {data['remedy']}" if data.get("remedy") else ""
    return f"{line}{rule}{remedy}"


def _caused(events: list[Event], causes: JsonValue) -> list[Step]:
    """Return the last attempt of each effect that the run says it failed by."""
    wanted = causes if isinstance(causes, list) else []
    found: dict[tuple[str | None, int | None], Step] = {}
    for step in steps_of(events):
        if step.kind and [step.event.scope, step.event.ordinal] in wanted:
            found[step.event.scope, step.event.ordinal] = step
    return list(found.values())


def _seq(step: Step) -> int:
    return step.event.seq if step.outcome is None else step.outcome.seq


def _text(data: dict[str, JsonValue]) -> str:
    return f"{data.get('error_type')}: {short(data.get('message', ''), 300)}"
