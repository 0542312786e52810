"""People who may approve, each with a home of their own, enrolled by a newcomer's root."""

from __future__ import annotations

import shutil
from pathlib import Path

from first_hour import Newcomer

__all__ = ["enrolled"]


def enrolled(newcomer: Newcomer, place: Path, *names: str) -> list[Newcomer]:
    """Make the newcomer's ledger, and people of these *names* below *place*."""
    newcomer.muniment("init")
    shutil.move(next(newcomer.home.rglob("recovery/root.pem")), newcomer.folder)
    ledger = newcomer.folder / ".muniment" / "ledger.db"
    found: list[Newcomer] = []
    for name in names:
        (folder := place / name).mkdir()
        person = Newcomer(
            folder, place / f"{name}-home", {"MUNIMENT_LEDGER": str(ledger)}
        )
        request = ("keys", "request", "--role", "approver", "--name", name)
        assert person.muniment(*request, "-o", "request.json").code == 0
        enrol = ("keys", "enrol", folder / "request.json", "--root", "root.pem")
        assert newcomer.muniment(*enrol).code == 0
        found.append(person)
    return found
