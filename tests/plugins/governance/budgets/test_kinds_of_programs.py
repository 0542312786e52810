"""No kind of effect, and nothing that a program may clear, is a way around a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from governed_programs import Provider, opened, policy, swallowing
from muniment import EffectKind, Run, hookimpl
from muniment.errors import MunimentError, UsageError
from muniment.events.effect_kinds import KERNEL_KINDS
from muniment.format_versions import FORMATS
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.lanes.of_plugins import lane_of_plugin
from muniment.runs.waits.called_run import CalledRun
from muniment.runs.waits.timers import Timer
from muniment_plugins.governance.budgets.spending import UNCOUNTED
from muniment_plugins.governance.flows.pins.rechecks import DataWatch
from muniment_plugins.governance.flows.steps.counts import AmendedLimit
from muniment_plugins.governance.governed import governed
from muniment_plugins.governance.vocabulary import KINDS

NOTHING = policy(execution_budget={"effect_limit": 0})
REQUEST = {"seconds": 0, "dataset_id": "d", "version": "1", "budget": "policy"}


class Own:
    """Declares a kind as its own, as anybody's plugin may."""

    @hookimpl
    def effect_kinds(self) -> list[EffectKind]:
        """Declare it."""
        return [EffectKind("mine", own=f"{__name__}:Asked")]


class Asked:
    """Asks the world."""

    def request(self) -> object:
        """Return a request."""
        return 1

    def perform(self, call: object, *, awaits: bool) -> object:  # noqa: ARG002 - as it is called
        """Ask."""
        raise AssertionError("no budget counted it")


def everywhere(tmp_path: Path) -> Ledger:
    """Make a ledger with all plugins that declare kinds."""
    plugins = Plugins(extra={"own": Own()})
    return Ledger.create(tmp_path / "l.db", home=tmp_path / "h", plugins=plugins)


def by_effect(run: Run, kind: str, provider: Provider) -> object:
    """Ask in one call."""
    return run.effect(kind, REQUEST, provider)


def by_aeffect(run: Run, kind: str, provider: Provider) -> object:
    """Ask in one call that is awaited."""
    return asyncio.run(run.aeffect(kind, REQUEST, provider))


def by_open(run: Run, kind: str, provider: Provider) -> object:
    """Ask and answer in two."""
    effect = run.open(kind, REQUEST)
    return effect.answer() if effect.answered else effect.complete(provider(REQUEST))


@pytest.mark.parametrize("way", [by_effect, by_aeffect, by_open])
def test_a_program_performs_nothing_that_no_budget_counts(
    tmp_path: Path, way: Callable[[Run, str, Provider], object]
) -> None:
    """Of every kind that anything here declares, by whatever call."""
    provider = Provider("a model's answer")
    with everywhere(tmp_path) as ledger, governed(ledger, NOTHING):
        kinds = [*ledger.effect_kinds]
        assert {"timer", "child", "mine", "llm", "dataset_check"} <= {*kinds}

        def program(run: Run, kind: str) -> None:
            way(run, kind, provider)

        for kind in kinds:
            done = ledger.execute(program, params={"kind": kind})
            assert done.status == "failed", kind
    assert provider.calls == []


@pytest.mark.parametrize(
    "own",
    [Timer(0), CalledRun(lambda _: 1, "s"), AmendedLimit("policy", "step_limit", 1)],
)
def test_what_stands_beside_an_own_request_is_not_called(
    tmp_path: Path, own: object
) -> None:
    """Kinds perform themselves: a program that has such a request performs nothing."""
    provider = Provider("a model's answer")
    names = {"Timer": "timer", "CalledRun": "child", "AmendedLimit": "amendment"}

    def program(run: Run) -> None:
        run.effect(names[type(own).__name__], own, provider)

    with opened(tmp_path) as ledger, governed(ledger, NOTHING):
        ledger.execute(program)
    assert provider.calls == []


def test_what_is_not_counted_is_what_performs_itself(tmp_path: Path) -> None:
    """Each kind that no budget counts is declared so, and by this plugin or the kernel."""
    with everywhere(tmp_path) as ledger:
        declared = {name for name, one in ledger.effect_kinds.items() if one.own}
    assert declared == UNCOUNTED | {"mine"}
    assert {one.name for one in (*KERNEL_KINDS, *KINDS)} >= UNCOUNTED
    assert DataWatch.__name__ in str([one.own for one in KINDS])


def test_a_plugin_takes_no_kind_out_of_the_budget(tmp_path: Path) -> None:
    """What another plugin declares as its own is counted all the same."""

    def program(run: Run) -> None:
        run.effect("mine", Asked(), lambda _: 1)

    with everywhere(tmp_path) as ledger, governed(ledger, NOTHING):
        done = ledger.execute(program)
    assert "effect_limit: 0 of 0 is spent" in str(done.error)


@pytest.mark.parametrize(
    ("edition", "verdict"), [(2, "acceptable"), (4, "unacceptable")]
)
def test_an_older_record_of_such_an_effect_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edition: int, verdict: str
) -> None:
    """A replay performs nothing: what a program once did under such a name is answered.

    Since the kind is the kernel's, such a program is refused in a replay as it is live.
    """
    monkeypatch.setitem(FORMATS, "event", edition)

    def program(run: Run) -> object:
        run.sleep(0)
        return "done"

    def older(run: Run) -> object:
        run.effect("timer", {"seconds": 0}, lambda _: None)
        return "done"

    with opened(tmp_path) as ledger:
        done = ledger.execute(program)
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
        assert replay(ledger, done.run_id, older).verdict == verdict
        with pytest.raises(UsageError, match="by its own code alone"):
            ledger.execute(older).raise_failure()


def reachable(run: Run) -> list[object]:
    """Return what the documented members of a lane lead to."""
    lanes = [run, run.scope("below"), lane_of_plugin(run, "providers")]
    found: list[object] = []
    for lane in lanes:
        for name in dir(lane):
            if not name.startswith("_"):
                try:
                    found.append(getattr(lane, name))
                except MunimentError:
                    continue
    return found


def test_no_program_gets_the_lane_of_what_governs_it(tmp_path: Path) -> None:
    """Hooks get it from the kernel: no lane offers it, nor what makes one for others."""

    def program(run: Run) -> object:
        assert not hasattr(run, "beside")
        with pytest.raises(UsageError, match="where its hooks are called"):
            lane_of_plugin(run, "governance")
        with pytest.raises(UsageError, match="belong to plugins"):
            run.scope("plugin/governance")
        return lane_of_plugin(run, "providers").scope_path

    with opened(tmp_path) as ledger:
        assert ledger.execute(program).result == "plugin/providers"
        with governed(ledger, policy()):
            assert ledger.execute(program).result == "plugin/providers"


def test_a_program_reaches_nothing_that_governs_it(tmp_path: Path) -> None:
    """Whatever a program clears or overwrites, its run stays governed, children too."""
    provider = Provider()
    asks = swallowing(provider)

    def program(run: Run) -> object:
        for one in reachable(run):
            if isinstance(one, dict):
                assert not any(
                    "govern" in f"{key}{value}" for key, value in one.items()
                )
                one.clear()
        run.memory["governance"] = None
        run.call(asks)
        return asks(run)

    three = policy(execution_budget={"effect_limit": 3})
    with opened(tmp_path) as ledger, governed(ledger, three):
        assert ledger.execute(program).status == "failed"
    assert len(provider.calls) == 3


def test_a_labelled_run_without_a_governor_performs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing counts, nothing happens."""
    monkeypatch.setattr(
        "muniment_plugins.governance.budgets.governor.Governor.keep", lambda *_: None
    )
    provider = Provider()
    with opened(tmp_path) as ledger, governed(ledger, policy()):
        done = ledger.execute(swallowing(provider))
    assert provider.calls == []
    assert "refused" in str(done.value)
