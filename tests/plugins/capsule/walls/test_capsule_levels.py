"""The level falls with each wall that is missing, lies, or does not hold."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from machines import (
    LANDLOCK,
    PROGRAM,
    SECCOMP,
    patched_worker,
    run_python,
    strong,
    without,
)
from muniment.errors import RefusedError
from muniment_plugins.capsule import Capsule, Policy
from muniment_plugins.capsule import capsule as capsule_module
from muniment_plugins.capsule.isolation import native, seccomp
from muniment_plugins.capsule.isolation.syscalls import answers
from muniment_plugins.capsule.machine import Machine, machine, probe_machine
from muniment_plugins.capsule.parent import start, supervisor


@strong
def test_without_landlock_the_level_falls() -> None:
    """The filter alone is os-partial: no file opens at all, and the event says why."""
    found = without(LANDLOCK)
    execution = found["execution"]
    assert (execution["status"], execution["level"]) == ("ok", "os-partial")
    assert execution["layers"]["landlock"] == {"missing": "ENOSYS"}
    assert execution["layers"]["seccomp"]["filter"] == "closed"
    assert execution["layers"]["probe"]["read"] == "EPERM"
    assert list(found["refused"]) == ["os-strong"]
    assert "this capsule gives os-partial" in found["refused"]["os-strong"]


@strong
def test_without_a_filter_the_level_falls() -> None:
    """Landlock alone is no more than a process; what it stops still shows."""
    execution = (found := without(SECCOMP))["execution"]
    assert (execution["status"], execution["level"]) == ("ok", "process")
    assert execution["layers"]["seccomp"] == {"missing": "ENOSYS"}
    probe = execution["layers"]["probe"]
    assert (probe["read-process"], probe["connect"]) == ("EACCES", "EACCES")
    assert (probe["signal"], probe["udp"]) == ("EPERM", "allowed")
    assert list(found["refused"]) == ["os-partial", "os-strong"]


@strong
def test_without_anything_the_level_is_that_of_a_process() -> None:
    """No walls: limits and language layer, and the attempts of the probe go through."""
    execution = without(LANDLOCK + SECCOMP)["execution"]
    assert (execution["status"], execution["level"]) == ("ok", "process")
    assert execution["layers"]["probe"]["read-process"] == "allowed"


def test_a_system_that_no_walls_are_made_for_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Elsewhere the level is process, and a floor above it is refused."""
    monkeypatch.setattr(native, "architecture", lambda: "")
    monkeypatch.setattr(capsule_module, "machine", probe_machine)
    execution = Capsule().run(PROGRAM, None)
    assert (execution.status, execution.level) == ("ok", "process")
    assert "seccomp" in execution.layers
    with pytest.raises(RefusedError, match="this capsule gives process"):
        Capsule(Policy(require="os-partial")).run(PROGRAM, None)


@strong
def test_a_filter_that_does_not_load_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child states what the kernel answered; a floor refuses before the code."""
    machine()  # of this machine, not of the broken filter
    broken = b"\xff" * 16
    monkeypatch.setattr(seccomp, "program_filter", lambda *_, **__: broken)
    execution = Capsule().run(PROGRAM, None)
    assert (execution.status, execution.level) == ("ok", "process")
    assert execution.layers["seccomp"] == {"missing": "EINVAL"}
    # The machine was found strong: it is this child that falls short.
    monkeypatch.setattr(capsule_module, "machine", lambda: Machine("os-strong", {}))
    with pytest.raises(RefusedError, match="this capsule gives process"):
        Capsule(Policy(require="os-strong")).run(PROGRAM, None)


@strong
def test_other_threads_cost_landlock_its_word() -> None:
    """Landlock holds one thread; a process that has more is not called strong."""
    policy = Policy(allowed_imports=("numpy",), env={"OPENBLAS_NUM_THREADS": "2"})
    code = "import numpy\ndef fit_and_eval(data): return {'n': 1}"
    execution = Capsule(policy).run(code, None)
    assert (execution.status, execution.level) == ("ok", "os-partial")
    assert execution.layers["landlock"] == {"missing": "EBUSY"}


@strong
@pytest.mark.parametrize("name", ["pandas", "scipy.stats", "sklearn.linear_model"])
def test_packages_start_no_thread_when_they_are_loaded(name: str) -> None:
    """What data science imports is held by Landlock too."""
    capsule = Capsule(Policy(allowed_imports=(name,), require="os-strong"))
    execution = capsule.run(f"import {name}\n{PROGRAM}", None)
    assert (execution.status, execution.level) == ("ok", "os-strong")


LIES = {
    "bounding": {"set": True},
    "capabilities": {"set": True},
    "namespaces": {"mount": "private root"},
    "no_new_privs": {"set": True},
    "seccomp": {"filter": "open"},
    "trap": {"set": True},
}


def liar(tmp_path: Path, lies: dict[str, Any]) -> Path:
    """Return a worker that raises no walls and states that it did."""
    return patched_worker(
        tmp_path,
        "import muniment_plugins.capsule.child.program as program",
        f"program.LoadedProgram.lock = lambda *_: {lies!r}",
        "program.LoadedProgram.ready = lambda _: None",
    )


@strong
@pytest.mark.parametrize("name", sorted(LIES))
def test_a_child_that_lies_about_its_walls_is_not_let_go(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent looks in /proc before it says go, and names what is not so."""
    if name == "capabilities" and os.getuid() != 0:
        pytest.skip("an ordinary user has none to keep")
    machine()
    lying = liar(tmp_path, {name: LIES[name]})
    monkeypatch.setattr(start, "WORKER", lying)
    execution = Capsule().run("def fit_and_eval(data):\n    print(1)\n    return {}", 0)
    assert execution.error is not None
    assert (execution.status, execution.level) == ("killed", "none")
    assert f"layers not in force: ['{name}']" in str(execution.error["message"])
    assert execution.stdout == ""


@strong
def test_walls_that_nobody_can_confirm_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where /proc hides the child, the level is process, and said to be unverified."""

    def hidden(pid: int, stated: object) -> list[str]:
        raise PermissionError(pid, stated)

    machine()
    monkeypatch.setattr(supervisor, "unmet_walls", hidden)
    execution = Capsule().run(PROGRAM, None)
    assert (execution.status, execution.level) == ("ok", "process")
    assert execution.layers["verified_by_parent"] is False
    assert execution.layers["verified"] == []
    with pytest.raises(RefusedError, match="this capsule gives process"):
        Capsule(Policy(require="os-strong")).run(PROGRAM, None)


@strong
def test_the_parents_own_filter_is_not_the_childs() -> None:
    """Where the host runs behind a filter, mode 2 alone confirms nothing."""
    then = (
        "from muniment_plugins.capsule.isolation.layers import unmet_walls\n"
        "stated = {'seccomp': {'filter': 'open'}}\n"
        "print(json.dumps(unmet_walls(os.getpid(), stated)))"
    )
    assert without([], then) == ["seccomp"]


@strong
def test_a_probe_that_gets_out_lowers_the_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the layers promise and the attempts disprove counts for nothing."""
    lets_connect = dict.fromkeys((41, 42, 198, 203), "allow")
    genuine = answers
    seccomp.program_filter.cache_clear()
    monkeypatch.setattr(
        seccomp, "answers", lambda name: {**genuine(name), **lets_connect}
    )
    found = probe_machine()
    seccomp.program_filter.cache_clear()
    assert found.probe["udp"] == "allowed"
    assert found.level == "process"


ALTERED = """
import json, os
from muniment_plugins.capsule.isolation.limits import apply_limits, unmet_limits
stated = apply_limits(5, 64)
others = {**stated, "as": 1, "core": 1, "cpu": [1, 2], "fsize": 1, "nofile": 1, "nproc": 1}
own = os.getpid()
print(json.dumps([
    unmet_limits(own, stated),
    [unmet_limits(own, {**stated, name: others[name]}) for name in sorted(others)
     if not name.startswith(("cpu_", "nproc_"))],
]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_every_limit_is_looked_up() -> None:
    """Memory, time, files and processes: what /proc does not confirm is named."""
    names = ["as", "core", "cpu", "fsize", "nofile", "nproc"]
    assert run_python(ALTERED) == [[], [[name] for name in names]]
