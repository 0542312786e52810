"""What a path does with the mail of its run, as it comes to a node.

    act.2   node.activated
            mail.requested, mail.completed        only if something waits
            artifact.recorded                     a signal that the graph declares
            update.requested …, update.answered   an update that it declares
            pause.stated                          a pause

Rules:

- A letter is taken by the first path that comes to a node. What is taken, and where, is in
  the record; where nothing waits, nothing is written.
- A recorded step is not open to new mail: a resume delivers at its first new step.
- Signals and updates come in the order in which they were sent; pauses after them, and
  going on as new last.
- The answer to an update is settled before it is stated: what can be no artifact, such as
  a set or NaN, refuses the update, as what is raised does, and ends nothing.
- What nobody took when the last path ends is undelivered, and that is a fact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import EffectFailed, UsageError
from muniment.programs.references import refer
from muniment.runs.run import Handle, Run
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.kinds import priority_of
from muniment_plugins.workflow.artifacts.plain_json import plain_json
from muniment_plugins.workflow.artifacts.texts import tokens_of
from muniment_plugins.workflow.engine.activation import NodeActivation
from muniment_plugins.workflow.mailbox.box import RunMailbox, Wanted
from muniment_plugins.workflow.mailbox.letters import Mail
from muniment_plugins.workflow.runtime.artifact_rows import row_of, time_of
from muniment_plugins.workflow.runtime.failures import GoesOnAsNew
from muniment_plugins.workflow.runtime.stage_input import StageInput
from muniment_plugins.workflow.stages.handlers import called
from muniment_plugins.workflow.stages.mail_calls import answered
from muniment_plugins.workflow.vocabulary import EngineFact

if TYPE_CHECKING:
    from muniment_plugins.workflow.runtime.seams import Conducting

__all__ = ["deliver", "end_of_mail"]

_STEP: Mapping[str, object] = {"point": "step"}
_END: Mapping[str, object] = {"point": "end"}


async def deliver(here: NodeActivation, activated: Handle) -> None:
    """Take what waits, now that the visit was *activated*.

    Raises:
        RunPaused: somebody asked for it; it is not an ``Exception``.
        GoesOnAsNew: the same.

    """
    if here.path.in_race:
        return
    wanted = _wanted(here)
    mailbox = cast("RunMailbox", here.conduct.mailbox)
    if not _is_due(here.lane, mailbox, _STEP, wanted, is_new=not activated.known):
        return
    taken = await mailbox.take(here.lane, _STEP, wanted)
    for number, mail in enumerate(taken):
        if mail.kind == "signal":
            _add(here, mail, number, mail.payload)
        elif mail.kind == "update":
            await _update(here, mail, number)
    for mail in taken:
        if mail.kind == "control" and mail.name == "pause":
            here.lane.pause(_why(mail), everywhere=True)
    for mail in taken:
        if mail.kind == "control" and mail.name == "continue_as_new":
            raise GoesOnAsNew(cast("str | None", _member(mail, "task")))


async def end_of_mail(conduct: Conducting, run: Run) -> None:
    """State which letters nobody took, now that the last path has ended."""
    mailbox = cast("RunMailbox", conduct.mailbox)
    if not _is_due(run, mailbox, _END, _all, is_new=True):
        return
    left = await mailbox.take(run, _END, _all)
    if left:
        said = [one.hash for one in left], [one.name for one in left]
        run.record("mail.undelivered", EngineFact(mail=said[0], names=said[1]))


def _all(_: Mapping[str, object]) -> bool:
    return True


def _is_due(
    lane: Run,
    mailbox: RunMailbox,
    request: Mapping[str, object],
    wanted: Wanted,
    *,
    is_new: bool,
) -> bool:
    """Tell whether mail is taken here: by the record, or because it waits now."""
    if lane.holds("mail", request):
        return True
    return is_new and not lane.replays and mailbox.waits(lane, wanted)


def _wanted(here: NodeActivation) -> Wanted:
    conduct = here.conduct
    said = cast("Mapping[str, JsonValue]", conduct.graph.document.get("mailbox") or {})
    signals = frozenset(cast("list[str]", said.get("signals") or []))
    updates = cast("Mapping[str, str]", said.get("updates") or {})
    may_continue = here.path.is_main and conduct.may_continue

    def wanted(letter: Mapping[str, object]) -> bool:
        kind, name = letter["kind"], str(letter["name"])
        if kind == "control":
            return name == "pause" or (name == "continue_as_new" and may_continue)
        return name in (signals if kind == "signal" else updates)

    return wanted


def _member(mail: Mail, name: str) -> JsonValue:
    return mail.payload.get(name) if isinstance(mail.payload, dict) else None


def _why(mail: Mail) -> str:
    reason = _member(mail, "reason")
    return f"{mail.sender} asked for it" + (f": {reason}" if reason else "")


def _add(here: NodeActivation, mail: Mail, number: int, said: JsonValue) -> None:
    """Let what a letter says be an artifact, of the path and of its record."""
    text = said if isinstance(said, str) else None
    data = None if isinstance(said, str) else said
    size = text or ("" if data is None else canonical(data).decode())
    made = Artifact(
        id=f"{here.conduct.prefix}{here.lane.scope_path}/mail#{number}",
        kind=mail.kind,
        created_at=time_of(here.path.began, here.path.steps, number),
        priority=priority_of(mail.kind),
        estimated_tokens=tokens_of(size),
        title=mail.name,
        text=text,
        data=data,
        source="mail",
        stage=here.node.name,
    )
    said = {"stage": here.node.name, **row_of(made), "lineage": []}
    here.lane.record("artifact.recorded", EngineFact(said))
    here.path.add([made])


async def _update(here: NodeActivation, mail: Mail, number: int) -> None:
    """Let the function that the graph declares answer an update."""
    said = cast("Mapping[str, JsonValue]", here.conduct.graph.document["mailbox"])
    path = cast("Mapping[str, str]", said["updates"])[mail.name]
    given = StageInput(
        task=here.conduct.task,
        node=here.node.name,
        artifacts=tuple(here.path.pool),
        item=mail.payload,
        metadata={"update": mail.name},
    )
    function = here.conduct.function(path)
    context = here.conduct.digest_of(given.artifacts)
    request = {"handler": refer(function), **given.request(context)}
    try:
        value = await here.effect(
            "update", request, lambda _: called(function, given.copied())
        )
    except EffectFailed as error:
        if error.halts:
            raise
        answered(here, mail, {"error": f"{error.error_type}: {error.message}"})
        return
    both = {"request": mail.payload, "answer": value}
    try:
        settled = plain_json(both, At(f"the answer to {mail.name}", "workflow"))
    except UsageError as error:  # what is no artifact is no answer, either
        answered(here, mail, {"error": str(error)})
        return
    answered(here, mail, {"value": cast("dict[str, JsonValue]", settled)["answer"]})
    _add(here, mail, number, settled)
