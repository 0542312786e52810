"""A pool selects as its list does, however it grew, and at the same cost for any length."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from made_artifacts import made
from muniment.errors import UsageError
from muniment_plugins.workflow.artifacts.artifact import Artifact, artifact
from muniment_plugins.workflow.artifacts.context.adaptive import (
    artifact_select_adaptive,
)
from muniment_plugins.workflow.artifacts.context.context_fact import context_fact
from muniment_plugins.workflow.artifacts.context.pool import ArtifactPool
from muniment_plugins.workflow.artifacts.context.pooling import (
    candidates,
    pool_views,
)

KINDS = ["plan", "diff", "note", "test_result"]
PATHS = st.lists(st.sampled_from(["u", "./u", "v", "w//x", "w/x"]), max_size=2)
TEXTS = st.sampled_from(
    ["", "a", "b", "c" * 9, "d" * 90, "e" * 5000, "ä" * 3000, "🙂" * 9000]
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXTS | st.text("aä\n", max_size=9),
    "data": st.sampled_from([{"a": 1}, ["x" * 5000], "a", ""]),
    "freshness": st.sampled_from(["fresh", "live", "recent", "unknown", "stale"]),
    "priority": st.integers(0, 3),
    "relevance": st.sampled_from([0, 0.5, 1]),
    "estimated_tokens": st.sampled_from([0, 1, 7, 1001, 3000]),
    "stage": st.sampled_from(["act", "verify"]),
    "metadata": st.fixed_dictionaries(
        {}, optional={"changed_paths": PATHS, "evidence_paths": PATHS}
    ),
}
RAWS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "created_at": st.sampled_from(
            [
                "2026-01-01T00:00:00Z",
                "2026-01-02T00:00:00Z",
                "2026-01-02T03:00:00+02:00",
            ]
        ),
    },
    optional=FIELDS,
)
SOME_KINDS = st.lists(st.sampled_from(KINDS), max_size=3)
BUDGETS = [0, 3, 40, 100, 300, 600, 1500, 5000, 30_000, 1_000_000]
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "max_artifacts": st.sampled_from([0, 1, 2, 5, 30, 200]),
    "max_tokens": st.sampled_from(BUDGETS),
    "include_kinds": SOME_KINDS,
    "exclude_kinds": SOME_KINDS,
    "prioritize_kinds": SOME_KINDS,
    "include_stages": st.lists(st.sampled_from(["act", "verify"]), max_size=2),
    "pinned_ids": st.lists(
        st.integers(0, 12).map("a{}".format) | st.just("gone"), max_size=4
    ),
    "prefer_recent": st.booleans(),
    "prefer_fresh": st.booleans(),
    "render": st.sampled_from(["xml", "json"]),
}
# few members at once: all of them leave hardly anything to select from
POLICIES = st.sets(st.sampled_from([*MEMBERS, "pinned_ids"]), max_size=4).flatmap(
    lambda names: st.fixed_dictionaries({name: MEMBERS[name] for name in sorted(names)})
)
Policy = dict[str, Any]


def slowly(artifacts: list[Artifact], policy: Policy | None) -> object:
    """Return what a pool of *artifacts* has to return, the counts in their order."""
    chosen = artifact_select_adaptive(artifacts, policy)
    fact = context_fact(chosen)
    return chosen.selected, fact, [*chosen.counts]


def quickly(pool: ArtifactPool, policy: Policy | None) -> object:
    """Return what *pool* returns, the counts in their order."""
    selected, fact = pool.context(policy)
    assert isinstance(fact["left_out"], dict)
    return selected, fact, [*fact["left_out"]]


class PoolsAndLists(RuleBasedStateMachine):
    """Pools that grow and branch, each beside the list of what it has."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[ArtifactPool, list[Artifact]]] = [(ArtifactPool(), [])]
        self.made = 0
        self.policies: list[Policy] = [{}]

    def _pair(self, number: int) -> tuple[ArtifactPool, list[Artifact]]:
        return self.pairs[number % len(self.pairs)]

    def _made(self, raw: dict[str, Any]) -> Artifact:
        self.made += 1
        return artifact({**raw, "id": f"a{self.made - 1}"})

    @rule(which=st.integers(0), raws=st.lists(RAWS, min_size=1, max_size=12))
    def add(self, which: int, raws: list[dict[str, Any]]) -> None:
        """Give a pool some artifacts."""
        pool, held = self._pair(which)
        for raw in raws:
            one = self._made(raw)
            pool.add(one)
            held.append(one)

    @rule(which=st.integers(0), raw=RAWS, several=st.integers(40, 130))
    def add_many(self, which: int, raw: dict[str, Any], several: int) -> None:
        """Give a pool more than a fact lists."""
        pool, held = self._pair(which)
        ones = [
            self._made({**raw, "text": f"{n % 100}", "estimated_tokens": n % 9})
            for n in range(several)
        ]
        pool.extend(ones)
        held += ones

    @rule(which=st.integers(0))
    def branch(self, which: int) -> None:
        """Branch a pool."""
        pool, held = self._pair(which)
        self.pairs.append((pool.branch(), [*held]))

    @rule(which=st.integers(0), several=st.lists(POLICIES, min_size=1, max_size=9))
    def select(self, which: int, several: list[Policy]) -> None:
        """Select under some policies, and under some that were there before."""
        self.policies = [*several, *self.policies][:10]
        pool, held = self._pair(which)
        for policy in self.policies:
            assert quickly(pool, policy) == slowly(held, policy)

    @invariant()
    def same_artifacts(self) -> None:
        """Each pool has what it was given, in that order."""
        for pool, held in self.pairs:
            assert [*pool] == held
            assert len(pool) == len(held)


PoolsAndLists.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None
)
TestPoolsAndLists = PoolsAndLists.TestCase


WRITE = {"text": "w", "freshness": "fresh", "metadata": {"changed_paths": ["u"]}}
EVIDENCE = {"metadata": {"evidence_paths": ["u"]}}


def test_outdated_later() -> None:
    """Another one with its body takes the place of one that is outdated, pinned or not."""
    ones = made(
        {"text": "same", "priority": 9, **EVIDENCE},
        {"text": "same", "priority": 5},
        {"text": "same", "priority": 7, "freshness": "fresh"},
        {"text": "", **EVIDENCE},
        WRITE,
        {"text": "", **EVIDENCE, "freshness": "stale"},
    )
    pool, held = ArtifactPool(), list[Artifact]()
    for one in ones:
        pool.add(one)
        held.append(one)
        for pins in ([], ["a0"], ["a1"], ["a3"], ["a0", "a3", "a5"]):
            for most in (None, 1, 3):
                policy = {"pinned_ids": pins, "max_artifacts": most}
                assert quickly(pool, policy) == slowly(held, policy)


@pytest.mark.parametrize("most", [None, 1, 3, 12, 100, 500])
@pytest.mark.parametrize("budget", [None, 0, 7, 23, 90, 1200, 3000])
def test_more_losers_than_are_listed(most: int | None, budget: int | None) -> None:
    """What is passed over unseen is counted by its reason, and what fits still comes in."""
    ones = made(
        *(
            {
                "text": f"{n}",
                "estimated_tokens": 2 if n % 70 == 69 else 8 + n % 5,
                "relevance": n % 100,
                **(EVIDENCE if n % 9 == 0 else {}),
            }
            for n in range(700)
        ),
        WRITE,
    )
    pool = ArtifactPool(ones)
    for pins in ([], ["a7", "a9", "a139", "gone"]):
        policy = {"max_artifacts": most, "max_tokens": budget, "pinned_ids": pins}
        assert quickly(pool, policy) == slowly(ones, policy)


def test_few_views_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is dropped, since too much is held, is built again, and comes out equal."""
    monkeypatch.setattr(pool_views, "MOST_HELD", 10)
    ones = made(*({"kind": KINDS[n % 3], "text": f"{n % 9}"} for n in range(30)))
    pool = ArtifactPool(ones[:20])
    policies: list[Policy] = [{"exclude_kinds": [kind]} for kind in KINDS]
    for count in (20, 30):
        pool.extend(ones[:count])
        for policy in policies:
            assert quickly(pool, policy) == slowly(ones[:count], policy)


def test_artifacts_that_are_there() -> None:
    """The same artifact again changes nothing; another one with its id is refused."""
    one, other = made({"text": "a"}, {"text": "b"})
    pool = ArtifactPool([one, one.to_json(), other])
    pool.add(one)
    assert [*pool] == [one, other]
    assert "a0" in pool
    assert "a2" not in pool
    assert 0 not in pool
    with pytest.raises(UsageError, match="pool: another artifact has the id a0"):
        pool.add(artifact({**one.to_json(), "text": "c"}))
    with pytest.raises(UsageError, match="pool: id: it is missing"):
        pool.add({"text": "c"})
    with pytest.raises(UsageError, match="max_artefacts"):
        pool.context({"max_artefacts": 1})


def test_branches_in_threads() -> None:
    """Branches of one pool, each in its thread, see what it had and their own."""
    ones = numbered(600)
    pool = ArtifactPool(ones[:400])
    policies: list[Policy] = [LIMITS, {**LIMITS, "exclude_kinds": ["plan"]}]
    found: dict[int, list[object]] = {}

    def lane(number: int, branch: ArtifactPool) -> None:
        found[number] = []
        for one in ones[400 + number :: 20]:
            branch.add(one)
            found[number] += [quickly(branch, policy) for policy in policies]

    threads = [
        threading.Thread(target=lane, args=(number, pool.branch()))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        own = ones[400 + number :: 20]
        assert found[number] == [
            slowly([*ones[:400], *own[: count + 1]], policy)
            for count in range(len(own))
            for policy in policies
        ]
    assert [*pool] == ones[:400]


def test_branches_share_what_they_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first branch that selects under a policy builds for all, and for its origin."""
    built: list[int] = []
    real = candidates.caught_up

    def counted(known: Any, at: Any, history: Any) -> Any:
        built.append(history.number - known.number)
        return real(known, at, history)

    monkeypatch.setattr(pool_views, "caught_up", counted)
    pool = ArtifactPool(numbered(50))
    lanes = [pool.branch() for _ in range(5)]
    for one in (*lanes, pool):
        one.context(LIMITS)
    assert sorted(built)[:-1] == [0] * 5
    pool.branch().branch().context(LIMITS)
    assert built[-1] == 0


def test_when_all_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """All candidates are cut anew only where their number says how much of a text stays.

    That is: there is a long text, the budget has more than 500 tokens for each candidate,
    and there are fewer than `max_artifacts`.
    """
    calls: list[int | None] = []
    real = candidates.in_order

    def counted(entries: Any, at: Any) -> Any:
        calls.append(at.share)
        return real(entries, at)

    monkeypatch.setattr(f"{ArtifactPool.__module__}.in_order", counted)
    long = made(*({"text": f"{n}" * 9000, "kind": KINDS[n % 2]} for n in range(20)))
    short = made(*({"text": f"{n}"} for n in range(20)))
    for ones, policy, share in (
        (long, {"max_tokens": 20_000}, 1000),
        (long, {"max_tokens": 20_000, "max_artifacts": 21}, 1000),
        (long, {"max_tokens": 9000, "include_kinds": KINDS[:1]}, 900),
        (long, {"max_tokens": 20_000, "max_artifacts": 20}, None),
        (long, {"max_tokens": 10_000}, None),
        (long, {"max_tokens": 300}, None),
        (long, {"max_tokens": 1_000_000}, None),
        (long, {"max_artifacts": 3}, None),
        (short, {"max_tokens": 20_000}, None),
        (made({"text": "z" * 4800}), {"max_tokens": 500}, None),
    ):
        calls.clear()
        assert quickly(ArtifactPool(ones), policy) == slowly(ones, policy)
        assert calls == ([] if share is None else [share])


LIMITS: Policy = {"max_artifacts": 100, "max_tokens": 8000}


def numbered(count: int) -> list[Artifact]:
    """Return artifacts as the nodes of a long run make them; some are outdated soon."""
    return made(
        *(
            {
                "kind": KINDS[n % 4],
                "text": f"text {n % 7000} " + "x" * (3000 if n % 3 else 40),
                "freshness": "fresh" if n % 2 else "recent",
                "relevance": n % 10 / 10,
                "stage": f"node{n}",
                "metadata": {
                    "changed_paths": [f"p{n}"],
                    "evidence_paths": [f"p{n - 1 if n % 6 else n - 50}"],
                },
            }
            for n in range(count)
        )
    )


CHAINS: dict[str, Callable[[int], Policy]] = {
    "count": lambda _: {"max_artifacts": 100},
    "budget": lambda _: {"max_tokens": 8000},
    "tight": lambda _: {"max_tokens": 30, "prefer_fresh": True},
    "kinds": lambda _: {**LIMITS, "include_kinds": KINDS[:2], "prefer_recent": True},
    "no_kind": lambda _: {**LIMITS, "exclude_kinds": KINDS[:1]},
    "priority": lambda _: {**LIMITS, "prioritize_kinds": KINDS[2:]},
    "stages": lambda n: {**LIMITS, "include_stages": [f"node{n}", f"node{n - 1}"]},
    "pins": lambda n: {**LIMITS, "pinned_ids": ["a1", "a2", f"a{n - 3}", "gone"]},
}


@pytest.mark.slow
def test_cost_stays_flat() -> None:
    """In a chain of 10,000 nodes the last ones cost what the early ones did.

    Each adds an artifact and selects; the medians of 300 nodes are compared.
    """
    pool = ArtifactPool()
    spent: dict[str, dict[int, list[float]]] = {
        name: {} for name in (*CHAINS, "branch")
    }

    def timed(name: str, start: int, work: Callable[[], object]) -> None:
        begun = time.process_time_ns()
        work()
        spent[name].setdefault(start, []).append(time.process_time_ns() - begun)

    measured = {500: range(500, 800), 9700: range(9700, 10_000)}
    for n, one in enumerate(numbered(10_000)):
        pool.add(one)
        start = next((at for at, nodes in measured.items() if n in nodes), None)
        if start is None:
            continue
        for name, policy in CHAINS.items():
            if n == start:
                pool.context(policy(n))  # what it builds at first is paid once
            timed(name, start, partial(pool.context, policy(n)))
        timed("branch", start, pool.branch)
    for name, times in spent.items():
        early, late = (sorted(times[start])[150] for start in measured)
        assert late < 4 * early, (name, early, late)
