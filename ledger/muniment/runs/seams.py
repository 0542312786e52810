"""What a run needs from the ledger that records it, and from those who answer it."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, TypeVar

from muniment.encoding.registry import ValueTypes
from muniment.errors import AppendRefused, EffectFailed
from muniment.events.effect_kinds import EffectKind
from muniment.events.types import Prepared
from muniment.formats.decisions import Decision
from muniment.formats.statement import Event, Place
from muniment.storage.append import Fence
from muniment.storage.sealing import Draft

if TYPE_CHECKING:
    from muniment.errors import MunimentError
    from muniment.recorded.items import Item
    from muniment.runs.halts.fatal import Fatal
    from muniment.runs.modes.doubt import Doubts
    from muniment.runs.privacy.private_lanes import Privacy
    from muniment.runs.waits.called_run import CalledRun

__all__ = [
    "Asking",
    "Children",
    "EffectState",
    "GateAnswer",
    "People",
    "Port",
    "RunFacts",
    "RunState",
    "Stream",
]

E = TypeVar("E", bound=BaseException)

Asking: TypeAlias = "Generator[Awaitable[object], object, GateAnswer | None]"
"""Asks plugins in turn, and yields each answer that must be awaited."""


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """What a plugin's ``before_effect`` gives in place of the performer."""

    value: object = None
    by: Mapping[str, object] = field(default_factory=dict[str, object])
    """What the outcome says about who answered, besides the plugin's name and version."""
    error: EffectFailed | None = None
    """The failure that is the answer, in place of a value."""
    refusal: str | None = None
    """Why the effect may not happen; the ledger sets it when a plugin says so."""
    halts: bool = False
    """Whether the run fails with `error`, even if its program swallows that."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What plugins are told about a run: the facts that it began with."""

    id: str
    name: str
    tenant: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    params: Mapping[str, object] = field(default_factory=dict[str, object])
    resumed: bool = False
    """Whether the run began earlier and continues here."""
    parent: str | None = None
    """Of a child run: the run that called it."""
    root: str | None = None
    """Of a child run: the run that began the tree of calls."""
    origin: str | None = None
    """Of a fork: the run that it follows."""
    at: int | None = None
    """Of a fork that begins: the event of that run up to which it follows."""
    memory: dict[str, object] = field(
        default_factory=dict[str, object], repr=False, compare=False
    )
    """What plugins remember in this process about the run and those that it calls.

    Hooks are told of it; no lane of a program leads to it."""

    def below(self, parent: RunState | None) -> Self:
        """Return these facts as those of a run that *parent* calls, if one does."""
        if parent is None:
            return self
        root, memory = (parent.run_id, *parent.ancestors)[-1], parent.facts.memory
        return replace(self, parent=parent.run_id, root=root, memory=memory)


class RunState(Protocol):
    """What modes, and the runs that it calls, need of a run being recorded."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        ...

    @property
    def facts(self) -> RunFacts:
        """What plugins are told of the run."""
        ...

    @property
    def memory(self) -> dict[str, object]:
        """What lanes keep for the run and those that it calls, in this process."""
        ...

    @property
    def port(self) -> Port:
        """What the run needs from its ledger."""
        ...

    @property
    def doubts(self) -> Doubts:
        """What is decided about effects in doubt, in the run and in its children."""
        ...

    @property
    def privacy(self) -> Privacy:
        """The lanes that are kept private."""
        ...

    @property
    def fence(self) -> Fence | None:
        """What the writer looks at before it writes for the run."""
        ...

    @property
    def ancestors(self) -> tuple[str, ...]:
        """The runs that this one is a child of: its parent first, the root last."""
        ...

    @property
    def stopped(self) -> BaseException | None:
        """What stopped the run, or one of its ancestors."""
        ...

    @property
    def ordered(self) -> set[str]:
        """The scopes in which one thread or task works at a time."""
        ...

    @property
    def fatal(self) -> Fatal:
        """The failures that end the run though its program swallowed them."""
        ...

    def halt(self, error: E) -> E:
        """Remember the first *error* that nothing may follow; return it to be raised."""
        ...

    def stop(self, scope: str, error: BaseException) -> BaseException:
        """Stop what waits with *scope* by *error*: its lane, or the run; return what to raise."""
        ...

    def refused(self, scope: str, kind: str, refusal: AppendRefused) -> AppendRefused:
        """Record that a plugin refused an event; return the error the program sees."""
        ...

    def draft(self, prepared: Prepared, place: Place) -> Draft:
        """Return *prepared* as an event of this run at *place*."""
        ...

    def write(self, last: Draft) -> Event:
        """Write what is buffered and *last* in one commit; return the last event."""
        ...

    def hold(self, outcome: Draft) -> None:
        """Write *outcome* with the next write, unless the run is interrupted first."""
        ...

    def defer(self, prepared: Prepared, place: Place) -> None:
        """Write the request at *place* with its outcome, since nothing is performed."""
        ...


@dataclass(slots=True, kw_only=True)
class EffectState:
    """One effect on its way from request to outcome: what is known of it so far."""

    kind: EffectKind
    request: object
    """The decoded twin of the request, which the performer gets."""
    asked: Prepared
    """The request as written."""
    place: Place
    inside: str
    """The scope in which the performer records."""
    idempotency_key: str
    beside: Callable[[str], object]
    """Makes the lane for what a plugin states by itself, from the plugin's name."""
    recorded: Item | None = None
    answered: bool = False
    is_new: bool = False
    """Whether it is to be performed, unless a plugin answers or refuses."""
    cut_off: bool = False
    """Whether the record holds parts of its answer and later events, but no end."""
    given: GateAnswer | None = None
    """What a plugin answered, or the record of a fork's origin."""
    reason: str | None = None
    """Why the effect failed, if the answer is a recorded failure."""
    doubt: Mapping[str, str] | None = None
    """What was decided about the effect, if it was in doubt."""
    differs: bool = False
    """Whether it was performed for comparison and its outcome differs."""
    fault: MunimentError | None = None
    """What this machine lacks to perform it for comparison, if it failed for that."""
    about: Mapping[str, object] = field(default_factory=dict[str, object])
    """What the performer says about its value, in addition to what the kind says."""
    halts: bool = False
    """Whether its failure ends the run, whatever the program makes of it."""
    is_copied: bool = False
    """Whether `about` is all that the outcome says: another run's record says it."""
    started: float = field(default_factory=time.monotonic)

    @property
    @abstractmethod
    def recording(self) -> RunState:
        """The run that it is an effect of."""

    @property
    def recorded_outcome(self) -> Event:
        """The recorded outcome of a call that is answered or compared."""
        outcome = None if self.recorded is None else self.recorded.outcome
        if outcome is None:
            raise AssertionError("a call that the record answers has an outcome")
        return outcome


class Children(Protocol):
    """Who conducts the runs that a run calls."""

    def conduct(self, call: EffectState, called: CalledRun) -> object:
        """Run what was *called* by the effect *call* to its end; return its result."""
        ...

    async def aconduct(self, call: EffectState, called: CalledRun) -> object:
        """Do as `conduct` does, for a program that may be asynchronous."""
        ...


class People(Protocol):
    """Who decides what a run asks."""

    def require_format(self) -> None:
        """Refuse decisions in a ledger whose verifiers would ignore them."""
        ...

    def decision(self, asked: Event) -> Decision | None:
        """Return the decision on what the event *asked*; None if there is none yet."""
        ...


class Port(Protocol):
    """What a run needs from the ledger that records it."""

    values: ValueTypes
    """The classes whose instances cross into JSON."""
    children: Children
    """Who conducts the runs that a run calls."""
    actor: str
    """The writer that events claim."""

    @property
    def reads(self) -> object:
        """The open ledger."""
        ...

    @property
    def inbox(self) -> People:
        """Who decides what a run asks."""
        ...

    @property
    def event_format(self) -> int:
        """The version of ``event`` that the ledger states."""
        ...

    def kind(self, name: str) -> EffectKind:
        """Return the effect kind *name*, or raise with a suggestion."""
        ...

    def refuse_reserved(self, name: str) -> None:
        """Refuse types that only the kernel writes."""
        ...

    def validate(
        self, name: str, data: Mapping[str, object], series: Iterable[str] = ()
    ) -> Prepared:
        """Validate the data of an event that is to belong to *series*."""
        ...

    def prepare(
        self, name: str, data: Mapping[str, object], run: str | None
    ) -> Prepared:
        """Validate the data of an event, then ask ``before_append``."""
        ...

    def admit(self, name: str, data: Mapping[str, object], run: str | None) -> None:
        """Ask ``before_append`` about an event that is about to be written."""
        ...

    def gives_lanes(self, plugin: str) -> bool:
        """Tell whether hooks of *plugin* get lanes for facts of its own."""
        ...

    def at_start(
        self,
        beside: Callable[[str], object],
        facts: RunFacts,
        events: tuple[Event, ...],
    ) -> None:
        """Let plugins state facts as a run starts, or continues from *events*."""
        ...

    def at_end(self, beside: Callable[[str], object], facts: RunFacts) -> None:
        """Let plugins state facts as a run completes or fails."""
        ...

    def commit(self, drafts: list[Draft], fence: Fence | None) -> list[Event]:
        """Append *drafts* in one durable commit."""
        ...

    def require_owned(self, fence: Fence) -> None:
        """Refuse an owner that lost the run to a newer one."""
        ...

    def tell(self, events: list[Event], facts: RunFacts | None = None) -> None:
        """Tell ``after_append``, with the *facts* of their run."""
        ...

    def before_effect(
        self,
        beside: Callable[[str], object],
        facts: RunFacts,
        scope: str,
        kind: EffectKind,
        request: object,
    ) -> Asking:
        """Ask the plugins; None when nobody answers or refuses.

        *beside* makes the lane for what a plugin states by itself.
        """
        ...

    def hook(self, name: str, /, **arguments: object) -> object:
        """Return the first plugin's answer to the hook *name*, or raise."""
        ...

    def hide(self, text: str) -> str:
        """Return the text of an error without secrets, as plugins know them."""
        ...


class Stream(Protocol):
    """An effect whose answer is passed on in parts."""

    def draft(self) -> Draft | None:
        """Return the event of the parts passed on since the last one, if any were."""
        ...

    def close(self) -> None:
        """Write the outcome of a stream that nobody reads any further."""
        ...
