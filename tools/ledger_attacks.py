"""Tries every attack on a ledger, and writes what `verify` says into docs/trust.md.

    python tools/ledger_attacks.py            writes the table
    python tools/ledger_attacks.py --check    says whether it is out of date, exit 1

Rules: what is done stands in ``tests/helpers/forgery/attacks_on_ledgers.py``; the sentences around the
table stand on the page.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "trust.md"
BEGIN = "<!-- written by tools/ledger_attacks.py; change the attacks, then run it -->\n"
END = "<!-- end of what is written -->\n"

__all__ = ["main", "page"]

sys.path[:0] = map(str, (ROOT / "tests" / "helpers").iterdir())

from attacks_on_ledgers import table  # noqa: E402 - from the folder of the tests


def page(text: str) -> str:
    """Return the page *text* with the table as it is today."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    with tempfile.TemporaryDirectory() as folder:
        lines = "\n".join(table(Path(folder)))
    return f"{head}{BEGIN}\n{lines}\n\n{END}{tail}"


def main(arguments: list[str]) -> int:
    """Write the table, or compare it; return the exit code."""
    text = PAGE.read_text()
    fresh = page(text)
    if "--check" not in arguments:
        PAGE.write_text(fresh)
        return 0
    if fresh != text:
        print("docs/trust.md is out of date: run `make docs`")
    return int(fresh != text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
