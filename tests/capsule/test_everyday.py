"""What a model writes every day runs, and gives what it gives anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from everyday import CONSTRUCTS, imports
from machines import helpers
from muniment_plugins.capsule import Capsule, Policy

PLAINLY = """
import json, sys
from everyday import CONSTRUCTS
found = {}
for title, code in CONSTRUCTS.items():
    program = type(sys)("program")
    sys.modules["program"] = program
    exec(compile(code, "<program>", "exec", dont_inherit=True), vars(program))
    found[title] = program.fit_and_eval([1, 2, 3])
sys.stderr.write(json.dumps(found))
"""


@pytest.fixture(scope="module")
def plainly() -> dict[str, object]:
    """Run all of them without a capsule."""
    done = subprocess.run(
        [sys.executable, "-c", PLAINLY],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": helpers()},
        text=True,
    )
    found: dict[str, object] = json.loads(done.stderr.splitlines()[-1])
    return found


def test_there_are_many() -> None:
    """The list is long enough to say something."""
    assert len(CONSTRUCTS) >= 45


@pytest.mark.parametrize("title", CONSTRUCTS)
def test_it_runs_and_gives_the_same(title: str, plainly: dict[str, object]) -> None:
    """No construct is refused without need, and none gives another answer."""
    code = CONSTRUCTS[title]
    policy = Policy(allowed_imports=imports(code), time_s=30, mem_mb=1024)
    execution = Capsule(policy).run(code, [1, 2, 3])
    assert (execution.error, execution.metrics) == (None, plainly[title])
