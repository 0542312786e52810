"""The acceptance checks of governed execution, by their numbers, on the command line.

Check 1 is the tutorial's (`docs/tutorial-governance.md`), which is followed as printed;
3 is `tests/ledger/verifier/test_tampering.py` on the world that has every type.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from typing import Any

import pytest

from first_hour import Newcomer, Said
from flow_files import AGENTS, sum_document
from muniment.encoding.canonical import canonical

FAILING: dict[str, tuple[dict[str, Any], str]] = {
    "a step": (
        {"parts": {"reader": "agents:fail", "writer": "echo"}},
        "out of ink",
    ),
    "a verification": (
        {
            "parts": {
                "reader": "agents:read",
                "writer": {"agent": "agents:write", "reasoner": "agents:guess"},
            }
        },
        "verification failed",
    ),
    "a budget": (
        {
            "parts": {"reader": "agents:ask", "writer": "agents:ask"},
            "entropy_budget": {
                "allowed_sources": ["data"],
                "max_magnitude": "low",
                "max_count": 1,
            },
        },
        "BudgetExhausted",
    ),
}


def flow(newcomer: Newcomer, **members: object) -> None:
    """Write the flow of two steps and its agents into the newcomer's folder."""
    (newcomer.folder / "agents.py").write_text(AGENTS)
    document = sum_document(tenant_id="default", **members)
    (newcomer.folder / "flow.json").write_text(json.dumps(document))


def policy(newcomer: Newcomer, name: str = "policy.json", **members: object) -> None:
    """Write a policy."""
    document = {"spec_version": "v1", "policy_id": "checked", **members}
    (newcomer.folder / name).write_text(json.dumps(document))


def ran(newcomer: Newcomer, *words: str, code: int = 0) -> dict[str, Any]:
    """Run the flow, and return what is said of the run."""
    done = newcomer.muniment("run", "flow.json", *words, "--json")
    assert done.code == code, done
    found: dict[str, Any] = json.loads(done.out)
    return found


def events(newcomer: Newcomer, run: str, type_: str) -> list[dict[str, Any]]:
    """Return the events of a type."""
    told = ("events", "--run", run, "--type", type_, "--order", "asc", "--json")
    return list(json.loads(newcomer.muniment(*told).out))


@pytest.fixture
def settled(newcomer: Newcomer) -> Newcomer:
    """Give a newcomer with a ledger."""
    assert newcomer.muniment("init").code == 0
    return newcomer


@pytest.mark.parametrize("what", FAILING)
def test_check_2_what_fails_fails(settled: Newcomer, what: str) -> None:
    """A failed step, verification or budget is status *failed* and exit code 1.

    The verdict on the step stays beside that on the flow, and the replay fails alike.
    """
    members, why = FAILING[what]
    flow(settled, **members)
    policy(settled, verification_level="baseline")
    said = ran(settled, "--policy", "policy.json", code=1)
    assert said["status"] == "failed"
    assert why in said["error"]
    replayed = settled.muniment("replay", said["run"], "--json")
    assert json.loads(replayed.out)["verdict"] == "acceptable", replayed
    if what == "a verification":
        verdicts = events(settled, said["run"], "verification.arbitrated")
        assert [(one["data"]["target"], one["data"]["status"]) for one in verdicts] == [
            ("step/0-reader", "abstain"),
            ("step/1-writer", "fail"),
        ]


def test_check_2_a_later_verdict_hides_no_earlier_one(settled: Newcomer) -> None:
    """With ``failure_mode`` *continue* the flow is judged, too, and the step still fails."""
    flow(settled, **FAILING["a verification"][0])
    policy(settled, verification_level="baseline", failure_mode="continue")
    said = ran(settled, "--policy", "policy.json", code=1)
    verdicts = {
        one["data"]["target"]: one["data"]["status"]
        for one in events(settled, said["run"], "verification.arbitrated")
    }
    assert verdicts["step/1-writer"] == "fail"
    assert "flow" in verdicts


@pytest.mark.slow
@pytest.mark.parametrize("action", ["halt", "degrade", "mark_non_certifiable"])
def test_check_4_intents_and_actions_on_the_real_store(
    settled: Newcomer, action: str
) -> None:
    """Intents are declared and kept; each action ends as it says, cumulatively by source."""
    degrades = {"fallback": {"answer": 7}} if action == "degrade" else {}
    flow(
        settled,
        agents=["writer", "reader", "third"],
        parts=dict.fromkeys(("reader", "writer", "third"), "agents:ask"),
        entropy_budget={
            "allowed_sources": ["data"],
            "max_magnitude": "medium",
            "per_source": [
                {
                    "source": "data",
                    "max_magnitude": "medium",
                    "max_count": 2,
                    "exhaustion_action": action,
                    **degrades,
                }
            ],
        },
    )
    said = ran(settled, code=1 if action == "halt" else 0)
    (spent,) = events(settled, said["run"], "budget.exhausted")
    assert (spent["data"]["limit"], spent["data"]["action"]) == ("max_count", action)
    assert len(events(settled, said["run"], "effect.degraded")) == (action == "degrade")
    marked = events(settled, said["run"], "run.marked")
    assert len(marked) == (action == "mark_non_certifiable")
    (started,) = events(settled, said["run"], "run.started")
    whole = settled.muniment("events", "show", started["seq"], "--json").out
    assert "the corpus is ranked" in whole
    replayed = json.loads(settled.muniment("replay", said["run"], "--json").out)
    expected = "non_certifiable" if marked else "acceptable"
    assert replayed["verdict"] == expected, replayed


@pytest.mark.slow
def test_check_5_terms_change_the_outcome(settled: Newcomer) -> None:
    """An agent that changed its payload is rejected strictly, and not observationally.

    The verdict, the first divergent event and the terms are recorded, with the original.
    """
    flow(settled)
    said = ran(settled)
    text = AGENTS.replace('"rows": [1, 2, 3]', '"rows": [1, 2, 3, 0]', 1)
    (settled.folder / "agents.py").write_text(text)
    codes: dict[str, int] = {}
    for mode in ("strict", "observational"):
        done = settled.muniment(
            *("replay", said["run"], "--program", "flow.json", "--mode", mode),
            *("--accept", "exact_match", "--json"),
        )
        codes[mode] = done.code
        assert done.out, done
        report = json.loads(done.out)
        (judged,) = events(settled, report["recorded_as"], "replay.judged")
        assert judged["data"]["replay_of"] == said["run"]
        shown = settled.muniment("events", "show", judged["seq"], "--json").out
        assert '"acceptability": "exact_match"' in shown
    assert codes["observational"] == 0
    assert codes["strict"] != 0


def test_check_6_order_counts_and_clocks_are_real(settled: Newcomer) -> None:
    """Lists in another order have another digest; times are now, durations are measured."""
    assert canonical([1, 2]) != canonical([2, 1])
    flow(settled, parts=dict.fromkeys(("reader", "writer"), "agents:ask"))
    said = ran(settled)
    (one, other) = events(settled, said["run"], "data.completed")
    assert one["time"].startswith("20")
    assert one["time"] < other["time"]
    assert one["data"]["duration_us"] > 0


def test_check_7_a_policy_comes_from_elsewhere(settled: Newcomer) -> None:
    """Without a policy a run says which built-in one it has, and takes none from the flow."""
    flow(settled)
    done = settled.muniment("run", "flow.json")
    assert "no --policy: the flow is held to muniment:default/1" in done.err
    ((run, _),) = settled.runs()
    (adopted,) = events(settled, run, "policy.adopted")
    assert adopted["data"]["policy"] == "muniment:default/1"
    assert "entropy_budget" not in adopted["data"]["document"]


PAUSING = (
    AGENTS
    + """

def wait(run, task):
    run.pause("for the night")
    return {"rows": [1, 2, 3]}
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["nothing", "agents", "dataset", "policy"])
def test_check_8_a_resume_goes_on_with_what_began(
    settled: Newcomer, changed: str
) -> None:
    """Another function, dataset or policy is refused; the resumed run replays clean."""
    data = settled.folder / "rows.jsonl"
    data.write_text("1\n")
    pin = {
        "dataset_id": "rows",
        "tenant_id": "default",
        "dataset_version": "1",
        "dataset_hash": hashlib.sha256(b"1\n").hexdigest(),
        "dataset_state": "frozen",
        "storage_uri": "file://rows.jsonl",
    }
    flow(settled, dataset=pin, parts={"reader": "agents:wait", "writer": "echo"})
    (settled.folder / "agents.py").write_text(PAUSING)
    policy(settled)
    policy(settled, "other.json", execution_budget={"effect_limit": 1})
    run = ran(settled, "--policy", "policy.json", code=5)["run"]
    size = _events(settled)
    if changed == "agents":
        (settled.folder / "agents.py").write_text(PAUSING.replace("[1, 2, 3]}", "[]}"))
    if changed == "dataset":
        data.write_text("2\n")
    given = ["--policy", "other.json"] if changed == "policy" else []
    done = settled.muniment("resume", run, *given)
    if changed != "nothing":
        assert done.code in (3, 4), done
        assert _events(settled) == size
        return
    assert done.code == 0, done
    assert settled.muniment("replay", run).code == 0


@pytest.mark.slow
def test_check_9_the_dataset_is_hashed(settled: Newcomer) -> None:
    """A frozen dataset is hashed when it is run and when it is replayed."""
    data = settled.folder / "rows.jsonl"
    data.write_text("1\n2\n3\n")
    pin = {
        "dataset_id": "rows",
        "tenant_id": "default",
        "dataset_version": "1",
        "dataset_hash": "sha256:" + "0" * 64,
        "dataset_state": "frozen",
        "storage_uri": "file://rows.jsonl",
    }
    flow(settled, dataset=pin)
    refused = settled.muniment("run", "flow.json")
    assert refused.code == 4, refused
    (digest,) = re.findall(r"[0-9a-f]{64}", refused.err)[:1]
    flow(settled, dataset={**pin, "dataset_hash": f"sha256:{digest}"})
    said = ran(settled)
    (pinned,) = events(settled, said["run"], "dataset.pinned")
    assert pinned["data"]["sha256"].endswith(digest)
    data.write_text("1\n2\n4\n")
    replayed = settled.muniment("replay", said["run"], "--json")
    assert replayed.code != 0, replayed


def _printed_once(done: Said) -> None:
    assert "Traceback" not in done.err + done.out, done
    assert len(done.err.strip().splitlines()) == 1, done


MISTAKES: dict[str, str] = {
    "not JSON": "{",
    "a missing key": json.dumps({"flow_id": "f"}),
    "an unknown key": json.dumps(sum_document(flow_ids="f")),
    "a wrong enum": json.dumps(sum_document(replay_mode="strictly")),
    "a wrong type": json.dumps(sum_document(agents="reader")),
    "an unknown dependency": json.dumps(sum_document(dependencies=["writer:nobody"])),
    "a cycle": json.dumps(
        sum_document(dependencies=["writer:reader", "reader:writer"])
    ),
    "no level": json.dumps(sum_document(determinism_level="default")),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_check_12_eight_mistakes(settled: Newcomer, what: str) -> None:
    """Each is one line with the key path and exit code 2, and nothing is written."""
    flow(settled)
    (settled.folder / "flow.json").write_text(MISTAKES[what])
    size = _events(settled)
    for command in ("plan", "run"):
        done = settled.muniment(command, "flow.json")
        assert done.code == 2, done
        _printed_once(done)
        assert "flow.json" in done.err
    assert _events(settled) == size


def _events(newcomer: Newcomer) -> int:
    database = sqlite3.connect(newcomer.folder / ".muniment" / "ledger.db")
    (count,) = database.execute("SELECT count(*) FROM event").fetchone()
    database.close()
    return int(count)


PLUGIN = """
from muniment import EffectKind, hookimpl


def shout(run, task):
    return {"text": str(run.effect("stranger.dice", task.step, lambda n: n)) + "!"}


@hookimpl
def effect_kinds():
    return [EffectKind("stranger.dice", source="seeded_rng", magnitude="low")]


@hookimpl(optionalhook=True)
def flow_parts():
    return {"shouter": shout}


@hookimpl(optionalhook=True)
def verification_engines():
    return {"loud": lambda subject: [
        "too quiet" for one in subject["artifacts"] if "!" not in str(one["content"])
    ]}


@hookimpl
def after_append(event):
    raise OSError("the observer is broken")
"""
METADATA = "Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n"


def test_check_13_a_stranger_supplies_parts(settled: Newcomer) -> None:
    """An installed plugin of somebody else's has agents, engines and entropy of its own.

    Its observer fails, which is recorded, and stops nothing.
    """
    site = settled.folder / "site"
    info = site / "stranger-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "stranger.py").write_text(PLUGIN)
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text("[muniment]\nstranger = stranger\n")
    flow(
        settled,
        agents=["shouter"],
        dependencies=[],
        parts={},
        nondeterminism_intent=[
            {
                "source": "llm",
                "min_entropy_magnitude": "low",
                "max_entropy_magnitude": "low",
                "justification": "dice",
            }
        ],
    )
    policy(settled, engines=["loud"])
    with_site = Newcomer(settled.folder, settled.home, {"PYTHONPATH": str(site)})
    said = ran(with_site, "--policy", "policy.json")
    assert said["result"]["outputs"] == {"shouter": {"text": "0!"}}
    judged = events(with_site, said["run"], "verification.judged")
    assert {one["data"]["engine"] for one in judged} == {"loud"}
    failed = json.loads(
        with_site.muniment("events", "--type", "plugin.failed", "--json").out
    )
    assert any(one["data"]["plugin"] == "stranger" for one in failed)
