"""Budgets across resumes, kills, threads, tasks, child runs and forks."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from governed_programs import Provider, asking, entropy, opened, policy
from muniment import EffectFailed, GateAnswer, Run, hookimpl
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.queries.run_summary import RunSummaries
from muniment.replays.replay import replay
from muniment.verification.verify import verify
from muniment_plugins.governance.governed import governed


class Cache:
    """Answers the first two requests."""

    @hookimpl
    def before_effect(self, request: object) -> GateAnswer | None:
        """Answer what is known."""
        return GateAnswer("kept") if request in {0, 1} else None


THREE = policy(entropy_budget=entropy(max_count=3))

KILLED = """
import os, signal, sys
from pathlib import Path
from governed_programs import opened, policy, entropy
from muniment_plugins.governance.governed import governed

place, asked = Path(sys.argv[1]), Path(sys.argv[2])

def provider(request):
    with asked.open("a") as file:
        file.write(f"{request}\\n")
    if request == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return "yes"

def program(run):
    return [run.effect("llm", number, provider) for number in range(5)]

with opened(place) as ledger, governed(ledger, policy(entropy_budget=entropy(max_count=3))):
    ledger.execute(program)
"""


@pytest.mark.parametrize("at", [0, 1, 2])
def test_three_stay_three_across_a_kill(tmp_path: Path, at: int) -> None:
    """A run that was killed in its n-th call, and resumed, performs three in all.

    What was under way counts, since the provider was asked.
    """
    asked = tmp_path / "asked"
    told = [sys.executable, "-c", KILLED, str(tmp_path), str(asked), str(at)]
    path = os.pathsep.join(sys.path)
    killed = subprocess.run(
        told, check=False, env={**os.environ, "PYTHONPATH": path}, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    provider = Provider("yes")
    with Ledger.open(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=("governance",)
    ) as ledger:
        (run,) = ledger.runs()
        done = ledger.resume(run.id, asking(provider))
        assert done.status == "failed"
        assert len(asked.read_text().splitlines()) + len(provider.calls) == 3
        assert replay(ledger, run.id, asking(provider)).verdict == "acceptable"
        assert verify(ledger.path, home=ledger.home).ok


def test_a_resume_knows_its_policy_from_the_record(tmp_path: Path) -> None:
    """Whoever resumes need not name the policy, and another one is refused.

    So is a run that its budget halted.
    """
    provider = Provider()

    def program(run: Run) -> list[object]:
        got = [run.effect("llm", 0, provider)]
        run.pause("for the night")
        return got + [run.effect("llm", number, provider) for number in range(1, 5)]

    with opened(tmp_path) as ledger:
        with governed(ledger, THREE):
            done = ledger.execute(program)
        with (
            governed(ledger, policy(entropy_budget=entropy(max_count=4))),
            pytest.raises(RefusedError, match="another one is given"),
        ):
            ledger.resume(done.run_id, program)
        with governed(ledger, THREE):
            again = ledger.resume(done.run_id, program)
        assert (again.status, len(provider.calls)) == ("failed", 3)
        size = ledger.head.size
        with pytest.raises(RefusedError, match="its budget halted it"):
            ledger.resume(done.run_id, program)
        assert ledger.head.size == size


def test_a_run_that_lost_its_policy_is_not_resumed_without(tmp_path: Path) -> None:
    """Where a crash left ``run.started`` alone, its label still asks for the policy."""
    script = (
        "import os, sys; from pathlib import Path\n"
        "from governed_programs import opened, policy\n"
        "from muniment_plugins.governance.budgets import adoption\n"
        "from muniment_plugins.governance.governed import governed\n"
        "adoption.start = lambda *_: os._exit(9)\n"
        "with opened(Path(sys.argv[1])) as ledger, governed(ledger, policy()):\n"
        "    ledger.execute(print)\n"
    )
    path = os.pathsep.join(sys.path)
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        check=False,
        env={**os.environ, "PYTHONPATH": path},
        timeout=60,
    )
    with Ledger.open(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=("governance",)
    ) as ledger:
        (run,) = ledger.runs()
        assert [one.type for one in ledger.events(run=run.id)] == ["run.started"]
        with pytest.raises(RefusedError, match="which is not given: use --policy"):
            ledger.resume(run.id, asking(Provider()))
        with governed(ledger, policy()):
            assert ledger.resume(run.id, asking(Provider())).status == "completed"


def test_threads_get_what_is_left_and_no_more(tmp_path: Path) -> None:
    """Of twenty threads that ask at once, three are answered by the provider."""
    provider = Provider("yes")

    def program(run: Run) -> int:
        def ask(number: int) -> bool:
            try:
                with run.scope(f"lane/{number}") as lane:
                    lane.effect("llm", number, provider)
            except EffectFailed:
                return False
            return True

        with ThreadPoolExecutor(20) as pool:
            return sum(pool.map(ask, range(20)))

    with opened(tmp_path) as ledger, governed(ledger, THREE):
        done = ledger.execute(program)
        assert (done.status, len(provider.calls)) == ("failed", 3)


def test_tasks_get_what_is_left_and_no_more(tmp_path: Path) -> None:
    """The same of tasks of one loop."""
    provider = Provider("yes")

    async def program(run: Run) -> int:
        async def ask(number: int) -> object:
            with run.scope(f"lane/{number}") as lane:
                return await lane.aeffect("llm", number, provider)

        asked = (ask(number) for number in range(20))
        got = await asyncio.gather(*asked, return_exceptions=True)
        return sum(one == "yes" for one in got)

    with opened(tmp_path) as ledger, governed(ledger, THREE):
        done = asyncio.run(ledger.aexecute(program))
        assert (done.status, len(provider.calls)) == ("failed", 3)


def test_child_runs_spend_what_their_parent_has(tmp_path: Path) -> None:
    """A call of a run is no way around the budget, in a resume either.

    The mark of a child is its parent's.
    """
    provider = Provider("yes")
    child = asking(provider, 2)

    def program(run: Run) -> list[object]:
        first = run.call(child, name="first")
        run.pause("for the night")
        return [first, run.call(child, name="second")]

    with opened(tmp_path) as ledger:
        with governed(ledger, THREE):
            done = ledger.execute(program)
        again = ledger.resume(done.run_id, program)
        assert (again.status, len(provider.calls)) == ("failed", 3)
        labels = {tuple(one.labels) for one in ledger.runs()}
        assert labels == {("policy",)}

        marking = entropy(max_count=3, exhaustion_action="mark_non_certifiable")
        with governed(ledger, policy(entropy_budget=marking)):
            done = ledger.execute(program)
        again = ledger.resume(done.run_id, program)
        assert again.status == "completed"
        marks = [
            ledger.project(RunSummaries, run=one).marks
            for one in (done.run_id, *ledger.children(done.run_id))
        ]
        assert marks == [["non_certifiable"], [], ["non_certifiable"]]


def test_a_fork_is_held_to_the_policy_of_its_origin(tmp_path: Path) -> None:
    """What its origin performed up to there is spent: a fork spends no budget again."""
    provider = Provider("yes")
    program = asking(provider, 3)
    with opened(tmp_path) as ledger:
        with governed(ledger, THREE):
            done = ledger.execute(program)
        second = [
            one.seq for one in ledger.events(run=done.run_id, type="llm.completed")
        ][1]
        forked = ledger.fork(done.run_id, at=second, program=asking(provider, 6))
        assert forked.status == "failed"
        assert len(provider.calls) == 3 + 1
        assert {one.labels["policy"] for one in ledger.runs()} == {THREE.digest}


def test_a_strict_policy_forbids_forks(tmp_path: Path) -> None:
    """A fork of a run that is strict is refused, and nothing is written."""
    with opened(tmp_path) as ledger:
        with governed(ledger, policy(determinism_level="strict")):
            done = ledger.execute(asking(Provider()))
        size = ledger.head.size
        with pytest.raises(RefusedError, match="its level of determinism is strict"):
            ledger.fork(done.run_id, at=4, program=asking(Provider()))
        assert ledger.head.size == size


def test_a_cached_answer_is_taken_from_the_ledger(tmp_path: Path) -> None:
    """``cached`` answers as an equal request was answered before, or halts without one."""
    provider = Provider("yes")
    limit = {"effect_limit": 1, "exhaustion_action": "degrade", "fallback": "cached"}
    with opened(tmp_path) as ledger:
        ledger.execute(asking(provider, 2))
        provider.answer = "never"
        with governed(ledger, policy(execution_budget=limit)):
            assert ledger.execute(asking(provider, 2)).value == ["never", "yes"]
            done = ledger.execute(asking(provider, 3))
        assert done.status == "failed"
        assert "no answer to such a request is cached" in str(done.error)


def test_an_answer_of_a_cache_costs_nothing(tmp_path: Path) -> None:
    """A plugin that answers is asked before governance, and nothing is spent."""
    provider = Provider("yes")
    plugins = Plugins(("governance",), extra={"cache": Cache()})
    with (
        Ledger.create(
            tmp_path / "ledger.db", home=tmp_path / "home", plugins=plugins
        ) as ledger,
        governed(ledger, THREE),
    ):
        done = ledger.execute(asking(provider))
        assert done.value == ["kept", "kept", "yes", "yes", "yes"]
