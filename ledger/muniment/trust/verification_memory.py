"""What verifications saw at each location: the ledger, its length and its root.

    {"/mnt/audit/copy.db": {"ledger": "sha256:…", "root": "<64 hex>", "size": 11,
                            "time": "2026-11-20T07:25:02.000417Z"}}

Rules: one entry for each location, moved forward only; an unreadable file raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from muniment.encoding.canonical import JsonValue
from muniment.trust.json_files import damaged, load_json

__all__ = ["SeenLedger", "read_seen"]

_DIGITS = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SeenLedger:
    """One ledger that a verification found intact, at one location."""

    ledger: str
    size: int
    root: bytes
    time: str

    def to_json(self) -> JsonValue:
        """Return the entry as it is written in the file."""
        return {
            "ledger": self.ledger,
            "root": self.root.hex(),
            "size": self.size,
            "time": self.time,
        }


def read_seen(path: Path) -> dict[str, SeenLedger]:
    """Return the entries of the file *path*; none if there is no file."""
    known = load_json(path)
    if known is None:
        return {}
    if not isinstance(known, dict):
        raise damaged(path, "does not map locations to what was verified")
    found: dict[str, SeenLedger] = {}
    for place, one in known.items():
        match one:
            case {
                "ledger": str(ledger),
                "root": str(root),
                "size": int(size),
                "time": str(time),
            } if type(size) is int and size > 0 and _DIGITS.fullmatch(root):
                found[place] = SeenLedger(ledger, size, bytes.fromhex(root), time)
            case _:
                raise damaged(path, f"says nothing that can be read of {place}")
    return found
