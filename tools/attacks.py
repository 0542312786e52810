"""Writes what the attack programs achieve into docs/reference/capsule.md.

    python tools/attacks.py            tries every attack in every mode, takes minutes
    python tools/attacks.py --check    compares the table with what the tests expect

Rules: the table stands between two markers and comes from a real run, on this machine;
an attack counts where the effect that it wants shows, or any other of the machine's. A
test compares the counts with the lists that every run of the tests confirms.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = map(str, (ROOT / "tests" / "helpers").iterdir())

from corpus import by_family  # noqa: E402 - what the line above makes known
from expected import (  # noqa: E402 - as above
    IN_SPITE_OF_THE_LANGUAGE,
    IN_SPITE_OF_THE_SYSTEM,
)

__all__ = ["PAGE", "expected_counts", "main", "table", "written"]

PAGE = ROOT / "docs" / "reference" / "capsule.md"
BEGIN, END = "<!-- attacks: tools/attacks.py -->\n", "<!-- /attacks -->\n"

_HEAD = """| family | programs | without capsule | all layers | OS only | language only |
|---|--:|--:|--:|--:|--:|
"""

Counts = dict[str, tuple[int, ...]]


def _counts(shown: Mapping[str, Mapping[str, set[str]]]) -> Counts:
    """Return how many programs there are, and how many show something in each mode."""
    return {
        family: (
            len(attacks),
            *(
                sum(bool(effects.get(attack.name)) for attack in attacks)
                for effects in shown.values()
            ),
        )
        for family, attacks in by_family().items()
    }


def expected_counts() -> Counts:
    """Return the counts that the tests hold to, where files can be asked about."""
    every = {attack.name: {"any"} for found in by_family().values() for attack in found}
    return _counts(
        {
            "no capsule": every,
            "all layers": {},
            "OS only": IN_SPITE_OF_THE_SYSTEM,
            "language only": IN_SPITE_OF_THE_LANGUAGE,
        }
    )


def table(counts: Counts) -> str:
    """Return the table as the page has it."""
    total = tuple(map(sum, zip(*counts.values(), strict=True)))
    rows = [*counts.items(), ("**all**", total)]
    lines = [
        f"| {family.replace('_', ' ')} | {' | '.join(map(str, row))} |\n"
        for family, row in rows
    ]
    return _HEAD + "".join(lines)


def written() -> str:
    """Return the table that stands in the page."""
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0]


def _tried() -> Counts:
    from attack_modes import MODES, report
    from machines import NAMESPACES, without
    from muniment_plugins.capsule.machine import machine

    machine()
    found = report(tuple(mode for mode in MODES if mode != "OS only"))
    # Where a machine hides its files, some more stop: the table shows the lesser case.
    script = "import json, attack_modes\nprint(json.dumps(attack_modes.report(('OS only',))))"
    found.update(without(NAMESPACES, script))
    return _counts(
        {mode: {n: set(e) for n, e in found[mode].items()} for mode in MODES}
    )


def main(arguments: list[str]) -> int:
    """Write the page, or say whether it is as it should be."""
    if "--check" in arguments:
        return int(written() != table(expected_counts()))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + table(_tried()) + END + after)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
