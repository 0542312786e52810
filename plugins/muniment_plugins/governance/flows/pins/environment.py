"""The environment of a flow: what it says it needs, and what of that has to be equal.

    {"python": "3.11.9", "platform": "linux-x86_64", "isolation": "none", "seed": "manifest",
     "distributions": {"muniment": "0.1.0", "pluggy": "1.5.0", …},
     "modules": {"agents.py": "sha256:…"}}

Rules:

- Distributions are the declared closure: muniment, those that the flow's functions come
  from, and what these declare to need. What happens to be imported or installed beside
  them is not among them, so a script and the command line have the same environment.
- A module that no distribution has is known by the digest of its source; so are those
  that it imports from beside it (`flows.pins.loose_modules`).
- What has to be equal follows from the level: *strict* everything; *bounded* Python,
  distributions and modules; *probabilistic* the modules; *unconstrained* nothing.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import (
    PackageNotFoundError,
    distribution,
    packages_distributions,
)
from types import MappingProxyType
from typing import cast

from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment_plugins.governance.documents.words import Level

__all__ = ["COMPARED", "differences", "environment_of", "stated_environment"]

_ALL = ("python", "platform", "seed", "distributions", "modules")
COMPARED: Mapping[Level, tuple[str, ...]] = {
    "strict": _ALL,
    "bounded": ("python", "seed", "distributions", "modules"),
    "probabilistic": ("modules",),
    "unconstrained": (),
}
"""Level → the members of an environment that have to be equal."""
_ROOT = "muniment"
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_SEEDED: tuple[Level, ...] = ("strict", "bounded")


def environment_of(
    level: Level,
    described: Iterable[Mapping[str, object]],
    beside: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, JsonValue]:
    """Return the environment for a flow of that *level*.

    Args:
        level: the level of determinism.
        described: the flow's functions, as records describe them.
        beside: path → digest of what their modules import from beside them.

    """
    modules: dict[str, JsonValue] = {**beside}
    roots = {_ROOT}
    for one in described:
        files = one.get("files")
        if isinstance(files, Mapping):
            modules.update(cast("Mapping[str, str]", files))
        elif "import" in one:
            roots.update(_owners(str(one["import"]).partition(":")[0]))
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": f"{sys.platform}-{platform.machine()}",
        "isolation": "none",
        "seed": "manifest" if level in _SEEDED else "run",
        "distributions": dict(_closure(tuple(sorted(roots)))),
        "modules": dict(sorted(modules.items())),
    }


def stated_environment(
    environment: Mapping[str, JsonValue], level: Level
) -> dict[str, object]:
    """Return the fact that the flow runs in this *environment*."""
    return {
        "digest": sha256_tag(canonical(dict(environment))),
        "level": level,
        "compared": [*COMPARED[level]],
        **environment,
    }


def differences(
    was: Mapping[str, JsonValue], now: Mapping[str, JsonValue], level: Level
) -> Iterator[tuple[str, JsonValue, JsonValue]]:
    """Yield what has to be equal and is not: its path, as it was, as it is."""
    for name in COMPARED[level]:
        before, after = was.get(name), now.get(name)
        if not isinstance(before, dict) or not isinstance(after, dict):
            if before != after:
                yield name, before, after
            continue
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                yield f"{name}.{key}", before.get(key), after.get(key)


@cache
def _by_package() -> Mapping[str, list[str]]:
    return packages_distributions()


def _owners(module: str) -> list[str]:
    """Return the distributions that have the top package of *module*."""
    top = module.partition(".")[0]
    if top.startswith("muniment"):
        return [_ROOT]
    return [] if top in sys.stdlib_module_names else _by_package().get(top, [])


@cache
def _closure(roots: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return name and version of the *roots* and of all that they declare to need."""
    found: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(_spelled(one), frozenset[str]()) for one in roots]
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            here = distribution(name)
        except PackageNotFoundError:
            continue  # for another system, or another Python
        found[name] = here.version
        waiting += [
            one
            for text in here.requires or ()
            if (one := _required(text, extras)) is not None
        ]
    return tuple(sorted(found.items()))


def _required(text: str, extras: frozenset[str]) -> tuple[str, frozenset[str]] | None:
    """Return what a requirement names; None if it is for an extra that nobody wants."""
    named, _, marker = text.partition(";")
    wanted = _EXTRA.findall(marker)
    if wanted and extras.isdisjoint(map(_spelled, wanted)):
        return None
    match = _REQUIREMENT.match(named)
    if match is None:
        return None
    own = [_spelled(one) for one in (match[2] or "").split(",") if one.strip()]
    return _spelled(match[1]), frozenset(own)


def _spelled(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
