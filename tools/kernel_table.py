"""Writes the table of the kernel's types into docs/spec/event.md, from what the verifier compares.

    python tools/kernel_table.py

Rule: the page has one such table, between its two comments.
"""

from __future__ import annotations

import sys
from pathlib import Path

from muniment.verification.statements.kernel_data import KERNEL

__all__ = ["BEGIN", "END", "PAGE", "main", "table"]

PAGE = Path(__file__).parents[1] / "docs" / "spec" / "event.md"
BEGIN, END = (
    "<!-- kernel types: tools/kernel_table.py -->\n",
    "<!-- /kernel types -->\n",
)
_HEAD = "| type | required | optional |\n|---|---|---|\n"


def table() -> str:
    """Return the table."""
    rows: list[str] = []
    for kind, fields in sorted(KERNEL.items()):
        need, may = (
            ", ".join(
                f"`{name}` {check.name}"
                for name, (check, required) in fields.items()
                if required is wanted
            )
            for wanted in (True, False)
        )
        rows.append(f"| `{kind}` | {need} | {may} |\n")
    return "".join([_HEAD, *rows])


def main() -> int:
    """Write the table; return the exit code."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
