"""Everything a plugin may be asked, one sentence each.

A plugin is a module or object registered under the entry-point group ``muniment``; it
implements any of these functions with the `hookimpl` marker. Built-in plugins use the
same door and have no privilege. Commands for the shell are entry points of the group
``muniment.commands`` (name → a click command), so that ``--help`` imports no plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import pluggy

from muniment.canonical import JsonValue
from muniment.event_types import EventType
from muniment.events import Event
from muniment.kinds import EffectKind
from muniment.projections import Projection
from muniment.seams import Answer
from muniment.signing import Signer

if TYPE_CHECKING:
    from muniment.lanes import Lane
    from muniment.ledger import Ledger

__all__ = ["GROUP", "hookimpl"]

GROUP = "muniment"

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@hookspec
def event_types() -> Iterable[EventType]:  # type: ignore[empty-body]
    """Return the event types that the plugin adds to the vocabulary."""


@hookspec
def effect_kinds() -> Iterable[EffectKind]:  # type: ignore[empty-body]
    """Return the effect kinds that the plugin adds."""


@hookspec
def projections() -> Iterable[type[Projection[object]]]:  # type: ignore[empty-body]
    """Return the projections that the plugin adds."""


@hookspec
def before_append(
    event_type: str, data: Mapping[str, JsonValue], run: str | None
) -> str | None:
    """Return a reason to refuse the event, or None; nothing is written before.

    Not asked about failures: that something went wrong is always written.
    """


@hookspec
def after_append(event: Event) -> None:
    """Observe an event after its commit; an exception becomes ``plugin.failed``."""


@hookspec
def before_effect(
    run: Lane, kind: str, request: object, scope: str
) -> Answer | str | None:
    """Return an `Answer`, a reason to refuse (a text), or None to let it happen.

    *run* is a lane for facts of the plugin's own, *scope* that of the effect. Nobody is
    asked in a replay, nor about what the record answers.
    """


@hookspec
def signers() -> Mapping[str, Callable[[str], Signer]]:  # type: ignore[empty-body]
    """Return URI scheme → what makes a signer of such a URI."""


@hookspec
def publish_checkpoint(ledger_id: str, note: bytes) -> None:
    """Carry a new checkpoint away from the machine; failures become events."""


@hookspec
def exporters() -> Mapping[str, Callable[[Ledger, str], bytes]]:  # type: ignore[empty-body]
    """Return format name → what writes a run of a ledger in that format."""


@hookspec(firstresult=True)
def rebuild_program(
    ledger: Ledger, run: str, trust_source: bool
) -> Callable[..., object] | None:
    """Return the program of a recorded run, made from its events, or None.

    Source that the run recorded may run in this process only with *trust_source*. A
    program's method ``before_resume``, where it has one, raises what a resume would
    lack; nothing is written then.
    """


@hookspec(firstresult=True)
def check_code(request: Mapping[str, object]) -> Mapping[str, object] | None:
    """Read untrusted code, run nothing of it, and say if it stays within its bounds."""


@hookspec(firstresult=True)
def execute_code(run: Lane, request: Mapping[str, object]) -> object:
    """Run untrusted code under limits and return what happened, or None."""


@hookspec(firstresult=True)
def complete_prompt(run: Lane, request: Mapping[str, object]) -> object:
    """Ask a model for a completion and return its answer, or None."""
