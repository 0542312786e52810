"""The parent's part: which layers the child must raise, and whether they are active.

    plan(…)              {"directories": […], "files": […], "filters": {"open": "…"}}
    unmet_walls(…)       ["seccomp"]           stated by the child, denied by /proc
    level_of(layers)     "os-strong"

Rules:

- The paths are those from which the interpreter loads; packages only for programs that
  import some.
- A child whose statement /proc denies does not get to run.
- ``os-strong`` is Landlock, the filter and the limits; ``os-partial`` the filter and
  the limits; ``process`` anything less. A filter counts for nothing unless capabilities
  and new privileges are gone.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import muniment
from muniment.encoding.canonical import JsonValue
from muniment_plugins.capsule.isolation import native, seccomp
from muniment_plugins.capsule.isolation.procfs import read_proc
from muniment_plugins.capsule.isolation.syscall_trap import SIGSYS
from muniment_plugins.capsule.protocol import is_object

__all__ = [
    "confirmed",
    "describe",
    "interpreter",
    "level_of",
    "missing",
    "plan",
    "unmet_walls",
]

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_FILES = ("/etc/ld.so.cache",)
_ZONES = "/usr/share/zoneinfo"
_NAMESPACES = ("ipc", "mnt", "net", "user", "uts")
_TRAPPED = 1 << (SIGSYS - 1)
_SHOWN = (
    *("bounding", "capabilities", "namespaces", "no_new_privs", "rlimits", "seccomp"),
    "trap",
)
_CAPABILITIES = ("CapAmb", "CapEff", "CapInh", "CapPrm")
_WALLED = re.compile(
    r"^(Cap\w+|NoNewPrivs|PPid|Seccomp\w*|SigCgt|Threads):\s*(.*)$", re.MULTILINE
)


def plan(packages: list[str]) -> dict[str, JsonValue]:
    """Return what a child needs to raise its layers; empty if there are none.

    *packages* are the directories from which it may import packages.
    """
    architecture = native.architecture()
    if not architecture:
        return {}
    places = (*interpreter(), *packages)
    directories = _existing(*places)
    own = (str(Path(__file__).parents[1]), muniment.__path__[0])
    return {
        "directories": [*directories],
        "files": [*_existing(*_FILES)],
        "filters": {
            "closed": seccomp.program_filter(architecture, opens=False).hex(),
            "open": seccomp.program_filter(architecture, opens=True).hex(),
        },
        "links": dict(_links(places, directories)),
        "own": [
            path for path in _existing(*own, *directories) if path not in directories
        ],
        "parent": os.getpid(),
    }


def describe(stated: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return *stated* with the digest of the filter that the child chose."""
    filtered = stated.get("seccomp")
    if not is_object(filtered) or "filter" not in filtered:
        return dict(stated)
    program = seccomp.program_filter(
        native.architecture(), opens=filtered["filter"] == "open"
    )
    shown = {
        **filtered,
        "default": "EPERM",
        "digest": seccomp.digest(program),
        "mode": 2,
    }
    return {**stated, "seccomp": shown}


def unmet_walls(pid: int, stated: Mapping[str, object]) -> list[str]:
    """Return the layers that the child stated and /proc denies."""
    found, own = _status(pid), _status(os.getpid())
    # A filter around the parent shows in the child too, so the counts are compared.
    filters = int(found.get("Seccomp_filters", 1)), int(own.get("Seccomp_filters", 0))
    confirmed = {
        "bounding": _is_zero(found.get("CapBnd")),
        "capabilities": all(_is_zero(found.get(name)) for name in _CAPABILITIES),
        "landlock": found.get("Threads") == "1",
        "namespaces": _stands(stated, "namespaces") and _is_apart(pid, found),
        "no_new_privs": found.get("NoNewPrivs") == "1",
        "seccomp": found.get("Seccomp") == "2" and filters[0] > filters[1],
        "trap": bool(int(found.get("SigCgt", "0"), 16) & _TRAPPED),
        "undumpable": _is_undumpable(pid),
    }
    return [
        name for name, is_so in confirmed.items() if _stands(stated, name) and not is_so
    ]


def confirmed(stated: Mapping[str, object]) -> list[JsonValue]:
    """Return the layers that /proc shows, of those that it did not deny.

    Landlock leaves no sign there: the probe child finds out by trying. The same is true
    of hidden memory if the parent is root.
    """
    shown = _SHOWN if os.geteuid() == 0 else (*_SHOWN, "undumpable")
    return [name for name in shown if _stands(stated, name)]


def _is_zero(mask: str | None) -> bool:
    return mask is not None and int(mask, 16) == 0


def _is_undumpable(pid: int) -> bool:
    """Tell whether a process of this user hides its memory; root's show no sign."""
    user = os.geteuid()
    return user == 0 or Path(f"/proc/{pid}/status").stat().st_uid != user


def _is_apart(pid: int, status: Mapping[str, str]) -> bool:
    """Tell whether a child, or the worker that shares them, has its own namespaces.

    A child that hides its memory shows them to root alone. A direct child of this
    process still shows its user map.
    """
    for process in (pid, int(status["PPid"])):
        if process == os.getpid():
            break
        try:
            return all(
                _link(process, name) != _link(os.getpid(), name) for name in _NAMESPACES
            )
        except PermissionError:
            continue
    return read_proc(pid, "uid_map") != read_proc(os.getpid(), "uid_map")


def _link(pid: int, name: str) -> str:
    return os.readlink(f"/proc/{pid}/ns/{name}")  # noqa: PTH115 - its text, not a path


def level_of(stated: Mapping[str, object]) -> str:
    """Return the level of a child with this statement, which /proc confirmed."""
    if not stated:
        return "none"
    basis = ("capabilities", "no_new_privs", "seccomp", "undumpable")
    if not all(_stands(stated, name) for name in basis):
        return "process"
    return "os-strong" if _stands(stated, "landlock") else "os-partial"


def missing(stated: Mapping[str, object]) -> dict[str, str]:
    """Return the layers that the child could not raise, with the system's answers."""
    answered = {key: layer for key, layer in stated.items() if is_object(layer)}
    return {
        key: str(layer["missing"])
        for key, layer in answered.items()
        if "missing" in layer
    }


def _stands(stated: Mapping[str, object], name: str) -> bool:
    layer = stated.get(name)
    return is_object(layer) and "missing" not in layer


def _status(pid: int) -> dict[str, str]:
    """Return the lines that show layers; every execution reads them twice."""
    return dict(_WALLED.findall(read_proc(pid, "status").decode(errors="replace")))


@functools.cache
def interpreter() -> tuple[str, ...]:
    """Return where this interpreter's own modules and libraries are."""
    own = Path(os.__file__).parent
    prefix = Path(sys.base_prefix)
    places = (own, prefix / "lib", prefix / sys.platlibdir)
    return (*_LIBRARIES, _ZONES, *map(str, places))


@functools.cache
def _existing(*paths: str) -> tuple[str, ...]:
    """Return each existing place once, without those below another."""
    real = {os.path.realpath(path) for path in paths}
    # A path that may not be looked at counts as absent; pathlib raises for it.
    found = [path for path in sorted(real) if os.path.exists(path)]  # noqa: PTH110
    return tuple(path for path in found if not real.intersection(_above(path)))


@functools.cache
def _links(
    places: tuple[str, ...], directories: tuple[str, ...]
) -> dict[str, JsonValue]:
    """Return link → target on the paths to *places*, outside *directories*."""
    links: dict[str, JsonValue] = {}
    ways = [os.path.abspath(place) for place in places]  # noqa: PTH100 - links stay
    while ways:
        way = ways.pop()
        for path in (way, *_above(way)):
            if not os.path.islink(path):  # noqa: PTH114 - as above
                continue
            folder, name = os.path.split(path)
            real = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118
            if real not in links and not {real, *_above(real)} & set(directories):
                links[real] = target = os.readlink(path)  # noqa: PTH115
                ways.append(os.path.normpath(os.path.join(real, "..", target)))  # noqa: PTH118
    return links


def _above(path: str) -> list[str]:
    return [str(place) for place in Path(path).parents]
