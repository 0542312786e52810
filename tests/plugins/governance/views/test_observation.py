"""Observations: what a policy would have stopped, in runs that it did not govern."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from governed_programs import Provider, asking, entropy, opened, policy
from muniment import Run
from muniment.documents.shapes import Entries, Items, ObjectShape, OneOf
from muniment.errors import WrongError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.governance import GovernancePolicy, load_flow, start_flow
from muniment_plugins.governance.documents.manifest_shape import FLOW
from muniment_plugins.governance.documents.policy_shape import POLICY
from muniment_plugins.governance.views import observation
from muniment_plugins.governance.views.coverage import FLOW_ROWS, POLICY_ROWS
from muniment_plugins.governance.views.observation import observe

BUDGETS: dict[str, dict[str, object]] = {
    "max_count": {"entropy_budget": entropy(max_count=3)},
    "max_weight": {"entropy_budget": entropy(max_weight=48)},
    "effect_limits.llm": {"execution_budget": {"effect_limits": {"llm": 3}}},
    "effect_limit": {"execution_budget": {"effect_limit": 3}},
    "token_limit": {"execution_budget": {"token_limit": 15}},
    "cost_limit": {"execution_budget": {"cost_limit": 0.75}},
}


def seen(ledger: Ledger, run: str, rules: GovernancePolicy) -> dict[str, Any]:
    """Return what an observation of *run* says, after replaying it."""
    done = observe(ledger, run, rules)
    assert replay(ledger, done.run_id).verdict == "acceptable"
    noted = [
        (one.raw["target"], one.raw["rule"])
        for one in ledger.events(run=done.run_id, type="violation.noted")
    ]
    return {**cast("dict[str, Any]", done.value), "noted": noted}


@pytest.mark.parametrize("limit", BUDGETS)
def test_the_first_effect_beyond_a_limit_is_named(tmp_path: Path, limit: str) -> None:
    """The event is the request of the fourth call, which the budget would have stopped."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider()))
        fourth = [
            one.seq for one in ledger.events(run=done.run_id, type="llm.requested")
        ][3]
        said = seen(ledger, done.run_id, policy(**BUDGETS[limit]))
    assert (said["within"], said["violations"]) == (False, 1)
    assert said["noted"] == [(f"event {fourth}", f"budget/{limit}")]


def test_a_run_within_its_policy_is_within(tmp_path: Path) -> None:
    """Nothing is noted, and the observed run is as it was."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider()))
        before = [one.hash for one in ledger.events(run=done.run_id)]
        said = seen(ledger, done.run_id, policy(execution_budget={"effect_limit": 5}))
        assert [one.hash for one in ledger.events(run=done.run_id)] == before
    assert (said["within"], said["noted"], said["events"]) == (True, [], len(before))


CLAIM = {
    "claim_id": "c1",
    "statement": "it is so",
    "confidence": 2.0,
    "supported_by": [],
}


@pytest.mark.parametrize(
    ("claims", "verdict"), [([CLAIM], "fail"), ([], "abstain")], ids=["one", "none"]
)
def test_what_was_reasoned_is_judged(
    tmp_path: Path, claims: list[dict[str, object]], verdict: str
) -> None:
    """Claims without evidence fail by the rules in the box; no claim passes nothing."""

    def program(run: Run) -> None:
        run.record(
            "reasoning.recorded",
            {
                "bundle_id": "b1",
                "producer": "writer",
                "claim_ids": [one["claim_id"] for one in claims],
                "evidence_ids": [],
                "digest": "sha256:" + "0" * 64,
                "claims": claims,
                "steps": [],
            },
        )

    with opened(tmp_path) as ledger:
        done = ledger.execute(program)
        done.raise_failure()
        said = seen(ledger, done.run_id, policy())
    assert said["within"] is (verdict == "abstain")
    assert said["verdicts"]["event 2"] == verdict
    assert ("pass" in said["verdicts"].values()) is bool(claims)


def test_an_edited_record_is_not_judged(tmp_path: Path) -> None:
    """A row that does not verify is named; nothing is recorded about it."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider()))
        path = ledger.path
    database = sqlite3.connect(path)
    found = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    triggers = database.execute(found).fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {name}")
    edited = "replace(CAST(payload AS TEXT), 'llm', 'lmm')"
    edit = f"UPDATE event SET payload = CAST({edited} AS BLOB) WHERE run = ?"
    database.execute(edit, (done.run_id,))
    for _, sql in triggers:
        database.execute(sql)
    database.commit()
    database.close()
    with Ledger.open(path, home=tmp_path / "home", plugins=("governance",)) as ledger:
        size = ledger.head.size
        with pytest.raises(WrongError):
            observe(ledger, done.run_id, policy())
        assert ledger.head.size == size


# -- what is compared ------------------------------------------------------------------


def paths_of(shape: object, path: str = "") -> Iterator[str]:
    """Yield each member that a document of this shape can have, as the tables have it."""
    if isinstance(shape, ObjectShape):
        for name, one in {**shape.required, **shape.optional}.items():
            yield from paths_of(one, f"{path}.{name}" if path else name)
    elif isinstance(shape, Items):
        below = [*paths_of(shape.shape, f"{path}[]")]
        yield from [path] if below == [f"{path}[]"] else below
    elif isinstance(shape, Entries):
        yield from paths_of(shape.shape, f"{path}.*")
    elif isinstance(shape, OneOf) and not path.endswith("fallback"):
        yield path
        yield from paths_of(shape.members, path)
    else:
        yield path


@pytest.mark.parametrize(
    ("shape", "rows"),
    [(POLICY, POLICY_ROWS), (FLOW, FLOW_ROWS)],
    ids=["policy", "flow"],
)
def test_every_member_has_a_row(shape: object, rows: Mapping[str, str]) -> None:
    """A key that a policy learns is compared, or said to ask nothing, or this fails."""
    assert {*paths_of(shape)} == {*rows}


DECLARING: dict[str, dict[str, object]] = {
    "determinism_level": {"determinism_level": "strict"},
    "nondeterminism": {"nondeterminism": {"max_entropy_magnitude": "low"}},
    "verification_level": {"verification_level": "strict"},
    "rules": {"max_rule_cost": 3},
    "an unknown kind": {"execution_budget": {"effect_limits": {"Retrieval": 0}}},
}


@pytest.mark.parametrize("member", DECLARING)
def test_what_cannot_be_compared_is_named(tmp_path: Path, member: str) -> None:
    """A run that declares and reasons nothing is not said to be within."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider()))
        said = seen(ledger, done.run_id, policy(**DECLARING[member]))
    assert (said["within"], said["violations"], said["compared"]) == (None, 0, [])
    (missing,) = said["not_compared"]
    assert missing["what"].startswith("policy: ")
    assert said["members"] == 1


OF_FLOWS: dict[str, dict[str, object]] = {
    **{
        limit: {"execution_budget": {limit: 0}}
        for limit in (
            *("step_limit", "artifact_limit", "artifact_step_limit"),
            "evidence_limit",
        )
    },
    "nondeterminism": {"nondeterminism": {"max_entropy_magnitude": "low"}},
    "verification_level": {"verification_level": "strict"},
    "required_evidence": {"required_evidence": ["manual"]},
}


@pytest.mark.parametrize("member", OF_FLOWS)
def test_a_flow_is_compared_with_all_that_a_policy_says(
    book: Ledger, place: Path, member: str
) -> None:
    """What a live run would have refused or failed by is beyond."""
    done = start_flow(book, load_flow(place / "flow.json"))
    done.raise_failure()
    said = seen(book, done.run_id, policy(**OF_FLOWS[member]))
    assert said["within"] is False
    assert said["not_compared"] == []
    assert len(said["compared"]) == said["members"] == 1


def _kid(run: Run) -> list[object]:
    return [run.effect("tool", number, str) for number in range(3)]


def _top(run: Run) -> object:
    run.effect("tool", 0, str)
    return run.call(_kid)


@pytest.mark.parametrize(("most", "within"), [(3, False), (4, True)])
def test_called_runs_count_to_their_caller(
    tmp_path: Path, most: int, within: bool
) -> None:
    """As they do while they run: the fourth effect is the called run's."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(_top)
        rules = policy(execution_budget={"effect_limit": most})
        said = seen(ledger, done.run_id, rules)
    assert (said["within"], said["runs"]) == (within, 2)


def _marked(run: Run) -> None:
    run.mark("non_certifiable", "for a reason")


def _calls_marked(run: Run) -> None:
    run.call(_marked)


@pytest.mark.parametrize("program", [_marked, _calls_marked])
def test_a_marked_run_is_never_within(
    tmp_path: Path, program: Callable[[Run], None]
) -> None:
    """Neither is one that calls such a run: nobody can vouch for the record."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(program)
        said = seen(ledger, done.run_id, policy(execution_budget={"effect_limit": 4}))
    assert said["within"] is None
    assert "is marked non_certifiable" in said["not_compared"][-1]["because"]


def test_an_answer_without_tokens_is_not_within(tmp_path: Path) -> None:
    """The last answer does not say them: nobody can tell what was spent."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider({"text": "yes"}), 1))
        rules = policy(execution_budget={"token_limit": 50, "effect_limit": 4})
        said = seen(ledger, done.run_id, rules)
    assert said["within"] is None
    assert said["not_compared"][-1]["what"] == "policy: token_limit"


def test_an_observation_from_before_replays(tmp_path: Path) -> None:
    """It saw the rows of one run, and says what it said."""
    row = {"seq": 1, "type": "run.started", "scope": None, "ordinal": None}
    rows = [{**row, "seconds": 0.0, "data": {}}]
    with opened(tmp_path) as ledger:
        token = observation._OBSERVING.set(observation._Observing(rows))  # type: ignore[arg-type]
        done = ledger.execute(
            observation.earlier_observation,
            params={
                "of": {"run": "r", "leaf": "l"},
                "policy": dict(policy().document),
                "flow": None,
                "kinds": {},
            },
        )
        observation._OBSERVING.reset(token)
        assert replay(ledger, done.run_id).verdict == "acceptable"
        assert cast("dict[str, Any]", done.value)["within"] is True
