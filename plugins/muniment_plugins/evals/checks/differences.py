"""Comparing two runs stage by stage: `run_record_diff`.

    {"identical": false, "stage_diffs": [{"node_id": "verify", "visit": 2, "change":
     "changed", "details": ["branch: passed, failed"]}], "compared": {"stages": 4, …}, …}

Rules:

- Stages are matched by the scope of their visit; ids of runs, paths, times and durations
  are not compared.
- Contents are compared by digest. One that was erased equals nothing: then the runs are
  not identical, and ``undecided`` says how much could not be compared.
- Of what is private in one of them only nobody can tell whether it is the same.
- The calls of tools, and other effects, are compared one by one: `checks.calls`.
- The runs below are compared so, too: by the scope of their call, never by ids.
- The graph, the task, and what a run published are compared as well, unless the
  normaliser leaves them out.
- It says how much it compared. Two runs without a stage are not identical: nothing was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from muniment.formats.lifecycle import UNFINISHED
from muniment_plugins.evals.checks.calls import of_calls
from muniment_plugins.evals.checks.rows import Held, Rows
from muniment_plugins.evals.checks.runs_below import within
from muniment_plugins.evals.views.rows import Row, part
from muniment_plugins.evals.views.sealed import PRIVATE, hides_otherwise, is_keyed
from muniment_plugins.evals.views.view import DIGESTS

__all__ = ["as_rows", "run_diff"]

_PLAIN = (
    *("kind", "status", "outcome", "branch", "rule", "attempts"),
    *("artifact_kinds", "denials"),
)


def run_diff(left: Row, right: Row) -> Row:
    """Return how the runs in the views *left* and *right* differ."""
    gone: list[str] = []
    stages = [*_stages(left, right, gone)]
    runs = _Below()
    stages += _below(left, right, gone, runs)
    sections = [*_sections(left, right, gone)]
    both = {one["id"] for one in left["stages"]} & {
        one["id"] for one in right["stages"]
    }
    same = not (stages or sections or gone) and left["status"] == right["status"]
    return {
        "left_run_id": left["run"],
        "right_run_id": right["run"],
        "identical": same and bool(both),
        "status_changed": left["status"] != right["status"],
        "left_status": left["status"],
        "right_status": right["status"],
        "graph_changed": left["graph"] != right["graph"],
        "left_has_ended": left["status"] not in UNFINISHED,
        "stage_diffs": stages,
        "observability_diffs": sections,
        "transition_count_delta": _delta(left, right, "transitions"),
        "artifact_count_delta": _artifacts(right) - _artifacts(left),
        "checkpoint_count_delta": right["checkpoints"] - left["checkpoints"],
        "undecided": gone,
        "compared": {
            "stages": len(both) + runs.stages,
            "contents": runs.contents
            + sum(_contents(one) for one in left["stages"] if one["id"] in both),
            "transitions": len(left["transitions"]),
            **({"runs_below": runs.runs} if "below" in left else {}),
        },
    }


@dataclass
class _Below:
    """How much was compared of the runs below."""

    runs: int = 0
    stages: int = 0
    contents: int = 0


def _below(left: Row, right: Row, gone: list[str], counts: _Below) -> Iterator[Row]:
    """Yield how the runs below differ, each named by the scope of its call."""
    if "below" not in left or "below" not in right:
        return  # an eval from before, which read nothing of them
    if left["below"] is None or right["below"] is None:
        gone.append("runs below")
        return
    ours = {one["call"]: one["view"] for one in left["below"]}
    theirs = {one["call"]: one["view"] for one in right["below"]}
    for call, view in ours.items():
        if call not in theirs:
            yield _run_row(call, view, "removed", [])
            continue
        found = run_diff(view, theirs[call])
        counts.runs += 1 + found["compared"].get("runs_below", 0)
        counts.stages += found["compared"]["stages"]
        counts.contents += found["compared"]["contents"]
        gone += [within(call, one) for one in found["undecided"]]
        details = [
            f"{one['section']}: {'; '.join(one['details'])}"
            for one in found["observability_diffs"]
        ]
        if found["status_changed"]:
            status = f"{found['left_status']}, {found['right_status']}"
            details.insert(0, f"status: {status}")
        if details:
            yield _run_row(call, view, "changed", details)
        for one in found["stage_diffs"]:
            yield {**one, "stage_id": within(call, one["stage_id"])}
    for call, view in theirs.items():
        if call not in ours:
            yield _run_row(call, view, "added", [])


def _run_row(call: str, view: Row, change: str, details: list[str]) -> Row:
    return {
        "stage_id": call,
        "node_id": view["workflow_id"],
        "visit": 1,
        "change": change,
        "details": [f"the run below: {one}" for one in details]
        or [f"the run below was {change}"],
    }


def _delta(left: Row, right: Row, name: str) -> int:
    return len(right[name]) - len(left[name])


def _artifacts(view: Row) -> int:
    return len(view["given"]) + sum(
        len(one["artifact_kinds"]) for one in view["stages"] if one["kind"] != "map"
    )


def _contents(stage: Row) -> int:
    """Return how many digests a stage has."""
    found: list[Any] = [stage["digests"].get(one, []) for one in DIGESTS]
    return sum(
        len(cast("list[object]", one)) if isinstance(one, list) else 1 for one in found
    )


def _stages(left: Row, right: Row, gone: list[str]) -> Iterator[Row]:
    theirs = {one["id"]: one for one in right["stages"]}
    ours = {one["id"] for one in left["stages"]}
    for stage in left["stages"]:
        other = theirs.get(stage["id"])
        details = [] if other is None else [*_details(stage, other, gone)]
        if other is None:
            yield _named(stage, "removed", [])
        elif details:
            yield _named(stage, "changed", details)
    for stage in right["stages"]:
        if stage["id"] not in ours:
            yield _named(stage, "added", [])


def _named(stage: Row, change: str, details: list[str]) -> Row:
    return {
        "stage_id": stage["id"],
        "node_id": stage["node_id"],
        "visit": stage["visit"],
        "change": change,
        "details": details,
    }


def _details(stage: Row, other: Row, gone: list[str]) -> Iterator[str]:
    for name in _PLAIN:
        mine, its = stage.get(name), other.get(name)
        if mine != its:
            yield f"{name}: {_said(mine)}, {_said(its)}"
    for what in DIGESTS:
        if what == "function" and not all(
            what in one["digests"] for one in (stage, other)
        ):
            continue  # a record in a file does not say which it was
        mine, its = stage["digests"].get(what, []), other["digests"].get(what, [])
        if _is_untold(mine, its):
            gone.append(f"{stage['id']}: {what}")
        elif mine != its:
            yield f"{what}: {_change(mine, its)}"
    for what in ("calls", "effects"):
        changes, unknown = of_calls(stage.get(what), other.get(what), what[:-1])
        yield from changes
        if unknown:
            gone.append(f"{stage['id']}: {what}")


def _change(mine: Any, its: Any) -> str:
    """Return how a content was and how it is, by the beginnings of the digests."""
    words = _said(mine), _said(its)
    if words[0] == words[1]:  # what is private has no digest to show
        return f"{words[0]}, not the same"
    return ", ".join(words)


def _said(value: Any) -> str:
    if isinstance(value, list):
        items = cast("list[object]", value)
        return f"[{', '.join(_said(one) for one in items)}]"
    if isinstance(value, str) and value.startswith("sha256:"):
        return f"{value[:19]}…"
    if is_keyed(value):
        return PRIVATE
    if isinstance(value, dict):
        row = cast("Row", value)
        return "{" + ", ".join(f"{key}: {_said(one)}" for key, one in row.items()) + "}"
    return "nothing" if value is None else str(value)


def _is_untold(mine: Any, its: Any) -> bool:
    """Tell whether nobody can tell if two digests, or lists of them, are of the same.

    One is of what was erased, or is private where the other one is not.
    """
    if _is_gone(mine) or _is_gone(its):
        return True
    rows, others = _digests(mine), _digests(its)
    return len(rows) == len(others) and any(map(hides_otherwise, rows, others))


def _digests(value: Any) -> list[object]:
    """Return the digests themselves, of questions those of what they say."""
    rows = cast("list[object]", value) if isinstance(value, list) else [value]
    return [
        cast("Row", one).get("digest") if isinstance(one, dict) else one for one in rows
    ]


def _is_gone(value: Any) -> bool:
    """Tell whether a digest, or one of a list, is of what was erased."""
    if isinstance(value, dict):  # a question
        return cast("Row", value).get("digest", "") is None
    if isinstance(value, list):
        return any(map(_is_gone, cast("list[object]", value)))
    return value is None


def _sections(left: Row, right: Row, gone: list[str]) -> Iterator[Row]:
    ignored = {*left["normaliser"]["ignore"], *right["normaliser"]["ignore"]}
    names = ("graph", "task", "given", "transitions", "children", "questions")
    for name in names:
        mine, its = left[name], right[name]
        if name in ignored:
            continue
        if _is_untold(mine, its):
            gone.append(name)
        elif mine != its:
            yield {"section": name, "label": name, "details": [*_changes(mine, its)]}
    for name in ("published", "options"):
        yield from _named_digests(name, part(left, name), part(right, name), gone)


def _named_digests(what: str, mine: Row, its: Row, gone: list[str]) -> Iterator[Row]:
    names = sorted({*mine, *its})
    gone += [
        f"{what} {one}"
        for one in names
        if _is_untold(mine.get(one, ""), its.get(one, ""))
    ]
    details = [
        f"{one}: {_change(mine.get(one), its.get(one))}"
        for one in names
        if mine.get(one) != its.get(one) and f"{what} {one}" not in gone
    ]
    if details:
        yield {"section": what, "label": what, "details": details}


def _changes(mine: Any, its: Any) -> Iterator[str]:
    if not isinstance(mine, list):
        yield "it is another one"
        return
    yield from _changed_items(cast("list[object]", mine), its)


def _changed_items(mine: list[object], its: list[object]) -> Iterator[str]:
    if len(mine) != len(its):
        yield f"{len(mine)}, {len(its)} of them"
    for number, (one, other) in enumerate(zip(mine, its, strict=False)):
        if one != other:
            yield f"number {number}: {_change(one, other)}"


def as_rows(diff: Mapping[str, Any]) -> Rows:
    """Return the rows of an eval that compares its run with another one."""
    if diff["left_run_id"] == diff["right_run_id"]:
        return [Held("comparison", None, "it is compared to itself: no proof")]
    rows: Rows = []
    if not diff["left_has_ended"]:
        says = "the run that it is compared to has no end yet"
        return [Held("comparison", None, says)]
    if diff["status_changed"]:
        says = f"the status is {diff['right_status']}, not {diff['left_status']}"
        rows.append(Held("comparison", False, says))
    for one in diff["stage_diffs"]:
        details = "; ".join(one["details"]) or one["change"]
        name = one["stage_id"]
        rows.append(Held("comparison", False, f"{name}: {details}", name))
    for one in diff["observability_diffs"]:
        says = f"{one['section']}: {'; '.join(one['details'])}"
        rows.append(Held("comparison", False, says))
    rows += [
        Held("comparison", None, f"{one}: it was erased, is private, or is not known")
        for one in diff["undecided"]
    ]
    both = diff["compared"]["stages"] + diff["compared"].get("runs_below", 0)
    same = both - sum(one["change"] == "changed" for one in diff["stage_diffs"])
    rows += [Held("comparison", True, "the stage is the same")] * same
    return rows
