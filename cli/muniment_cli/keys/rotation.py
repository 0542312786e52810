"""Replacing keys that are kept here, for ``muniment keys rotate``.

Rules: the new private key is on disk before the event that enrols it; the old one is
set aside, never deleted.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import CannotTellError, UsageError
from muniment_cli.keys.key_files import read_request
from muniment_cli.terminal.output import fields, hint, show_json

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.keys.ed25519 import PrivateKey
    from muniment.keys.enrolment import KeyEntry
    from muniment.ledger import Ledger

__all__ = ["keys_here", "old_key", "replace_key", "rotate_root"]


def keys_here(ledger: Ledger) -> dict[str, str]:
    """Return key id → file name of the private keys in the trust home."""
    from muniment.keys.ed25519 import load_private

    directory = ledger.home.keys_directory(ledger.id)
    files = sorted(directory.glob("*.pem")) if directory.is_dir() else []
    return {load_private(path, follow=False).public.keyid: path.name for path in files}


def old_key(ledger: Ledger, key: str | None, role: str | None) -> KeyEntry:
    """Return the named key, or the one that holds *role* here."""
    from muniment.key_management import find_key

    keyring = ledger.keys
    if key is not None:
        return find_key(keyring, key)
    holders = [
        one for one in keyring.entries if one.until is None and role in one.roles
    ]
    here = [one for one in holders if one.keyid in keys_here(ledger)]
    found = here if len(holders) != 1 else holders
    if len(found) != 1:
        raise UsageError(
            f"{len(holders)} keys are {role} now",
            rule="key/unknown",
            remedy="name one; `muniment keys list` lists them",
        )
    return found[0]


def replace_key(
    ledger: Ledger,
    old: KeyEntry,
    request_file: Path | None,
    root: PrivateKey,
    algorithm: str | None,
) -> tuple[Event, Path | None]:
    """Write the rotation; keep the new private key here if it was made here."""
    from muniment import key_management
    from muniment.keys.ed25519 import PrivateKey

    if request_file is not None:
        return key_management.rotate(
            ledger, old, read_request(request_file), root
        ), None
    file = keys_here(ledger).get(old.keyid)
    if file is None:
        raise CannotTellError(
            f"{old.keyid} is not kept in this trust home, so its successor is not "
            "made here",
            rule="key/elsewhere",
            place=str(ledger.home.keys_directory(ledger.id)),
            remedy="run `muniment keys request` where it is, and give --request FILE",
        )
    new = PrivateKey.generate(algorithm or old.public.algorithm)
    asked = key_management.request(new, ledger.id, list(old.roles), old.name)
    with key_management.install(ledger.home, ledger.id, Path(file).stem, new) as kept:
        event = key_management.rotate(ledger, old, asked, root)
    return event, kept


def rotate_root(
    ledger: Ledger,
    root: PrivateKey,
    root_file: Path,
    *,
    algorithm: str | None,
    as_json: bool,
) -> int:
    """Make *root*, the committed next root, the root; say what to move away."""
    from muniment import key_management
    from muniment.errors import MunimentError

    recovery = ledger.home.recovery_directory(ledger.id, create=True)
    following = recovery / "next-root.pem"
    if following.exists():
        following = recovery / f"next-root-{ledger.head.size}.pem"
    try:
        changed = key_management.rotate_root(ledger, root, following, algorithm)
    except MunimentError as error:
        if error.rule == "key/next-root":
            error.remedy = (
                "give the file of the next root; to replace another key by the root, "
                "name that key or its --role"
            )
        raise
    ledger.checkpoint()
    keyid = root.public.keyid
    if as_json:
        show_json({"next_root": following, "root": keyid, "seq": changed.event.seq})
        return 0
    fields(
        [
            ("root", (keyid, "bold")),
            ("event", str(changed.event.seq)),
            ("recovery", str(following)),
        ]
    )
    hint(
        f"\nThe root is now the key in {root_file}, and pinned here. Move the new next "
        "root off this machine,",
        f"and let everybody who verifies run `muniment keys trust {keyid}`.",
        "Who pinned the old root accepts the new one by it, until then.",
    )
    return 0
