"""Whatever a policy or a manifest declares is asked by an engine, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow, write_policy
from muniment.documents.shapes import Shaped
from muniment.errors import UsageError
from muniment.plugins import Plugins
from muniment_cli import main
from muniment_plugins.governance import (
    GovernancePolicy,
    load_flow,
    load_policy,
    plan_flow,
)
from muniment_plugins.governance.documents.asked import ASKERS, engine_of
from muniment_plugins.governance.documents.policy_shape import POLICY, VERIFICATION
from muniment_plugins.governance.documents.policy_verification import BASELINE, COMPUTED
from muniment_plugins.governance.documents.words import ENGINES

OWN = {"rule_id": "k", "check": "agents:read", "target": "artifact"}
NEEDS: dict[str, list[tuple[dict[str, Any], str, str]]] = {
    "rules": [
        ({"rules": [OWN]}, "content", "rules[0].rule_id"),
        *(
            ({"rules": [{"rule_id": one}]}, engine_of(one), "rules[0].rule_id")
            for one in (*BASELINE, *COMPUTED)
        ),
    ],
    **{
        key: [
            *(({key: [one]}, engine_of(one), f"{key}[0]") for one in BASELINE),
            *(({key: [one]}, engine_of(one), f"{key}[0]") for one in COMPUTED),
            ({"rules": [OWN], key: ["k"]}, "content", "rules[0].rule_id"),
        ]
        for key in ("fail_on", "escalate_on")
    },
    "required_evidence": [
        ({"required_evidence": ["e1"]}, "content", "required_evidence")
    ],
    "verification_level": [
        ({"verification_level": one}, "content", "verification_level")
        for one in ("baseline", "strict")
    ],
    "max_rule_cost": [({"max_rule_cost": 0}, "content", "max_rule_cost")],
    "signers": [({"signers": ["SHA256:x"]}, "signature", "signers")],
    "arbitration_policy": [
        ({"arbitration_policy": {"rule": "quorum"}}, "", "arbitration_policy")
    ],
}
"""Key → documents that declare something under it, who asks that, and its place."""
SILENT: dict[str, Any] = {
    "verification_level": "none",
    "required_evidence": [],
    "rules": [],
    "fail_on": [],
    "escalate_on": [],
    "signers": [],
    "max_rule_cost": None,
    "arbitration_policy": None,
    "randomness_tolerance": "sampled",
    "failure_mode": "continue",
}
CASES = [(key, *one) for key, found in NEEDS.items() for one in found]


def test_every_key_has_its_askers() -> None:
    """No key about verification is left out, and each that needs one is tried here."""
    shapes: dict[str, Shaped] = VERIFICATION
    assert {*ASKERS} == {*shapes} <= {*POLICY.optional}
    assert {*NEEDS} == {key for key, one in ASKERS.items() if one is not None}


@pytest.mark.parametrize(("key", "members", "engine", "where"), CASES)
def test_what_no_engine_asks_is_refused(
    place: Path, key: str, members: dict[str, Any], engine: str, where: str
) -> None:
    """Without its engine it is a mistake, with the key; with its engine it is none."""
    others = [one for one in ENGINES if one != engine] if engine else []
    file = write_policy(place, **members, engines=others)
    with pytest.raises(UsageError, match="no engine asks") as caught:
        load_policy(file)
    assert caught.value.place == f"{file}: {where}"
    assert caught.value.rule == "policy/unasked"
    assert where.startswith((key, "rules"))
    document: Any = {"spec_version": "v1", **members, "engines": others}
    policy = GovernancePolicy.from_document(document, "p")
    with pytest.raises(UsageError, match="no engine asks"):
        plan_flow(load_flow(place / "flow.json"), policy, Plugins([]))
    wanted = [engine or "contradiction"]
    if members.get("rules") == [OWN]:
        wanted = ["content"]
    load_policy(write_policy(place, **members, engines=wanted))


@pytest.mark.parametrize("engines", [[], ["signature"], ["contradiction"]])
def test_what_asks_nothing_is_no_mistake(place: Path, engines: list[str]) -> None:
    """Empty lists, null, and what the flow itself looks at need no engine."""
    load_policy(write_policy(place, **SILENT, engines=engines))


@pytest.mark.parametrize("gate", [*BASELINE, *COMPUTED, "agents:read"])
def test_gates(place: Path, gate: str) -> None:
    """A gate of a manifest is asked by an engine of the policy, or refused by its key."""
    flow = load_flow(write_flow(place, sum_document(verification_gates=[gate])))
    others = [one for one in ENGINES if one != engine_of(gate)]
    policy = load_policy(write_policy(place, engines=others))
    with pytest.raises(UsageError, match="no engine asks") as caught:
        plan_flow(flow, policy, Plugins([]))
    assert str(caught.value.place).endswith("flow.json: verification_gates[0]")
    policy = load_policy(write_policy(place, engines=[engine_of(gate)]))
    assert plan_flow(flow, policy, Plugins([])).plan.steps


def test_gates_where_nobody_reasons(place: Path) -> None:
    """A gate about reasoning is refused in a flow none of whose steps reasons."""
    parts = {"reader": "agents:read", "writer": "agents:write"}
    for gate, refused in (
        ("claim_requires_evidence", True),
        ("agents:read", True),
        ("contradiction", True),
        ("missing_bundle", False),
        ("required_evidence", False),
        ("k", False),
    ):
        flow = sum_document(parts=parts, verification_gates=[gate])
        made = load_flow(write_flow(place, flow))
        policy = load_policy(write_policy(place, rules=[OWN]))
        if refused:
            with pytest.raises(UsageError, match="no step reasons"):
                plan_flow(made, policy, Plugins([]))
        else:
            plan_flow(made, policy, Plugins([]))


def test_each_command_says_so(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of `policy check`, `plan` and `run` alike: one line, with the key, exit code 2."""
    monkeypatch.setenv("MUNIMENT_HOME", str(place / "home"))
    assert main(["init"]) == 0
    write_policy(place, rules=[OWN], engines=["signature"])
    capfd.readouterr()
    for command in (
        ["policy", "check", "policy.json"],
        ["plan", "flow.json", "--policy", "policy.json"],
        ["run", "flow.json", "--policy", "policy.json"],
    ):
        assert main(command) == 2, command
        _, err = capfd.readouterr()
        assert err.count("\n") == 1
        assert "policy.json: rules[0].rule_id: no engine asks k" in err
