"""Makes all loaded generators start from one number, seeded or not.

    Seeds().start(7)        random, numpy.random, and the entropy that default_rng()
                            takes from the system if a program gives it no seed

Rules:

- Whatever a process did with its generators before, they draw the same after a start.
- NumPy's older generators take 32 bits at a time: they get a larger number whole, as
  the list of its words. Any two different numbers draw differently; smaller numbers
  draw what they always drew.
- The worker makes the source of entropy once: a child only seeds it again.

Runs in the child; imports nothing that the program did not ask for.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Seeds"]


class Seeds:
    """The generators of this process."""

    def __init__(self) -> None:
        self._entropy: Any = None

    def start(self, number: int) -> None:
        """Start all of them from *number*."""
        generators = sys.modules.get("random")
        if generators is not None:
            generators.seed(number)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            words = _words(number)
            numpy.seed(words)
            self._start_entropy(numpy, words)

    def _start_entropy(self, numpy: Any, words: int | list[int]) -> None:
        if self._entropy is None:
            self._entropy = numpy.RandomState(words)
        else:
            self._entropy.seed(words)
        # Replaces the system's entropy for unseeded default_rng() and SeedSequence().
        vars(sys.modules["numpy.random.bit_generator"])["randbits"] = self._draw

    def _draw(self, bits: int) -> int:
        drawn = int.from_bytes(self._entropy.bytes((bits + 7) // 8), "big")
        return drawn & ((1 << bits) - 1)


def _words(number: int) -> int | list[int]:
    """Return *number* in the form that NumPy's older generators take."""
    words: list[int] = []
    rest = number
    while rest:
        words.append(rest % 2**32)
        rest >>= 32
    return words if len(words) > 1 else number
