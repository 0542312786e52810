"""What would bring the walls that this machine lacks: a line for each of them.

    landlock EOPNOTSUPP  ->  add landlock to lsm= on the kernel's command line, and boot

Rules: the answer of the system says why a wall is missing, the system itself what can
be done about it. Nothing is tried here, and nothing changed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Surroundings", "remedies"]

LANDLOCK_SINCE = (5, 13)
_CONTAINERS = ("/.dockerenv", "/run/.containerenv")
_POD = "KUBERNETES_SERVICE_HOST"
_RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_DENIED = ("EACCES", "EPERM")

# What cannot be dropped without a right to drop it; it counts for no level.
_NO_WALL = ("bounding",)

_MACOS = (
    "nothing here gives more; for os-strong run a Linux container or virtual machine"
)
_WINDOWS = "run it under WSL2, or in a Linux container"
_ELSEWHERE = "run it on 64-bit Linux on x86-64 or AArch64, or in a virtual machine"
_HIDDEN = "mount /proc without hidepid, so that a process can see its own children"
_OPEN = "report it, with this machine's kernel: all walls stand, and something passed"
_CALLS = "let prctl, capset and seccomp pass the filter around this process"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the remedies depend on."""

    platform: str = "linux"
    release: str = ""
    contained: bool = False
    restricted: bool = False
    """Whether AppArmor keeps user namespaces from programs that it does not know."""

    @classmethod
    def here(cls) -> Surroundings:
        """Return those of this process."""
        contained = _POD in os.environ or any(Path(p).exists() for p in _CONTAINERS)
        restricted = _RESTRICTED.exists() and _RESTRICTED.read_text().strip() == "1"
        release = os.uname().release if hasattr(os, "uname") else ""
        return cls(sys.platform, release, contained, restricted)


def remedies(
    level: str,
    missing: Mapping[str, str],
    around: Surroundings,
    passed: Collection[str] = (),
) -> Iterator[tuple[str, str]]:
    """Yield what is missing, and what would bring it.

    *passed* is what a probe child could do that it should not.
    """
    if around.platform != "linux":
        if level != "os-strong":
            yield around.platform, _WINDOWS if around.platform == "win32" else _MACOS
        return
    walls = {name: why for name, why in missing.items() if name not in _NO_WALL}
    if any(not why.isupper() for why in walls.values()):
        yield "walls", _ELSEWHERE
        return
    for name, why in walls.items():
        yield f"{name} {why}", _remedy(name, why, around)
    if not walls and passed:
        yield f"hold on {', '.join(passed)}", _OPEN
    elif not walls and level == "process":
        yield "confirmation", _HIDDEN


def _remedy(name: str, why: str, around: Surroundings) -> str:
    if name == "landlock":
        return _landlock(why, around)
    if name == "namespaces":
        return _namespaces(why, around)
    if name == "seccomp" and why not in _DENIED:
        return "boot a kernel that is built with CONFIG_SECCOMP_FILTER"
    return f"{_CALLS}, as Docker's default profile does"


def _landlock(why: str, around: Surroundings) -> str:
    if why == "EOPNOTSUPP":
        return "add landlock to lsm= on the kernel's command line, and boot again"
    if why not in _DENIED and _version(around.release) < LANDLOCK_SINCE:
        return f"boot Linux 5.13 or later; this is {around.release}"
    if why in _DENIED or around.contained:
        return (
            "let the landlock_ calls pass the filter around it: Docker 23 or later does"
        )
    return "boot a kernel that is built with CONFIG_SECURITY_LANDLOCK"


def _namespaces(why: str, around: Surroundings) -> str:
    if why == "ENOSPC":
        return "raise the sysctl user.max_user_namespaces"
    if around.restricted:
        return "give this Python an AppArmor profile that says userns"
    if around.contained:
        return "not needed for os-strong; a container would have to let unshare pass"
    return "set the sysctl kernel.unprivileged_userns_clone to 1"


def _version(release: str) -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", release)
    # What names no version is not called too old.
    return tuple(map(int, found.groups())) if found else LANDLOCK_SINCE
