"""The key that this user signs events with: from the environment or the trust home.

    MUNIMENT_KEY=/run/secrets/writer.pem        a key file, PKCS#8 PEM, or a seed

Rules: ``MUNIMENT_KEY`` goes first; else the trust home keeps a writer's key for each
ledger that was made here. No message repeats the variable's value.
"""

from __future__ import annotations

import os

from muniment.errors import KeyRefused
from muniment.formats.dsse import Signer, signer_from_uri
from muniment.keys.ed25519 import load_private
from muniment.trust.home import TrustHome

__all__ = ["KEY_VARIABLE", "kept_key", "signer_for"]

KEY_VARIABLE = "MUNIMENT_KEY"


def signer_for(home: TrustHome, ledger_id: str) -> Signer | None:
    """Return the signer of the events that this user appends, if there is one.

    Raises:
        KeyRefused: it cannot be read.

    """
    return _environment_key() or kept_key(home, ledger_id, "writer")


def _environment_key() -> Signer | None:
    value = os.environ.get(KEY_VARIABLE, "")
    if not value:
        return None
    # Not `Path.is_file`, which raises for a name as long as a PEM.
    if os.path.isfile(value) or value.startswith("file:"):  # noqa: PTH113
        return signer_from_uri(value)
    try:
        return signer_from_uri(f"env:{KEY_VARIABLE}")
    except KeyRefused as error:  # the value may be secret, and is not repeated
        error.place = KEY_VARIABLE
        error.remedy = "give a key file that is there, PKCS#8 PEM, or a seed in base64"
        raise


def kept_key(home: TrustHome, ledger_id: str, name: str) -> Signer | None:
    """Return the key *name* that the trust home keeps for a ledger, if it does."""
    path = home.keys_directory(ledger_id) / f"{name}.pem"
    return load_private(path, follow=False) if os.path.lexists(path) else None
