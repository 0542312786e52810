"""When no verdict is possible: something that it would rely on is missing.

Rules:

- Each raises *cannot tell* if the record would be rejected, or accepted, because of
  something outside it: an unrecorded call, a plugin, a secret.
- A difference from before the doubt began still counts, and so does anything forbidden
  that the program attempted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from muniment.encoding.canonical import JsonValue
from muniment.encoding.registry import ValueTypes
from muniment.errors import CannotTellError
from muniment.formats.statement import Event
from muniment.recorded.compare import is_compared
from muniment.recorded.divergence import Divergence
from muniment.recorded.run import Recorded
from muniment.runs.modes.recorded import Replay

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["require_certain", "require_compared", "require_here", "require_known"]

Findings: TypeAlias = Sequence[Divergence]

_ASKED = frozenset({"effect", "extra", "fact", "missing", "outcome", "params", "type"})
"""Findings in which the program differs from the record."""


def require_compared(held: Replay, findings: Findings, run: str) -> None:
    """Refuse to judge if nothing was compared.

    If the program attempts what the record lacks, is refused, and ends differently,
    that says nothing about the record. Nor does it that another program, which asks for
    nothing either, ends as the recorded one did.

    Raises:
        CannotTellError: the record lacks what the program did, and has no effect; or it has
            no effect, and is of another program.

    """
    gaps, compared = held.gaps, held.compared
    if compared or any(one.what in _ASKED for one in findings):
        return
    if gaps:
        raise CannotTellError(
            f"the record holds no call, but {gaps[0].field}: nothing could be compared",
            rule="replay/unrecorded",
            place=f"run {run}, event {gaps[0].seq}",
            remedy="make the program's calls over a library that is recorded",
        )
    another = next((one for one in findings if one.what == "program"), None)
    if another is not None and all(one.warns for one in findings):
        raise CannotTellError(
            f"the record holds no call, and is of another program ({another.difference}): "
            "nothing could be compared",
            rule="replay/unrecorded",
            place=f"run {run}",
            remedy="run the recorded program, by its recorded command line",
        )


def require_certain(held: Replay, findings: Findings, run: str) -> None:
    """Refuse to judge by a difference that may be computed from a secret.

    The program got a name in place of the secret, and may compute something else from
    it. A difference from before that, and forbidden attempts, still count.

    Raises:
        CannotTellError: the first difference may come from a secret.

    """
    since = held.secret_since
    certain = [one for one in held.divergences[:since] if not one.warns]
    unsure = [
        one
        for one in findings
        if one not in certain and one.what in (*_ASKED, "result")
    ]
    guarded = any(one.what in ("guard", "params") for one in findings)
    if since is None or not unsure or certain or guarded:
        return
    raise CannotTellError(
        "the program was answered a secret, which is in no record, and what it asks "
        f"after that differs ({unsure[0]}): it may have been computed from it",
        rule="replay/secret",
        place=f"run {run}",
        remedy="let the program send the secret itself, or keep its name with "
        "`record --keep NAME` if it is none",
    )


def require_here(held: Replay, run: str, *, certain: bool) -> None:
    """Refuse to judge by what this machine lacks, and the recorded run had.

    Raises:
        CannotTellError: the program says that a module is missing, of which the record says
            no such thing, and nothing that is *certain* rejects it.

    """
    if held.lacked is None or certain:
        return
    raise CannotTellError(
        f"it was not the same here: {held.lacked.says}, of which the record says nothing",
        rule="replay/lacking",
        place=f"run {run}",
        remedy="install what is missing, and replay again; if nobody can say where it is "
        "to be had, nobody can check this run",
    )


def require_known(
    ledger: Ledger, record: Recorded, findings: Findings, run: str
) -> None:
    """Refuse to reject a record that needs a plugin, or a class, which is not known here.

    Raises:
        CannotTellError: nothing here declares a type of its events, a plugin that it
            names as a gate is not active, or a class of its values is not registered.

    """
    active = ledger.plugins.versions
    unknown = (one for one in record.undeclared() if is_compared(one.scope or ""))
    if (event := next(unknown, None)) is not None:
        raise _lacks(
            run,
            event,
            f"the record has {event.type} events, which no active plugin declares",
            ", ".join(record.missing(active)) or "that does",
        )
    gated = next(
        (
            (event, name)
            for event in record.events
            if (name := _gate(event)) and name not in active
        ),
        None,
    )
    if gated is not None and not _is_certain_before(findings, gated[0]):
        event, name = gated
        raise _lacks(
            run,
            event,
            f"the plugin {name} refused or answered here, and is not active: what differs "
            "may come of what else it refused",
            name,
        )
    _require_classes(ledger.value_types, record, findings, run)


def _require_classes(
    types: ValueTypes, record: Recorded, findings: Findings, run: str
) -> None:
    """Refuse to reject a program which lacks a class that another one registered."""
    classes = (
        (event, name) for event in record.events for name in _classes(record, event)
    )
    first = next((one for one in classes if types.named(one[1]) is None), None)
    if first is None or _is_certain_before(findings, first[0]):
        return
    event, name = first
    raise CannotTellError(
        f"the record has values of {name}, and no class is registered under this name here",
        rule="value/unregistered",
        place=f"run {run}, event {event.seq}",
        remedy="replay it in Python, with a ledger in which the class is registered",
    )


def _classes(record: Recorded, event: Event) -> Iterator[str]:
    """Yield the names of the registered classes whose instances *event* holds."""
    waiting: list[JsonValue] = [record.data(event)]
    while waiting:
        one = waiting.pop()
        match one:
            case {"$object": [str(name), parts]}:
                yield name
                waiting.append(parts)
            case dict():
                waiting += one.values()
            case list():
                waiting += one
            case _:
                pass


def _gate(event: Event) -> str | None:
    """Return the plugin that answered or refused the effect of the outcome *event*."""
    by = event.raw.get("answered_by")
    if not isinstance(by, dict) or by.get("who") != "plugin":
        return None
    return cast("str | None", by.get("name"))


def _is_certain_before(findings: Findings, gated: Event) -> bool:
    """Tell whether something differs before the gate, or independently of it."""
    return any(
        one.what in ("guard", "params")
        or (not one.warns and one.position < gated.seq and one.what != "extra")
        for one in findings
    )


def _lacks(run: str, event: Event, message: str, plugin: str) -> CannotTellError:
    return CannotTellError(
        message,
        rule="replay/plugin",
        place=f"run {run}, event {event.seq}",
        remedy=f"install or activate the plugin {plugin}",
    )
