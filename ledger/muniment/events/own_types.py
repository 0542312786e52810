"""Types of facts that only the code of their declaration states.

    EventType("node.completed", NodeCompleted, own="acme.engine:EngineFact")
    lane.record("node.completed", EngineFact({"node": "act", …}))

Rules:

- Whoever states such a fact hands over data of exactly that class. A program has no such
  object, and cannot state by accident or in passing what an engine would have said.
- It is asked of each fact, in a run and outside any. Nothing is written of one that was
  refused, so a replay, a resume and a fork refuse it again, and call it no difference.
- A record from before a type had an owner may hold one that a program stated: where it is
  the next fact of its scope, a replay and a resume take it.
- It is no lock: code of the same process that imports the class can state what it likes.
  Against that helps what a fact can be held against, as the effects around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.errors import UsageError
from muniment.lazy import loaded

if TYPE_CHECKING:
    from muniment.events.types import EventType

__all__ = ["refuse_foreign"]


def refuse_foreign(event_type: EventType, data: object, scope: str | None) -> None:
    """Refuse *data* that another than the owner of *event_type* states in *scope*.

    Raises:
        UsageError: the type has an owner, and the data are not of its class.

    """
    if event_type.own is None:
        return
    module, _, name = event_type.own.partition(":")
    if type(data) is loaded(module, name):
        return
    where = "outside any run" if scope is None else f"scope {scope or '(root)'}"
    raise UsageError(
        f"{event_type.name} is stated by {module.rpartition('.')[0]} alone",
        rule="event/own",
        place=f"{event_type.name}, {where}",
        remedy="state a fact of another type: `note.added`, or one of the program's own, by "
        "ledger.register(EventType(…))",
    )
