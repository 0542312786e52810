"""Writes what a replay does about each operation into docs/how-to/replay.md.

    python tools/operation_table.py            tries all of them, on this machine

Rules: the table stands between two markers and comes from a real run, in which every
operation was shown to work without guard and layers. `make docs` calls it; a test
compares.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = map(str, (ROOT / "tests" / "helpers").iterdir())

from operations import LACKING, OPERATIONS, outcomes  # noqa: E402 - by the line above

__all__ = ["BEGIN", "END", "PAGE", "main", "table", "tried"]

PAGE = ROOT / "docs" / "how-to" / "replay.md"
BEGIN, END = "<!-- operations: tools/operation_table.py -->\n", "<!-- /operations -->\n"

_HEAD = "| operation | in process | layers |\n|---|---|---|\n"


def tried(mode: str) -> dict[str, str]:
    """Return what became of each operation; see `operations`."""
    with tempfile.TemporaryDirectory() as place:
        return outcomes(mode, Path(place))


def table(guard: Mapping[str, str], layers: Mapping[str, str]) -> str:
    """Return the table: *caught* and named, *stopped*, or that it passes."""
    caught = sum(guard[name] == "caught" for name in OPERATIONS)
    stopped = sum(layers[name] != "passed" for name in OPERATIONS)
    said = (
        f"Of {len(OPERATIONS)} operations {caught} are caught in process; "
        f"the layers stop {stopped}.\n\n"
    )
    rows = [
        f"| {name} | {'caught' if guard[name] == 'caught' else 'passes'} "
        f"| {'passes' if layers[name] == 'passed' else 'stopped'} |\n"
        for name in OPERATIONS
    ]
    return "".join([said, _HEAD, *rows])


def main() -> int:
    """Write the table; return the exit code."""
    layers = tried("layers")
    if layers[LACKING]:
        print(f"this machine lacks {layers[LACKING]}: the table stays as it is")
        return 0
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    text = table(tried("guard"), layers)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
