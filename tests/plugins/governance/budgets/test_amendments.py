"""Amendments: a halted run goes on after people, by their keys, approved other budgets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from deciding import answer, approver
from governed_programs import Provider, asking, forged_lane, opened, policy
from muniment import Run
from muniment.errors import MunimentError, RefusedError, UsageError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.verification.verify import verify
from muniment_plugins.governance import GovernancePolicy
from muniment_plugins.governance.budgets.adopted import governing_of
from muniment_plugins.governance.budgets.amendments import amend, amendment_of
from muniment_plugins.governance.budgets.table import budget_table
from muniment_plugins.governance.governed import governed


def terms(limit: int, **members: object) -> GovernancePolicy:
    """Return a policy that allows so many model calls."""
    return policy(execution_budget={"effect_limits": {"llm": limit}}, **members)


def halted(ledger: Ledger, provider: Provider, rules: GovernancePolicy) -> str:
    """Run a program that asks five times, until its budget halts it; return the run."""
    with governed(ledger, rules):
        done = ledger.execute(asking(provider))
    assert done.status == "failed"
    return done.run_id


def asked_for(ledger: Ledger, run: str, changed: GovernancePolicy) -> str:
    """Ask for an amendment of *run*; return the run that waits."""
    params = amendment_of(*governing_of(ledger, run), changed, None)
    done = ledger.execute(amend, params=params)
    assert done.is_paused
    return done.run_id


def test_people_let_a_halted_run_go_on(tmp_path: Path) -> None:
    """Once an approver's signature stands, the run performs what is left.

    Until then a resume is refused. The record carries the amendment, verifies, and replays.
    """
    provider = Provider()
    with opened(tmp_path) as ledger:
        key = approver(ledger, "ann")
        run = halted(ledger, provider, terms(3))
        waiting = asked_for(ledger, run, terms(9))
        with pytest.raises(RefusedError, match="nobody has amended its policy"):
            ledger.resume(run, asking(provider))
        answer(ledger, key)
        with pytest.raises(RefusedError, match="nobody has amended its policy"):
            ledger.resume(run, asking(provider))
        assert ledger.resume(waiting).ok
        done = ledger.resume(run, asking(provider))
        assert (done.status, len(provider.calls)) == ("completed", 5)
        adopted = list(ledger.events(run=run, type="policy.adopted"))
        (amended,) = ledger.events(type="policy.amended")
        assert [one.raw.get("amendment") for one in adopted] == [None, amended.hash]
        approved = cast("list[dict[str, str]]", ledger.resolve(adopted[1])["approved"])
        assert [one["key"] for one in approved] == [key.public.keyid]
        assert replay(ledger, run, asking(provider)).verdict == "acceptable"
        assert verify(ledger.path, home=ledger.home).ok


def test_an_amended_budget_is_a_budget(tmp_path: Path) -> None:
    """What was spent stays spent, and the run halts at the new limit.

    A second amendment is one of what the first made of the policy.
    """
    provider = Provider()
    with opened(tmp_path) as ledger:
        key = approver(ledger, "ann")
        run = halted(ledger, provider, terms(2))
        for limit, calls, status in ((4, 4, "failed"), (6, 5, "completed")):
            waiting = asked_for(ledger, run, terms(limit))
            answer(ledger, key)
            assert ledger.resume(waiting).ok
            done = ledger.resume(run, asking(provider))
            assert (done.status, len(provider.calls)) == (status, calls)


def test_a_denial_leaves_the_run_halted(tmp_path: Path) -> None:
    """The amendment fails as refused, nothing is amended, and the run stays as it is."""
    provider = Provider()
    with opened(tmp_path) as ledger:
        key = approver(ledger, "ann")
        run = halted(ledger, provider, terms(3))
        waiting = asked_for(ledger, run, terms(9))
        answer(ledger, key, "denied")
        assert ledger.resume(waiting).status == "refused"
        assert not list(ledger.events(type="policy.amended"))
        with pytest.raises(RefusedError, match="nobody has amended its policy"):
            ledger.resume(run, asking(provider))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (terms(3), "changes nothing"),
        (terms(9, mode="unsafe"), "changes mode"),
        (terms(9, approvers={"quorum": 2}), "changes approvers"),
        (terms(9, determinism_level="strict"), "changes determinism_level"),
        (terms(9, fail_on=["unique_claim_ids"]), "changes fail_on"),
    ],
)
def test_an_amendment_changes_budgets_and_nothing_else(
    tmp_path: Path, changed: GovernancePolicy, why: str
) -> None:
    """Whoever may amend budgets cannot change who may, or how the run is judged."""
    with opened(tmp_path) as ledger:
        run = halted(ledger, Provider(), terms(3))
        with pytest.raises(UsageError, match=why):
            amendment_of(*governing_of(ledger, run), changed, None)


def forged(change: Callable[[dict[str, object]], object]) -> Callable[..., object]:
    """Return a program that asks what is right, and states something else."""

    def program(
        run: Run, amendment: dict[str, object], quorum: int, keys: list[str]
    ) -> None:
        run.decide(dict(amendment), "", quorum, keys)
        change(amendment)
        run.record("policy.amended", amendment)

    return program


def test_a_writer_alone_amends_nothing(tmp_path: Path) -> None:
    """An amendment that nobody approved, or not so, is refused at the resume.

    So is one that was stated by another program than the one that asks. The provider is
    not called.
    """

    def states(run: Run, amendment: dict[str, object], **_: object) -> None:
        run.record("policy.amended", amendment)

    def widens(amendment: dict[str, object]) -> None:
        amendment["policy"] = dict(terms(99).document)
        amendment["after"] = terms(99).digest

    for program in (states, forged(widens), forged(lambda _: None)):
        provider = Provider()
        place = tmp_path / str(id(program))
        place.mkdir()
        with opened(place) as ledger:
            key = approver(ledger, "ann")
            run = halted(ledger, provider, terms(3))
            params = amendment_of(*governing_of(ledger, run), terms(9), None)
            done = ledger.execute(program, params=params)
            if done.is_paused:
                answer(ledger, key)
                ledger.resume(done.run_id, program).raise_failure()
            with pytest.raises(RefusedError, match="nobody has amended its policy"):
                ledger.resume(run, asking(provider))
            assert len(provider.calls) == 3


def test_the_quorum_is_that_of_the_policy(tmp_path: Path) -> None:
    """Where the policy asks for two people, one is not enough, nor one twice.

    Nor is an amendment that asks for one.
    """
    provider, rules = Provider(), terms(3, approvers={"quorum": 2})
    changed = terms(9, approvers={"quorum": 2})
    with opened(tmp_path) as ledger:
        one, other = approver(ledger, "ann"), approver(ledger, "bob")
        run = halted(ledger, provider, rules)
        waiting = asked_for(ledger, run, changed)
        answer(ledger, one)
        with pytest.raises(MunimentError, match="answered"):
            answer(ledger, one)
        assert ledger.resume(waiting).is_paused
        answer(ledger, other)
        assert ledger.resume(waiting).ok
        assert ledger.resume(run, asking(provider)).ok

        run = halted(ledger, provider, rules)
        params = amendment_of(*governing_of(ledger, run), changed, None)
        done = ledger.execute(amend, params={**params, "quorum": 1})
        answer(ledger, one)
        ledger.resume(done.run_id).raise_failure()
        with pytest.raises(RefusedError, match="nobody has amended its policy"):
            ledger.resume(run, asking(provider))


def test_who_has_no_policy_has_nothing_to_amend(tmp_path: Path) -> None:
    """Of a run that is not governed, and of a child, which its root governs."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider()))
        with pytest.raises(UsageError, match="has no policy of its own"):
            governing_of(ledger, done.run_id)
        with governed(ledger, terms(9)):
            parent = ledger.execute(lambda run: run.call(asking(Provider()), name="c"))
        (child,) = ledger.children(parent.run_id)
        with pytest.raises(UsageError, match="has no policy of its own"):
            governing_of(ledger, child)


def test_a_policy_document_survives_the_record(tmp_path: Path) -> None:
    """What was adopted is what was written, however large it is."""
    intent = {"min_entropy_magnitude": "low", "max_entropy_magnitude": "high"}
    rules = policy(
        nondeterminism_intent=[
            {**intent, "source": "llm", "justification": f"{number} {'x' * 300}"}
            for number in range(50)
        ]
    )
    with opened(tmp_path) as ledger:
        with governed(ledger, rules):
            done = ledger.execute(asking(Provider(), 1))
        _, known = governing_of(ledger, done.run_id)
        assert known.policy.document == rules.document


def test_forks_of_amended_runs_are_read_as_honest(tmp_path: Path) -> None:
    """At every event, of a run that was amended twice, and of its forks."""
    provider = Provider()
    with opened(tmp_path) as ledger:
        key = approver(ledger, "ann")
        run = halted(ledger, provider, terms(1))
        for limit in (2, 20):
            waiting = asked_for(ledger, run, terms(limit))
            answer(ledger, key)
            assert ledger.resume(waiting).ok
            done = ledger.resume(run, asking(provider))
            assert done.ok is (limit > 5)
        ends = [one.seq for one in ledger.events(run=run, type="llm.completed")]
        for at in (*ends, [*ledger.events(run=run)][-2].seq):
            fork = ledger.fork(run, at=at, program=asking(provider))
            assert fork.ok
            last = [*ledger.events(run=fork.run_id, type="llm.requested")][-1]
            again = ledger.fork(fork.run_id, at=last.seq, program=asking(provider))
            for one in (fork, again):
                _, known = governing_of(ledger, one.run_id)
                assert known.policy.digest == terms(20).digest
                table = budget_table(ledger, one.run_id)
                assert table is not None
                assert table.rows[0].allowed == 20
                verdict = replay(ledger, one.run_id, asking(provider)).verdict
                assert verdict == "acceptable"
                (adopted,) = ledger.events(run=one.run_id, type="policy.adopted")
                assert adopted.raw["amendment"] is not None
        assert verify(ledger.path, home=ledger.home).ok


@pytest.mark.parametrize("amended", [False, True])
def test_a_forged_adoption_in_a_fork_stays_forged(
    tmp_path: Path, amended: bool
) -> None:
    """Whatever a program of the fork states of a policy that nobody approved."""
    provider, weak = Provider(), terms(99)

    def forging(run: Run) -> list[object]:
        got = [run.effect("llm", 0, provider)]
        if run.mode == "fork":
            claimed = {"amendment": "0" * 64} if amended else {}
            told = {"policy": "tested", "digest": weak.digest, "mode": "live"}
            document = {"document": dict(weak.document)}
            forged_lane(run, "governance").record(
                "policy.adopted", {**told, **document, **claimed}
            )
        return got

    with opened(tmp_path) as ledger:
        with governed(ledger, terms(3)):
            done = ledger.execute(forging)
        at = [*ledger.events(run=done.run_id, type="llm.completed")][-1].seq
        fork = ledger.fork(done.run_id, at=at, program=forging)
        assert [*ledger.events(run=fork.run_id, type="policy.adopted")][1:]
        with pytest.raises(RefusedError, match="nobody approved"):
            governing_of(ledger, fork.run_id)
