"""Calling the hooks of plugins, for the runs and the writer of one ledger.

Rules:

- ``before_append`` is called before anything is buffered or written, one plugin at a
  time; the refusal names the plugin and its reason. In a run it is recorded, and a
  replay answers it from the record.
- ``after_append`` is called after the commit. An exception that it raises is recorded
  as ``plugin.failed``, and observers are not called for that event.
- A plugin that is asked for leave and fails refuses.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import pluggy

from muniment.errors import AppendRefused, MunimentError, RefusedError, printable
from muniment.events.effect_kinds import EffectKind
from muniment.events.vocabulary import Vocabulary
from muniment.formats.statement import Event
from muniment.plugins import Plugins
from muniment.runs.halts.leave import refusal_of
from muniment.runs.seams import Asking, GateAnswer, RunFacts
from muniment.storage.append import Store
from muniment.storage.sealing import Draft

__all__ = ["HookCalls"]

_WITH_LANES = ("at_start", "at_end", "before_effect")


class HookCalls:
    """The hooks of one open ledger's plugins."""

    reader: Callable[[], object]
    """Returns the open ledger, which plugins read; set by the ledger."""

    def __init__(self, store: Store, plugins: Plugins, actor: str) -> None:
        self.store = store
        self.plugins = plugins
        self.actor = actor
        self._words = Vocabulary()
        publish = store.published
        store.published = lambda note: self._publish(publish, note)

    @property
    def reads(self) -> object:
        """The open ledger, as plugins get it."""
        return self.reader()

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

    def tell(self, events: list[Event], facts: RunFacts | None = None) -> None:
        """Call ``after_append`` with every event, and the *facts* of their run."""
        if self.plugins.observers:
            for event in events:
                self._observe(event, facts)

    def _observe(self, event: Event, facts: RunFacts | None) -> None:
        told = {"event": event, "facts": facts}
        for plugin, hook in self.plugins.implementations("after_append"):
            try:
                hook.function(**{name: told[name] for name in hook.argnames})
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
            MunimentError: the one that a plugin returned as its reason.

        """
        arguments = {"run": run, "events": tuple(events), "ledger": self.reads}
        for plugin, hook in self.plugins.implementations("before_run"):
            reason = _asked(hook, arguments)
            if isinstance(reason, MunimentError):
                raise reason
            if reason is not None:
                raise _refused_run(plugin, reason)

    def run_labels(self, run: RunFacts) -> tuple[dict[str, str], dict[str, str]]:
        """Return the labels of a *run* that starts: its own, and those of plugins.

        Beside them is which plugin gave it which.

        Raises:
            RefusedError: a plugin fails, or two differ about a label.

        """
        labels, labelled = dict(run.labels), dict[str, str]()
        for plugin, hook in self.plugins.implementations("run_labels"):
            told = _asked(hook, {"run": run, "ledger": self.reads})
            if isinstance(told, str):
                raise _refused_run(plugin, told)
            if not isinstance(told, Mapping):
                reason = f"its labels are no mapping: {type(told).__name__}"
                raise _refused_run(plugin, reason)
            for name, value in cast("Mapping[str, str]", told).items():
                if labels.setdefault(name, value) != value:
                    reason = f"the label {name} is {labels[name]!r:.80} already"
                    raise _refused_run(plugin, reason)
                labelled.setdefault(name, plugin)
        return labels, labelled

    def gives_lanes(self, plugin: str) -> bool:
        """Tell whether hooks of *plugin* get lanes for facts of its own."""
        hooks = map(self.plugins.implementations, _WITH_LANES)
        return any(name == plugin for found in hooks for name, _ in found)

    def at_start(
        self,
        beside: Callable[[str], object],
        facts: RunFacts,
        events: tuple[Event, ...],
    ) -> None:
        """Let plugins state facts as a run starts, or continues from *events*."""
        told = {"facts": facts, "events": events, "ledger": self.reads}
        for plugin, hook in self.plugins.implementations("at_start"):
            given = {**told, "run": beside(plugin)}
            hook.function(**{name: given[name] for name in hook.argnames})

    def at_end(self, beside: Callable[[str], object], facts: RunFacts) -> None:
        """Let plugins state facts as a run completes or fails."""
        told = {"facts": facts, "ledger": self.reads}
        for plugin, hook in self.plugins.implementations("at_end"):
            given = {**told, "run": beside(plugin)}
            try:
                hook.function(**{name: given[name] for name in hook.argnames})
            except Exception as error:  # noqa: BLE001 - isolated, and recorded
                self._note_failure(plugin, "at_end", error, None)

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
            halts = {"halts": True} if given.halts and given.error else {}
            return replace(given, by={**given.by, **by, **halts})
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


def _refused_run(plugin: str, reason: object) -> RefusedError:
    return RefusedError(
        str(reason),
        rule="run/plugin",
        place=f"plugin {plugin}",
        remedy="change the run, or the plugin's policy",
    )


def _asked(hook: pluggy.HookImpl, arguments: Mapping[str, object]) -> object:
    """Return a hook's answer; an exception becomes a refusal."""
    try:
        return hook.function(**{name: arguments[name] for name in hook.argnames})
    except Exception as error:  # noqa: BLE001 - a policy that fails must not allow
        return refusal_of(error)
