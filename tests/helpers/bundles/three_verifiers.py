"""The built-in verifier, the standalone one, and the one in JavaScript, on one bundle."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest

from muniment import verify_bundle
from standalone_program import exit_code_of

__all__ = ["NEEDS_NODE", "NODE", "PROGRAM", "Verifiers", "verifiers"]

PROGRAM = Path(
    str(files("muniment_plugins.evidence.javascript") / "verify_evidence.mjs")
)


def _node() -> str | None:
    found = shutil.which("node")
    if found is None:
        return None
    told = subprocess.run(
        [found, "--version"], capture_output=True, text=True, check=False
    )
    major = told.stdout.strip().removeprefix("v").partition(".")[0]
    return found if major.isdigit() and int(major) >= 20 else None


NODE = _node()
"""The program node, of version 20 or newer; None if there is none."""
NEEDS_NODE = pytest.mark.skipif(NODE is None, reason="node 20 or newer")
"""Without it nobody runs the verifier in JavaScript; the suite names what it did not try."""


@dataclass(frozen=True)
class Verifiers:
    """One process of node, which is told a path a line."""

    node: subprocess.Popen[str]
    root: str
    home: Path

    def codes(self, bundle: Path) -> tuple[tuple[int, int, int], str]:
        """Return the exit codes of all three, and what they say."""
        assert self.node.stdin is not None
        assert self.node.stdout is not None
        print(bundle, file=self.node.stdin, flush=True)
        report = verify_bundle(bundle, keys=[self.root], home=self.home)
        alone, said = exit_code_of(bundle, self.root)
        code, told = json.loads(self.node.stdout.readline())
        rules = ", ".join(f"{one.rule} {one.place}" for one in report.findings[:4])
        return (report.exit_code, alone, code), f"{rules} | {said} | {told}"

    def take(self, bundle: Path) -> None:
        """Require all three to call the bundle intact."""
        codes, said = self.codes(bundle)
        assert codes == (0, 0, 0), said

    def refuse(self, bundle: Path, name: str) -> None:
        """Require all three to call the bundle wrong, and to name the file."""
        codes, said = self.codes(bundle)
        assert codes == (1, 1, 1), said
        for one in said.split(" | ", 2):
            assert name in one, said


@contextmanager
def verifiers(root: str, home: Path) -> Generator[Verifiers]:
    """Lend the three, for a ledger with that root."""
    assert NODE is not None
    with subprocess.Popen(
        [NODE, str(PROGRAM), "-", "--key", root],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as node:
        yield Verifiers(node, root, home)
        assert node.stdin is not None
        node.stdin.close()
