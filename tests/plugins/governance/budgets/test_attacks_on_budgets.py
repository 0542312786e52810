"""Ways around a budget that somebody tried, each a rule now."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from governed_programs import Provider, asking, forged_lane, opened, policy
from muniment import Run, current_run
from muniment.errors import CannotTellError, RefusedError, UsageError
from muniment.ledger import Ledger
from muniment.queries.run_summary import RunSummaries
from muniment_plugins.governance.budgets import adoption
from muniment_plugins.governance.budgets.adopted import governing_of
from muniment_plugins.governance.flows import existence
from muniment_plugins.governance.governed import governed
from muniment_plugins.governance.views.observation import observe

THREE = policy(execution_budget={"effect_limit": 3})
MANY = policy(execution_budget={"effect_limit": 99})


def forging(provider: Provider) -> object:
    """Return a program that writes an adoption into the plugin's lane, and pauses."""

    def program(run: Run) -> list[object]:
        lane = forged_lane(run, "governance")
        stated = {"policy": "tested", "digest": MANY.digest, "mode": "live"}
        lane.record("policy.adopted", {**stated, "document": dict(MANY.document)})
        run.pause("for the night")
        return [run.effect("llm", number, provider) for number in range(8)]

    return program


def test_a_program_adopts_no_policy_for_itself(tmp_path: Path) -> None:
    """A resume finds that nobody approved what the record adopts, and goes no further."""
    provider = Provider()
    program = forging(provider)
    with opened(tmp_path) as ledger:
        with governed(ledger, THREE):
            done = ledger.execute(program)  # type: ignore[arg-type]
        assert done.is_paused
        for act in (
            lambda: ledger.resume(done.run_id, program),  # type: ignore[arg-type]
            lambda: ledger.fork(done.run_id, at=4, program=program),  # type: ignore[arg-type]
            lambda: governing_of(ledger, done.run_id),
        ):
            with pytest.raises(RefusedError, match="nobody approved"):
                act()
        assert provider.calls == []


def test_the_label_binds_the_policy_before_it_is_adopted(tmp_path: Path) -> None:
    """Cut off before the adoption, a run resumes under its own policy and no other."""
    script = (
        "import os, sys; from pathlib import Path\n"
        "from governed_programs import opened, policy\n"
        "from muniment_plugins.governance.budgets import adoption\n"
        "from muniment_plugins.governance.governed import governed\n"
        "adoption.start = lambda *_: os._exit(9)\n"
        "three = policy(execution_budget={'effect_limit': 3})\n"
        "with opened(Path(sys.argv[1])) as ledger, governed(ledger, three):\n"
        "    ledger.execute(print)\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
    )
    place, home, provider = tmp_path / "ledger.db", tmp_path / "home", Provider()
    with Ledger.open(place, home=home, plugins=("governance",)) as ledger:
        (run,) = ledger.runs()
        with (
            governed(ledger, MANY),
            pytest.raises(RefusedError, match="which is not given: use --policy"),
        ):
            ledger.resume(run.id, asking(provider))
    with (
        Ledger.open(place, home=home, plugins=()) as ledger,
        pytest.raises(CannotTellError, match="the plugin governance gave the run"),
    ):
        ledger.resume(run.id, asking(provider))
    with (
        Ledger.open(place, home=home, plugins=("governance",)) as ledger,
        governed(ledger, THREE),
    ):
        assert ledger.resume(run.id, asking(provider)).status == "failed"
    assert len(provider.calls) == 3


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_forks_of_a_halted_run_are_halted(tmp_path: Path, depth: int) -> None:
    """A fork at the end of what was performed has nothing left, nor has a fork of it."""
    provider = Provider()
    program = asking(provider)
    with opened(tmp_path) as ledger:
        with governed(ledger, THREE):
            run = ledger.execute(program).run_id
        for _ in range(depth):
            last = [one.seq for one in ledger.events(run=run, type="llm.completed")][-1]
            done = ledger.fork(run, at=last, program=program)
            assert done.status == "failed"
            run = done.run_id
    assert len(provider.calls) == 3


def test_a_fork_needs_the_plugin_that_governs_it(tmp_path: Path) -> None:
    """Without it a governed run is not forked, at whatever event."""
    with opened(tmp_path) as ledger, governed(ledger, THREE):
        done = ledger.execute(asking(Provider()))
        (started,) = ledger.events(run=done.run_id, limit=1)
    with (
        Ledger.open(tmp_path / "ledger.db", home=tmp_path / "home", plugins=()) as bare,
        pytest.raises(CannotTellError, match="the plugin governance gave the run"),
    ):
        bare.fork(done.run_id, at=started.seq, program=asking(Provider()))


def test_a_fork_keeps_the_marks_of_what_it_follows(tmp_path: Path) -> None:
    """Answered by a marked run, a fork is marked, and names the run."""
    marking = {"effect_limit": 3, "exhaustion_action": "mark_non_certifiable"}
    with opened(tmp_path) as ledger:
        with governed(ledger, policy(execution_budget=marking)):
            done = ledger.execute(asking(Provider()))
        last = [one.seq for one in ledger.events(run=done.run_id)][-1]
        fork = ledger.fork(done.run_id, at=last, program=asking(Provider()))
        assert ledger.project(RunSummaries, run=fork.run_id).marks == [
            "non_certifiable"
        ]


def test_what_anybody_states_amends_nothing_and_blocks_nothing(tmp_path: Path) -> None:
    """Amendments in no run, or of another shape, are passed over."""
    provider = Provider()
    with opened(tmp_path) as ledger:
        with governed(ledger, THREE):
            done = ledger.execute(asking(provider))
        (started,) = ledger.events(run=done.run_id, limit=1)
        stated = {
            "of": done.run_id,
            "leaf": started.hash,
            "before": THREE.digest,
            "after": MANY.digest,
            "policy": dict(MANY.document),
        }
        ledger.append("policy.amended", stated)
        ledger.append("policy.amended", {**stated, "policy": {"nonsense": 1}})
        assert governing_of(ledger, done.run_id)[1].policy.digest == THREE.digest
        with pytest.raises(RefusedError, match="nobody has amended its policy"):
            ledger.resume(done.run_id, asking(provider))


def test_what_an_answer_spent_too_much_is_stated(tmp_path: Path) -> None:
    """The answer that goes beyond a limit is the last, and the record says by how much."""
    provider = Provider(
        {"text": "…", "usage": {"input_tokens": 2990, "output_tokens": 10}}
    )
    with opened(tmp_path) as ledger:
        limits = policy(execution_budget={"token_limit": 10})
        with governed(ledger, limits):
            done = ledger.execute(asking(provider, 1))
        assert done.ok
        (spent,) = ledger.events(run=done.run_id, type="budget.exhausted")
        assert (spent.raw["action"], spent.raw["detail"]) == (
            "overspent",
            "3000 of 10 is spent",
        )
        bare = ledger.execute(asking(provider, 1))
        said = observe(ledger, bare.run_id, limits).value
        assert said["within"] is False  # type: ignore[index]


def test_tokens_that_a_cache_took_are_tokens(tmp_path: Path) -> None:
    """Where cached tokens are counted beside the input, they are spent, too."""
    usage = {"input_tokens": 1, "cache_read_tokens": 90, "cache_write_tokens": 10}
    provider = Provider({"text": "…", "usage": {**usage, "output_tokens": 1}})
    limits = policy(execution_budget={"token_limit": 100})
    with opened(tmp_path) as ledger, governed(ledger, limits):
        assert ledger.execute(asking(provider)).status == "failed"
    assert len(provider.calls) == 1


def test_a_cached_answer_is_of_the_same_tenant(tmp_path: Path) -> None:
    """What another tenant was answered is no answer, and the answer's origin is named."""
    limits = {"effect_limit": 0, "exhaustion_action": "degrade", "fallback": "cached"}
    with opened(tmp_path) as ledger:
        ledger.execute(asking(Provider("alpha's"), 1), tenant="alpha")
        with governed(ledger, policy(execution_budget=limits)):
            beta = ledger.execute(asking(Provider(), 1), tenant="beta")
            alpha = ledger.execute(asking(Provider(), 1), tenant="alpha")
        assert (beta.status, alpha.value) == ("failed", ["alpha's"])
        (degraded,) = ledger.events(run=alpha.run_id, type="effect.degraded")
        origins = [one.hash for one in ledger.events(type="llm.completed")]
        assert degraded.raw["origin"] == origins[0]


@pytest.mark.parametrize("how", [{}, {"effects": True}, {"everywhere": True}])
def test_a_private_answer_answers_what_is_private(
    tmp_path: Path, how: dict[str, bool]
) -> None:
    """A cached answer out of a private lane is given to private lanes, and to no other."""
    limits = {"effect_limit": 0, "exhaustion_action": "degrade", "fallback": "cached"}

    def privately(provider: Provider) -> Any:
        def program(run: Run) -> object:
            with run.scope("a") as lane:
                lane.keep_private(**how)
                return lane.effect("llm", {"model": "m"}, provider)

        return program

    def publicly(run: Run) -> object:
        with run.scope("a") as lane:
            return lane.effect("llm", {"model": "m"}, Provider())

    with opened(tmp_path) as ledger:
        said = ledger.execute(privately(Provider("a secret"))).value
        with governed(ledger, policy(execution_budget=limits)):
            told = ledger.execute(publicly)
            again = ledger.execute(privately(Provider()))
        assert told.status == "failed"
        assert "no answer to such a request is cached" in str(told.error)
        assert again.value == said
        (answer,) = ledger.events(run=again.run_id, type="llm.completed")
        assert answer.raw["visibility"] == "private"


def test_a_kind_that_nothing_declares_is_refused(tmp_path: Path) -> None:
    """A limit on ``llms`` would never be reached."""
    with (
        opened(tmp_path) as ledger,
        governed(ledger, policy(execution_budget={"effect_limits": {"llms": 1}})),
        pytest.raises(UsageError, match=r"the effect kind 'llms'") as told,
    ):
        ledger.execute(asking(Provider()))
    assert told.value.place.endswith(": execution_budget.effect_limits.llms")
    assert "did you mean llm" in told.value.remedy


@pytest.mark.parametrize("setting", ["1", "true", "yes"])
def test_strict_machines_go_on_with_nothing_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    """An unsafe run that began elsewhere is neither resumed nor forked."""

    def program(run: Run) -> None:
        run.pause("for the night")

    with opened(tmp_path) as ledger:
        with governed(ledger, policy(mode="unsafe")):
            done = ledger.execute(program)
        monkeypatch.setenv("MUNIMENT_STRICT", setting)
        last = [one.seq for one in ledger.events(run=done.run_id)][-1]
        with pytest.raises(RefusedError, match="MUNIMENT_STRICT forbids"):
            ledger.resume(done.run_id, program)
        with pytest.raises(RefusedError, match="MUNIMENT_STRICT forbids"):
            ledger.fork(done.run_id, at=last, program=program)


@pytest.mark.parametrize("way", ["effect", "call", "sleep", "nothing"])
def test_a_fallback_performs_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """One that tries is refused, and nothing recurs."""
    provider, tried = Provider(), list[str]()

    def performing(_: object) -> object:
        tried.append(way)
        run = current_run()
        if way == "effect":
            return run.effect("llm", "again", provider)
        if way == "call":
            return run.call(lambda _: 1)
        if way == "sleep":
            run.sleep(0)
        return "an answer"

    for one in (adoption, existence):
        monkeypatch.setattr(one, "functions_of", lambda *_: {"m:f": performing})
    monkeypatch.setattr(adoption, "refer", lambda _: {})
    budget = {"effect_limit": 0, "exhaustion_action": "degrade", "fallback": "m:f"}
    with opened(tmp_path) as ledger, governed(ledger, policy(execution_budget=budget)):
        done = ledger.execute(asking(provider, 1))
    assert (provider.calls, tried) == ([], [way])
    assert done.ok is (way == "nothing")


def test_a_step_limit_has_no_cached_answers(tmp_path: Path) -> None:
    """It is refused before the run starts, and not skipped in silence."""
    budget = {"step_limit": 1, "exhaustion_action": "degrade", "fallback": "cached"}
    with (
        opened(tmp_path) as ledger,
        governed(ledger, policy(execution_budget=budget)),
        pytest.raises(UsageError, match="no step has a cached answer"),
    ):
        ledger.execute(asking(Provider()))


def test_a_run_that_a_ledger_without_the_plugin_starts_is_a_mark(
    tmp_path: Path,
) -> None:
    """What cannot be held is said: the run during which it started is marked."""

    def program(run: Run) -> object:
        def go() -> None:
            place, home = tmp_path / "ledger.db", tmp_path / "home"
            with Ledger.open(place, home=home, plugins=()) as bare:
                bare.execute(asking(Provider()))

        thread = threading.Thread(target=go)
        thread.start()
        thread.join()
        return run.id

    with opened(tmp_path) as ledger:
        with governed(ledger, THREE):
            run = ledger.execute(program).run_id
        assert ledger.project(RunSummaries, run=run).marks == ["non_certifiable"]
