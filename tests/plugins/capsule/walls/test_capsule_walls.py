"""The walls of the system hold without the language layer, and say when they do not."""

from __future__ import annotations

import os
from typing import Any

import unguarded_programs
from machines import PROGRAM, strong
from muniment_plugins.capsule import Capsule
from muniment_plugins.capsule.isolation import seccomp


@strong
def test_libraries_find_the_end_of_their_stack() -> None:
    """The C library reads its own memory map for that; scikit-learn asks it."""
    body = (
        "libc = ctypes.CDLL(None)\n"
        "libc.pthread_self.restype = ctypes.c_ulong\n"
        "own, space = libc.pthread_self(), ctypes.create_string_buffer(64)\n"
        "return {'code': libc.pthread_getattr_np(ctypes.c_ulong(own), space)}"
    )
    execution = unguarded_programs.run(
        body, unguarded_programs.Unread(unguarded_programs.POLICY)
    )
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
    assert {"capabilities", "no_new_privs", "rlimits", "seccomp"} < {
        *layers["verified"]
    }
    assert "landlock" not in layers["verified"]  # /proc does not show it
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
    execution = unguarded_programs.run(
        "os.execv('/bin/true', ['true'])",
        unguarded_programs.Unread(unguarded_programs.POLICY),
    )
    assert execution.error is not None
    assert (execution.status, execution.error["rule"]) == (
        "killed",
        "capsule/system-call",
    )
    assert "asked the system for execve" in str(execution.error["message"])
    assert execution.error["line"] == 4
