"""The verdict about a case, and about a suite.

    passed        everything that was compared is as it should be, and that proves something
    failed        something is not as it should be
    cannot_tell   nothing was compared, something is missing, or it proves nothing

Rules:

- Silence is never a pass: a case that compared nothing cannot tell.
- Of a run that is marked *non_certifiable* nobody can tell: it never passes (`checks.marks`).
- A fixture that was made of the very run holds of it whatever the run did. Such a case has
  ``pass``, and says ``self_derived``; its verdict is ``cannot_tell``, unless something else
  was compared as well.
- Cases that are not blocking are warnings: they are counted, and decide nothing. A result
  says how many block: of a suite of warnings alone a pass says little.
- Exit codes: 0 passed, 1 failed, 3 cannot tell; the same with ``--json``. Of two sets the
  changes decide the verdict: a case that fails on both sides is no change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from muniment_plugins.evals.checks.fixtures import is_of
from muniment_plugins.evals.checks.rows import Rows, counted
from muniment_plugins.evals.checks.runs_below import uncompared
from muniment_plugins.evals.views.rows import Row

__all__ = [
    "CANNOT_TELL",
    "FAILED",
    "FAIL_ON",
    "PASSED",
    "case_result",
    "exit_of",
    "suite_result",
    "verdict_of_sets",
]

PASSED, FAILED, CANNOT_TELL = "passed", "failed", "cannot_tell"
_EXITS: Mapping[str, int] = {PASSED: 0, FAILED: 1, CANNOT_TELL: 3}
FAIL_ON = ("worse", "shown")
"""When a comparison of two sets fails: a blocking case got worse, or the test shows it."""
_HOLDING = {"fixture", "own_fixture", "compare_to"}
"""What holds the way of a run: only of that it is told what was not compared."""
_SHOWN = 50
"""More failures of one case say no more."""


def case_result(case: Mapping[str, Any], view: Row, rows: Rows) -> Row:
    """Return the result of *case* for the run in *view*, by what was compared."""
    failures = [one for one in rows if one.ok is False]
    unknown = [one for one in rows if one.ok is None]
    compared = sum(one.ok is not None for one in rows)
    proven = sum(one.ok is True and one.proves for one in rows)
    own = is_of(case["fixture"], view) if "fixture" in case else None
    own = "self" if case.get("own_fixture") else own
    changed = [one.stage for one in failures if one.stage is not None]
    result: Row = {
        "case": case["id"],
        "run_id": view["run"],
        "workflow_id": view["workflow_id"],
        "verdict": _verdict(bool(failures), bool(unknown), bool(proven)),
        "pass": not failures and not unknown and compared > 0,
        "severity": case["severity"],
        "failures": [one.says for one in failures[:_SHOWN]],
        "undecided": [one.says for one in unknown[:_SHOWN]],
        "changed_stages": [*dict.fromkeys(changed)],
        "compared": counted(rows),
        "proves": proven,
        "stage_count": len(view["stages"]),
        "source": view["source"],
    }
    if case.keys() & _HOLDING and "uncompared" in view:
        result["not_compared"] = uncompared(view, case.get("fixture"))
    if len(failures) > _SHOWN:
        result["failures"].append(f"and {len(failures) - _SHOWN} more")
    if own is not None:
        result[f"{own}_derived"] = True
    if own == "self" and not proven and not failures:
        result["undecided"].append(
            "the fixture was made of this very run: that it holds proves nothing"
        )
    elif not rows:
        result["undecided"].append("nothing was compared")
    if "file" in view["source"]:
        result["unsigned"] = True
    return result


def _verdict(failed: bool, unknown: bool, proven: bool) -> str:
    if failed:
        return FAILED
    return PASSED if proven and not unknown else CANNOT_TELL


def suite_result(cases: Iterable[Row]) -> Row:
    """Return the result of a suite, by those of its cases."""
    rows = list(cases)
    blocking = [one for one in rows if one["severity"] == "blocking"]
    verdicts = {one["verdict"] for one in blocking}
    compared = sum(sum(one["compared"].values()) for one in rows)
    verdict = PASSED if compared else CANNOT_TELL
    if CANNOT_TELL in verdicts:
        verdict = CANNOT_TELL
    if FAILED in verdicts:
        verdict = FAILED
    of = [one["verdict"] for one in rows]
    return {
        "verdict": verdict,
        "pass": verdict == PASSED,
        "total": len(rows),
        "blocking": len(blocking),
        "passed": of.count(PASSED),
        "failed": of.count(FAILED),
        "cannot_tell": of.count(CANNOT_TELL),
        "warnings": sum(
            one["severity"] != "blocking" and one["verdict"] != PASSED for one in rows
        ),
        "compared": compared,
    }


def exit_of(result: Mapping[str, Any]) -> int:
    """Return the exit code of the result of a suite, or of two sets of runs."""
    return _EXITS[result["verdict"]]


def verdict_of_sets(found: Mapping[str, Any], fail_on: str = "worse") -> str:
    """Return the verdict about the comparison *found* of two sets of runs.

    With ``worse``, one blocking case that got worse fails, and one of which a side cannot be
    told leaves it open; with ``shown``, what the exact test shows decides.
    """
    blocking = [one for one in found["cases"] if one["severity"] == "blocking"]
    changes = {one["change"] for one in blocking}
    failed = found["verdict"] == "worse" if fail_on == "shown" else "worse" in changes
    if failed:
        return FAILED
    told = found["pairs"] - found["undecided"]
    unsure = fail_on == "worse" and (found["unpaired"] or "undecided" in changes)
    return CANNOT_TELL if not told or unsure else PASSED
