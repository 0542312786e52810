"""Finds, allows, loads and asks plugins.

Rules:

- Plugins are entry points of the group ``muniment``; nothing is imported until the
  first hook is called. ``MUNIMENT_PLUGINS`` or an argument names those that may load
  (``none`` for nobody); without it all that are installed may.
- An allowed plugin that cannot be loaded stops the work: a policy that silently did not
  load would be worse than none.
- Hooks that may refuse or answer are asked one plugin at a time, so that whoever did is
  known by name and version.
- ``verify`` never comes here.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias, cast

import pluggy

from muniment import hookspecs
from muniment.errors import CannotTellError, UsageError
from muniment.signing import Signer, signer_from_uri

__all__ = ["Installed", "Plugins"]

if TYPE_CHECKING:
    from muniment.ledger import Ledger

ALLOW_VARIABLE = "MUNIMENT_PLUGINS"

Exporter: TypeAlias = "Callable[[Ledger, str], bytes]"


@dataclass(frozen=True, slots=True)
class Installed:
    """A plugin that is installed: where it comes from, and whether it may load."""

    name: str
    target: str
    distribution: str
    version: str
    allowed: bool


class Plugins:
    """The plugins that one ledger may ask."""

    def __init__(
        self,
        allow: Iterable[str] | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        """Allow the names *allow*; *extra* are plugin objects of the caller's own."""
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
        for one in self.installed:
            if one.allowed:
                self._load(manager, one)
        for name, plugin in self._extra.items():
            with _loading(f"plugin {name}"):
                manager.register(plugin, name=name)
                manager.check_pending()
                _refuse_wrappers(manager, name)
        return manager

    def _load(self, manager: pluggy.PluginManager, one: Installed) -> None:
        with _loading(f"plugin {one.name} ({one.distribution} {one.version})"):
            manager.register(self._points[one.name].load(), name=one.name)
            manager.check_pending()
            _refuse_wrappers(manager, one.name)

    @cached_property
    def versions(self) -> dict[str, str]:
        """Name → version of every active plugin, as ``run.started`` lists them."""
        known = {one.name: one.version for one in self.installed}
        return {
            name: known.get(name, "") or "unversioned"
            for name, _ in self.manager.list_name_plugin()
        }

    def hooks_of(self, name: str) -> list[str]:
        """Return the hooks that the plugin *name* takes."""
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
        caller = cast("pluggy.HookCaller", getattr(self.manager.hook, hook))
        return [(one.plugin_name, one) for one in reversed(caller.get_hookimpls())]

    def ask(self, hook: str, **arguments: object) -> Iterator[tuple[str, object]]:
        """Call *hook* of one plugin after the other; yield its name and its answer."""
        for plugin, implementation in self.implementations(hook):
            wanted = {name: arguments[name] for name in implementation.argnames}
            yield plugin, implementation.function(**wanted)

    def first(self, hook: str, **arguments: object) -> object:
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
        """Return what writes runs in the format *name*.

        Raises:
            UsageError: no active plugin knows it.

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

    def signer(self, uri: str) -> Signer:
        """Return the signer that *uri* names, with the schemes of plugins."""
        if uri.partition(":")[0] in ("file", "env") or ":" not in uri:
            return signer_from_uri(uri)
        schemes: dict[str, Callable[[str], Signer]] = {}
        for _, offered in self.ask("signers"):
            schemes |= cast("dict[str, Callable[[str], Signer]]", offered)
        return signer_from_uri(uri, schemes)


@lru_cache(maxsize=4)
def _entry_points(_: tuple[str, ...]) -> importlib.metadata.EntryPoints:
    """Return the group's entry points, by where packages lie: all of them are read."""
    return importlib.metadata.entry_points(group=hookspecs.GROUP)


@lru_cache(maxsize=64)
def _released(distribution: importlib.metadata.Distribution | None) -> tuple[str, str]:
    """Return name and version of a distribution, of a file that is read once."""
    if distribution is None:
        return "", ""
    metadata = distribution.metadata
    return metadata["Name"], metadata["Version"]


@contextmanager
def _loading(place: str) -> Generator[None]:
    """Turn whatever a plugin raises while it is loaded into one line."""
    try:
        yield
    except Exception as error:
        raise CannotTellError(
            f"{type(error).__name__}: {error}",
            rule="plugin/load",
            place=place,
            remedy=f"repair or uninstall it, or leave it out of {ALLOW_VARIABLE}",
        ) from error


def _refuse_wrappers(manager: pluggy.PluginManager, name: str) -> None:
    """Refuse a hook around those of others: each plugin is asked on its own."""
    for caller in manager.get_hookcallers(manager.get_plugin(name)) or []:
        for one in caller.get_hookimpls():
            if one.plugin_name == name and (one.hookwrapper or one.wrapper):
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
