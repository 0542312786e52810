"""Makes every generator that is loaded start from one number, seeded or not.

    Seeds().start(7)        random, numpy.random, and what default_rng() takes from the
                            system where a program gives it no seed

Rules:

- Whatever a process did with its generators before, they draw the same after a start.
- What is made for that is made once, in the worker: a child only fills it anew.

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
        """Let all of them start from *number*."""
        generators = sys.modules.get("random")
        if generators is not None:
            generators.seed(number)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            numpy.seed(number % 2**32)
            self._start_entropy(numpy, number % 2**32)

    def _start_entropy(self, numpy: Any, number: int) -> None:
        if self._entropy is None:
            self._entropy = numpy.RandomState(number)
        else:
            self._entropy.seed(number)
        # What default_rng() and SeedSequence() take from the system without a seed.
        vars(sys.modules["numpy.random.bit_generator"])["randbits"] = self._draw

    def _draw(self, bits: int) -> int:
        drawn = int.from_bytes(self._entropy.bytes((bits + 7) // 8), "big")
        return drawn & ((1 << bits) - 1)
