"""Fixtures: what a run has to be, stage by stage.

    fixture_of(view, texts, contents=True)      made of a run
    read_fixture(document, At("f.json", "evals"))     written, by hand or by that

Rules:

- A fixture that was made of a run says of which, with that run's last event: where it is
  held against the same run it proves nothing, and the verdict says so.
- It is *complete* if it was made of a run: then a stage that it does not name is a change.
  One written by hand holds the stages that it names, and counts the others.
- Assertions that name a node and no visit mean its visits in their order; if there is only
  one of a node, it means the last visit.
- It has no digest of what is private, on which guesses could be tried: it says that it is
  private, and an eval reads that again in the run.
- What the runs below did is in it, by the scope of the call: `runs_below`. One from before
  that says nothing of it, and an eval says that it was not compared.
- One that asserts nothing is refused; so is an id of another node or visit than stand
  beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from muniment.documents.places import At
from muniment.encoding.canonical import JsonValue
from muniment_plugins.evals.documents.shapes import FIXTURE, RUN_BELOW
from muniment_plugins.evals.views.normaliser import Normaliser
from muniment_plugins.evals.views.rows import Row, listed
from muniment_plugins.evals.views.sealed import PRIVATE, is_keyed

__all__ = ["fixture_of", "has_sealed", "opened_part", "read_fixture", "shareable"]

_EXCERPT = 80
"""Characters of the text of a stage that a fixture shows to its readers."""
_ASKED = ("expected_calls", "expected_effects")
_SEALED = ("digests", "expected_calls", "expected_effects")
_OF_STAGE = (
    ("status", "expected_status"),
    ("outcome", "expected_outcome"),
    ("branch", "expected_branch"),
    ("attempts", "expected_attempts"),
)


def fixture_of(
    record: Mapping[str, Any],
    view: Row,
    texts: Mapping[str, str],
    source: Mapping[str, JsonValue],
    *,
    contents: bool,
) -> Row:
    """Return the fixture that a run with this record and view passes.

    Args:
        record: the record of the run.
        view: the view of it.
        texts: the texts of stages by their id; excerpts of them are shown.
        source: the run's last event, as the fixture names it.
        contents: whether digests of contents are part of it, or only how stages ended.

    """
    run = view["run"]
    fixture: Row = {
        "_type": "replay_fixture",
        "schema_version": 1,
        "id": f"fixture_{run}",
        "source_run_id": run,
        "workflow_id": view["workflow_id"],
        "created_at": record.get("finished_at", record["started_at"]),
        "eval_kind": "replay",
        **_way(view, texts if contents else {}, contents),
        "normaliser": view["normaliser"],
        "source": dict(source),
    }
    if "workflow_name" in record:
        fixture["workflow_name"] = record["workflow_name"]
    return fixture


def _way(view: Row, texts: Mapping[str, str], contents: bool) -> Row:
    """Return what a fixture says of the way of a run, and of the ways of those below."""
    ignored = view["normaliser"]["ignore"]
    found: Row = {
        "expected_status": view["status"],
        "complete": True,
        "stage_assertions": [
            _assertion(one, texts.get(one["id"], ""), contents)
            for one in view["stages"]
        ],
        "options": view["options"],
    }
    if view["below"] is not None:
        found["runs_below"] = [_below(one, contents) for one in view["below"]]
    if "graph" not in ignored and view["graph"] is not None:
        found["graph"] = view["graph"]
    if contents:
        found["published"] = view["published"]
        found |= {"task": view["task"]} if "task" not in ignored else {}
    return found


def _below(row: Row, contents: bool) -> Row:
    view = row["view"]
    name = {"workflow_id": view["workflow_id"]}
    return {"call": row["call"], **name, **_way(view, {}, contents)}


def _assertion(stage: Row, text: str, contents: bool) -> Row:
    row: Row = {name: stage[name] for name in ("node_id", "id", "visit", "kind")}
    row |= {ours: stage[name] for name, ours in _OF_STAGE if name in stage}
    if stage["artifact_kinds"]:
        row["required_artifact_kinds"] = [*dict.fromkeys(stage["artifact_kinds"])]
    excerpt = text.strip()[:_EXCERPT].strip()
    if excerpt:
        row["visible_text_contains"] = excerpt
    if contents:
        row["digests"] = stage["digests"]
        if "calls" in stage:
            row["expected_calls"] = stage["calls"]
        if "effects" in stage:
            row["expected_effects"] = stage["effects"]
    return row


def opened_part(view: Row) -> Row:
    """Return of *view* what a fixture that is made of it may only call private."""
    names = ("digests", "calls", "effects")
    return {
        "stages": {
            one["id"]: {name: one[name] for name in names if name in one}
            for one in view["stages"]
        },
        "task": view["task"],
        "published": view["published"],
        "below": {
            one["call"]: opened_part(one["view"]) for one in listed(view, "below")
        },
    }


def shareable(fixture: Row) -> Row:
    """Return *fixture* without the digests of what is private: only that it is."""
    return cast("Row", _shareable(fixture))


def _shareable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shareable(one) for name, one in cast("Row", value).items()}
    if isinstance(value, list):
        return [_shareable(one) for one in cast("list[object]", value)]
    return PRIVATE if is_keyed(value) else value


def has_sealed(fixture: Mapping[str, Any]) -> bool:
    """Tell whether something in *fixture* is only called private."""
    stages: list[Row] = fixture.get("stage_assertions") or []
    parts = [one.get(name) for one in stages for name in _SEALED]
    parts += [fixture.get(name) for name in ("task", "published")]
    return any(map(_has_sealed, parts)) or any(
        map(has_sealed, fixture.get("runs_below") or [])
    )


def _has_sealed(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_sealed, cast("Row", value).values()))
    if isinstance(value, list):
        return any(map(_has_sealed, cast("list[object]", value)))
    return value == PRIVATE


def read_fixture(document: JsonValue, at: At) -> dict[str, JsonValue]:
    """Return the fixture in *document*, whose place is *at*, with its defaults.

    Raises:
        UsageError: it has a mistake; one line, with the key path.

    """
    FIXTURE.check(document, at)
    said: dict[str, Any] = {
        name: value
        for name, value in cast("dict[str, Any]", document).items()
        if value is not None or name == "task"
    }
    if said.get("schema_version", 1) != 1:
        raise at.key("schema_version").wrong(
            f"version {said['schema_version']} is not known", "version", "write 1"
        )
    kind = said.setdefault("eval_kind", "replay")
    said.setdefault("stage_assertions", [])
    said.setdefault("complete", False)
    Normaliser.read(said.get("normaliser"), at.key("normaliser"))
    if kind == "clarifying_question":
        if "clarifying_question" not in said:
            raise at.key("clarifying_question").wrong(
                "it is missing", "missing-key", "say what has to be asked"
            )
        _require_question(said["clarifying_question"], at.key("clarifying_question"))
    elif "clarifying_question" in said:
        raise at.key("clarifying_question").wrong(
            "a replay asks no question",
            "contradiction",
            "write eval_kind: clarifying_question",
        )
    holds = said["stage_assertions"] or said.get("runs_below")
    holds = holds or "expected_status" in said
    if kind == "replay" and not holds:
        raise at.wrong(
            "it asserts nothing",
            "asserts-nothing",
            "write expected_status, or stage_assertions",
        )
    for number, one in enumerate(said["stage_assertions"]):
        _require_assertion(one, at.key("stage_assertions").item(number))
    _read_below(said, at)
    return said


def _read_below(said: dict[str, Any], at: At) -> None:
    """Give what *said* says of the runs below its defaults.

    Raises:
        UsageError: it has a mistake; one line, with the key path.

    """
    known: set[str] = set()
    for number, one in enumerate(said.get("runs_below") or []):
        here = at.key("runs_below").item(number)
        RUN_BELOW.check(one, here)
        if one["call"] in known:
            raise here.key("call").wrong(
                f"{one['call']!r:.80} is there twice",
                "contradiction",
                "write `h.1#2` for the second call in `h.1`",
            )
        known.add(one["call"])
        for name in [key for key in one if one[key] is None and key != "task"]:
            del one[name]
        one.setdefault("stage_assertions", [])
        one.setdefault("complete", False)
        for place, row in enumerate(one["stage_assertions"]):
            _require_assertion(row, here.key("stage_assertions").item(place))
        _read_below(one, here)


def _require_question(said: Mapping[str, Any], at: At) -> None:
    least, most = said.get("min_questions", 1), said.get("max_questions", 1)
    if least > most:
        raise at.key("min_questions").wrong(
            f"{least} is more than max_questions, {most}",
            "contradiction",
            "write fewer, or raise max_questions",
        )


def _require_assertion(said: Mapping[str, Any], at: At) -> None:
    _require_one_stage(said, at)
    names = {"node_id", "id", "visit"}
    held = {
        name
        for name, one in said.items()
        if one not in (None, [], {}) or (name in _ASKED and one == [])
    }
    if not held - names:
        raise at.wrong(
            "it asserts nothing",
            "asserts-nothing",
            "write expected_status, or another expectation",
        )


def _require_one_stage(said: Mapping[str, Any], at: At) -> None:
    """Refuse an id that is of another node, or of another visit."""
    if said.get("id") == said["node_id"]:
        return  # that of a run of a program
    last = str(said.get("id") or "").rpartition("/")[2]
    node, dot, visit = last.rpartition(".")
    if not dot or not visit.isdecimal():
        return  # no run has such a stage: that is said where it is looked for
    for name, wanted in (("node_id", node), ("visit", int(visit))):
        if said.get(name) not in (None, wanted):
            raise at.key(name).wrong(
                f"the id {said['id']!r:.80} is of {wanted}",
                "contradiction",
                "write the same, or leave the id out",
            )
