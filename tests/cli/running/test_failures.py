"""Every failed run has a class, a reason code, its event, and what to do."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import muniment
from deciding import answer, approver
from failure_desk import PROGRAM, FailureDesk
from muniment import hookimpl
from muniment.plugins import Plugins
from muniment_plugins.governance.failures.codes import CODES
from muniment_plugins.providers.refusals import CompletionFailed
from programs import write_program


@pytest.fixture
def desk(made: Path, shell: Any, work: Path) -> FailureDesk:
    """Sit at a ledger with the program beside it."""
    assert made.exists()
    return FailureDesk(shell, write_program(work, PROGRAM))


@pytest.mark.parametrize(
    ("program", "reason", "exit_code"),
    [
        ("unreachable", ("environmental", "provider_failed", "llm.failed"), 1),
        ("late", ("environmental", "timed_out", "llm.failed"), 1),
        ("broken_tool", ("environmental", "effect_failed", "tool.failed"), 1),
        ("impatient", ("environmental", "timed_out", "tool.failed"), 1),
        ("mistaken", ("structural", "program_raised", "run.failed"), 1),
        ("odd", ("structural", "value_unrecordable", "tool.failed"), 1),
        ("unasked", ("structural", "call_invalid", "run.failed"), 1),
        ("waits", ("authority", "paused", "run.paused"), 5),
        ("releases", ("authority", "decision_awaited", "decision.asked"), 5),
        ("stopped", ("environmental", "interrupted", "run.interrupted"), 130),
    ],
)
def test_a_failure_has_a_class_and_a_code(
    desk: FailureDesk, program: str, reason: tuple[str, str, str], exit_code: int
) -> None:
    """Whatever fails, the reason and the event behind it are named, without a policy."""
    run, code = desk.run(program)
    assert (desk.reason(run), code) == (reason, exit_code)


def test_what_did_not_fail_has_none(desk: FailureDesk) -> None:
    """A run that completed has no class, no code and no event."""
    run, code = desk.run("fine")
    told = desk.shell("runs", "explain", run, "--json").json
    assert code == 0
    assert [told[one] for one in ("class", "reason_code", "event", "retry")] == [
        None
    ] * 4
    assert "reason " not in desk.shell("runs", "explain", run).out


JUDGES = """
def judges(run):
    for number, result in enumerate([True, False, 0, "passed", {"a": 1}, [], None]):
        said = {} if result is None else {"result": result}
        data = {"hypothesis": f"h{number}", "verifier": "v:v", "passed": False, **said}
        run.record("verdict.reached", data)
"""


def test_a_verdict_that_failed_is_said_to_have_failed(
    desk: FailureDesk, work: Path
) -> None:
    """Whatever its result says, and where it has none: no reader takes it for another."""
    file = write_program(work, JUDGES)
    desk.shell("run", file.name)
    told = desk.shell("runs", "explain", desk.newest()).out
    lines = [one for one in told.splitlines() if one.startswith("verdict, event")]
    assert len(lines) == 7
    assert all(": did not pass" in one for one in lines)
    assert "with the result true" in lines[0]
    assert lines[-1].endswith("did not pass")
    assert "7 of 7 verdicts failed" in told


def test_a_failure_of_a_child_is_that_of_its_parent(desk: FailureDesk) -> None:
    """The parent names the event in the child, and whose it is."""
    run, code = desk.run("calls")
    told = desk.explained(run)
    with muniment.open(readonly=True) as ledger:
        (child,) = ledger.children(run)
        event = ledger.event(told["event"])
    assert (told["reason_code"], event.type, event.run, code) == (
        "provider_failed",
        "llm.failed",
        child,
        1,
    )
    assert f"of run {child}, which it called" in told["facts"]["caused by"]


class Gate:
    """Refuses tools, and words."""

    @hookimpl
    def before_effect(self, kind: Any) -> str | None:
        """Refuse tools."""
        return "no tools today" if kind.name == "tool" else None

    @hookimpl
    def before_append(self, event_type: str, data: Mapping[str, Any]) -> str | None:
        """Refuse passwords."""
        odd = event_type == "note.added" and "password" in str(data["text"])
        return "a note may not hold a password" if odd else None


GATED = """
import sys

import muniment
from muniment.plugins import Plugins
from test_failures import Gate
from {module} import {name}

with muniment.open(plugins=Plugins(extra={{"gate": Gate()}})) as ledger:
    ledger.execute({name})
"""


@pytest.mark.parametrize(
    ("program", "reason", "exit_code"),
    [
        ("broken_tool", ("authority", "effect_refused", "tool.failed"), 4),
        ("refused", ("authority", "fact_refused", "plugin.refused"), 4),
    ],
)
def test_a_plugin_that_refuses_is_the_reason(
    desk: FailureDesk,
    work: Path,
    program: str,
    reason: tuple[str, str, str],
    exit_code: int,
) -> None:
    """An effect and a fact that a plugin refused name what it recorded of that."""
    text = GATED.format(module=desk.file.stem, name=program)
    file = write_program(work, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(work))
        patch.setitem(sys.modules, "test_failures", sys.modules[__name__])
        done = desk.shell("run", file.name)
    assert (desk.reason(desk.newest()), done.code) == (reason, exit_code)


def test_people_who_deny_are_the_reason(desk: FailureDesk, made: Path) -> None:
    """A program that raises since people denied it failed by their decision."""
    run, code = desk.run("releases")
    assert code == 5
    with muniment.open(made) as ledger:
        answer(ledger, approver(ledger, "ann"), "denied")
    resumed = desk.shell("resume", run, "--program", f"{desk.file.name}:releases")
    assert resumed.code == 1
    assert desk.reason(run) == ("authority", "decision_denied", "decision.reached")


def test_another_program_diverges(desk: FailureDesk, made: Path) -> None:
    """A resume with a program that asks something else ends as *diverged*."""
    run, _ = desk.run("stopped")
    done = desk.shell("resume", run, "--program", f"{desk.file.name}:fine")
    assert done.code == 1
    with muniment.open(made, readonly=True) as ledger:
        assert [one.status for one in ledger.runs(run=run)] == ["diverged"]
    assert desk.reason(run) == ("semantic", "replay_diverged", "run.failed")


def test_a_run_given_up_is_canceled(desk: FailureDesk) -> None:
    """It is not resumed, and says so."""
    run, _ = desk.run("stopped")
    assert desk.shell("cancel", run, "--reason", "no need").code == 0
    assert desk.reason(run) == ("authority", "canceled", "run.canceled")


def test_a_killed_owner_leaves_a_failure(
    desk: FailureDesk, installed: Any, work: Path
) -> None:
    """After kill -9 the run is open, and its owner gone: the last event is the place.

    An effect that was under way is in doubt once a resume refuses to repeat it.
    """
    text = (
        "import os, signal\n"
        "def main(run):\n"
        "    run.effect('tool', 1, lambda _: os.kill(os.getpid(), signal.SIGKILL))\n"
    )
    file = write_program(work, text)
    done = installed("run", file.name)
    run = desk.newest()
    assert done.code == -signal.SIGKILL
    assert desk.reason(run) == ("environmental", "owner_gone", "tool.requested")
    resumed = desk.shell("resume", run)
    assert resumed.code == 4
    assert desk.reason(run) == ("environmental", "effect_in_doubt", "tool.requested")


def test_a_run_under_way_has_no_failure(desk: FailureDesk, work: Path) -> None:
    """While its owner is alive, nothing failed."""
    text = (
        "import sys, time\n"
        "def main(run):\n"
        "    print('under way', flush=True)\n"
        "    time.sleep(60)\n"
    )
    file = write_program(work, text)
    command = Path(sys.executable).with_name("muniment")
    with subprocess.Popen(
        [command, "run", file.name],
        cwd=work,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "under way\n"
        told = desk.shell("runs", "explain", desk.newest(), "--json").json
        process.kill()
        process.communicate()
    assert (told["status"], told["reason_code"]) == ("open", None)


def test_a_recorded_program_that_exits_otherwise(
    desk: FailureDesk, installed: Any
) -> None:
    """Its exit code is that of `record`; without a failed call it failed by itself."""
    done = installed("record", "--", sys.executable, "-c", "raise SystemExit(3)")
    assert done.code == 3
    assert desk.reason(desk.newest()) == ("structural", "program_exited", "run.failed")


EXPERIMENT = """
from muniment_plugins.harness import (
    Claim, Experiment, Spec, bounded_synthesis, execute_capsule, generate_spec,
    metamorphic, run_metamorphic_tests, specify_claim,
)

PERM = {"name": "perm", "transform": "permute_rows", "metric": "total"}


def rows(ctx):
    return [1, 2, 3]


experiment = (
    Experiment.builder("shell")
    .datasource(rows)
    .add_step(specify_claim(claim=Claim("c", "t")))
    .add_step(generate_spec(spec=Spec(properties=[PERM])))
    .add_step(bounded_synthesis(code=%r))
    .add_step(execute_capsule())
    .add_step(run_metamorphic_tests())
    .hypothesis("m", verifier=metamorphic)
    .build()
)
"""


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "import os\ndef fit_and_eval(data): return {'total': 1}",
            ("authority", "code_out_of_bounds", "replicate.failed"),
        ),
        (
            "def fit_and_eval(data): return {'total': 1 / 0}",
            ("structural", "code_failed", "replicate.failed"),
        ),
    ],
)
def test_a_replicate_that_failed_is_the_reason(
    desk: FailureDesk, work: Path, source: str, reason: tuple[str, str, str]
) -> None:
    """An experiment fails by the first of its replicates: rule, code, event."""
    file = write_program(work, EXPERIMENT % source)
    done = desk.shell("run", file.name)
    assert done.code == 1
    assert desk.reason(desk.newest()) == reason


def test_a_provider_that_refuses_is_no_reason_to_try_again(
    desk: FailureDesk, made: Path
) -> None:
    """A status that stays, as of a wrong key, is told apart from one that passes."""

    def asking(status: int) -> Any:
        def perform(_: object) -> None:
            raise CompletionFailed("no completion", status=status)

        return lambda run: run.effect("llm", status, perform)

    found = {}
    for status in (401, 404, 429, 503):
        with muniment.open(made, plugins=Plugins()) as ledger:
            run = ledger.execute(asking(status), name=f"status {status}").run_id
        told = desk.explained(run)
        found[status] = told["reason_code"], told["retry"]
    assert found == {
        401: ("provider_refused", False),
        404: ("provider_refused", False),
        429: ("provider_failed", True),
        503: ("provider_failed", True),
    }


def test_the_reference_has_every_code_that_is_printed() -> None:
    """What `explain` prints is found in the page of the reference by its name."""
    page = Path(__file__).parents[3] / "docs" / "reference" / "failures.md"
    assert (
        set(re.findall(r"^\| `([a-z_]+)` \|", page.read_text(), re.MULTILINE))
        >= CODES.keys()
    )
