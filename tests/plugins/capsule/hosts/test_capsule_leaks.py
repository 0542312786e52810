"""A host that runs programs for days: nothing of them is left in it."""

from __future__ import annotations

import sys

import pytest

from machines import run_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")

LEAKS = """
import gc, json, os, time
from pathlib import Path
from muniment_plugins.capsule import Capsule, Policy
from muniment_plugins.capsule.parent import supervisor
from muniment_plugins.capsule.machine import machine
from processes import children_of

ends = (
    "return {'n': 1}",
    "return {'n': 1 / 0}",
    "return {'n': [print('x' * 9999), 1][1]}",
    "return {'n': len(bytearray(1 << 28))}",
)
codes = [f"def fit_and_eval(data): {end}" for end in ends]
capsule = Capsule(Policy(time_s=20, mem_mb=64))
supervisor.GRACE_S = 60

def run(times):
    return {capsule.run(code, None).status for code in codes * (times // 4)}

def children():
    return children_of(os.getpid())

def files(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))

def anonymous(pid):
    rolled = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(rolled.partition("Anonymous:")[2].split()[0])

def least(look, pid):
    found = []
    for _ in range(50):
        found.append(look(pid))
        time.sleep(0.01)
    return min(found)

def taken():
    gc.collect()
    pids = [os.getpid(), *children()]
    return [[least(look, pid) for pid in pids] for look in (files, anonymous)]

machine()
seen = run(100)
first, before = children(), taken()
run(800)
second, after = children(), taken()
run(200)
print(json.dumps([sorted(seen), first, second, children(), before, after]))
"""


@pytest.mark.slow
def test_a_thousand_executions_leak_nothing() -> None:
    """No process, no descriptor, no memory, however the executions end."""
    seen, first, second, third, before, after = run_python(LEAKS)
    assert seen == ["error", "limit", "ok"]
    assert first == second
    assert len(first) == len(third) == 1
    assert first != third  # its share of a thousand is over
    assert before[0] == after[0]
    grown = [later - sooner for sooner, later in zip(before[1], after[1], strict=True)]
    assert grown[0] < 2048, "kilobytes in the host"
    assert grown[1] < 512, "kilobytes in the worker"
