"""However an experiment is spread, it is the same experiment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

import executor_functions
from in_process import InProcess
from muniment.errors import UsageError
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.executors import Executor, Reach, Send
from muniment_plugins.executors import Processes
from muniment_plugins.harness import (
    Claim,
    Experiment,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    metamorphic,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.experiment.experiment import ExperimentBuilder
from muniment_plugins.harness.functions.remote_call import SERVE, task

PERM = {"name": "perm", "transform": "permute_rows", "metric": "total"}
LOCAL = ["serial", "threads", "processes"]

pytestmark = pytest.mark.in_process


def builder(
    source: Callable[..., object] = executor_functions.rows,
) -> ExperimentBuilder:
    """Return an experiment that uses everything that other processes may be asked."""
    return (
        Experiment.builder("spread")
        .datasource(source)
        .add_step(specify_claim(claim=Claim("c", "A claim")))
        .add_step(executor_functions.stepped(share=0.8))
        .add_step(generate_spec(spec=Spec(properties=[PERM])))
        .add_step(bounded_synthesis(llm=executor_functions.model))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(permutations=2))
        .treatment("half", executor_functions.half)
        .treatment("whole", {"share": 1.0})
        .hypothesis("metamorphic", verifier=metamorphic)
    )


@pytest.mark.parametrize("executor", LOCAL)
def test_the_result_is_the_same(ledger: Ledger, executor: str) -> None:
    """Metrics, verdicts and digest do not depend on the executor."""
    result = builder().build().run(replicates=4, executor=executor, ledger=ledger)
    assert result.errors == ()
    assert list(result.metrics.treatments) == ["half", "whole"]
    (judged,) = result.metrics.hypotheses
    assert list(judged.results) == ["baseline", "half", "whole"]
    assert result.metrics.baseline.metrics["total"] == [10, 10, 10, 10]
    assert result.metrics.treatments["half"].metrics["kept"] == [3, 2, 2, 2]
    assert result.metrics.treatments["whole"].metrics["total"] == [10, 11, 12, 13]
    serial = builder().build().run(replicates=4, ledger=ledger)
    assert result.result_digest == serial.result_digest
    assert replay(ledger, result.run_id).result_digest == serial.result_digest


@pytest.mark.parametrize("executor", LOCAL)
def test_every_call_is_where_it_belongs(ledger: Ledger, executor: str) -> None:
    """Condition, replicate and step of each LLM call are those that it was made for."""
    result = builder().build().run(replicates=4, executor=executor, ledger=ledger)
    calls = list(ledger.events(run=result.run_id, type="llm.completed"))
    assert len(calls) == 12
    for event in calls:
        value = ledger.resolve(event)["value"]
        assert isinstance(value, dict)
        condition, _, number = str(event.scope).split("/")
        assert value["calls"][0]["place"] == f"{condition} {number} 1"
        assert value["usage"] == {"tokens": 7}
    gathered = result.record.conditions
    assert {n: len(one.llm_calls) for n, one in gathered.items()} == {
        "baseline": 4,
        "half": 4,
        "whole": 4,
    }


@pytest.mark.parametrize("executor", LOCAL)
def test_a_failure_is_the_same(ledger: Ledger, executor: str) -> None:
    """What a function raises has its name, its place and its digest everywhere."""
    failed = builder(executor_functions.broken).build()
    result = failed.run(replicates=3, executor=executor, ledger=ledger)
    assert [str(one) for one in result.errors] == [
        f"{name}, replicate 1, datasource: LookupError: no such rows [effect/data]"
        for name in ("baseline", "half", "whole")
    ]
    assert result.metrics.baseline.metrics["n"] == [4, 4]
    serial = failed.run(replicates=3, ledger=ledger)
    assert result.result_digest == serial.result_digest


@pytest.mark.parametrize("executor", LOCAL)
def test_claims_and_specs_may_be_answers(ledger: Ledger, executor: str) -> None:
    """A model proposes a Spec, a treatment states a Claim: as objects, everywhere."""
    experiment = (
        Experiment.builder("answered")
        .datasource(executor_functions.rows)
        .add_step(specify_claim(claim=Claim("c", "A claim")))
        .add_step(generate_spec(llm=executor_functions.proposed))
        .add_step(bounded_synthesis(code=executor_functions.CODE))
        .add_step(execute_capsule())
        .treatment("other", executor_functions.other_claim)
        .build()
    )
    result = experiment.run(executor=executor, ledger=ledger)
    assert result.errors == ()
    claims = ledger.events(run=result.run_id, type="claim.stated")
    assert {event.data["id"] for event in claims} == {"c", "d0"}
    specs = ledger.events(run=result.run_id, type="spec.issued")
    allowed = {str(event.scope): event.data["allowed_imports"] for event in specs}
    assert allowed == {"baseline/replicate/0": ["math"], "other/replicate/0": []}
    assert replay(ledger, result.run_id).verdict == "acceptable"


@pytest.mark.parametrize("executor", LOCAL)
def test_a_coroutine_function_is_awaited(ledger: Ledger, executor: str) -> None:
    """A model that is an async function works under every executor."""
    awaited = builder().build()
    steps = [*awaited.program.pipeline][:3]
    built = (
        Experiment.builder()
        .datasource(executor_functions.rows)
        .pipeline(
            [
                *steps,
                bounded_synthesis(llm=executor_functions.amodel),
                execute_capsule(),
            ]
        )
        .build()
    )
    result = built.run(replicates=2, executor=executor, ledger=ledger)
    assert result.errors == ()
    assert result.metrics.baseline.metrics["n"] == [4, 4]


def test_processes_are_others(ledger: Ledger) -> None:
    """Functions run in as many processes as there are workers, none of them this one."""
    code = "def fit_and_eval(data): return {'pid': data[0]}"
    built = (
        Experiment.builder()
        .datasource(executor_functions.here)
        .add_step(specify_claim(claim=Claim("c", "t")))
        .add_step(generate_spec(spec=Spec()))
        .add_step(bounded_synthesis(code=code))
        .add_step(execute_capsule())
        .build()
    )
    result = built.run(replicates=6, executor=Processes(workers=2), ledger=ledger)
    pids = set(result.metrics.baseline.metrics["pid"])
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2


@pytest.mark.parametrize("executor", ["processes", "dask"])
def test_a_lambda_is_refused_there(ledger: Ledger, executor: str) -> None:
    """What cannot be imported is refused before anything is written, with the remedy."""
    built = builder(lambda ctx: [1, 2, 3, 4]).build()  # noqa: ARG005 - on purpose
    size = ledger.head.size
    with pytest.raises(UsageError, match=r"put it into a module.*or use the threads"):
        built.run(executor=executor, ledger=ledger)
    assert ledger.head.size == size
    assert built.run(executor="threads", ledger=ledger).ok


@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_ctrl_c_interrupts_all(ledger: Ledger, executor: str) -> None:
    """Whichever replicate is at work, the run is interrupted and can be resumed."""
    pressed: list[int] = []

    def source(ctx: Mapping[str, Any]) -> list[int]:
        if ctx["replicate"] == 2 and not pressed:
            pressed.append(1)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        return executor_functions.rows(ctx)

    built = builder(source).build()
    with pytest.raises(KeyboardInterrupt):
        built.run(replicates=4, executor=executor, ledger=ledger)
    (event,) = ledger.events(type="run.interrupted")
    result = built.run(
        replicates=4, strategy="resume", executor=executor, ledger=ledger
    )
    assert (result.run_id, result.errors) == (event.run, ())
    whole = built.run(replicates=4, ledger=ledger)
    assert result.result_digest == whole.result_digest


class Gate:
    """Lets no replicate end but the first."""

    @hookimpl
    def before_append(self, event_type: str, data: Mapping[str, Any]) -> str | None:
        """Refuse what later replicates measured."""
        late = event_type == "metrics.measured" and data["replicate"] > 0
        return "that is enough" if late else None


@pytest.mark.parametrize("executor", LOCAL)
def test_a_policy_stops_all(tmp_path: Path, executor: str) -> None:
    """What a plugin refuses to record ends the run as refused, with nothing left over."""
    extra = {"in-process": InProcess(), "gate": Gate()}
    plugins = Plugins(["executors", "harness"], extra)
    before = set(threading.enumerate())
    with Ledger.create(tmp_path / "gated.db", plugins=plugins) as gated:
        result = builder().build().run(replicates=3, executor=executor, ledger=gated)
        assert result.status == "refused"
        assert "that is enough" in result.errors[-1].message
        assert result.metrics.baseline.metrics.get("total", [10]) == [10]
    pools = (one for one in threading.enumerate() if one.name.startswith("ThreadPool"))
    for left in set(pools) - before:
        left.join(60)
        assert not left.is_alive()


def test_a_worker_whose_host_is_gone_ends_without_a_word() -> None:
    """Where nobody reads the answer any more, nothing is said about it."""
    with subprocess.Popen(
        [sys.executable, "-m", "muniment_plugins.executors.worker", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert worker.stderr is not None
        worker.stdout.close()
        asked = task(os.path.basename, ("a/b",), {})
        worker.stdin.write(len(asked).to_bytes(8, "big") + asked)
        worker.stdin.flush()
        assert (worker.wait(300), worker.stderr.read()) == (1, b"")


def test_an_unknown_executor_is_refused(ledger: Ledger) -> None:
    """A misspelt name is misuse that lists the known ones."""
    with pytest.raises(UsageError, match=r"no executor is called 'thread'.*threads"):
        builder().build().run(executor="thread", ledger=ledger)
    assert ledger.head.size == 1


def test_without_the_plugin_there_is_serial(tmp_path: Path) -> None:
    """Where no plugin brings executors, others are refused before anything is written.

    One with settings is the caller's own; a replay of what it ran needs no executor.
    """
    extra = {"in-process": InProcess()}
    place = tmp_path / "alone.db"
    built = builder().build()
    with Ledger.create(place, plugins=Plugins(["harness"], extra)) as ledger:
        with pytest.raises(UsageError, match=r"'processes'.*known are: serial; others"):
            built.run(executor="processes", ledger=ledger)
        assert ledger.head.size == 1
        result = built.run(executor="serial", ledger=ledger)
        assert result.errors == ()
        spread = built.run(executor=Processes(workers=2), ledger=ledger)
        assert spread.result_digest == result.result_digest
        started = next(ledger.events(run=spread.run_id))
        assert started.raw["labels"]["executor"] == "processes"  # type: ignore[index,call-overload]
        assert replay(ledger, spread.run_id).verdict == "acceptable"


class InAnOrderOfItsOwn:
    """An executor that some plugin brings: it calls where it is, by the bytes."""

    name: ClassVar[str] = "own"
    reach: ClassVar[Reach] = "process"
    lanes = 2
    called: ClassVar[list[str]] = []

    def require(self) -> None:
        """Need nothing."""

    @contextmanager
    def host(self, serve: str) -> Generator[Send]:
        """Call the function as a process would."""
        module, _, name = serve.partition(":")
        function = getattr(import_module(module), name)

        def send(sent: bytes) -> bytes:
            self.called.append(serve)
            return cast("bytes", function(sent))

        yield send


class Brings:
    """A plugin that does."""

    @hookimpl
    def executors(self) -> Mapping[str, Callable[[], Executor]]:
        """Bring it."""
        return {"own": InAnOrderOfItsOwn}


def test_a_plugin_brings_one(tmp_path: Path) -> None:
    """An executor of anybody's gives the same digest as those in the box."""
    plugins = Plugins(["harness"], {"in-process": InProcess(), "brings": Brings()})
    with Ledger.create(tmp_path / "own.db", plugins=plugins) as ledger:
        result = builder().build().run(replicates=2, executor="own", ledger=ledger)
        serial = builder().build().run(replicates=2, ledger=ledger)
        assert result.errors == ()
        assert result.result_digest == serial.result_digest
    assert {*InAnOrderOfItsOwn.called} == {SERVE}
    assert len(InAnOrderOfItsOwn.called) > 6
