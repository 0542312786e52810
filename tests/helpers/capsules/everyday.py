r"""What a model writes every day: constructs, each in a program of a few lines.

    CONSTRUCTS["try"]      'def fit_and_eval(data):\n    try: …'

Rules: a program is what stands between two titles; what it imports, it may import. It
gives metrics that do not depend on the run.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["CONSTRUCTS", "imports"]

_TITLE = re.compile(r"^## (.+)\n", re.MULTILINE)
_IMPORT = re.compile(r"^\s*(?:from|import) ([\w.]+)", re.MULTILINE)

_parts = _TITLE.split(Path(__file__).with_name("everyday.txt").read_text())[1:]

CONSTRUCTS = dict(zip(_parts[::2], _parts[1::2], strict=True))


def imports(code: str) -> tuple[str, ...]:
    """Return the modules that *code* names in its imports."""
    found = {name.partition(".")[0] for name in _IMPORT.findall(code)}
    return tuple(sorted(found - {"__future__"}))
