"""A forbidden system call is not made, and the child's last words say which it was."""

from __future__ import annotations

import errno
import os
import signal
from typing import Any

import pytest

from machines import run_python, strong
from muniment_plugins.capsule.parent.results import (
    ProtocolViolation,
    judge_answer,
    read_frame,
)

UNSHARE = {"x86_64": 272, "aarch64": 97}.get(os.uname().machine, 0)
EXECVE = {"x86_64": 59, "aarch64": 221}.get(os.uname().machine, 0)
UNKNOWN = 7  # what a child returns that was not stopped

LOCKED = """
import ctypes, json, os, signal, sys
from muniment_plugins.capsule.isolation import layers
from muniment_plugins.capsule.isolation.limits import apply_limits
from muniment_plugins.capsule.isolation.lockdown import Readied
from muniment_plugins.capsule.isolation.native import System
readied, program = Readied(System(), layers.plan([])), compile(BODY, "<program>", "exec")
answers, childs_end = os.pipe()
released, holding = ctypes.CDLL(None), ctypes.PyDLL(None)
parent, pid = os.getpid(), os.fork()
if pid == 0:
    try:
        apply_limits(5, 64)
        readied.lock(parent, childs_end)
        exec(program)
    finally:
        os._exit(UNKNOWN)
os.close(childs_end)
frame = b""
while part := os.read(answers, 1000):
    frame += part
ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps({"frame": frame[4:].decode(), "ended": ended}))
"""


def locked(body: str) -> tuple[str, int]:
    """Return the answer of a locked child that runs *body*, and how it ended."""
    script = LOCKED.replace("BODY", repr(body)).replace("UNKNOWN", str(UNKNOWN))
    found = run_python(script)
    return found["frame"], found["ended"]


@strong
@pytest.mark.parametrize(
    ("call", "name", "column"),
    [
        ("os.execv('/bin/true', ['true'])", "execve", 1),
        (f"if 1: released.syscall({UNSHARE}, 0)", "unshare", 7),
        (f"if 1: holding.syscall({UNSHARE}, 0)", "unshare", 7),
        (f"(lambda: released.syscall({EXECVE}, 0, 0, 0))()", "execve", 10),
    ],
)
def test_a_forbidden_call_is_named_with_its_place(
    call: str, name: str, column: int
) -> None:
    """Whoever makes the call, with or without the interpreter's lock, is found."""
    frame, ended = locked(f"n = 1\n{call}")
    status, metrics, error = judge_answer(read_frame(frame.encode()))
    assert (ended, status, metrics) == (0, "killed", None)
    assert error is not None
    assert error["rule"] == "capsule/system-call"
    assert error["message"] == f"it asked the system for {name}, which no program may"
    assert (error["line"], error["column"]) == (2, column)


@strong
def test_the_handler_cannot_be_replaced() -> None:
    """The filter refuses to let another handler stand in, or none."""
    body = (
        "try: signal.signal(signal.SIGSYS, signal.SIG_IGN)\n"
        "except OSError as error: os._exit(error.errno)"
    )
    assert locked(body) == ("", errno.EPERM)


EXEC = "os.execv('/bin/true', ['true'])"
SILENCED = {
    "blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSYS])",
    "no pipe": "os.close(childs_end)",
}
FULL = """
held = []
for size in (1 << 20, 1 << 10):
    try:
        while True: held.append(bytearray(size))
    except MemoryError: pass
"""
IGNORING = """
import muniment_plugins.capsule.isolation.syscall_trap as trapping
trapping.send = lambda *_: None
trapping.os = type("os", (), {"_exit": lambda _: None})
readied._trap._system.call = lambda *_: 0
"""


@strong
@pytest.mark.parametrize("way", sorted(SILENCED))
def test_a_forbidden_call_that_cannot_be_named_still_kills(way: str) -> None:
    """Without its last words the child ends by the signal, and made no call."""
    assert locked(f"{SILENCED[way]}\n{EXEC}") == ("", -signal.SIGSYS)


@strong
def test_a_child_without_memory_says_less() -> None:
    """The call is named if that still can be, and ends the child in any case."""
    frame, ended = locked(FULL + EXEC)
    named = ended == 0 and f'"message":"{EXECVE}"' in frame
    assert named or (frame, ended) == ("", -signal.SIGSYS)


@strong
def test_a_child_at_the_limit_of_recursion_makes_no_call_either() -> None:
    """There the handler may not begin; the next forbidden call ends the child."""
    deep = (
        "def sink():\n"
        "    try: sink()\n"
        f"    except RecursionError: {EXEC}\n"
        "try: sink()\n"
        "except (OSError, RecursionError): pass\n"
    )
    frame, ended = locked(deep + EXEC)
    assert ended == -signal.SIGSYS or (ended == 0 and f'"{EXECVE}"' in frame)


@strong
def test_a_handler_that_is_tampered_with_lets_nothing_through() -> None:
    """Whatever a program makes of the handler, the kernel does not make the call."""
    refused = f"{IGNORING}\ntry: {EXEC}\nexcept OSError: pass\n"
    assert locked(refused) == ("", UNKNOWN)
    assert locked(refused + EXEC) == ("", -signal.SIGSYS)


HOSTILE: list[dict[str, Any]] = [
    {"message": ""},
    {"message": "-1"},
    {"message": "59\n"},
    {"message": "٣"},
    {"message": "1" * 11},
    {"message": "execve"},
    {"message": 59},
    {"line": "1"},
]


@pytest.mark.parametrize("told", HOSTILE)
def test_the_number_of_a_call_is_read_as_hostile_text(told: dict[str, Any]) -> None:
    """What is not a number of a call is a violation, never a message."""
    fields = {"column": 1, "line": 1, "message": "59", "type": ""}
    answer = {"failed": {**fields, "rule": "system-call", **told}}
    with pytest.raises(ProtocolViolation):
        judge_answer(answer)


def test_a_call_that_the_table_lacks_is_told_by_its_number() -> None:
    """The kernel's table grows; ours follows."""
    fields = {"column": 0, "line": 0, "message": "999", "type": ""}
    _, _, error = judge_answer({"failed": {**fields, "rule": "system-call"}})
    assert error is not None
    assert "asked the system for system call 999" in str(error["message"])
