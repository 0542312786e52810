"""Assertions of rubrics, and thresholds: what they look for, and what holds.

Rules:

- An assertion that looks at a content is a probe; the others read the view.
- Thresholds count what called runs took: as theirs, and as their caller's.
- A threshold that cannot be read decides nothing: a cost where a price is not known, tokens
  where an answer does not state them, the time of a run that has no end, whatever a called
  run without an end may take. What is known and above the limit exceeds it all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from muniment_plugins.evals.checks.rows import Held, Rows, expected
from muniment_plugins.evals.views.fields import stage_of
from muniment_plugins.evals.views.rows import Row
from muniment_plugins.evals.views.sealed import IS_PRIVATE
from muniment_plugins.evals.views.usage import spent, stages_of, tokens_in, unread

__all__ = ["asserted", "assertion_probes", "within_thresholds"]


def assertion_probes(rubric: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the probes of the assertions of *rubric*."""
    for number, one in enumerate(rubric["assertions"]):
        key = f"{rubric['id']}#{number}"
        match one["kind"]:
            case "visible-text-contains":
                place = {"stage": one["stage"]} if "stage" in one else {}
                yield {"id": key, "kind": "text", "contains": one["contains"], **place}
            case "hitl-question-contains":
                yield {"id": key, "kind": "asked", "contains": one["contains"]}
            case "field":
                wanted = {"expected": one["expected"]} if "expected" in one else {}
                row = {"kind": "field", "path": one["path"], "op": one["op"]}
                yield {"id": key, **row, **wanted}
            case _:
                continue


def asserted(view: Row, rubric: Mapping[str, Any]) -> Rows:
    """Return what holds of the assertions of *rubric*."""
    return [
        _asserted(view, f"{rubric['id']}#{number}", one)
        for number, one in enumerate(rubric["assertions"])
    ]


def _asserted(view: Row, key: str, said: Mapping[str, Any]) -> Held:
    kind, name = said["kind"], said.get("stage")
    if kind == "run-status":
        return expected(
            kind, "status of the run", said["expected"], view["status"], None
        )
    if name is not None:
        stage = stage_of(view["stages"], name)
        if stage is None:
            return Held(kind, False, f"{name}: the run has no such stage", name)
        name = stage["id"]
        if kind == "stage-status":
            return expected(kind, "status", said["expected"], stage["status"], name)
    answer = view["probes"][key]
    return Held(kind, answer["found"], _words(said, answer, name), name)


def _words(said: Mapping[str, Any], answer: Row, name: str | None) -> str:
    if answer["found"] is None:
        of_stage = "" if name is None else f"{name}: "
        place = f"{said['path']}: " if said["kind"] == "field" else ""
        if answer.get("why") == IS_PRIVATE:
            place = place or of_stage
        return place + str(answer.get("why", "what it would look at was erased"))
    if said["kind"] == "field":
        wanted = f" {said['expected']!r}" if "expected" in said else ""
        got = f", it is {answer['actual']}" if "actual" in answer else ""
        return f"{said['path']}: not {said['op']}{wanted}{got}"
    if said["kind"] == "hitl-question-contains":
        return f"no question has {said['contains']!r}"
    place = "no stage" if name is None else name
    return f"{place}: no text has {said['contains']!r}"


def _milliseconds(us: int | None) -> Decimal | None:
    return None if us is None else Decimal(us) / 1000


def within_thresholds(view: Row, said: Mapping[str, Any]) -> Rows:
    """Return which of the thresholds *said* the run in *view* keeps to."""
    usage, stages = spent(view), stages_of(view)
    unknown = unread(view)
    below = f"what {unknown} called runs took is not known" if unknown else None
    rows: Rows = []
    for name, value, why in (
        ("max_tokens", tokens_in(usage), below or _uncounted(usage)),
        ("max_stage_count", stages, below),
        ("max_latency_ms", _milliseconds(view["duration_us"]), None),
        (
            "max_cost_usd",
            Decimal(usage.get("total_cost", "0")),
            below or _unpriced(usage),
        ),
    ):
        if name not in said:
            continue
        most = Decimal(str(said[name]))
        if value is None:
            rows.append(Held("threshold", None, f"{name}: the run has no end yet"))
        elif why is not None and value <= most:
            rows.append(Held("threshold", None, f"{name}: {why}"))
        else:
            says = f"{name}: {value} is more than {said[name]}"
            rows.append(Held("threshold", value <= most, says, final=True))
    return rows


def _uncounted(usage: Row) -> str | None:
    count = usage.get("uncounted_calls", 0)
    return f"the tokens of {count} calls are not known" if count else None


def _unpriced(usage: Row) -> str | None:
    count = usage.get("unpriced_calls", 0)
    return f"the price of {count} calls is not known" if count else None
