"""Which environment variables hold secrets, by their names.

Rules: values are looked up when they are needed, and nothing keeps them.
"""

from __future__ import annotations

import os

from muniment_plugins.providers.secrets.names import NAMES, SecretNames

__all__ = ["secret_values"]

_DIRECTORIES = ("OLDPWD", "PWD")
"""Variables of the shell, which are not passwords."""


def secret_values(names: SecretNames = NAMES) -> list[str]:
    """Return the values of the variables whose names say that they hold secrets.

    A path is not a secret: ``PWD``, ``SSH_KEY=/etc/ssh/key``.
    """
    return [
        value
        for name, value in os.environ.items()
        if any(names.is_secret(one, alone=True, value=value) for one in _spelt(name))
        and (names.hides(name) or not _is_place(name, value))
    ]


def _spelt(name: str) -> tuple[str, str]:
    """Return *name* as it is, and its singular: ``API_KEYS``, ``DB_PASS``."""
    return name, name.removesuffix("S")


def _is_place(name: str, value: str) -> bool:
    """Tell whether *value* is a path: one of the shell's own, or of a file."""
    return value.startswith(os.sep) and (name in _DIRECTORIES or os.path.lexists(value))
