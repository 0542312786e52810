"""Events of keys that the specification forbids."""

from __future__ import annotations

from collections.abc import Callable

from forge import Forge, entry, keyid

__all__ = ["by_checkpoint_key", "enrolled", "revoked_root"]


def enrolled(
    roles: list[str], name: str = "third", signer: str = "root"
) -> Callable[[Forge], None]:
    """Return what enrols a key."""

    def breaks(forge: Forge) -> None:
        data = entry(forge.key(name), roles, forge.ledger)
        forge.append("key.enrolled", data, signer=forge.key(signer))

    return breaks


def revoked_root(forge: Forge) -> None:
    """Revoke the root."""
    data = {"keyid": keyid(forge.key("root")), "reason": "x"}
    forge.append("key.revoked", data, signer=forge.key("root"))


def by_checkpoint_key(forge: Forge) -> None:
    """Sign an event with the key of checkpoints."""
    forge.append("note.added", {"text": "x"}, signer=forge.key("checkpoint"))
