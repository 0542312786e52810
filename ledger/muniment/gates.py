"""The part of a ledger that runs need: vocabulary, gates, writer, observers.

Rules:

- An event is validated and permitted before it is written, and told to observers after
  the commit: `muniment.hook_calls`.
- Types of what runs, keys, erasures and effects did are reserved: no run is invented.
- What a plugin declares as its own is stated by nobody else: `muniment.events.own_types`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import cast

from muniment.encoding.codec import settle
from muniment.encoding.registry import ValueTypes
from muniment.errors import (
    MunimentError,
    UsageError,
)
from muniment.events.effect_kinds import EffectKind
from muniment.events.own_types import refuse_foreign
from muniment.events.series import of_run, with_series
from muniment.events.types import EventType, EventTypes, Prepared
from muniment.formats.decisions import ASKED, GIVEN, REACHED, REFUSED_ANSWER
from muniment.formats.dsse import Signer
from muniment.formats.lifecycle import STARTED
from muniment.formats.statement import BlobRef, Event, Subject
from muniment.hook_calls import HookCalls
from muniment.plugins import Plugins
from muniment.programs.functions import Program
from muniment.programs.import_guard import refuse_importing
from muniment.programs.references import describe_program
from muniment.runs.modes.live import Mode, begun
from muniment.runs.owner import environment, owner, ulid
from muniment.runs.recording import Recording
from muniment.runs.seams import Children, RunFacts, RunState
from muniment.runs.waits.inbox import Inbox
from muniment.storage.append import Fence, Store
from muniment.storage.erasure import erase, what_is_left
from muniment.storage.lookup import events_of_run
from muniment.storage.sealing import Draft
from muniment.trust.home import TrustHome

__all__ = ["LedgerPort"]

NONE: Mapping[str, str] = MappingProxyType({})
_VERBS = ("requested", "streamed", "completed", "failed")
_RESERVED = (
    *("blob.", "clock.", "key.", "ledger.", "pause.", "plugin.", "replay.", "run."),
    *(ASKED, GIVEN, REACHED, REFUSED_ANSWER),
)


class LedgerPort(HookCalls):
    """The vocabulary and the hooks of one open ledger, around its store."""

    children: Children
    """Runs the child runs; set by the ledger."""
    inbox: Inbox
    """The questions to people, and the answers; set by the ledger."""

    def __init__(self, store: Store, plugins: Plugins, actor: str) -> None:
        super().__init__(store, plugins, actor)
        self.values = ValueTypes()
        self.left: set[str] = set()
        """The runs that this object started and no longer executes."""
        self._extended = False
        self._fault: MunimentError | None = None
        self._free: set[str] = set()
        """Names that are known not to be reserved."""
        store.database.declared = self._declared

    # -- vocabulary ----------------------------------------------------------------

    @property
    def types(self) -> EventTypes:
        """Every event type, including those of plugins."""
        self._extend()
        return self._words.types

    def register(self, declaration: EventType | EffectKind | type) -> None:
        """Add an event type, an effect kind, or a class of values."""
        if isinstance(declaration, EventType | EffectKind):
            self._words.register(declaration, "ledger.register")
        else:
            self.values = self.values.with_type(declaration)

    def _extend(self) -> None:
        if self._extended:
            if self._fault is not None:
                raise self._fault
            return
        self._extended = True
        try:
            self.plugins.declare(self._words.register)
        except MunimentError as error:
            self._fault = error
            raise

    def _declared(self, name: str) -> EventType | None:
        """Return the type *name* if a plugin declares it; one that fails declares none."""
        try:
            self._extend()
        except MunimentError:
            return None
        return self._words.types.of_plugin(name)

    @property
    def kinds(self) -> Mapping[str, EffectKind]:
        """Every effect kind, including those of plugins."""
        self._extend()
        return {**self._words.kinds}

    @property
    def event_format(self) -> int:
        """The version of ``event`` that the ledger states."""
        return self.store.event_format

    def kind(self, name: str) -> EffectKind:
        """Return the effect kind *name*.

        Raises:
            UsageError: it is not declared; the message names the nearest.

        """
        self._extend()
        return self._words.kind(name)

    def refuse_reserved(self, name: str) -> None:
        """Refuse types that only the kernel writes."""
        self._extend()
        stem, _, verb = name.rpartition(".")
        outcome = verb in _VERBS and stem in self._words.kinds
        if name.startswith(_RESERVED) or outcome:
            raise UsageError(
                f"{name} events are written by the ledger alone",
                rule="event/reserved",
                remedy="use run.effect(…) for effects, ledger.execute(…) for runs",
            )

    # -- writing -------------------------------------------------------------------

    def draft(
        self,
        name: str,
        data: Mapping[str, object],
        subjects: tuple[Subject, ...] = (),
        tenant: str = "default",
        actor: str | None = None,
        series: Iterable[str] = (),
    ) -> Draft:
        """Return a valid, permitted event outside any run."""
        if name not in self._free:
            self.refuse_reserved(name)
            self._free.add(name)
        prepared = self.prepare(name, data, None, series)
        return Draft(prepared, actor or self.actor, tenant, None, subjects)

    def prepare(
        self,
        name: str,
        data: Mapping[str, object],
        run: str | None,
        series: Iterable[str] = (),
    ) -> Prepared:
        """Validate the data of an event, then call ``before_append``."""
        prepared = self.validate(name, data, series)
        refuse_foreign(prepared.type, data, None)
        self.admit(name, data, run)
        return prepared

    def validate(
        self, name: str, data: Mapping[str, object], series: Iterable[str] = ()
    ) -> Prepared:
        """Validate the data of an event, and the *series* that it should join."""
        self._extend()
        prepared = self._words.types.get(name).prepare(data, self.values)
        if not prepared.series and not series:
            return prepared
        return with_series(prepared, series, self.store.event_format)

    def write(
        self, drafts: list[Draft], fence: Fence | None, signer: Signer | None = None
    ) -> list[Event]:
        """Append *drafts* in one durable commit, then notify the observers."""
        events = self.store.append(drafts, fence=fence, signer=signer)
        self.tell(events)
        return events

    def commit(self, drafts: list[Draft], fence: Fence | None) -> list[Event]:
        """Append *drafts* in one durable commit."""
        return self.store.append(drafts, fence=fence)

    def require_owned(self, fence: Fence) -> None:
        """Refuse an owner that lost the run to a newer one."""
        self.store.require_owned(fence)

    def erase(
        self, what: list[str], reason: str, legal_basis: str | None, home: TrustHome
    ) -> Event:
        """Erase blobs, and record it with an event in the same transaction."""
        refs = sorted({ref for one in what for ref in self._refs(one)})
        if not refs:
            raise UsageError(
                "there is nothing to erase", rule="erase/nothing", place=", ".join(what)
            )
        refs = what_is_left(self.store, refs)
        data = {"blobs": refs, "reason": reason, "legal_basis": legal_basis}
        draft = Draft(self.prepare("blob.erased", data, None), self.actor)
        event = erase(self.store, home, refs, draft, reason)
        self.tell([event])
        return event

    def _refs(self, what: str) -> list[str]:
        if what.startswith("sha256:"):
            return [what]
        return [
            BlobRef.from_json(value).digest
            for event in events_of_run(self.store.database, what)
            for value in event.raw.values()
            if isinstance(value, dict) and "$blob" in value
        ]

    # -- runs ----------------------------------------------------------------------

    def start(  # noqa: PLR0913, PLR0917 - the facts of a run, checked by the facade
        self,
        program: Program | None,
        params: Mapping[str, object] | None,
        name: str | None,
        labels: Mapping[str, str] | None,
        tenant: str,
        mode: str | Mode,
        seed: str | None,
        replay_of: str | None = None,
        of: Callable[[Recording, dict[str, object]], tuple[Subject, ...]] | None = None,
        parent: RunState | None = None,
        origin: tuple[str, int] | None = None,
        inherited: Mapping[str, str] = NONE,
    ) -> tuple[Mapping[str, object], Recording]:
        """Write ``run.started``; return the params as recorded, and the recording.

        *of* adds the origin of a run that comes from another, and returns its subjects.
        *parent* calls the run; a fork follows the run *origin* up to an event, and has
        *inherited* its labels from there.
        """
        refuse_importing()
        settled = cast("Mapping[str, object]", settle(dict(params or {}), self.values))
        title = name or getattr(program, "__name__", None) or "run"
        recording = Recording(
            self,
            ulid(),
            title,
            mode=mode if isinstance(mode, Mode) else begun(mode),
            seed=seed or secrets.token_hex(16),
            tenant=tenant,
            actor=self.actor,
        )
        told = recording.run_id, title, tenant, dict(labels or {}), settled
        follows, at = origin or (None, None)
        facts = RunFacts(*told, origin=follows, at=at).below(parent)
        labelled: dict[str, str] = {}
        if replay_of is None:
            labels, labelled = self.run_labels(facts)
            facts = replace(facts, labels=labels)
            self.before_run(facts, ())
        recording.facts = facts
        if recording.mode.writes:
            fields = self._begun(recording, program, settled, replay_of)
            fields["labelled"] = {**inherited, **labelled} or None
            series = of_run(program, settled, lambda: self.store.event_format)
            subjects = () if of is None else of(recording, fields)
            event = recording.write_lifecycle(STARTED, fields, series, subjects)
            recording.own(event.seq)
        return settled, recording

    def _begun(
        self,
        recording: Recording,
        program: Program | None,
        params: Mapping[str, object],
        replay_of: str | None,
    ) -> dict[str, object]:
        """Return what the start of a run says."""
        return {
            "name": recording.name,
            "program": None if program is None else describe_program(program),
            "params": dict(params) or None,
            "labels": dict(recording.facts.labels),
            "replay_of": replay_of,
            "seed": recording.seed,
            "plugins": self.plugins.versions,
            "environment": environment(),
            "owner": owner(),
        }
