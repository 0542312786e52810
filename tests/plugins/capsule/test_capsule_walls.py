"""The walls of the system hold without the language layer, and say when they do not."""

from __future__ import annotations

import os
from typing import Any

import pytest

import escapes
from machines import NOBODY, PROGRAM, reachable_python, run_python, strong
from muniment_plugins.capsule import (
    Capsule,
    Policy,
    seccomp,
)


@strong
@pytest.mark.parametrize("name", escapes.tried())
def test_the_walls_stop_what_the_limits_let_through(name: str) -> None:
    """Each effect shows in a child with limits only, and not behind the walls."""
    shows = name not in escapes.NOT_WITHOUT
    if os.getuid() != 0 and name in escapes.NEEDS_ROOT:
        shows = False
    assert escapes.has_effect(name, escapes.Unwalled) is shows
    assert not escapes.has_effect(name, escapes.Unread)


@strong
@pytest.mark.skipif(os.getuid() != 0, reason="only root may become someone else")
def test_the_walls_need_no_root() -> None:
    """An ordinary user gets the same level, and the same is stopped."""
    script = "import runpy, escapes; runpy.run_path(escapes.__file__, {}, '__main__')"
    found = run_python(
        script,
        python=reachable_python(),
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )
    assert found["level"] == "os-strong"
    through = {name for name, (_, after) in found["effects"].items() if after}
    hidden = {name for name, (before, _) in found["effects"].items() if not before}
    assert through == set()
    assert hidden <= escapes.NEEDS_ROOT | escapes.NOT_WITHOUT


@strong
def test_libraries_find_the_end_of_their_stack() -> None:
    """The C library reads its own memory map for that; scikit-learn asks it."""
    body = (
        "libc = ctypes.CDLL(None)\n"
        "libc.pthread_self.restype = ctypes.c_ulong\n"
        "own, space = libc.pthread_self(), ctypes.create_string_buffer(64)\n"
        "return {'code': libc.pthread_getattr_np(ctypes.c_ulong(own), space)}"
    )
    policy = Policy(allowed_imports=escapes.MODULES, allow_dangerous=True)
    execution = escapes.run(body, escapes.Unread(policy))
    assert execution.metrics == {"code": 0}


@strong
def test_an_execution_says_which_walls_stood() -> None:
    """Level, filter digest, Landlock and the attempts of the probe child are told."""
    execution = Capsule().run(PROGRAM, None)
    layers: Any = execution.layers
    program = seccomp.program_filter(os.uname().machine, opens=True)
    assert execution.level == "os-strong"
    assert layers["seccomp"]["digest"] == seccomp.digest(program)
    assert layers["landlock"]["files"] == "read-only"
    assert layers["verified_by_parent"] is True
    is_hidden = "missing" not in layers["namespaces"]
    assert layers["probe"] == {
        "chmod": "EPERM",
        "connect": "EPERM",
        "exec": "SIGSYS",
        "fork": "EPERM",
        "read": "ENOENT" if is_hidden else "EACCES",
        "read-parent": "EACCES",
        "read-process": "EACCES",
        "signal": "EPERM",
        "stat": "ENOENT" if is_hidden else "allowed",
        "thread": "refused",
        "udp": "EPERM",
        "write": "EPERM",
    }


@strong
def test_a_forbidden_call_is_named() -> None:
    """Whoever dies by the filter is told what it asked for, and where."""
    policy = Policy(allowed_imports=escapes.MODULES, allow_dangerous=True)
    execution = escapes.run("os.execv('/bin/true', ['true'])", escapes.Unread(policy))
    assert execution.error is not None
    assert (execution.status, execution.error["rule"]) == (
        "killed",
        "capsule/system-call",
    )
    assert "asked the system for execve" in str(execution.error["message"])
    assert execution.error["line"] == 4
