"""What runs need of the ledger: vocabulary, gate, writer, observers.

Rules:

- ``before_append`` is asked before anything is buffered or written, one plugin at a
  time; the refusal names the plugin and its reason.
- ``after_append`` is told after the commit. What it raises is recorded as
  ``plugin.failed``, and that event is told to nobody.
- Types that say what runs, keys, erasures and effects did are reserved: whoever could
  append them at will could tell a run that never was.
"""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import pluggy

from muniment.batch import Draft
from muniment.comparing import PLUGIN_SCOPE
from muniment.erasing import erase, what_is_left
from muniment.errors import (
    AppendRefused,
    RefusedError,
    RunFenced,
    StoreError,
    UsageError,
    printable,
)
from muniment.event_types import EventType, EventTypes, Prepared
from muniment.events import BlobRef, Event, Subject
from muniment.executing import environment, owner, ulid
from muniment.imports import refuse_importing
from muniment.kinds import KERNEL_KINDS, EffectKind
from muniment.lanes import Lane
from muniment.plugins import Plugins
from muniment.programs import Program, describe
from muniment.reading import events_of_run
from muniment.runs import Recording
from muniment.seams import Answer
from muniment.signing import Signer
from muniment.store import Fence, Store
from muniment.trust import TrustHome
from muniment.value_types import ValueTypes
from muniment.values import settle
from muniment.vocabulary import KERNEL_TYPES, effect_types

__all__ = ["LedgerPort"]

_VERBS = ("requested", "streamed", "completed", "failed")
_RESERVED = ("ledger.", "key.", "run.", "blob.", "plugin.", "replay.", "clock.")


class LedgerPort:
    """The vocabulary and the hooks of one open ledger, around its store."""

    def __init__(self, store: Store, plugins: Plugins, actor: str) -> None:
        self.store = store
        self.plugins = plugins
        self.actor = actor
        self.values = ValueTypes()
        self.left: set[str] = set()
        """The runs that this object began and is not in the middle of any more."""
        self._types = EventTypes(KERNEL_TYPES)
        self._kinds: dict[str, EffectKind] = {}
        self._extended = False
        self._free: set[str] = set()
        """Names that were found not to be reserved."""
        for kind in KERNEL_KINDS:
            self.register(kind)
        publish = store.published
        store.published = lambda note: self._publish(publish, note)

    # -- vocabulary ----------------------------------------------------------------

    @property
    def types(self) -> EventTypes:
        """Every event type, those of plugins included."""
        self._extend()
        return self._types

    def register(self, declaration: EventType | EffectKind | type) -> None:
        """Add an event type, an effect kind, or a class of values."""
        if isinstance(declaration, EventType):
            self._types.register(declaration)
        elif isinstance(declaration, EffectKind):
            for event_type in effect_types(declaration.name):
                self._types.register(event_type)
            self._kinds[declaration.name] = declaration
        else:
            self.values = self.values.with_type(declaration)

    def _extend(self) -> None:
        if self._extended:
            return
        self._extended = True
        for hook in ("event_types", "effect_kinds"):
            for _, declared in self.plugins.ask(hook):
                for one in cast("Sequence[EventType | EffectKind]", declared):
                    self.register(one)

    def kind(self, name: str) -> EffectKind:
        """Return the effect kind *name*.

        Raises:
            UsageError: nobody declared it; the message names the nearest.

        """
        self._extend()
        try:
            return self._kinds[name]
        except KeyError:
            near = difflib.get_close_matches(name, self._kinds, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"no effect kind is called {name!r}",
                rule="effect/kind-unknown",
                remedy=f"{hint}declare one with ledger.register(EffectKind({name!r}))",
            ) from None

    def refuse_reserved(self, name: str) -> None:
        """Refuse types that only the kernel writes."""
        self._extend()
        stem, _, verb = name.rpartition(".")
        outcome = verb in _VERBS and stem in self._kinds
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
    ) -> Draft:
        """Return a valid, permitted event outside of any run."""
        if name not in self._free:
            self.refuse_reserved(name)
            self._free.add(name)
        prepared = self.prepare(name, data, None)
        return Draft(prepared, actor or self.actor, tenant, None, subjects)

    def prepare(
        self, name: str, data: Mapping[str, object], run: str | None
    ) -> Prepared:
        """Validate the data of an event, then ask ``before_append``."""
        prepared = self.validate(name, data)
        self.admit(name, data, run)
        return prepared

    def validate(self, name: str, data: Mapping[str, object]) -> Prepared:
        """Validate the data of an event."""
        self._extend()
        return self._types.get(name).prepare(data, self.values)

    def admit(self, name: str, data: Mapping[str, object], run: str | None) -> None:
        """Ask ``before_append``; a plugin that cannot say says no."""
        if not self.plugins.gates:
            return
        arguments = {"event_type": name, "data": data, "run": run}
        for plugin, hook in self.plugins.implementations("before_append"):
            reason = _asked(hook, arguments)
            if reason is not None:
                raise AppendRefused(
                    str(reason),
                    rule="append/plugin",
                    place=f"plugin {plugin}",
                    remedy="change what is recorded, or the plugin's policy",
                )

    def write(
        self, drafts: list[Draft], fence: Fence | None, signer: Signer | None = None
    ) -> list[Event]:
        """Append *drafts* in one durable commit, then tell the observers."""
        events = self.store.append(drafts, fence=fence, signer=signer)
        self.tell(events)
        return events

    def commit(self, drafts: list[Draft], fence: Fence | None) -> list[Event]:
        """Append *drafts* in one durable commit."""
        return self.store.append(drafts, fence=fence)

    def tell(self, events: list[Event]) -> None:
        """Tell ``after_append`` of every event."""
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
            "message": printable(error),
            "event": seq,
        }
        prepared = self._types.get("plugin.failed").prepare(data)
        self.store.append([Draft(prepared, self.actor)])

    def before_effect(
        self, run: Recording, scope: str, kind: str, request: object
    ) -> Answer | None:
        """Ask the plugins in turn; the first that answers or refuses is named.

        A hook gets a lane of its own, and a plugin that cannot say says no.
        """
        for plugin, hook in self.plugins.implementations("before_effect"):
            lane = Lane(run, f"{PLUGIN_SCOPE}/{plugin}")
            arguments = {"run": lane, "kind": kind, "request": request, "scope": scope}
            given = _asked(hook, arguments)
            if given is None:
                continue
            version = self.plugins.versions.get(plugin, "")
            by = {"who": "plugin", "name": plugin, "version": version}
            if isinstance(given, Answer):
                return Answer(given.value, by)
            return Answer(None, by, refusal=str(given))
        return None

    def hook(self, name: str, **arguments: object) -> object:
        """Return the first plugin's answer to the hook *name*, or raise."""
        return self.plugins.first(name, **arguments)

    def erase(
        self, what: list[str], reason: str, legal_basis: str | None, home: TrustHome
    ) -> Event:
        """Erase contents, with the event that says so in the same transaction."""
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
        mode: str,
        seed: str | None,
        replay_of: str | None = None,
    ) -> tuple[Mapping[str, object], Recording]:
        """Write ``run.started``; return the params as recorded, and the recording."""
        refuse_importing()
        if mode not in ("live", "dry"):
            raise UsageError(
                f"{mode!r} is not a mode of a run",
                rule="run/mode",
                remedy="use live or dry; replay and resume are functions of their own",
            )
        settled = cast("Mapping[str, object]", settle(dict(params or {}), self.values))
        title = name or getattr(program, "__name__", None) or "run"
        recording = Recording(
            self,
            ulid(),
            title,
            mode=mode,
            seed=seed or secrets.token_hex(16),
            tenant=tenant,
            actor=self.actor,
        )
        if recording.writes:
            fields: dict[str, object] = {
                "name": title,
                "program": None if program is None else describe(program),
                "params": dict(settled) or None,
                "labels": dict(labels or {}),
                "replay_of": replay_of,
                "seed": recording.seed,
                "plugins": self.plugins.versions,
                "environment": environment(),
                "owner": owner(),
            }
            event = recording.write_lifecycle("run.started", fields)
            recording.fence = Fence(recording.run_id, event.seq)
        return settled, recording


def _asked(hook: pluggy.HookImpl, arguments: Mapping[str, object]) -> object:
    """Return a hook's answer; what it raises is a refusal that says so."""
    try:
        return hook.function(**{name: arguments[name] for name in hook.argnames})
    except (RunFenced, StoreError):
        raise
    except RefusedError as error:
        return error.message
    except Exception as error:  # noqa: BLE001 - a policy that fails must not let pass
        return f"it failed with {type(error).__name__}: {printable(error)}"
