"""Holding a run against a fixture, stage by stage.

Rules:

- A stage is matched by its id, else by node and visit, else by the order of the node's
  visits; what is not matched is named. One that an id names is of the node and the visit
  that stand beside the id, or it is not the one.
- The graph and the task are compared where the fixture has their digests, and its
  normaliser does not leave them out.
- Contents are compared by digest, if both were made by one normaliser. One that was erased,
  here or when the fixture was made, equals nothing, and nobody can tell.
- What is private is compared as it is in the run that the fixture was made of. Where that is
  not, and where a fixture has a digest of it from before, nobody can tell.
- The calls of tools are compared one by one, if the fixture has them; so are other effects,
  and so is the function of a verifier.
- What the run was held to is compared, and each run below as the run itself: by the scope of
  its call. Of a fixture that is complete and says nothing of them nobody can tell.
- Of a run that has no end yet nobody can tell how it ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from muniment_plugins.evals.checks.asked_for import held_requests
from muniment_plugins.evals.checks.rows import Held, Rows, expected
from muniment_plugins.evals.checks.runs_below import below
from muniment_plugins.evals.checks.unsealing import (
    NOT_HERE,
    is_shut,
    known_as,
    unsealed,
)
from muniment_plugins.evals.views.rows import Row, part
from muniment_plugins.evals.views.view import DIGESTS

__all__ = ["held_against", "is_of", "matched", "text_probes"]

_EXPECTED = (
    ("stage-status", "status", "expected_status"),
    ("stage-outcome", "outcome", "expected_outcome"),
    ("stage-branch", "branch", "expected_branch"),
    ("stage-attempts", "attempts", "expected_attempts"),
    ("stage-kind", "kind", "kind"),
)
_CHANGES = {
    "definition": "the graph says something else of its node",
    "function": "the function that it calls is not the same",
    "artifacts": "what it made is not the same",
    "consumed": "what it worked on is not the same",
    "error": "its error is not the same",
    "verification": "what its verifier found is not the same",
}
_OF_GRAPH = ("definition", "function")
_NO_RUNS_BELOW = (
    "the fixture does not say what the runs below did, and they were not compared: "
    "make it again"
)
_NONE_IN_FILES = "a record in a file does not say what the runs below did"


def is_of(fixture: Mapping[str, Any], view: Mapping[str, Any]) -> str | None:
    """Return what the run in *view* is to the one that the *fixture* was made of.

    It is ``self``, or ``fork`` if that one answered its beginning; else None. Ids may be
    given as anywhere else: by their beginning, and in lower case.
    """
    source = part(fixture, "source")
    said = (fixture.get("source_run_id"), source.get("run"))
    known = [one.strip().upper() for one in said if isinstance(one, str)]

    def is_known(run: object) -> bool:
        return any(str(run).upper().startswith(one) for one in known if one)

    head = view["source"].get("head")
    if is_known(view["run"]) or (head is not None and head == source.get("head")):
        return "self"
    origin = view["origin"]
    above = [origin[one] for one in ("forked_from", "replayed_from") if one in origin]
    return "fork" if any(map(is_known, above)) else None


def matched(stages: list[Row], assertions: list[Row]) -> list[tuple[Row, Row | None]]:
    """Return each of *assertions* with the stage that it is about, if there is one."""
    by_id = {one["id"]: one for one in stages}
    visits: dict[str, list[Row]] = {}
    for one in stages:
        visits.setdefault(one["node_id"], []).append(one)
    bare: dict[str, int] = {}
    for one in assertions:
        if "id" not in one and "visit" not in one:
            bare[one["node_id"]] = bare.get(one["node_id"], 0) + 1
    seen: dict[str, int] = {}
    found: list[tuple[Row, Row | None]] = []
    for one in assertions:
        node = one["node_id"]
        there = visits.get(node, [])
        if "id" in one:
            stage = by_id.get(one["id"])
            if stage is not None and not _agrees(one, stage):
                stage = None
        elif "visit" in one:
            stage = next((row for row in there if row["visit"] == one["visit"]), None)
        elif bare[node] == 1:
            stage = there[-1] if there else None
        else:
            at = seen.get(node, 0)
            seen[node] = at + 1
            stage = there[at] if at < len(there) else None
        found.append((one, stage))
    return found


def _agrees(said: Row, stage: Row) -> bool:
    """Tell whether the node and the visit that *said* has are those of *stage*."""
    visit = said.get("visit", stage["visit"])
    return (said["node_id"], visit) == (stage["node_id"], stage["visit"])


def text_probes(stages: list[Row], fixture: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the probes for the texts that *fixture* wants to see."""
    for number, (one, stage) in enumerate(matched(stages, fixture["stage_assertions"])):
        if "visible_text_contains" in one and stage is not None:
            wanted = one["visible_text_contains"]
            probe = {"kind": "text", "stage": stage["id"], "contains": wanted}
            yield {"id": f"fixture#{number}", **probe}


def held_against(view: Row, fixture: Mapping[str, Any]) -> Rows:
    """Return what holds of the run in *view*, and what does not."""
    proves = is_of(fixture, view) != "self"
    alike = fixture.get("normaliser") in (None, view["normaliser"])
    rows = [*_of_way(view, fixture, alike), *_of_below(view, fixture, alike)]
    if proves:
        return rows
    return [replace(one, proves=False) for one in rows]


def _of_way(view: Row, fixture: Mapping[str, Any], alike: bool) -> Rows:
    """Return what holds of the run itself, and of its stages."""
    rows = [*_of_run(view, fixture), *_of_input(view, fixture, alike=alike)]
    rows += _of_options(view, part(fixture, "options"), alike)
    pairs = matched(view["stages"], fixture["stage_assertions"])
    for number, (one, stage) in enumerate(pairs):
        name = one.get("id") or f"{one['node_id']}.{one.get('visit', '?')}"
        if stage is None:
            name = one.get("id") or _named(one)
            rows.append(
                Held("stage", False, f"{name}: the run has no such stage", name)
            )
            continue
        opened = part(part(part(view, "opened"), "stages"), str(one.get("id")))
        rows += _of_stage(view, one, stage, number)
        said = unsealed(part(one, "digests"), part(opened, "digests"))
        rows += _contents(said, stage, alike=alike)
        rows += held_requests(one, stage, opened, alike=alike)
    if fixture["complete"]:
        rows += _beyond(view, [stage for _, stage in pairs if stage is not None])
    return rows


def _of_below(view: Row, fixture: Mapping[str, Any], alike: bool) -> Iterator[Held]:
    """Yield what holds of the runs that the run in *view* called, and those they called."""
    if "below" not in view:
        return  # an eval from before, which read nothing of them
    wanted, there = fixture.get("runs_below"), view["below"]
    if wanted is None or there is None:
        if fixture["complete"] and (there is None or there):
            says = _NO_RUNS_BELOW if wanted is None else _NONE_IN_FILES
            yield Held("runs-below", None, says)
        elif wanted:
            yield Held("runs-below", None, _NONE_IN_FILES)
        return
    known: dict[str, Row] = {one["call"]: one["view"] for one in there}
    opened = part(part(view, "opened"), "below")
    for one in wanted:
        path = str(one["call"])
        if path not in known:
            says = f"{path}: the run has no such call of a run"
            yield Held("run-below", False, says, path)
            continue
        child: Row = {**known[path], "opened": opened.get(path)}
        rows = [*_of_way(child, one, alike), *_of_below(child, one, alike)]
        yield from (below(path, row) for row in rows)
    named = {str(one["call"]) for one in wanted}
    beyond = sorted({*known} - named) if fixture["complete"] else []
    for path in beyond:
        says = f"{path}: the fixture has no such run"
        yield Held("run-below", False, says, path, final=True)
    if not beyond:
        yield Held("runs-below", True, "no run is beyond those of the fixture")


def _of_options(view: Row, said: Row, alike: bool) -> Iterator[Held]:
    """Yield what holds of what the run was held to."""
    has = part(view, "options")
    for name, wanted in said.items():
        says = f"the option {name} is not the same"
        if name == "max_steps":
            if name in has:
                yield Held("options", wanted == has[name], says)
        elif not alike:
            why = "the fixture was made by another normaliser"
            yield Held("options", None, f"the option {name}: {why}")
        elif None in (wanted, has.get(name)):
            gone = f"the option {name} that was erased equals nothing"
            yield Held("options", None, gone)
        else:
            yield Held("options", wanted == has[name], says)


def _named(one: Row) -> str:
    visit = one.get("visit")
    return one["node_id"] if visit is None else f"{one['node_id']} (visit {visit})"


def _of_run(view: Row, fixture: Mapping[str, Any]) -> Iterator[Held]:
    wanted = fixture.get("expected_status")
    if wanted is not None:
        yield expected("run-status", "status of the run", wanted, view["status"], None)
    known = fixture.get("workflow_id")
    if known is not None:
        yield expected("workflow", "workflow", known, view["workflow_id"], None)


def _of_input(view: Row, fixture: Mapping[str, Any], *, alike: bool) -> Iterator[Held]:
    """Yield what holds of the graph, of the task, and of what the run published."""
    ignored = view["normaliser"]["ignore"]
    if "graph" in fixture and "graph" not in ignored:
        got = str(view["graph"])
        says = f"the graph is another one: {got[:19]}…, not {fixture['graph'][:19]}…"
        yield Held("graph", got == fixture["graph"], says)
    rows: list[tuple[str, Any, Any]] = []
    opened = part(view, "opened")
    if "task" in fixture and "task" not in ignored:
        wanted = known_as(fixture["task"], opened.get("task"))
        rows.append(("task", wanted, view["task"]))
    if "published" in fixture:
        said = unsealed(fixture["published"], part(opened, "published"))
        has = view["published"]
        rows += [
            (f"query {name}", said.get(name, ""), has.get(name, ""))
            for name in sorted({*said, *has})
        ]
    for what, wanted, found in rows:
        if not alike:
            says = f"the {what}: the fixture was made by another normaliser"
            yield Held("contents", None, says)
        elif is_shut([wanted], [found]):
            yield Held("contents", None, f"the {what}: {NOT_HERE}")
        elif None in (wanted, found):
            yield Held("contents", None, f"the {what} that was erased equals nothing")
        else:
            yield Held("contents", wanted == found, f"the {what} is not the same")


def _of_stage(view: Row, one: Row, stage: Row, number: int) -> Iterator[Held]:
    name = stage["id"]
    for check, what, key in _EXPECTED:
        if key in one:
            yield expected(check, what, one[key], stage.get(what), name)
    for kind in one.get("required_artifact_kinds", []):
        there = kind in stage["artifact_kinds"]
        yield Held("artifact-kind", there, f"{name}: it made no {kind}", name)
    if "visible_text_contains" in one:
        answer = view["probes"].get(f"fixture#{number}", {"found": None})
        wanted = one["visible_text_contains"]
        says, gone = (
            f"{name}: its text lacks {wanted!r}",
            f"{name}: its text was erased",
        )
        if answer["found"] is None:
            says = f"{name}: its text: {answer['why']}" if "why" in answer else gone
        yield Held("visible-text-contains", answer["found"], says, name)


def _contents(said: Mapping[str, Any], stage: Row, *, alike: bool) -> Iterator[Held]:
    """Yield what holds of the contents of *stage*."""
    name, have = stage["id"], stage["digests"]
    for what in DIGESTS:
        if what not in said and (what not in have or not said):
            continue
        if what in _OF_GRAPH and (what not in said or what not in have):
            continue  # it was left out, by hand or by the normaliser
        says = f"{name}: {_CHANGES[what]}"
        if not alike:
            why = "the fixture was made by another normaliser"
            yield Held("contents", None, f"{name}: {why}", name)
            return
        wanted, got = _listed(said, what), _listed(have, what)
        if is_shut(wanted, got):
            yield Held("contents", None, f"{name}: {what}: {NOT_HERE}", name)
        elif None in wanted or None in got:
            gone = (
                f"{name}: {what} that were erased, or are not known, cannot be compared"
            )
            yield Held("contents", None, gone, name)
        else:
            yield Held("contents", wanted == got, says, name)


def _listed(digests: Mapping[str, Any], part: str) -> list[Any]:
    """Return the digests of *part*: none if it has none, null if it was erased."""
    value: Any = digests.get(part, [])
    return [*cast("list[object]", value)] if isinstance(value, list) else [value]


def _beyond(view: Row, known: list[Row]) -> Iterator[Held]:
    """Yield the stages that a complete fixture does not have, and that there are none."""
    ids = {one["id"] for one in known}
    beyond = [one["id"] for one in view["stages"] if one["id"] not in ids]
    for name in beyond:
        yield Held("stage", False, f"{name}: the fixture has no such stage", name)
    if not beyond:
        yield Held("stages", True, "no stage is beyond those of the fixture")
