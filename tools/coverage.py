"""How often the interval of an improvement covers the truth, by simulation.

    python tools/coverage.py            prints the table of docs/how-to/verdicts.md

Rules: every figure follows from the seed. The interval of the first edition, the
percentile bootstrap, is simulated with fewer samples, since each costs its resamples.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from muniment_plugins.harness.statistics.first_statistics import bootstrap_interval
from muniment_plugins.harness.statistics.intervals import ratio_interval

__all__ = ["SIZES", "covered", "table"]

SIZES = (2, 3, 5, 8, 12, 20)
SAMPLES = 4000
SEED = 20261122
_TRUTH = 20.0
"""Percent by which the condition is better."""

Pairs = list[tuple[float, float]]
Interval = Callable[[Pairs], "tuple[float, float] | None"]


def _normal(source: random.Random) -> float:
    return source.gauss(1.0, 0.2)


def _skewed(source: random.Random) -> float:
    return source.lognormvariate(-0.125, 0.5)  # its mean is 1


def covered(
    count: int,
    draw: Callable[[random.Random], float],
    samples: int = SAMPLES,
    interval: Interval | None = None,
) -> tuple[float, float]:
    """Return how many of the intervals cover the truth, and how many samples have one.

    A pair is a baseline and a condition that share half of what moves them.
    """
    source = random.Random(f"{SEED}/{count}/{draw.__name__}")  # noqa: S311 - a sample
    found = interval or _fieller
    drawn = (found([_pair(source, draw) for _ in range(count)]) for _ in range(samples))
    bounds = [one for one in drawn if one is not None]
    hits = sum(low <= _TRUTH <= high for low, high in bounds)
    return hits / len(bounds), len(bounds) / samples


def _pair(
    source: random.Random, draw: Callable[[random.Random], float]
) -> tuple[float, float]:
    shared = draw(source)
    before, after = (shared + draw(source)) / 2, (shared + draw(source)) / 2
    return before, after * (1 - _TRUTH / 100)


def _fieller(pairs: Pairs) -> tuple[float, float] | None:
    return ratio_interval([(100 * (a - b), a) for a, b in pairs])


def _bootstrap(pairs: Pairs) -> tuple[float, float] | None:
    def better(some: object) -> float:
        rows = list(some)  # type: ignore[call-overload]
        before = sum(a for a, _ in rows)
        return float(100 * (before - sum(b for _, b in rows)) / before)

    return bootstrap_interval(pairs, better, 7)


def table(samples: int = SAMPLES) -> Iterator[str]:
    """Yield the rows of the table: pairs, and both shares for two distributions."""
    yield "| pairs | normal | has one | skewed | has one |"
    yield "|---|---|---|---|---|"
    for count in SIZES:
        shares = [
            f"{one:.2f}"
            for draw in (_normal, _skewed)
            for one in covered(count, draw, samples)
        ]
        yield f"| {count} | {' | '.join(shares)} |"


def main() -> None:
    """Print the table, and what the percentile bootstrap came to."""
    print("\n".join(table()))
    old = (f"{n}: {covered(n, _normal, 150, _bootstrap)[0]:.2f}" for n in SIZES)
    print("percentile bootstrap, normal:", ", ".join(old))


if __name__ == "__main__":
    main()
