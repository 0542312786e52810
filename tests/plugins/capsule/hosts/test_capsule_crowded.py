"""A host with hundreds of open descriptors holds its programs like any other."""

from __future__ import annotations

from typing import Any

import pytest

from machines import run_python, strong

HOST = """
import dataclasses, json, os, resource
from muniment_plugins.capsule import Capsule, pool
from muniment_plugins.capsule.machine import machine
from unguarded_programs import POLICY, Unread, run

_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
for _ in range(500):
    os.set_inheritable(os.open("/dev/null", os.O_RDONLY), True)
machine()
if {cold}:
    pool.Pool._have = lambda *_: None

ANSWER = '''
text = b'{{"ok":{{"forged":1}}}}'
heard = []
for descriptor in range(3, 1024):
    try:
        os.write(descriptor, len(text).to_bytes(4, "big") + text)
    except OSError:
        continue
'''
OPEN = '''
found = []
for descriptor in range(3, 1024):
    try:
        os.fstat(descriptor)
        found.append(descriptor)
    except OSError:
        continue
return {{"open": found}}
'''
ENDS = (
    "ctypes.CDLL(None).quick_exit(0)", "ctypes.CDLL(None).quick_exit(3)",
    "os.abort()", "ctypes.string_at(0)", "time.sleep(3600)", "data.missing",
    "return {{'n': 1}}",
)
def within(seconds):
    return Unread(dataclasses.replace(POLICY, time_s=seconds))

honest = Capsule().run("def fit_and_eval(data): return {{'n': 1}}", None)
shown = run(OPEN, within(60))
ended = [run(ANSWER + end, within(0.5 if "sleep" in end else 60)) for end in ENDS]
before = len(os.listdir("/proc/self/fd"))
for _ in range(20):
    Capsule().run("def fit_and_eval(data): return {{'n': 1}}", None)
print(json.dumps([
    honest.metrics, shown.metrics, honest.level,
    [[one.status, (one.error or {{}}).get("rule"), one.metrics] for one in ended],
    len(os.listdir("/proc/self/fd")) - before,
]))
"""
KILLED = [
    ["killed", "capsule/protocol", None],
    ["killed", "capsule/signal", None],
    ["killed", "capsule/signal", None],
    ["timeout", "capsule/wall", None],
    ["killed", "capsule/protocol", None],
    ["killed", "capsule/protocol", None],
]


@strong
@pytest.mark.parametrize("way", ["warm", "cold"])
def test_a_crowded_host_is_answered_by_nobody_else(way: str) -> None:
    """Nothing of the host's is inherited, and no end that was forged counts as success.

    The control is the one that ends well: its answer was heard, by whichever number the
    channel has, which lies beyond all of the host's for a child with its own interpreter.
    """
    told: list[Any] = run_python(HOST.format(cold=way == "cold"), timeout=300)
    metrics, shown, level, ended, left = told
    assert (metrics, level) == ({"n": 1}, "os-strong")
    (answers,) = shown["open"]
    assert (answers > 500) is (way == "cold")
    assert ended[0] == ["ok", None, {"forged": 1}]
    assert ended[1:] == KILLED
    assert left == 0
