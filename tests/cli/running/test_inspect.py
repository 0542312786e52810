"""``muniment inspect run``: what `runs show` prints, and where uncertainty came from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph_desk import write_graph


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


TWICE = """
def twice(run, number):
    return run.effect("data", number, lambda told: told * 2)
"""


@pytest.mark.parametrize(
    "command", [("graph.json",), ("sums.py:twice", "--param", "number=2")]
)
def test_an_erased_run_is_shown(
    shell: Any, work: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """What was erased of a run without a policy keeps nobody from looking at the rest."""
    monkeypatch.syspath_prepend(str(work))
    for name in ("stages", "sums"):
        sys.modules.pop(name, None)  # those of another test
    write_graph(work)
    (work / "sums.py").write_text(TWICE)
    shell("init")
    run = str(shell("run", *command, "--json").json["run"])
    assert shell("erase", run, "--reason", "asked for").code == 0

    shown = shell("runs", "show", run, "--limit", "0")
    inspected = shell("inspect", "run", run, "--limit", "0")
    assert (shown.code, inspected.code) == (0, 0), inspected.err
    plain = {" ".join(line.split()) for line in inspected.out.splitlines()}
    assert {" ".join(line.split()) for line in shown.out.splitlines()} <= plain
    assert shell("inspect", "run", run, "--json").json["run_id"] == run
