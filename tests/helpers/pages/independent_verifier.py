"""The verifier that was written from the specification alone, by somebody else: a witness.

    with witness(root) as asked:
        code, said = asked(tmp_path / "evidence.zip")

Rule: it says what the others say. Where it does not, one of them is wrong, or the
specification is: see which before anything is changed in ``independent/``.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from three_verifiers import NODE

__all__ = ["FOLDER", "Witness", "witness"]

FOLDER = Path(__file__).parents[1] / "bundles" / "independent"
Witness = Callable[[Path], tuple[int, str]]


@contextmanager
def witness(root: str) -> Generator[Witness]:
    """Lend it, for bundles of a ledger with that root."""
    assert NODE is not None
    with subprocess.Popen(
        [NODE, "--no-warnings", str(FOLDER / "server.mjs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as node:

        def asked(bundle: Path) -> tuple[int, str]:
            assert node.stdin is not None
            assert node.stdout is not None
            print(f"{bundle}\t{root}", file=node.stdin, flush=True)
            told = json.loads(node.stdout.readline())
            return told["exit"], str(told["what"])

        yield asked
        assert node.stdin is not None
        node.stdin.close()
