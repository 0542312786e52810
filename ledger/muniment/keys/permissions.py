"""Who may read the file of a private key.

Rule: its owner alone. A group-readable one (0440, a mounted secret) draws a
`KeyWarning`; any other is refused.
"""

from __future__ import annotations

import os
import stat
import warnings

from muniment.errors import KeyRefused

__all__ = ["KeyWarning", "refuse_shared"]


class KeyWarning(UserWarning):
    """A private key is usable, but less protected than it should be."""


def refuse_shared(mode: int, place: str) -> None:
    """Refuse the key file *place* of this *mode* if others may read it."""
    bits = stat.S_IMODE(mode)
    if os.name != "posix" or not bits & 0o077:
        return
    if bits == 0o440:  # noqa: PLR2004 - how Kubernetes and systemd mount a secret
        warnings.warn(
            f"{place}: the private key is readable by its group (0440); "
            "0400 is what it should be",
            KeyWarning,
            stacklevel=3,
        )
        return
    raise KeyRefused(
        f"the private key is open to other users (mode {bits:04o})",
        rule="key/permissions",
        place=place,
        remedy=f"chmod 600 {place}",
    )
