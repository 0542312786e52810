"""``muniment plugins``: installed plugins, whether they may load, and their hooks.

Rules: a plugin that is not allowed is not imported. Each of the others is loaded in a
process of its own, so that a broken one is reported and harms nothing. All of them are,
even if one is asked about: a name that two declare is a fault of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import click

from muniment_cli.shell.group import DefaultGroup
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import Cell, hint, prose, say, show_json, table

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.plugins import Installed
    from muniment_cli.diagnosis.plugin_probe import Probe

__all__ = ["command"]

AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Examined:
    """An installed plugin, and what loading it showed."""

    installed: Installed
    hooks: list[str]
    faults: list[str]

    @property
    def state(self) -> Cell:
        """Whether it may load, and does."""
        if not self.installed.allowed:
            return ("not allowed", "dim")
        return ("broken", "red") if self.faults else ("loads", "green")

    def to_json(self) -> dict[str, JsonValue]:
        """Return the findings as plain JSON."""
        return {
            "name": self.installed.name,
            "version": self.installed.version,
            "distribution": self.installed.distribution,
            "target": self.installed.target,
            "allowed": self.installed.allowed,
            "loads": None if not self.installed.allowed else not self.faults,
            "hooks": list(self.hooks),
            "faults": list(self.faults),
        }


@click.group("plugins", cls=DefaultGroup)
def command() -> None:
    """List plugins, their hooks, and what may load.

    MUNIMENT_PLUGINS names those that may load, separated by commas; without it, all.
    """


@command.command("list", epilog=examples("muniment plugins", "muniment plugins --json"))
@json_option
def list_plugins(as_json: bool) -> int:
    """List what is installed, allowed and loaded, and the hooks each takes."""
    found = _examined()
    if as_json:
        show_json([one.to_json() for one in found])
        return 0
    rows: list[list[Cell]] = [
        [one.installed.name, one.installed.version, one.state, ", ".join(one.hooks)]
        for one in found
    ]
    table(["plugin", "version", "state", "hooks"], rows, upright=True)
    if any(one.faults for one in found):
        hint("`muniment plugins check` says what is wrong")
    return 0


@command.command(
    "check", epilog=examples("muniment plugins check", "muniment plugins check capsule")
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
def check_plugins(names: tuple[str, ...], as_json: bool) -> int:
    """Load each plugin in isolation, and say what is wrong.

    What it declares is read, and compared with what the other plugins declare. Exit
    code 0 if nothing is wrong with those that are allowed, 1 if something is.
    """
    found = _examined(names)
    broken = [one for one in found if one.faults]
    if as_json:
        show_json([one.to_json() for one in found])
        return 1 if broken else 0
    for one in found:
        text, style = one.state if isinstance(one.state, tuple) else (one.state, "")
        say(f"{one.installed.name} {one.installed.version}: {text}", style)
        for fault in one.faults:
            prose(f"  {fault}")
    return 1 if broken else 0


def _examined(names: tuple[str, ...] = ()) -> list[Examined]:
    from muniment.errors import UsageError
    from muniment.plugins import Plugins
    from muniment_cli.diagnosis.plugin_probe import probe_apart

    installed = Plugins().installed
    unknown = sorted(set(names) - {one.name for one in installed})
    if unknown:
        raise UsageError(
            f"no plugin is called {', '.join(unknown)}",
            rule="plugin/unknown",
            remedy=f"installed are: {', '.join(one.name for one in installed)}",
        )
    allowed = [one.name for one in installed if one.allowed]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        probes = dict(zip(allowed, pool.map(probe_apart, allowed), strict=True))
    return [
        Examined(
            one,
            cast("list[str]", probes.get(one.name, {}).get("hooks", [])),
            [
                *cast("list[str]", probes.get(one.name, {}).get("faults", [])),
                *_shared(one, installed, probes),
            ],
        )
        for one in installed
        if not names or one.name in names
    ]


def _shared(
    one: Installed, installed: Iterable[Installed], probes: dict[str, Probe]
) -> Iterator[str]:
    """Yield the event types that *one* declares, and another plugin, too."""
    mine = set(probes.get(one.name, {}).get("types", []))
    for other in installed:
        if other.name == one.name:
            continue
        both = sorted(mine & set(probes.get(other.name, {}).get("types", [])))
        if both:
            yield (
                f"plugin {other.name} ({other.distribution} {other.version}) declares "
                f"the same event types: {', '.join(both)} [event/type-twice]; "
                "rename them in one, or leave one out of MUNIMENT_PLUGINS"
            )
