"""Writes the table of moves into docs/how-to/verdicts.md, from the tests that hold it.

    python tools/move_table.py

Rule: the page has one such table, and the text around it stands there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "verdicts.md"
_TABLE = re.compile(r"^\| what is done \| `integrity` \|\n(\|.*\n)+", re.MULTILINE)


def main() -> None:
    """Put the table in the place of the one that is there."""
    sys.path[:0] = map(str, (ROOT / "tests" / "helpers").iterdir())
    from moves import table

    text, count = _TABLE.subn(lambda _: table(), PAGE.read_text())
    if count != 1:
        raise SystemExit(f"{PAGE} has {count} tables of moves, not 1")
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
