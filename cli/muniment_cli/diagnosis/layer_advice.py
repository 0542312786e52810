"""How to get the isolation layers that this machine lacks: a line for each.

    landlock EOPNOTSUPP  ->  add landlock to lsm= on the kernel's command line, and boot

Rules: the system's answer says why a layer is missing, and the remedy depends on the
system. Nothing is tried here, and nothing changed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MachineFacts", "remedies"]

LANDLOCK_SINCE = (5, 13)
_CONTAINERS = ("/.dockerenv", "/run/.containerenv")
_POD = "KUBERNETES_SERVICE_HOST"
_RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_DENIED = ("EACCES", "EPERM")

# Dropping it needs a privilege; it counts for no level.
_NO_LAYER = ("bounding",)

_MACOS = (
    "nothing here gives more; for os-strong run a Linux container or virtual machine"
)
_WINDOWS = "run it under WSL2, or in a Linux container"
_ELSEWHERE = "run it on 64-bit Linux on x86-64 or AArch64, or in a virtual machine"
_HIDDEN = "mount /proc without hidepid, so that a process can see its own children"
_OPEN = "report it, with this machine's kernel: all layers are active, and something got out"
_CALLS = "let prctl, capset and seccomp pass the filter around this process"


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """The facts that the remedies depend on."""

    platform: str = "linux"
    release: str = ""
    contained: bool = False
    restricted: bool = False
    """Whether AppArmor denies user namespaces to programs that it does not know."""

    @classmethod
    def here(cls) -> MachineFacts:
        """Return the facts of this machine."""
        contained = _POD in os.environ or any(Path(p).exists() for p in _CONTAINERS)
        restricted = (
            _RESTRICTED.exists() and _RESTRICTED.read_text("utf-8").strip() == "1"
        )
        release = os.uname().release if hasattr(os, "uname") else ""
        return cls(sys.platform, release, contained, restricted)


def remedies(
    level: str,
    missing: Mapping[str, str],
    around: MachineFacts,
    passed: Collection[str] = (),
) -> Iterator[tuple[str, str]]:
    """Yield each missing layer, and how to get it.

    *passed* names forbidden things that a probe process could do.
    """
    if around.platform != "linux":
        if level != "os-strong":
            yield around.platform, _WINDOWS if around.platform == "win32" else _MACOS
        return
    layers = {name: why for name, why in missing.items() if name not in _NO_LAYER}
    if any(not why.isupper() for why in layers.values()):
        yield "layers", _ELSEWHERE
        return
    for name, why in layers.items():
        yield f"{name} {why}", _remedy(name, why, around)
    if not layers and passed:
        yield f"hold on {', '.join(passed)}", _OPEN
    elif not layers and level == "process":
        yield "confirmation", _HIDDEN


def _remedy(name: str, why: str, around: MachineFacts) -> str:
    if name == "landlock":
        return _landlock(why, around)
    if name == "namespaces":
        return _namespaces(why, around)
    if name == "seccomp" and why not in _DENIED:
        return "boot a kernel that is built with CONFIG_SECCOMP_FILTER"
    return f"{_CALLS}, as Docker's default profile does"


def _landlock(why: str, around: MachineFacts) -> str:
    if why == "EOPNOTSUPP":
        return "add landlock to lsm= on the kernel's command line, and boot again"
    if why not in _DENIED and _version(around.release) < LANDLOCK_SINCE:
        return f"boot Linux 5.13 or later; this is {around.release}"
    if why in _DENIED or around.contained:
        return (
            "let the landlock_ calls pass the filter around it: Docker 23 or later does"
        )
    return "boot a kernel that is built with CONFIG_SECURITY_LANDLOCK"


def _namespaces(why: str, around: MachineFacts) -> str:
    if why == "ENOSPC":
        return "raise the sysctl user.max_user_namespaces"
    if around.restricted:
        return "give this Python an AppArmor profile that says userns"
    if around.contained:
        return "not needed for os-strong; a container would have to let unshare pass"
    return "set the sysctl kernel.unprivileged_userns_clone to 1"


def _version(release: str) -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", release)
    # A release without a version is not called too old.
    return tuple(map(int, found.groups())) if found else LANDLOCK_SINCE
