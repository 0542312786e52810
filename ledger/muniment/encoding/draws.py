"""What a lane draws: numbers that follow from the run's seed, wherever they are drawn.

drawn(seed, "uuid", "pay.1/@stage.2", 0)      32 bytes, the same in each process
"""

from __future__ import annotations

import hashlib
import hmac
from uuid import UUID

__all__ = ["as_float", "as_uuid", "drawn"]


def drawn(seed: str, what: str, scope: str, count: int, salt: str = "") -> bytes:
    """Return the bytes of the draw number *count* of *what* in *scope*."""
    message = f"{what}\0{scope}\0{count}{salt}".encode()
    return hmac.digest(seed.encode(), message, hashlib.sha256)


def as_float(drawn: bytes) -> float:
    """Return the number from [0, 1) that was *drawn*."""
    return (int.from_bytes(drawn[:7]) >> 3) / 2**53


def as_uuid(drawn: bytes) -> UUID:
    """Return the UUID (version 4) that was *drawn*."""
    return UUID(bytes=drawn[:16], version=4)
