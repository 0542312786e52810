"""Loading one plugin in a process of its own, and saying what is wrong with it.

    python -m muniment_cli.diagnosis.plugin_probe NAME   →   {"name":"capsule","hooks":[…],"faults":[…],"types":[…]}

Rules: a plugin that ends the process, hangs or prints harms only this process. A
plugin's declarations are checked, never used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from muniment.events.effect_kinds import EffectKind
    from muniment.events.types import EventType
    from muniment.events.vocabulary import Vocabulary
    from muniment.plugins import Plugins

__all__ = ["Probe", "probe", "probe_apart"]

Probe = dict[str, "str | list[str]"]

SECONDS = 60


def probe_apart(name: str) -> Probe:
    """Return the findings of a child process about the plugin *name*."""
    command = [sys.executable, "-P", "-m", "muniment_cli.diagnosis.plugin_probe", name]
    try:
        child = subprocess.run(  # noqa: S603 - this interpreter, with our own module
            command, capture_output=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        fault = f"loading it takes more than {SECONDS} s"
        return {"name": name, "hooks": [], "faults": [fault]}
    try:
        return cast("Probe", json.loads(child.stdout.splitlines()[-1]))
    except (ValueError, IndexError):
        fault = f"loading it ends the process, with code {child.returncode}"
    return {"name": name, "hooks": [], "faults": [fault]}


def probe(name: str) -> Probe:
    """Load the plugin *name* alone; return its hooks, faults and new event types."""
    from muniment.errors import MunimentError
    from muniment.events.vocabulary import Vocabulary
    from muniment.plugins import Plugins

    plugins, words = Plugins([name]), Vocabulary()
    known = {one.name for one in words.types}
    try:
        hooks = plugins.hooks_of(name)
        faults = [*_unknown(plugins), *_declared(plugins, words)]
        faults += [*_projections(plugins), *_commands(plugins, name)]
    except MunimentError as error:
        return {"name": name, "hooks": [], "faults": [str(error)]}
    if not hooks:
        faults.insert(0, "it takes no hook: mark its functions with @hookimpl")
    types = [one.name for one in words.types if one.name not in known]
    return {"name": name, "hooks": hooks, "faults": faults, "types": types}


def _unknown(plugins: Plugins) -> Iterable[str]:
    """Yield the hooks that it implements and no plugin declares."""
    from pluggy import PluginValidationError

    try:
        plugins.manager.check_pending()
    except PluginValidationError as error:
        yield str(error).splitlines()[0]


def _declared(plugins: Plugins, words: Vocabulary) -> Iterable[str]:
    """Yield the faults of the types and kinds that it declares; add them to *words*."""
    from muniment.errors import MunimentError, UsageError

    for hook in ("event_types", "effect_kinds"):
        taken: list[str] = []

        def register(one: EventType | EffectKind, by: str) -> None:
            try:
                words.register(one, by)
            except UsageError as error:
                taken.append(f"{error.message} [{error.rule}]; {error.remedy}")  # noqa: B023 - called in this turn

        try:
            plugins.declare(register, [hook])
        except MunimentError as error:
            yield f"{hook}: {error.message}"
        yield from (f"{hook}: {one}" for one in taken)


def _projections(plugins: Plugins) -> Iterable[str]:
    """Yield the faults of the projections that it declares."""
    from muniment.queries.projections import Projection

    try:
        answers = [
            one
            for _, listed in plugins.ask("projections")
            for one in cast("Iterable[object]", listed)
        ]
    except Exception as error:  # noqa: BLE001 - what it raised is the finding
        yield f"projections: {type(error).__name__}: {error}"
        return
    for one in answers:
        declared = one if isinstance(one, type) else type(one)
        if not issubclass(declared, Projection):
            yield f"projections: {one!r} is not a Projection"


def _commands(plugins: Plugins, name: str) -> Iterable[str]:
    """Yield the faults of the commands that its distribution offers."""
    import click

    from muniment_cli.shell.table import PLUGIN_GROUP

    homes = {one.name: one.distribution for one in plugins.installed}
    for point in entry_points(group=PLUGIN_GROUP):
        if point.dist is None or point.dist.name != homes[name]:
            continue
        try:
            loaded = cast("object", point.load())
        except Exception as error:  # noqa: BLE001 - what it raised is the finding
            yield f"command {point.name}: {type(error).__name__}: {error}"
            continue
        if not isinstance(loaded, click.Command):
            yield f"command {point.name}: {point.value} is not a click command"


def main() -> None:
    """Probe the plugin that the command line names; the answer is the last line."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    answer.write(json.dumps(probe(sys.argv[1])) + "\n")
    answer.close()


if __name__ == "__main__":
    main()
