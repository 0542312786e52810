"""A program that takes back what it wrote to the host, between the host's look and read.

    print(json.dumps(frame_thefts.report()))
    print(json.dumps(frame_thefts.report(pipes=True)))      the control: channels that open again

Rules: each way to start a child is tried, alone and side by side. ``opened`` has the names
by which a channel to the host opened once more, ``taken`` how many bytes came back. After
the theft, the second program sleeps beyond every deadline.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import unguarded_programs
from attack_modes import guardless
from muniment_plugins.capsule import Capsule, Execution, pool
from muniment_plugins.capsule.parent import start

__all__ = ["HELD", "NAMES", "report"]

NAMES = """
own, above = os.getpid(), os.getppid()
places = ["self", "thread-self", f"self/task/{own}", f"{own}", f"{above}", f"{data}"]
names = [f"/proc/{place}/fd/{n}" for place in places for n in range(32)]
names += [f"/dev/fd/{n}" for n in range(32)]
names += ["/dev/stdin", "/dev/stdout", "/dev/stderr"]
opened, others = {}, []
for name in names:
    for mode in (os.O_RDONLY, os.O_RDWR, os.O_WRONLY):
        try:
            found = os.open(name, mode | os.O_NONBLOCK)
        except OSError:
            continue
        kind = os.fstat(found).st_mode & 0o170000
        if kind in (0o010000, 0o140000):
            opened.setdefault(name, mode)
        others.append(name)
        os.close(found)
"""
"""Opens every name that a channel could have."""

_TAKE = """
taken = 0
for n in [n for n in range(1, 32) if f"/proc/self/fd/{n}" in opened]:
    again = os.open(f"/proc/self/fd/{n}", os.O_RDONLY | os.O_NONBLOCK)
    for _ in range(2000 if n < 3 else 0):
        os.write(n, b"x")
        try:
            taken += len(os.read(again, 1))
        except OSError:
            pass
"""
HELD = """
began = time.process_time()
while time.process_time() < began + 0.05:
    for n in (1, 2):
        try:
            again = os.open(f"/proc/self/fd/{n}", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            break
        try:
            os.write(n, b"x")
            os.read(again, 1)
        except OSError:
            pass
        os.close(again)
while True:
    time.sleep(3600)
"""
"""Takes some bytes back and sleeps, in the hope that the host waits for one of them.

It uses less of the processor than it may: what ends it has to be the clock on the wall.
"""

_ENDS = "return {'opened': sorted(opened), 'others': sorted(others), 'taken': taken}"
_POLICY = dataclasses.replace(unguarded_programs.POLICY, time_s=20)
_SHORT = dataclasses.replace(unguarded_programs.POLICY, time_s=0.2)


def _program(body: str) -> str:
    heads = f"import {', '.join(unguarded_programs.MODULES)}\n"
    return f"{heads}\ndef fit_and_eval(data):\n    " + body.strip().replace(
        "\n", "\n    "
    )


def _shown(execution: Execution) -> dict[str, Any]:
    return {
        "status": execution.status,
        "rule": (execution.error or {}).get("rule", ""),
        "level": execution.level,
        **(execution.metrics or {}),
    }


def report(*, pipes: bool = False) -> dict[str, list[dict[str, Any]]]:
    """Return what came of both programs, by the way their children were started."""
    if pipes:
        start._one_way = os.pipe
    with guardless():  # where a program may go on after what it is denied
        found = {"warm": _tried()}
        pool.Pool._have = lambda *_: None  # type: ignore[method-assign]
        found["cold"] = _tried()
    return found


def _tried() -> list[dict[str, Any]]:
    taking, held = _program(NAMES + _TAKE + _ENDS), _program(HELD)
    slow: Capsule = unguarded_programs.Unread(_POLICY)
    short: Capsule = unguarded_programs.Unread(_SHORT)
    executions = [
        slow.run(taking, os.getpid()),
        *slow.run_many([(taking, os.getpid())] * 2, workers=2),
        short.run(held, None),
        *short.run_many([(held, None)] * 2, workers=2),
    ]
    return [_shown(execution) for execution in executions]
