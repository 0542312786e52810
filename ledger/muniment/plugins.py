"""Finding, allowing, loading and calling plugins.

Rules:

- Plugins are entry points of the group ``muniment``; nothing is imported until the
  first hook is called. ``MUNIMENT_PLUGINS`` or an argument names those that may load
  (``none`` for no plugin); without it all installed ones may.
- An allowed plugin that cannot be loaded is an error: a policy that silently did not
  load would be worse than none.
- Hooks that may refuse or answer are called one plugin at a time, so that the plugin
  that did is known by name and version.
- ``verify`` never uses plugins.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from types import ModuleType
from typing import TypeAlias, cast

import pluggy

from muniment import hookspecs
from muniment.errors import CannotTellError, MunimentError, UsageError
from muniment.events.effect_kinds import EffectKind
from muniment.events.types import EventType
from muniment.formats.dsse import Signer, signer_from_uri
from muniment.programs.stable_names import StableName, StableNames
from muniment.runs.executors import Executor, Serial

__all__ = ["Installed", "Plugins"]

ALLOW_VARIABLE = "MUNIMENT_PLUGINS"
_DECLARATIONS: Mapping[str, type[EventType | EffectKind]] = {
    "event_types": EventType,
    "effect_kinds": EffectKind,
}
"""Hook → the class of what it declares."""

Exporter: TypeAlias = Callable[[hookspecs.ReadableLedger, str], bytes]


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed plugin: where it comes from, and whether it may load."""

    name: str
    target: str
    distribution: str
    version: str
    allowed: bool


class Plugins:
    """The plugins that one ledger may call."""

    def __init__(
        self,
        allow: Iterable[str] | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        """Allow the names *allow*; *extra* are the caller's own plugin objects."""
        self._allow = _allowed(allow)
        self._extra = dict(extra or {})

    @cached_property
    def _points(self) -> importlib.metadata.EntryPoints:
        """The entry points of the group."""
        return _entry_points(tuple(sys.path))

    @cached_property
    def installed(self) -> tuple[Installed, ...]:
        """Every installed plugin, loaded or not, by name."""
        found: dict[str, Installed] = {}
        for point in self._points:
            allowed = self._allow is None or point.name in self._allow
            distribution, version = _released(point.dist)
            one = Installed(point.name, point.value, distribution, version, allowed)
            if found.setdefault(one.name, one).target != one.target:
                raise _twice(found[one.name], one)
        unknown = sorted((self._allow or frozenset()) - found.keys())
        if unknown:
            raise UsageError(
                f"no plugin is called {', '.join(unknown)}",
                rule="plugin/unknown",
                place=ALLOW_VARIABLE,
                remedy=f"installed are: {', '.join(sorted(found)) or 'none'}",
            )
        return tuple(found[name] for name in sorted(found))

    @cached_property
    def manager(self) -> pluggy.PluginManager:
        """The loaded plugins behind pluggy's manager."""
        manager = pluggy.PluginManager(hookspecs.GROUP)
        manager.add_hookspecs(hookspecs)
        places = dict[str, str]()
        for one in self.installed:
            if one.allowed:
                place = f"plugin {one.name} ({one.distribution} {one.version})"
                places[one.name] = place
                with _loading(place):
                    manager.register(self._points[one.name].load(), name=one.name)
        for name, plugin in self._extra.items():
            places[name] = f"plugin {name}"
            with _loading(places[name]):
                manager.register(plugin, name=name)
        _declare(manager, places)
        for name, place in places.items():
            with _loading(place):
                _check(manager, name)
        return manager

    @cached_property
    def versions(self) -> dict[str, str]:
        """Name → version of every active plugin, as ``run.started`` lists them."""
        known = {one.name: one.version for one in self.installed}
        return {
            name: known.get(name, "") or "unversioned"
            for name, _ in self.manager.list_name_plugin()
        }

    @cached_property
    def names(self) -> StableNames:
        """The stable names that the active plugins declare."""
        told = (one for _, one in self.ask("stable_names"))
        return StableNames(chain(*cast("Iterable[Iterable[StableName]]", told)))

    def hooks_of(self, name: str) -> list[str]:
        """Return the hooks that the plugin *name* implements."""
        callers = self.manager.get_hookcallers(self.manager.get_plugin(name)) or []
        return sorted(caller.name for caller in callers)

    @cached_property
    def gates(self) -> bool:
        """Whether any plugin wants to see events before they are written."""
        return bool(self.manager.hook.before_append.get_hookimpls())

    @cached_property
    def observers(self) -> bool:
        """Whether any plugin wants to see events after they were written."""
        return bool(self.manager.hook.after_append.get_hookimpls())

    def implementations(self, hook: str) -> list[tuple[str, pluggy.HookImpl]]:
        """Return plugin name and implementation of *hook*, in calling order."""
        caller: pluggy.HookCaller | None = getattr(self.manager.hook, hook, None)
        if caller is None:  # the plugin that declares it is not active
            return []
        return [(one.plugin_name, one) for one in reversed(caller.get_hookimpls())]

    def ask(self, hook: str, /, **arguments: object) -> Iterator[tuple[str, object]]:
        """Call *hook* of one plugin after the other; yield its name and its answer."""
        for plugin, implementation in self.implementations(hook):
            wanted = {name: arguments[name] for name in implementation.argnames}
            yield plugin, implementation.function(**wanted)

    def declare(
        self,
        register: Callable[[EventType | EffectKind, str], None],
        hooks: Iterable[str] = tuple(_DECLARATIONS),
    ) -> None:
        """Register what each plugin declares by *hooks*, with the plugin's name.

        Raises:
            CannotTellError: a plugin fails, or returns something else.
            UsageError: a name is taken; the place is the plugin.

        """
        for hook in hooks:
            kind = _DECLARATIONS[hook]
            for plugin, one in self.implementations(hook):
                place = f"plugin {plugin}: {hook}"
                with _loading(place):
                    declared = _listed(one.function(), kind)
                try:
                    for value in declared:
                        register(value, f"plugin {plugin}")
                except UsageError as error:
                    error.place = place
                    raise

    def first(self, hook: str, /, **arguments: object) -> object:
        """Return the first answer to *hook*.

        Raises:
            CannotTellError: no active plugin answers.

        """
        for _, answer in self.ask(hook, **arguments):
            if answer is not None:
                return answer
        raise CannotTellError(
            f"no active plugin answers {hook}",
            rule="plugin/unanswered",
            place=", ".join(self.versions) or "no plugin is active",
            remedy=f"install one that does, or allow it in {ALLOW_VARIABLE}",
        )

    def exporter(self, name: str) -> Exporter:
        """Return the function that writes runs in the format *name*.

        Raises:
            UsageError: no active plugin has it.

        """
        known: dict[str, Exporter] = {}
        for _, offered in self.ask("exporters"):
            known = {**cast("dict[str, Exporter]", offered), **known}
        if name not in known:
            raise UsageError(
                f"no active plugin exports {name!r}",
                rule="export/format",
                remedy=f"known are: {', '.join(sorted(known)) or 'none'}",
            )
        return known[name]

    def executor(self, given: str | Executor | None) -> Executor:
        """Return the executor that *given* names, or is; `Serial` for None.

        Raises:
            UsageError: no active plugin has it.

        """
        if given is None or given == Serial.name:
            return Serial()
        if not isinstance(given, str) and callable(getattr(type(given), "host", None)):
            return given
        known: dict[str, Callable[[], Executor]] = {}
        for _, offered in self.ask("executors"):
            known = {**cast("dict[str, Callable[[], Executor]]", offered), **known}
        if not isinstance(given, str) or given not in known:
            names = ", ".join(sorted({Serial.name, *known}))
            raise UsageError(
                f"no executor is called {given!r}",
                rule="executor/unknown",
                place="the active plugins",
                remedy=f"known are: {names}; others come by a plugin that is installed, "
                f"and allowed in {ALLOW_VARIABLE}",
            )
        return known[given]()

    def signer(self, uri: str) -> Signer:
        """Return the signer that *uri* names, with the schemes of plugins."""
        if uri.partition(":")[0] in ("file", "env") or ":" not in uri:
            return signer_from_uri(uri)
        schemes: dict[str, Callable[[str], Signer]] = {}
        for _, offered in self.ask("signers"):
            schemes |= cast("dict[str, Callable[[str], Signer]]", offered)
        return signer_from_uri(uri, schemes)


def _listed(
    told: object, kind: type[EventType | EffectKind]
) -> list[EventType | EffectKind]:
    """Return what a hook *told*, which should be a list of one *kind*."""
    if isinstance(told, kind) or not isinstance(told, Iterable):
        got = f"one {kind.__name__}" if isinstance(told, kind) else f"{told!r:.80}"
        raise _Misdeclared(f"it returned {got}, not a list of {kind.__name__}")
    listed = [*cast("Iterable[EventType | EffectKind]", told)]
    for value in listed:
        if not isinstance(value, kind):
            raise _Misdeclared(f"{value!r:.80} is not an {kind.__name__}")
    return listed


@lru_cache(maxsize=4)
def _entry_points(_: tuple[str, ...]) -> importlib.metadata.EntryPoints:
    """Return the group's entry points, cached by ``sys.path``: reading them is slow."""
    return importlib.metadata.entry_points(group=hookspecs.GROUP)


@lru_cache(maxsize=64)
def _released(distribution: importlib.metadata.Distribution | None) -> tuple[str, str]:
    """Return name and version of a distribution, whose file is read once."""
    if distribution is None:
        return "", ""
    metadata = distribution.metadata
    return metadata["Name"], metadata["Version"]


class _Misdeclared(TypeError):
    """A hook returned something else than it should."""


@contextmanager
def _loading(place: str) -> Generator[None]:
    """Turn whatever a plugin raises while it is loaded into one line."""
    try:
        yield
    except Exception as error:
        ours = isinstance(error, MunimentError | _Misdeclared)
        raise CannotTellError(
            str(error) if ours else f"{type(error).__name__}: {error}",
            rule="plugin/load",
            place=place,
            remedy=f"repair or uninstall it, or leave it out of {ALLOW_VARIABLE}",
        ) from error


def _declare(manager: pluggy.PluginManager, places: Mapping[str, str]) -> None:
    """Add the hooks that plugins declare for others, in any order of loading."""
    known = dict.fromkeys(_declared(manager, hookspecs), "the kernel")
    for one in manager.hook.hookspecs.get_hookimpls():
        with _loading(places[one.plugin_name]):
            for holder in cast("Iterable[ModuleType | type]", one.function()):
                names = _declared(manager, holder)
                if not names:
                    raise TypeError(
                        f"{holder!r} declares no hook: mark it with hookspec"
                    )
                for name in names:
                    if known.setdefault(name, one.plugin_name) != one.plugin_name:
                        raise ValueError(f"{name} is declared by {known[name]} already")
                manager.add_hookspecs(holder)


def _declared(manager: pluggy.PluginManager, holder: ModuleType | type) -> list[str]:
    names = dir(holder)
    return [one for one in names if manager.parse_hookspec_opts(holder, one)]


def _check(manager: pluggy.PluginManager, name: str) -> None:
    """Refuse hooks that no plugin declares, and wrappers around those of others.

    Each plugin is called on its own.
    """
    for caller in manager.get_hookcallers(manager.get_plugin(name)) or []:
        for one in caller.get_hookimpls():
            if one.plugin_name != name:
                continue
            if not (caller.has_spec() or one.optionalhook):
                raise TypeError(f"no active plugin declares the hook {caller.name}")
            if one.hookwrapper or one.wrapper:
                raise TypeError(f"{caller.name} is a wrapper, which hooks here are not")


def _twice(one: Installed, other: Installed) -> UsageError:
    return UsageError(
        f"{one.distribution} and {other.distribution} both have a plugin of this name",
        rule="plugin/twice",
        place=f"plugin {one.name}",
        remedy="uninstall one of them",
    )


def _allowed(allow: Iterable[str] | None) -> frozenset[str] | None:
    if allow is not None:
        return frozenset(allow)
    setting = os.environ.get(ALLOW_VARIABLE)
    if setting is None:
        return None
    names = {name.strip() for name in setting.split(",")} - {"", "none"}
    return frozenset(names)
