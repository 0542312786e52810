"""Explaining the state of a run, and which command to give next.

Rules: everything comes from the run's events. An advised command works as it is: a
resume is offered only to users who can write, and if a run that can continue waits for
it. Words that only a person knows are described beside the facts.
"""

from __future__ import annotations

import re
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
from muniment_cli.terminal.output import count
from muniment_cli.views.event_view import short, visible
from muniment_cli.views.explaining.failure_words import (
    STATED,
    about,
    caused,
    forked_from,
    stated,
    text,
)
from muniment_cli.views.explaining.reasons import classed, marks_of, reason_facts
from muniment_cli.views.explaining.unverified import why_unverified
from muniment_cli.views.explaining.ways_on import (
    Explanation,
    going_on,
    offer_resume,
    to_decide,
)
from muniment_cli.views.judgements import judgement_rows, plain, recorded_judgement
from muniment_cli.views.recording_gaps import recording_gaps
from muniment_cli.views.timeline import TimelineStep, steps_of

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["explain"]

_STOPPED = {
    "CancelledError": "the task that awaited it was cancelled",
    "GeneratorExit": "what ran it was closed before it came to an end",
    "Killed": "it was ended by a signal from outside",
    "KeyboardInterrupt": "somebody pressed Ctrl-C, or sent the signal of it",
    "SystemExit": "the program ended its process itself, with sys.exit",
    "Unfinished": "whoever awaited the experiment does so no more",
}
"""Name of an exception → how it stopped the run."""
_OF_FLOW = re.compile(r"\[flow/([a-z-]+)\]")
_BY_FLOW = {
    "agent": ("raised by", "the agent of the step, and not by an effect"),
    "reasoner": ("raised by", "the reasoner of the step, and not by an effect"),
    "retriever": ("raised by", "the retriever of the step"),
    "rule": ("raised by", "the check of a rule, or an engine, as it judged"),
    "verification": ("failed by", "a verdict: no function raised it"),
    "denied": ("failed by", "people, who denied it"),
    "budget": ("failed by", "a limit that was reached"),
    "dataset": ("failed by", "data that changed while the flow ran"),
}
"""Rule by which a flow failed → who raised that, in words."""
_NEEDING = ("muniment replay ", "muniment resume ")
"""The commands that the record has to answer."""
_SIGNING = ("muniment approve ", "muniment deny ")
_NEEDING_FACTS = frozenset({"to replay", "to resume"})


def explain(ledger: Ledger, run: str, url: str | None = None) -> Explanation:
    """Return why *run* is in its state; commands name the ledger by *url*, if given."""
    events = list(ledger.events(run=run))
    last = next((one for one in reversed(events) if one.type in LIFE), events[0])
    said = _explained(ledger, run, events, last)
    said.failure, said.marks = classed(ledger, events), marks_of(ledger, events)
    if said.failure is not None:
        said.facts = reason_facts(ledger, events, said.failure) + said.facts
    said.facts = forked_from(events[0].raw.get("fork")) + said.facts
    said.facts += [("marked", f"{mark}: {why}") for mark, why in said.marks]
    odd = [event for event in events if event.fault]
    said.facts += [(f"malformed, event {one.seq}", one.fault) for one in odd[:STATED]]
    said.facts += recording_gaps(ledger, events)
    _without_what_is_gone(ledger, events, said)
    _without_what_is_edited(ledger, said)
    said.next = [(naming_ledger(one, url), what) for one, what in said.next]
    return said


def _without_what_is_edited(ledger: Ledger, said: Explanation) -> None:
    """If rows of the run do not verify, say so, and advise nothing that they answer."""
    said.unverified = why_unverified(ledger, said.run)
    if said.unverified:
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
    reason = short(visible(ledger, last).get("reason", ""), 300)
    said = Explanation(run, ENDS[CANCELED], "somebody gave it up")
    if reason:
        said.because += f": {reason}"
    said.facts.append(("canceled at", f"event {last.seq}, {last.time}"))
    said.next.append((f"muniment runs show {run}", "prints what it did"))
    return said


def _verdict(ledger: Ledger, event: Event) -> str:
    data = visible(ledger, event)
    where = f" of {event.scope}" if event.scope else ""
    said = f"{data.get('hypothesis')}{where}: did not pass"
    result = data.get("result")
    return said if result is None else f"{said}, with the result {short(result, 300)}"


def _judged(ledger: Ledger, run: str, judged: Event) -> Explanation:
    from muniment.recorded.divergence import Divergence

    data = visible(ledger, judged)
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
    data = visible(ledger, last)
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
        offer_resume(said, ledger, "performs what failed again")
    elif status == "refused":
        said.next.append(
            (f"muniment runs show {run}", "prints what happened before the refusal")
        )
    elif not facts and not blamed:
        said.facts.append(_blamed(text(data)))
    if not steps and status != "refused":
        said.next.append(
            (f"muniment runs show {run}", "prints what happened before it")
        )
    said.offer(ledger, "replay", run, "runs into the same failure again")
    return said


def _blamed(error: str) -> tuple[str, str]:
    """Return who raised the *error* of a run, where no effect and no fact caused it."""
    named = _OF_FLOW.search(error)
    if named is None:
        return "raised by", "the program itself, not by an effect"
    return _BY_FLOW.get(named[1], ("raised by", "the flow: its step broke a rule"))


def _unfinished(
    ledger: Ledger, run: str, events: list[Event], last: Event
) -> Explanation:
    said = Explanation(run, ENDS.get(last.type, OPEN), "")
    alive: bool | None = False
    if last.type == PAUSED:
        said.because = f"it waits: {short(visible(ledger, last).get('reason'), 300)}"
        said.facts.append(("paused at", f"event {last.seq}, {last.time}"))
        to_decide(said, ledger, last)
    elif last.type == INTERRUPTED:
        said.because = f"it was stopped: {_stopped_by(str(last.raw.get('reason', '')))}"
        said.facts.append(("stopped at", f"event {last.seq}, {last.time}"))
    else:
        said.because, alive = _owner(last)
    waiting = [step for step in steps_of(events) if step.open]
    for step in waiting:
        said.facts += about(ledger, step)
    going_on(said, ledger, waiting, alive=alive)
    return said


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


def _is_failure(step: TimelineStep) -> bool:
    """Tell whether the effect failed, or its outcome is unknown."""
    return step.outcome is None or step.outcome.type.endswith(".failed")


def _seq(step: TimelineStep) -> int:
    return step.event.seq if step.outcome is None else step.outcome.seq
