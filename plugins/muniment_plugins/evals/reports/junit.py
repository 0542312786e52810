"""The result of an eval as JUnit XML, which build servers read.

    <testsuites><testsuite name="parser" tests="3" failures="1" errors="0" skipped="1">…

Rules:

- A case that failed is a failure, one that nobody can tell is an error: neither is a pass.
- A case that is not blocking and did not pass is skipped, with its severity and the reason:
  build servers would stop for a failure.
- Of two sets each case and input is a test, which failed if it got worse; with ``shown``
  the exact test alone decides. There is a failure if the verdict is failed, an error and no
  failure if nobody can tell, and else neither.
- A case whose run nobody signed has the property ``unsigned``; one of a marked run, or of a
  run compared with one, the property ``marked`` for each mark.
- What XML cannot hold is shown as escapes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from muniment_plugins.evals.checks.verdicts import CANNOT_TELL, FAILED, PASSED

__all__ = ["junit_xml"]

_UNSPEAKABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(result: Mapping[str, Any]) -> str:
    """Return the XML of the result of a suite, or of two sets of runs."""
    found = result.get("comparison")
    if found is None:
        cases = [one for one in result["cases"] if "against" not in one]
    else:
        cases = _changes(found, result["fail_on"])
    kinds = [_kind(one) for one in cases]
    if (whole := _whole(result, kinds)) is not None:
        cases.append(whole)
        kinds.append(_kind(whole))
    counts = (
        f'tests="{len(cases)}" failures="{kinds.count("failure")}" '
        f'errors="{kinds.count("error")}" skipped="{kinds.count("skipped")}"'
    )
    name = _quoted(result["suite"])
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f"<testsuites name={name} {counts}>")
    lines.append(f"  <testsuite name={name} {counts}>")
    lines.append("    <properties>")
    for key in ("digest", "verdict", "blocking", "verified", "eval_run_id"):
        if key in result:
            value = _quoted(str(result[key]))
            lines.append(f'      <property name="{key}" value={value}/>')
    lines.append("    </properties>")
    for one, kind in zip(cases, kinds, strict=True):
        lines += _case(result["suite"], one, kind)
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def _changes(found: Mapping[str, Any], fail_on: str) -> list[Mapping[str, Any]]:
    """Return a row for each case and input of two sets: failed if it got worse."""
    words = {"worse": FAILED, "undecided": CANNOT_TELL}
    rows: list[Mapping[str, Any]] = []
    for one in found["cases"]:
        verdict = words.get(one["change"], PASSED)
        told = [*one.get("because", []), one["change"]]
        row = {"case": one["case"], "run_id": one["pair"], "verdict": verdict}
        row["marks"] = one.get("marks", [])
        severity = one["severity"] if fail_on == "worse" else "told by the test"
        rows.append({**row, "severity": severity, "failures": told, "undecided": []})
    for one in found["unpaired"]:
        row = {"case": "unpaired", "run_id": one["pair"], "verdict": CANNOT_TELL}
        severity = "blocking" if fail_on == "worse" else "told by the test"
        says = [f"only the {one['side']} side has it"]
        rows.append({**row, "severity": severity, "failures": says, "undecided": []})
    return rows


def _whole(
    result: Mapping[str, Any], kinds: Sequence[str | None]
) -> Mapping[str, Any] | None:
    """Return a row for the verdict, where no case's element says it."""
    wanted = {FAILED: "failure", CANNOT_TELL: "error"}.get(result["verdict"])
    if wanted is None or wanted in kinds:
        return None
    because = str(result.get("comparison", {}).get("because") or "see the cases")
    return {
        "case": "verdict",
        "run_id": result["suite"],
        "verdict": result["verdict"],
        "severity": "blocking",
        "failures": [because],
        "undecided": [],
    }


def _kind(case: Mapping[str, Any]) -> str | None:
    """Return the element that says how a case ended; None if it passed."""
    if case["verdict"] == PASSED:
        return None
    if case["severity"] != "blocking":
        return "skipped"
    return "failure" if case["verdict"] == FAILED else "error"


def _case(suite: str, case: Mapping[str, Any], kind: str | None) -> list[str]:
    name = _quoted(f"{case['case']} [{case['run_id']}]")
    head = f"    <testcase classname={_quoted(suite)} name={name}"
    marks = _properties(case)
    if kind is None:
        return [f"{head}>", *marks, "    </testcase>"] if marks else [f"{head}/>"]
    said = [*case["failures"], *case["undecided"]] or ["nothing was compared"]
    message = said[0]
    if kind == "skipped":
        message = f"{case['severity']}: {case['verdict']}: {said[0]}"
    more = f" type={_quoted(case['verdict'])}" if kind != "skipped" else ""
    text = escape(_plain("\n".join(said)))
    return [
        f"{head}>",
        *marks,
        f"      <{kind} message={_quoted(message)}{more}>{text}</{kind}>",
        "    </testcase>",
    ]


def _properties(case: Mapping[str, Any]) -> list[str]:
    """Return what is known of the run of *case* beside its verdict."""
    rows = [("unsigned", "true")] if case.get("unsigned") else []
    rows += [
        ("marked", f"{one['mark']}: {one['reason']}") for one in case.get("marks", [])
    ]
    if not rows:
        return []
    told = [f'        <property name="{name}" value={_quoted(v)}/>' for name, v in rows]
    return ["      <properties>", *told, "      </properties>"]


def _quoted(text: str) -> str:
    return quoteattr(_plain(text))


def _plain(text: str) -> str:
    return _UNSPEAKABLE.sub(lambda one: ascii(one.group())[1:-1], text)
