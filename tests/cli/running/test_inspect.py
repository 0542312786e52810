"""``muniment inspect run``: what `runs show` prints, and where uncertainty came from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def flow(shell: Any, work: Path) -> Iterator[str]:
    """Run the example of a flow; return the run."""
    sys.modules.pop("agents", None)  # that of another test
    assert shell("init", "--example", "flow").code == 0
    assert (work / "agents.py").exists()
    ran = shell("run", "flow.json", "--policy", "policy.json", "--json")
    assert ran.code == 0
    yield str(ran.json["run"])
    sys.modules.pop("agents", None)


def test_it_prints_what_runs_show_prints(shell: Any, flow: str) -> None:
    """Every line of `runs show` above the timeline is there, and the profile with it."""
    shown = shell("runs", "show", flow, "--limit", "0").out.splitlines()
    inspected = shell("inspect", "run", flow, "--limit", "0").out.splitlines()
    plain = {" ".join(line.split()) for line in inspected}
    assert {" ".join(line.split()) for line in shown} <= plain
    assert "determinism bounded, of the classes environmental, structural" in plain
    assert "data 1 effect, magnitude medium, severity medium" in plain
    assert "confidence decay 0.3, of 0 to 1" in plain


def test_each_event_has_its_cause(shell: Any, flow: str) -> None:
    """The timeline has a column for who or what brought an event about."""
    out = shell("inspect", "run", flow).out
    (last,) = [line for line in out.splitlines() if "run.completed" in line]
    assert "cause" in out
    assert "environment" in last.split()


def test_another_tenant_is_refused(shell: Any, flow: str) -> None:
    """Whoever names the tenant is shown no run of another one."""
    assert shell("inspect", "run", flow, "--tenant-id", "operations").code == 0
    refused = shell("inspect", "run", flow, "--tenant-id", "somebody")
    assert (refused.code, refused.out) == (2, "")
    assert "the run is of the tenant 'operations'" in refused.err
