"""Runs held against runs: fixtures, suites, differences, and what got better or worse.

python evals_of_runs.py        runs a good, an equal and a changed graph, and judges them

An eval reads what was recorded and runs nothing again. Its verdict is a run of the ledger,
too, and says how much it compared: what proves nothing, passes nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import muniment
from muniment_plugins.evals import (
    eval_suite_manifest,
    eval_suite_run,
    run_record_diff,
    run_record_eval,
    run_record_eval_suite,
    run_record_fixture,
)
from muniment_plugins.workflow import StageInput, run_record, workflow_execute


def write(stage: StageInput) -> str:
    """Write the letter that its node says."""
    text = f"{stage.metadata['greeting']} {stage.task}"
    Path("letter.txt").write_text(text)
    return text


def letter(greeting: str) -> dict[str, Any]:
    """Return a graph that writes a letter with this greeting, and checks it."""
    check = {"command": "cat letter.txt", "assert_text": "Dear"}
    return {
        "name": "letter",
        "entry": "write",
        "nodes": {
            "write": {"handler": write, "metadata": {"greeting": greeting}},
            "check": {"kind": "verify", "verify": check},
        },
        "edges": [{"from": "write", "to": "check"}],
    }


def told(of: str, found: dict[str, Any]) -> None:
    """Print a verdict, its exit code, and whether enough was compared."""
    enough = sum(found["compared"].values()) > 10  # noqa: PLR2004 - of so many fields
    print(f"{of}: {found['verdict']}, exit code {found['exit_code']}, {enough}")


if __name__ == "__main__":
    with muniment.open(create=True) as ledger:
        good, again, bad = (
            workflow_execute(ledger, "Ann", letter(greeting)).run_id
            for greeting in ("Dear", "Dear", "Hi")
        )
        record = run_record(ledger, bad)
        print(f"{record['status']}: {[one['outcome'] for one in record['stages']]}")

        fixture = run_record_fixture(ledger, good)
        told("again", run_record_eval(ledger, again, fixture))
        changed = run_record_eval(ledger, bad, fixture)
        told("bad", changed)
        print(f"  changed: {', '.join(changed['changed_stages'])}")
        told("the run itself", run_record_eval(ledger, good))
        suite = run_record_eval_suite(
            ledger,
            [
                {"run": again, "fixture": fixture, "label": "again"},
                {"run": bad, "fixture": fixture, "label": "bad"},
            ],
        )
        print(f"a suite: {suite['passed']} of {suite['total']} passed")

        found = run_record_diff(ledger, good, again)
        print(f"good and again are identical: {found['identical']}")
        found = run_record_diff(ledger, good, bad)
        for one in found["stage_diffs"]:
            print(f"  {one['stage_id']}: {one['change']}")

        # A suite is data: fixtures and baselines beside the code, in one document.
        Path("good.json").write_text(json.dumps(fixture))
        manifest = eval_suite_manifest(
            {
                "_type": "eval_suite_manifest",
                "id": "letters",
                "cases": [
                    {"label": "again", "run": again, "fixture_path": "good.json"},
                    {"label": "baseline", "run": again, "compare_to": good},
                    {"label": "bad", "run": bad, "compare_to": good},
                ],
            }
        )
        result = eval_suite_run(ledger, manifest)
        for case in result["cases"]:
            print(f"{case['case']}: {case['verdict']}")
        replayed = muniment.replay(ledger, result["eval_run_id"]).verdict
        print(f"{result['verdict']}; the verdict itself replays: {replayed}")
