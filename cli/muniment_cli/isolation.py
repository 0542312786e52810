"""Takes the network away from this process, where the machine permits.

Rules: Linux only, by a network namespace of its own (``unshare(2)``), with a user
namespace around it where the user may not do that alone. Inside, only an unconnected
loopback is there. It must happen before the process has a second thread; what cannot be
had is reported, and the guards of the kernel's replay stand anyway.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

__all__ = ["leave_network"]

_NEW_USER = 0x10000000
_NEW_NET = 0x40000000


def leave_network() -> bool:
    """Tell whether this process has no network from now on."""
    if sys.platform != "linux":
        return False
    try:
        libc = ctypes.CDLL(None, use_errno=True)
    except OSError:
        return False
    if libc.unshare(_NEW_NET) == 0:
        return True
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_NET) != 0:
        return False
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        try:
            Path(f"/proc/self/{name}").write_text(text)
        except OSError:
            continue  # the names of users are lost, the files can be read all the same
    return True
