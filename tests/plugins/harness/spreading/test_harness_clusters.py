"""An experiment on a cluster is the same experiment; its code runs in capsules there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import executor_functions
from children import die
from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.executors import Dask, Ray
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

PERM = {"name": "perm", "transform": "permute_rows", "metric": "total"}


def experiment() -> Experiment:
    """Return an experiment with two conditions that ask a model."""
    return (
        Experiment.builder("spread")
        .datasource(executor_functions.rows)
        .add_step(specify_claim(claim=Claim("c", "A claim")))
        .add_step(executor_functions.stepped(share=0.8))
        .add_step(generate_spec(spec=Spec(properties=[PERM])))
        .add_step(bounded_synthesis(llm=executor_functions.model))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests(permutations=2))
        .treatment("half", executor_functions.half)
        .hypothesis("metamorphic", verifier=metamorphic)
        .build()
    )


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Give the tests a cluster of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_dask_gives_the_same_result(ledger: Ledger, client: Any) -> None:
    """Digest, metrics and attribution are those of the serial run; replay needs none."""
    result = experiment().run(replicates=3, executor=Dask(client), ledger=ledger)
    assert result.errors == ()
    serial = experiment().run(replicates=3, ledger=ledger)
    assert result.result_digest == serial.result_digest
    assert result.metrics == serial.metrics
    for event in ledger.events(run=result.run_id, type="llm.completed"):
        value = ledger.resolve(event)["value"]
        assert isinstance(value, dict)
        condition, _, number = str(event.scope).split("/")
        assert value["calls"][0]["place"] == f"{condition} {number} 1"
    assert replay(ledger, result.run_id).verdict == "acceptable"


def test_dask_works_without_a_cluster(ledger: Ledger) -> None:
    """By its name alone it uses the client that is current, or one of its own."""
    pytest.importorskip("distributed")
    result = experiment().run(replicates=1, executor="dask", ledger=ledger)
    assert result.errors == ()


LISTENING = """
import contextlib, json, socket, warnings
import psutil
from muniment_plugins.executors import Dask

with socket.socket() as another, warnings.catch_warnings():
    warnings.simplefilter("error")
    with contextlib.suppress(OSError):  # somebody else has it, which does as well
        another.bind(("127.0.0.1", 8787))
        another.listen()
    with Dask().host("builtins:bytes"):
        found = psutil.Process().net_connections()
print(json.dumps(sorted({one.laddr.ip for one in found if one.status == "LISTEN"})))
"""


def test_a_cluster_of_its_own_is_for_this_machine_alone() -> None:
    """Nobody on the network reaches it, and it minds nobody who has its usual port."""
    pytest.importorskip("distributed")
    command = [sys.executable, "-c", LISTENING]
    done = subprocess.run(command, capture_output=True, check=True)
    assert json.loads(done.stdout) == ["127.0.0.1"]


def test_a_cluster_that_is_not_there_is_refused(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An executor whose package is missing names the extra that brings it."""
    for executor in (Dask(), Ray()):
        module = "distributed" if executor.name == "dask" else "ray"
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(CannotTellError, match=rf"muniment\[{executor.name}\]"):
            experiment().run(executor=executor, ledger=ledger)


@pytest.mark.slow
def test_ray_gives_the_same_result(ledger: Ledger) -> None:
    """Digest and metrics are those of the serial run."""
    pytest.importorskip("ray")
    result = experiment().run(replicates=3, executor="ray", ledger=ledger)
    assert result.errors == ()
    serial = experiment().run(replicates=3, ledger=ledger)
    assert result.result_digest == serial.result_digest


def run_until(place: str, commits: int) -> None:
    """Run the experiment on a cluster, and die after so many commits."""
    left = [commits]
    with Ledger.open(place) as ledger:

        def step(label: str) -> None:
            left[0] -= label == "committed"
            if left[0] < 0:
                die()

        ledger.store.step = step
        experiment().run(replicates=2, executor="dask", ledger=ledger)


@pytest.mark.slow
@pytest.mark.parametrize("commits", [3, 11, 19, 27])
def test_killed_on_a_cluster(tmp_path: Path, commits: int) -> None:
    """A run that dies in the middle is resumed to the digest of an undisturbed one."""
    pytest.importorskip("distributed")
    place = tmp_path / "work" / "ledger.db"
    Ledger.create(place).close()
    path = [str(Path(__file__).parent), *sys.path]
    code = f"import {Path(__file__).stem} as t; t.run_until({str(place)!r}, {commits})"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        check=False,
        timeout=300,
    )
    assert ended.returncode == -9
    with Ledger.open(place) as ledger:
        again = experiment().run(
            replicates=2, executor="dask", strategy="resume", ledger=ledger
        )
        assert again.errors == ()
        whole = experiment().run(replicates=2, ledger=ledger)
        assert again.result_digest == whole.result_digest
