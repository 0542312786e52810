"""The hooks that a plugin may implement.

A plugin is a module or object registered under the entry-point group ``muniment``; it
implements any of these functions, marked with ``muniment.hookimpl``. Built-in plugins
register in the same way and have no privilege. Commands for the shell are entry points
of the group ``muniment.commands`` (name → a click command), so that ``--help`` imports
no plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pluggy

from muniment.queries.readable import ReadableLedger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from types import ModuleType

    from muniment.encoding.canonical import JsonValue
    from muniment.errors import MunimentError
    from muniment.events.effect_kinds import EffectKind
    from muniment.events.types import EventType
    from muniment.formats.dsse import Signer
    from muniment.formats.statement import Event
    from muniment.programs.stable_names import StableName
    from muniment.queries.projections import Projection
    from muniment.runs.executors import Executor
    from muniment.runs.run import Run
    from muniment.runs.seams import GateAnswer, RunFacts

__all__ = ["GROUP", "OpenLedger", "ReadableLedger", "hookimpl", "hookspec"]

GROUP = "muniment"

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


class OpenLedger(ReadableLedger, Protocol):
    """What hooks read of the ledger in which a run starts."""

    @property
    def effect_kinds(self) -> Mapping[str, EffectKind]:
        """The effect kinds of the kernel and of the active plugins, by name."""
        ...

    def children(self, run: str) -> list[str]:
        """Return the ids of the runs that *run* called."""
        ...


@hookspec
def event_types() -> Iterable[EventType]:  # type: ignore[empty-body]
    """Return the event types that the plugin adds."""


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

    Not asked about failures: that something went wrong is always written. A refusal in a
    run is recorded as ``plugin.refused``, with its reason and without the data; a replay
    answers it from there. Asked in a dry run, too.
    """


@hookspec
def after_append(event: Event, facts: RunFacts | None) -> None:
    """Observe an event after its commit; an exception becomes ``plugin.failed``.

    *facts* are those of the run that wrote it here, None for an event in no run.
    """


@hookspec
def run_labels(run: RunFacts, ledger: OpenLedger) -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return the labels that the plugin adds to a run that starts in *ledger*.

    An exception refuses the run, and so does another value of a label that it has.
    """


@hookspec
def before_run(
    run: RunFacts, events: tuple[Event, ...], ledger: OpenLedger
) -> str | MunimentError | None:
    """Return a reason to refuse that a run starts or resumes, or None.

    A reason is a text; or an error, which is raised as it is: of a document that has a
    mistake, with its place.

    *events* is what the run recorded so far; it is empty when the run starts. Called
    before anything is written; a refused run writes nothing. Not called in a replay.
    *ledger* is the open `Ledger`.
    """


@hookspec
def at_start(
    run: Run, facts: RunFacts, events: tuple[Event, ...], ledger: OpenLedger
) -> None:
    """State facts of the plugin's own as a run starts, or resumes.

    *run* is the plugin's lane, as in ``before_effect``; *events* and *ledger* are as in
    ``before_run``. What is stated is durable before the program is called; an exception
    fails the run. Called in a dry run, but not in a replay.
    """


@hookspec
def at_end(run: Run, facts: RunFacts, ledger: OpenLedger) -> None:
    """State facts of the plugin's own as a run completes or fails, before its end.

    *run* is the plugin's lane, as in ``before_effect``. What the program stated is written
    by then. An exception becomes ``plugin.failed``. Not called in a replay or a dry run,
    nor where the run pauses, or is interrupted.
    """


@hookspec
def before_effect(
    run: Run, kind: EffectKind, request: object, scope: str, facts: RunFacts
) -> GateAnswer | str | Awaitable[GateAnswer | str | None] | None:
    """Return a `GateAnswer`, a reason to refuse (a text), or None to let it happen.

    *run* is a lane for the plugin's own facts, *kind* the declaration of the effect's
    kind, *scope* its scope, *facts* what the run started with. In a resume and a fork,
    that lane reads the clock and draws anew, and performs its effects: what it recorded
    before answers nothing. It can neither pause nor decide. The hook may be a coroutine
    function: ``run.aeffect``, asynchronous recording clients and recorded programs await
    it, and all other effects are refused. An answer may be a failure,
    ``GateAnswer(error=EffectFailed(…))``. The outcome keeps what the answer says in
    ``by``, and names the plugin. Called in a dry run, but not in a replay, nor for effects
    that the record answers.
    """


@hookspec
def hide_secrets(text: str) -> str:  # type: ignore[empty-body]
    """Return the text of an error as it may be written; the program keeps the original.

    Called for the message of a failed effect or run, and for the texts in the error's
    ``data``; one plugin after the other.
    """


@hookspec
def signers() -> Mapping[str, Callable[[str], Signer]]:  # type: ignore[empty-body]
    """Return URI scheme → the function that makes a signer from such a URI."""


@hookspec
def publish_checkpoint(ledger_id: str, note: bytes) -> None:
    """Carry a new checkpoint away from the machine; failures become events."""


@hookspec
def exporters() -> Mapping[str, Callable[[ReadableLedger, str], bytes]]:  # type: ignore[empty-body]
    """Return format name → the function that writes a run of a ledger in that format.

    The function gets the open `Ledger`, and the run's id.
    """


@hookspec
def executors() -> Mapping[str, Callable[[], Executor]]:  # type: ignore[empty-body]
    """Return name → the function that makes an executor, which spreads parts of a run.

    A program gets one by name, ``ledger.plugins.executor("threads")``, and need not
    know which plugin has it. ``serial`` is there without a plugin.
    """


@hookspec
def hookspecs() -> Iterable[ModuleType | type]:  # type: ignore[empty-body]
    """Return modules or classes that declare hooks of the plugin's own, for others.

    Their functions are marked with ``muniment.hookspec``. A plugin that implements such
    a hook marks it with ``hookimpl(optionalhook=True)`` if it should load without the
    plugin that declares it. Call one with ``run.hook(name, …)``, or
    ``ledger.plugins.ask(name, …)``.
    """


@hookspec
def stable_names() -> Iterable[StableName]:  # type: ignore[empty-body]
    """Return the stable names of the plugin's functions and programs.

    A record has such a name instead of an import path. A reader finds the function only
    by this declaration, or by an import path from before.
    """


@hookspec(firstresult=True)
def rebuild_program(
    ledger: ReadableLedger, run: str, trust_source: bool
) -> Callable[..., object] | None:
    """Return the program of a recorded run, made from its events, or None.

    *ledger* is the open `Ledger`.
    Recorded source may run in this process only with *trust_source*. If the program has
    a method ``before_resume``, it raises an error when a resume or a fork would lack
    something; nothing is written then. The method may take the params of the run. If it
    has a method ``changed_outcome(kind, request, value)``, that returns the value that a
    fork is given for an outcome as the program's outcomes are recorded, or raises. If it
    has a method ``series_of_run(params)``, that returns the keys of the series that the
    start of a run joins. If it calls functions that it was given, it returns them from a
    method ``functions_given``: the start of a run then describes each as it does a
    program.
    """


@hookspec(firstresult=True)
def check_code(request: Mapping[str, object]) -> Mapping[str, object] | None:
    """Read untrusted code, run none of it, and say whether it stays within its bounds."""


@hookspec(firstresult=True)
def execute_code(run: Run, request: Mapping[str, object]) -> object:
    """Run untrusted code under limits and return what happened, or None."""


@hookspec(firstresult=True)
def complete_prompt(run: Run, request: Mapping[str, object]) -> object:
    """Ask a model for a completion and return its answer, or None."""
