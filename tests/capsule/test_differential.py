"""Never another answer: what runs in a capsule gives what plain Python gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from derived_programs import MODULES, derived
from muniment_plugins.capsule import Capsule, Policy
from ordinary_programs import load, names

TESTS = Path(__file__).parents[1]
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

PLAINLY = """
import json, sys, warnings
from muniment_plugins.capsule.protocol import render_metrics
warnings.simplefilter("ignore")
found = {}
for name, (code, data) in json.load(sys.stdin).items():
    program = type(sys)("program")
    sys.modules["program"] = program
    try:
        exec(compile(code, "<program>", "exec", dont_inherit=True), vars(program))
        found[name] = json.loads(render_metrics(program.fit_and_eval(data)))["ok"]
    except Exception as error:
        found[name] = type(error).__name__
sys.stderr.write("\\n" + json.dumps(found))
"""


def plainly(programs: dict[str, tuple[str, object]]) -> dict[str, object]:
    """Return what each program gives in an interpreter without a capsule."""
    done = subprocess.run(
        [sys.executable, "-c", PLAINLY],
        capture_output=True,
        check=False,
        cwd=TESTS,
        env=ENVIRONMENT,
        input=json.dumps(programs),
        text=True,
    )
    found: dict[str, object] = json.loads(done.stderr.splitlines()[-1])
    return found


def differing(
    programs: dict[str, tuple[str, object]], policy: Policy
) -> tuple[int, dict[str, object]]:
    """Return how many programs ran in a capsule, and those with another answer there."""
    expected = plainly(programs)
    executions = Capsule(policy).run_many(list(programs.values()))
    ran = 0
    wrong: dict[str, object] = {}
    for (name, want), execution in zip(expected.items(), executions, strict=True):
        if execution.status == "rejected" or (
            execution.error is not None
            and execution.error["rule"] in ("capsule/memory", "capsule/refused")
        ):
            continue  # refused, and said so
        ran += 1
        given: object = execution.metrics
        if execution.error is not None:
            given = execution.error["type"]
        if given != want and " at 0x" not in f"{want}{given}":
            wrong[name] = (want, given, execution.error)
    return ran, wrong


SEEDED = frozenset({"random", "uuid"})
"""Modules whose answers are drawn: the capsule's own seed decides there."""


@pytest.mark.slow
def test_what_the_standard_library_says_of_itself_holds() -> None:
    """Hundreds of lines of its own tests give the same, or are refused."""
    found: dict[str, tuple[str, object]] = {
        name: (code, None)
        for name, code in derived().items()
        if name.partition(":")[0] not in SEEDED
    }
    if not found:
        pytest.skip("this interpreter comes without its tests")
    policy = Policy(allowed_imports=MODULES, time_s=20, mem_mb=512)
    ran, wrong = differing(found, policy)
    assert wrong == {}
    assert ran >= min(300, len(found) // 2)


@pytest.mark.parametrize("topic", sorted({name.partition("/")[0] for name in names()}))
def test_ordinary_programs_give_plainly_what_they_give(topic: str) -> None:
    """The metrics that the programs state are those of plain Python."""
    programs = {name: load(name) for name in names(topic)}
    expected = {name: one.metrics for name, one in programs.items()}
    found = plainly({name: (one.code, one.data) for name, one in programs.items()})
    seeded = {name for name, one in programs.items() if "random" in one.code}
    wrong = {n: (found[n], expected[n]) for n in found if found[n] != expected[n]}
    assert wrong.keys() <= seeded
