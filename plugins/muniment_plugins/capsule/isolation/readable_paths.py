"""What a replayed program may read: folders, or their entries if something is hidden.

    readable(["/desk"], hidden=["/desk/.muniment"])
      directories ["/desk/data", "/desk/package"]   files ["/desk/triage.py"]
      listed      ["/desk"]                          names  {}

Rules:

- Landlock only adds rights. A folder with something hidden in it is therefore not given
  as a whole: its entries are given one by one, and the folders on the path to what is
  hidden are divided again.
- Links to other places are not followed; a target in the same folder is given under its
  own name.
- Names in such a folder may be listed, unless a *secret* place is hidden in it: then
  the names in that place could be listed too. The names are handed over instead, so
  that modules are found.
- Entries added to such a folder later are not readable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from muniment_plugins.capsule.isolation import layers

__all__ = ["MACHINE_FILES", "MACHINE_FOLDERS", "Readable", "interpreter", "readable"]

MACHINE_FOLDERS = (
    *("/etc/pki", "/etc/ssl", "/sys/devices/system/cpu", "/sys/fs/cgroup"),
    *("/usr/share/ca-certificates", "/usr/share/locale", "/usr/share/mime"),
    *("/usr/share/zoneinfo",),
)
"""Folders with facts about the machine only."""

MACHINE_FILES = (
    *("/dev/random", "/dev/urandom", "/dev/zero", "/etc/debian_version"),
    *(
        "/etc/group",
        "/etc/host.conf",
        "/etc/hostname",
        "/etc/hosts",
        "/etc/ld.so.cache",
    ),
    *("/etc/localtime", "/etc/lsb-release", "/etc/mime.types", "/etc/nsswitch.conf"),
    *("/etc/os-release", "/etc/passwd", "/etc/timezone", "/usr/lib/os-release"),
    *("/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/uptime"),
    *("/proc/sys/kernel/osrelease", "/proc/sys/vm/overcommit_memory", "/proc/version"),
)
"""Files with facts about the machine only."""

_MOST = 20_000
"""The most entries into which one folder is divided."""


@dataclass(slots=True)
class Readable:
    """Places, sorted by what a program may do with them."""

    directories: list[str] = field(default_factory=list[str])
    files: list[str] = field(default_factory=list[str])
    listed: list[str] = field(default_factory=list[str])
    names: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Folder that may not be listed → the names in it."""


def readable(
    places: Iterable[str], hidden: Iterable[str], secret: Iterable[str] = ()
) -> Readable:
    """Return the readable parts of *places*, without those *hidden* or *secret*."""
    found = Readable()
    closed = {os.path.realpath(one) for one in secret}
    away = closed | {os.path.realpath(one) for one in hidden}
    for place in dict.fromkeys(os.path.realpath(one) for one in places):
        _divide(place, away, closed, found)
    return found


def interpreter() -> list[str]:
    """Return the places of Python, libraries, installed packages and the machine."""
    maps = [
        str(path)
        for name, module in list(sys.modules.items())
        if name.startswith("__editable__")
        for place in getattr(module, "MAPPING", {}).values()
        for path in (place, f"{place}.py")  # a package, or a single module
    ]
    here = str(Path.cwd())
    packages = [one for one in sys.path if one and os.path.realpath(one) != here]
    own = (*layers.interpreter(), sys.prefix, sys.base_prefix, *packages, *maps)
    known = (*own, *MACHINE_FOLDERS, *MACHINE_FILES)
    return [one for one in known if os.path.exists(one)]  # noqa: PTH110 - False if access is denied


def _divide(place: str, away: set[str], closed: set[str], found: Readable) -> None:
    if any(_holds(one, place) for one in away):
        return
    if not any(_holds(place, one) for one in away):
        kept = found.directories if Path(place).is_dir() else found.files
        kept.append(place)
        return
    entries: list[os.DirEntry[str]] = []
    try:
        with os.scandir(place) as inside:
            entries = [one for one, _ in zip(inside, range(_MOST), strict=False)]
    except OSError:
        return
    if any(_holds(place, one) for one in closed):
        found.names[place] = [one.name for one in entries]
    else:
        found.listed.append(place)
    for one in entries:
        if not one.is_symlink():
            _divide(one.path, away, closed, found)


def _holds(folder: str, place: str) -> bool:
    return f"{place}/".startswith(f"{folder.rstrip('/')}/")
