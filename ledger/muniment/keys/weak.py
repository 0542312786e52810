"""Encodings that are no Ed25519 key: of low order, or not canonical.

Rule: the 14 encodings of low-order points and every encoding with y ≥ p are refused:
such a key would verify signatures that nobody made, or give one point two names.
"""

from __future__ import annotations

from typing import NoReturn

from muniment.errors import KeyRefused

__all__ = ["DISTRUST", "refuse", "refuse_weak"]

DISTRUST = "accept nothing that it signed, and ask its sender for another key"

_P = 2**255 - 19
_SIGN = 1 << 255
_ORDER_8 = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    "little",
)
# The y of the points whose order divides 8; p and p + 1 are 0 and 1 again.
_LOW_ORDER_Y = frozenset({0, 1, _ORDER_8, _P - _ORDER_8, _P - 1, _P, _P + 1})


def refuse_weak(raw: bytes) -> None:
    """Refuse *raw* unless it is an Ed25519 public key that is safe to trust."""
    if len(raw) != 32:  # noqa: PLR2004 - RFC 8032 says so
        what = f"an Ed25519 public key is 32 bytes, not {len(raw)} (P-256: 65)"
        refuse("length", what, "give the whole key")
    y = int.from_bytes(raw, "little") & ~_SIGN
    if y in _LOW_ORDER_Y:
        what = "the public key is a point of low order, for which anyone can sign"
        refuse("low-order", what, DISTRUST)
    if y >= _P:
        what = "the public key is not in canonical form (y ≥ p)"
        refuse("non-canonical", what, DISTRUST)


def refuse(rule: str, what: str, remedy: str) -> NoReturn:
    """Raise `KeyRefused` with the rule ``key/<rule>``."""
    raise KeyRefused(what, rule=f"key/{rule}", remedy=remedy)
