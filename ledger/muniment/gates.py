"""The part of a ledger that runs need: vocabulary, gates, writer, observers.

Rules:

- ``before_append`` is called before anything is buffered or written, one plugin at a
  time; the refusal names the plugin and its reason. In a run it is recorded, and a
  replay answers it from the record.
- ``after_append`` is called after the commit. An exception that it raises is recorded
  as ``plugin.failed``, and observers are not called for that event.
- Types of what runs, keys, erasures and effects did are reserved: no run is invented.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import pluggy

from muniment.encoding.codec import settle
from muniment.encoding.registry import ValueTypes
from muniment.errors import (
    AppendRefused,
    MunimentError,
    RefusedError,
    UsageError,
    printable,
)
from muniment.events.effect_kinds import EffectKind
from muniment.events.series import of_run, with_series
from muniment.events.types import EventType, EventTypes, Prepared
from muniment.events.vocabulary import Vocabulary
from muniment.formats.decisions import ASKED, GIVEN, REACHED, REFUSED_ANSWER
from muniment.formats.dsse import Signer
from muniment.formats.lifecycle import STARTED
from muniment.formats.statement import BlobRef, Event, Subject
from muniment.plugins import Plugins
from muniment.programs.functions import Program
from muniment.programs.import_guard import refuse_importing
from muniment.programs.references import describe_program
from muniment.runs.effect_call import refusal_of
from muniment.runs.execution import environment, owner, ulid
from muniment.runs.modes.live import Mode, begun
from muniment.runs.recording import Recording
from muniment.runs.seams import Asking, Children, GateAnswer, RunFacts
from muniment.runs.waits.inbox import Inbox
from muniment.storage.append import Fence, Store
from muniment.storage.erasure import erase, what_is_left
from muniment.storage.lookup import events_of_run
from muniment.storage.sealing import Draft
from muniment.trust.home import TrustHome

__all__ = ["LedgerPort"]

_VERBS = ("requested", "streamed", "completed", "failed")
_RESERVED = (
    *("blob.", "clock.", "key.", "ledger.", "pause.", "plugin.", "replay.", "run."),
    *(ASKED, GIVEN, REACHED, REFUSED_ANSWER),
)


class LedgerPort:
    """The vocabulary and the hooks of one open ledger, around its store."""

    children: Children
    """Runs the child runs; set by the ledger."""
    inbox: Inbox
    """The questions to people, and the answers; set by the ledger."""

    def __init__(self, store: Store, plugins: Plugins, actor: str) -> None:
        self.store = store
        self.plugins = plugins
        self.actor = actor
        self.values = ValueTypes()
        self.left: set[str] = set()
        """The runs that this object started and no longer executes."""
        self._words = Vocabulary()
        self._extended = False
        self._fault: MunimentError | None = None
        self._free: set[str] = set()
        """Names that are known not to be reserved."""
        publish = store.published
        store.published = lambda note: self._publish(publish, note)

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

    @property
    def kinds(self) -> Mapping[str, EffectKind]:
        """Every effect kind, including those of plugins."""
        self._extend()
        return {**self._words.kinds}

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

    def admit(self, name: str, data: Mapping[str, object], run: str | None) -> None:
        """Call ``before_append``; a plugin that fails refuses."""
        if not self.plugins.gates:
            return
        arguments = {"event_type": name, "data": data, "run": run}
        for plugin, hook in self.plugins.implementations("before_append"):
            reason = _asked(hook, arguments)
            if reason is not None:
                version = self.plugins.versions.get(plugin, "")
                raise AppendRefused.by_plugin(plugin, str(reason), version)

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

    def tell(self, events: list[Event]) -> None:
        """Call ``after_append`` with every event."""
        if self.plugins.observers:
            for event in events:
                self._observe(event)

    def _observe(self, event: Event) -> None:
        for plugin, hook in self.plugins.implementations("after_append"):
            try:
                hook.function(**dict.fromkeys(hook.argnames, event))
            except Exception as error:  # noqa: BLE001 - isolated, and recorded
                self._note_failure(plugin, "after_append", error, event.seq)

    def _publish(self, publish: Callable[[bytes], None], note: bytes) -> None:
        publish(note)
        arguments = {"ledger_id": self.store.ledger_id, "note": note}
        for plugin, hook in self.plugins.implementations("publish_checkpoint"):
            try:
                hook.function(**{name: arguments[name] for name in hook.argnames})
            except Exception as error:  # noqa: BLE001 - isolated, and recorded
                self._note_failure(plugin, "publish_checkpoint", error, None)

    def _note_failure(
        self, plugin: str, hook: str, error: Exception, seq: int | None
    ) -> None:
        data = {
            "plugin": plugin,
            "hook": hook,
            "error_type": type(error).__name__,
            "message": self.hide(printable(error)),
            "event": seq,
        }
        prepared = self._words.types.get("plugin.failed").prepare(data)
        self.store.append([Draft(prepared, self.actor)])

    def before_run(self, run: RunFacts, events: Sequence[Event]) -> None:
        """Ask the plugins in turn whether *run* may start, or continue from *events*.

        Raises:
            RefusedError: one refuses, or fails; nothing was written.

        """
        arguments = {"run": run, "events": tuple(events)}
        for plugin, hook in self.plugins.implementations("before_run"):
            reason = _asked(hook, arguments)
            if reason is not None:
                raise RefusedError(
                    str(reason),
                    rule="run/plugin",
                    place=f"plugin {plugin}",
                    remedy="change the run, or the plugin's policy",
                )

    def before_effect(
        self,
        beside: Callable[[str], object],
        facts: RunFacts,
        scope: str,
        kind: EffectKind,
        request: object,
    ) -> Asking:
        """Ask the plugins in turn; name the first that answers or refuses.

        A hook gets a lane of its own, and a plugin that fails refuses.
        """
        for plugin, hook in self.plugins.implementations("before_effect"):
            arguments = {"kind": kind, "request": request, "scope": scope}
            told = {**arguments, "run": beside(plugin), "facts": facts}
            given = _asked(hook, told)
            if inspect.isawaitable(given):
                given = yield given
            if given is None:
                continue
            version = self.plugins.versions.get(plugin, "")
            by = {"who": "plugin", "name": plugin, "version": version}
            if not isinstance(given, GateAnswer):
                return GateAnswer(by=by, refusal=str(given))
            # The plugin's name is not taken from its own answer; the rest is kept.
            return replace(given, by={**given.by, **by})
        return None

    def hook(self, name: str, /, **arguments: object) -> object:
        """Return the first plugin's answer to the hook *name*, or raise."""
        return self.plugins.first(name, **arguments)

    def hide(self, text: str) -> str:
        """Call ``hide_secrets``; if a plugin fails, nothing of *text* is left."""
        for plugin, hook in self.plugins.implementations("hide_secrets"):
            try:
                text = str(hook.function(**dict.fromkeys(hook.argnames, text)))
            except Exception as error:  # noqa: BLE001 - the failure is written instead
                name = type(error).__name__
                text = f"[hidden: plugin {plugin} failed with {name}]"
        return text

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
    ) -> tuple[Mapping[str, object], Recording]:
        """Write ``run.started``; return the params as recorded, and the recording.

        *of* adds the origin of a run that comes from another, and returns its subjects.
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
        recording.facts = RunFacts(
            recording.run_id, title, tenant, dict(labels or {}), settled
        )
        if replay_of is None:
            self.before_run(recording.facts, ())
        if recording.mode.writes:
            fields: dict[str, object] = {
                "name": title,
                "program": None if program is None else describe_program(program),
                "params": dict(settled) or None,
                "labels": dict(labels or {}),
                "replay_of": replay_of,
                "seed": recording.seed,
                "plugins": self.plugins.versions,
                "environment": environment(),
                "owner": owner(),
            }
            series = of_run(program, settled, lambda: self.store.event_format)
            subjects = () if of is None else of(recording, fields)
            event = recording.write_lifecycle(STARTED, fields, series, subjects)
            recording.own(event.seq)
        return settled, recording


def _asked(hook: pluggy.HookImpl, arguments: Mapping[str, object]) -> object:
    """Return a hook's answer; an exception becomes a refusal."""
    try:
        return hook.function(**{name: arguments[name] for name in hook.argnames})
    except Exception as error:  # noqa: BLE001 - a policy that fails must not allow
        return refusal_of(error)
