"""Failures are read from records: of flows, of whatever was forged, and without words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow_files import sum_document, write_flow, write_policy
from forge import RUN, Forge
from muniment.ledger import Ledger
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.failures.codes import CODES
from muniment_plugins.governance.failures.errors import ERRORS
from muniment_plugins.governance.failures.reading import RunFailure, failure_of
from muniment_plugins.governance.failures.rules import FAMILIES, RULES


def failure(ledger: Ledger, run: str) -> RunFailure:
    """Return the failure of *run*, which has one."""
    found = failure_of(ledger, list(ledger.events(run=run)))
    assert found is not None
    return found


GUESSING = sum_document(
    parts={
        "reader": "agents:read",
        "writer": {"agent": "agents:write", "reasoner": "agents:guess"},
    }
)
FAILING = sum_document(parts={"reader": "agents:fail", "writer": "agents:write"})


@pytest.mark.parametrize(
    ("flow", "members", "code", "event"),
    [
        (GUESSING, {}, "verification_failed", "verification.arbitrated"),
        (FAILING, {}, "flow_step_broken", "run.failed"),
        (
            sum_document(),
            {"execution_budget": {"step_limit": 1}},
            "budget_exhausted",
            "budget.exhausted",
        ),
    ],
)
def test_a_flow_that_fails_says_by_what(
    book: Ledger,
    place: Path,
    flow: dict[str, Any],
    members: Mapping[str, object],
    code: str,
    event: str,
) -> None:
    """A verdict, a function, a count: each has its code, and its fact is the event."""
    file = write_flow(place, flow)
    policy = load_policy(write_policy(place, **members))
    done = start_flow(book, load_flow(file), policy)
    assert done.status == "failed"
    found = failure(book, done.run_id)
    assert (found.code.code, book.event(found.event).type) == (code, event)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99) | st.text("a[/]; xE", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "who", "rule", "limit", "status"]), inner
        )
    ),
    max_leaves=5,
)
NAMES = st.sampled_from([*sorted(ERRORS), "ValueError", "ReadTimeout", "ProgramFailed"])
SAID = st.sampled_from([*sorted(RULES), *(f"{one}/x" for one in sorted(FAMILIES))])
KINDS = st.sampled_from(["llm", "tool", "child", "execution"])


@st.composite
def endings(draw: Any) -> dict[str, Any]:
    """Draw effects and facts of a run, and how it says that it failed."""
    return {
        "effects": draw(
            st.lists(
                st.fixed_dictionaries(
                    {
                        "kind": KINDS,
                        "error_type": NAMES | st.just("BudgetExhausted"),
                        "reason": st.sampled_from(
                            [None, "refused", "cancelled", "odd"]
                        ),
                        "answered_by": JSON
                        | st.just({"who": "plugin", "name": "governance"}),
                        "data": JSON,
                    }
                ),
                max_size=3,
            )
        ),
        "facts": draw(
            st.lists(
                st.sampled_from(
                    [
                        "budget.exhausted",
                        "plugin.refused",
                        "verification.arbitrated",
                        "decision.reached",
                        "replicate.failed",
                        "hypothesis.unjudged",
                    ]
                ),
                max_size=3,
            )
        ),
        "fields": draw(
            st.dictionaries(
                st.sampled_from(
                    ["action", "status", "outcome", "target", "rule", "error_type"]
                ),
                JSON | st.sampled_from(["halt", "fail", "denied", "harness/verifier"]),
            )
        ),
        "error_type": draw(NAMES | st.text(max_size=5)),
        "message": draw(
            st.text(max_size=8) | SAID.map(lambda one: f"it broke [{one}]")
        ),
        "status": draw(st.sampled_from(["failed", "refused", "diverged"])),
        "cause": draw(
            st.none() | JSON | st.lists(st.tuples(st.just(""), st.integers(1, 3)))
        ),
        "erased": draw(st.booleans()),
    }


@settings(max_examples=60)
@given(endings())
def test_no_failed_run_is_without_a_code(ending: dict[str, Any]) -> None:
    """Whatever a record says, and whatever of it is gone, a failed run has a reason.

    Its event is one of the run, and its class is that of its code.
    """
    forge, kept = Forge("one").open(), dict[bytes, Any]()

    def blob(value: object) -> Any:
        content = json.dumps(value).encode()
        if content not in kept:
            kept[content] = forge.blob(content)
        return kept[content]

    forge.append("run.started", {"name": "x", "seed": "00"}, run=RUN)
    for number, told in enumerate(ending["effects"], 1):
        kind = told["kind"]
        request = blob(number)
        forge.append(f"{kind}.requested", {"request": request}, run=RUN, ordinal=number)
        failed = {name: told[name] for name in ("error_type", "reason", "answered_by")}
        failed["message"] = blob("down")
        failed["data"] = blob(told["data"])
        forge.append(f"{kind}.failed", failed, run=RUN, ordinal=number)
    for fact in ending["facts"]:
        forge.append(fact, dict(ending["fields"]), run=RUN)
    ended = {name: ending[name] for name in ("error_type", "status", "cause")}
    ended["message"] = blob(ending["message"])
    forge.end_run(RUN, "run.failed", **ended)
    if ending["erased"]:
        forge.blobs.clear()
    with TemporaryDirectory() as folder:
        place = forge.write(Path(folder) / "l.db")
        with Ledger.open(place, readonly=True, plugins=()) as ledger:
            found = failure(ledger, RUN)
            seqs = {one.seq for one in ledger.events(run=RUN)}
    assert CODES[found.code.code] == found.code
    assert found.event in seqs
    assert found.to_json()["class"] == found.code.failure_class


@pytest.mark.parametrize(
    ("engines", "code"),
    [
        (["contradiction"], "contradiction_detected"),
        (["content", "contradiction"], "verification_failed"),
    ],
)
def test_claims_that_contradict_are_a_reason_of_their_own(
    tmp_path: Path, engines: list[str], code: str
) -> None:
    """If no other engine objects, the reason is the contradiction."""
    forge = Forge("one").open()
    forge.append(
        "run.started",
        {
            "name": "x",
            "seed": "00",
            "program": {"name": "muniment:flow/1"},
            "labels": {"policy": "sha256:" + "0" * 64},
        },
        run=RUN,
    )
    for engine in engines:
        judged = {"target": "flow", "engine": engine, "status": "fail"}
        forge.append("verification.judged", judged, run=RUN)
    verdict = {"target": "flow", "status": "fail", "decided_by": "engines"}
    arbitrated = forge.append("verification.arbitrated", verdict, run=RUN)
    message = b'"flow: verification failed [flow/verification]; look"'
    ended = {"error_type": "FlowFailed", "message": forge.blob(message)}
    forge.end_run(RUN, "run.failed", **ended)
    place = forge.write(tmp_path / "l.db")
    with Ledger.open(place, readonly=True, plugins=()) as ledger:
        found = failure(ledger, RUN)
    assert (found.code.code, found.event) == (code, arbitrated.seq)
