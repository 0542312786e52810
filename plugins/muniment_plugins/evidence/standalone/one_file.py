"""Joins the parts of the standalone verifier into one program.

Rule: nothing is rewritten. The parts are put behind each other in the order in which they
import each other, without their docstrings, ``__all__`` and imports of each other; other
imports come first, each once.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib.resources import files

__all__ = ["one_file"]

HERE = "muniment_plugins.evidence.standalone"
PAGE = "muniment.verification.page"
PARTS = (
    *((HERE, one) for one in ("formats", "bundle_files", "kin")),
    *((PAGE, one) for one in ("wording", "quotes", "marks", "nesting", "frame")),
    *((PAGE, one) for one in ("run_marks", "run_view")),
    *((HERE, one) for one in ("events", "related_runs", "other_runs")),
    *((PAGE, one) for one in ("computed", "comparison")),
    *((HERE, one) for one in ("report_page", "bundle_check")),
)
"""Each after those that it imports; the report is compared by the same code everywhere."""
HEAD = '''#!/usr/bin/env python3
"""Verifies an evidence bundle without muniment: one file, Python and cryptography.

    python verify_evidence.py evidence.zip --key SHA256:bbXpuKG6zhzd...

Rules:

- It imports nothing of muniment, opens nothing but the bundle and the key, and follows
  ``docs/spec/evidence.md``. It stops at the first fault, and names its file.
- The key is the fingerprint of the ledger's root, or a file with its PEM, and comes from
  the keeper of the ledger. A copy of this program that came with a bundle proves nothing.
- It checks bytes, digests, signatures, keys and their intervals, proofs, tree heads,
  blobs, root and counts of the ends of the run and its child runs, calls and their child
  runs, that answers of a fork are events of its origin, the series that the closing event
  counts, each member of ``run.json``, and each value on the report. It does not check what `muniment verify` checks
  beyond that: places of effects, which of equal requests an answer is for, facts of forks,
  decisions, the fields of kernel events.
- Exit codes: 0 holds, 1 wrong, 2 usage, 3 could not be checked.
"""

from __future__ import annotations

'''


@cache
def one_file() -> str:
    """Return the program."""
    imports: dict[str, None] = {}
    bodies: list[str] = []
    for package, part in PARTS:
        text = files(package).joinpath(f"{part}.py").read_text("utf-8")
        lines, first = text.splitlines(keepends=True), 0
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = node.module if isinstance(node, ast.ImportFrom) else ""
                if not (module or "").startswith(("__future__", "muniment")):
                    imports[ast.unparse(node)] = None
                first = node.end_lineno or 0
            elif isinstance(node, ast.Assign) and ast.unparse(node).startswith(
                "__all__"
            ):
                first = node.end_lineno or 0
        bodies.append("".join(lines[first:]).strip("\n"))
    ordered = sorted(imports, key=lambda one: (one.startswith("from"), one))
    return HEAD + "\n".join(ordered) + "\n\n" + "\n\n\n".join(bodies) + "\n"
