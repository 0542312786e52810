"""Determinism profiles: what brought uncertainty into a run, and how much."""

from __future__ import annotations

from pathlib import Path

import pytest

from governed_programs import Provider, asking, entropy, opened, policy
from muniment import Run
from muniment_plugins.governance.governed import governed
from muniment_plugins.governance.views.profile import causality, profile_of


def test_a_run_without_effects_is_structural(tmp_path: Path) -> None:
    """Nothing uncertain happened: no source, and the decay is that of its level."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider(), 0))
        events = list(ledger.events(run=done.run_id))
        profile = profile_of(events, ledger.effect_kinds, "strict")
    assert profile.to_json() == {
        "level": "strict",
        "entropy_magnitude": None,
        "entropy_sources": [],
        "source_profiles": [],
        "classes": ["structural"],
        "replay_acceptability": "exact_match",
        "confidence_decay": 0.0,
    }


@pytest.mark.parametrize(
    ("kind", "source", "magnitude", "severity", "decay"),
    [
        ("llm", "external_oracle", "high", "high", 0.5),
        ("data", "data", "low", "medium", 0.3),
        ("human", "human_input", "high", "critical", 0.5),
        ("execution", "seeded_rng", "low", "low", 0.3),
    ],
)
def test_each_source_has_its_severity(
    tmp_path: Path, kind: str, source: str, magnitude: str, severity: str, decay: float
) -> None:
    """Source, severity, magnitude and count follow from the declared kind."""
    with opened(tmp_path) as ledger:
        done = ledger.execute(asking(Provider("yes"), 3, kind))
        events = list(ledger.events(run=done.run_id))
        profile = profile_of(events, ledger.effect_kinds, "bounded")
    (one,) = profile.source_profiles
    assert (one.source, one.severity, one.observed_magnitude, one.effects) == (
        source,
        severity,
        magnitude,
        3,
    )
    assert profile.confidence_decay == decay


def test_what_a_fallback_answered_brings_none(tmp_path: Path) -> None:
    """Only the two calls that were made are in the profile."""
    degrading = entropy(max_count=2, exhaustion_action="degrade", fallback="skip")
    with opened(tmp_path) as ledger:
        with governed(ledger, policy(entropy_budget=degrading)):
            done = ledger.execute(asking(Provider()))
        events = list(ledger.events(run=done.run_id))
        profile = profile_of(events, ledger.effect_kinds)
    assert [one.effects for one in profile.source_profiles] == [2]


def test_every_event_has_one_tag(tmp_path: Path) -> None:
    """People, models, tools, data and the surroundings are told apart by type."""

    def program(run: Run) -> None:
        run.now()
        for kind in ("llm", "tool", "data", "human"):
            run.effect(kind, 1, str)

    with opened(tmp_path) as ledger:
        done = ledger.execute(program)
        tags = {
            one.type: causality(one.type, ledger.effect_kinds)
            for one in ledger.events(run=done.run_id)
        }
    assert tags == {
        "run.started": "environment",
        "clock.read": "environment",
        "llm.requested": "agent",
        "llm.completed": "agent",
        "tool.requested": "tool",
        "tool.completed": "tool",
        "data.requested": "dataset",
        "data.completed": "dataset",
        "human.requested": "human",
        "human.completed": "human",
        "run.completed": "environment",
    }
