"""A module that another thread is loading has few of its names, and nobody stumbles on it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from muniment.encoding.arrays import ARRAYS_BY_TAG

ROOT = Path(__file__).parents[3]
_LOOKED_FOR = re.compile(r'\b(?:loaded\(|sys\.modules\.get\()"([\w.]+)"')
_APART = ("capsule/child/", "recorder/inside/")
"""Processes of their own: of one thread, and with rules of their own."""


def looked_for() -> list[str]:
    """Return the modules that the kernel and the plugins use only if they are loaded."""
    texts = (
        path.read_text()
        for folder in ("ledger", "plugins", "cli")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not any(part in str(path) for part in _APART)
    )
    named = {name for text in texts for name in _LOOKED_FOR.findall(text)}
    return sorted(named | {form.package for form in ARRAYS_BY_TAG.values()})


PROGRAM = """
import sys
from types import ModuleType

import muniment
from muniment_plugins.harness import Experiment, pipeline_step


class Odd(Exception):
    pass


def measured(request):
    return {"rows": [request["number"]] * 3}


def odd(request):
    raise Odd


def program(run, number):
    run.record("note.added", {"text": str(number)})
    found = run.effect("tool", {"number": number}, perform=measured)
    try:
        run.effect("tool", {"number": 0}, perform=odd)
    except Exception as error:
        run.record("note.added", {"text": type(error).__name__})
    return found


@pipeline_step
def scored(data, ctx):
    return data, {"score": float(ctx["replicate"])}


experiment = (
    Experiment.builder("any")
    .datasource(lambda ctx: [1, 2])
    .add_step(scored())
    .build()
)

with muniment.open("ledger.db", create=True) as ledger:
    sys.modules[sys.argv[1]] = ModuleType(sys.argv[1])
    done = ledger.execute(program, params={"number": 3})
    print(muniment.replay(ledger, done.run_id, program=program).verdict)
    result = experiment.run(replicates=4, executor="threads", ledger=ledger)
    result.raise_for_errors()
    print(result.status)
"""


@pytest.mark.parametrize("name", looked_for())
def test_half_loaded(tmp_path: Path, name: str) -> None:
    """A run in threads is recorded and replayed while somebody loads *name*."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (
        0,
        "acceptable\ncompleted\n",
        "",
    )
