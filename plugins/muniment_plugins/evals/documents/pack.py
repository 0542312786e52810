"""Packs of evals: cases with rubrics, thresholds, judges, and how much each matters.

Rules:

- What a case says itself goes before what its rubrics say, and that before the defaults:
  severity and thresholds. A judge comes from the rubric, else the pack, else the defaults.
- The order of rubrics is nothing, and none takes from another: of their limits the least
  holds, of their severities the gravest, where one that says none has that of the defaults.
  The scores that a rubric wants are those of its own judge.
- A rubric has what its kind says: ``replay`` a fixture in each case that uses it, ``budget``
  thresholds, ``hitl`` an assertion about questions, ``side-effect`` one about a field of
  the record: denials, calls, artifacts; ``llm-judge`` a prompt and a judge. Everything a
  rubric says is held, or refused; so is what no run, or every run, would pass.
- Names that lead nowhere are refused with what may have been meant; so are rubrics that no
  case uses, and cases that hold a run to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
from muniment_plugins.evals.documents.parts import Parts
from muniment_plugins.evals.documents.shapes import SEVERITIES
from muniment_plugins.evals.views.fields import UNORDERED
from muniment_plugins.evals.views.paths import require_sense
from muniment_plugins.evals.views.probes import worded
from muniment_plugins.evals.views.rows import listed, part
from muniment_plugins.workflow.records.fields import FORMS

__all__ = ["JUDGE", "pack_cases"]

JUDGE = "llm-judge"
_SCORES = ("min_score", "min_confidence")
_TAKEN = "fixture"
"""By this and a number an eval finds what a fixture looks for; a rubric has its id."""
_NEEDS = {
    "run-status": {"expected"},
    "stage-status": {"stage", "expected"},
    "visible-text-contains": {"contains"},
    "hitl-question-contains": {"contains"},
    "field": {"path", "op"},
}
_UNJUDGED = ("a score is wanted, and no judge states one", "contradiction")
_MAY = {"visible-text-contains": {"stage"}, "field": {"expected"}}
Object = Mapping[str, Any]


def pack_cases(
    said: Mapping[str, JsonValue], at: At, parts: Parts
) -> list[dict[str, Any]]:
    """Return the cases of the pack *said* in their normal form.

    Raises:
        UsageError: a name leads nowhere, or something holds a run to nothing.

    """
    rubrics = _rubrics(said, at)
    rows = cast("list[Object]", said["cases"])
    cases = [
        _case(said, one, at.key("cases").item(number), parts, rubrics)
        for number, one in enumerate(rows)
    ]
    used = {name for one in rows for name in listed(one, "rubrics")}
    for number, name in enumerate(rubrics):
        if name not in used:
            raise (
                at.key("rubrics")
                .item(number)
                .wrong(
                    f"no case uses {name!r}", "unused", "name it in a case, or drop it"
                )
            )
    _require_judge(said, cases, at)
    return cases


def _require_judge(
    said: Mapping[str, JsonValue], cases: list[dict[str, Any]], at: At
) -> None:
    """Refuse scores that the defaults want where no case has a judge."""
    wanted = part(part(said, "defaults"), "thresholds")
    for name in _SCORES:
        if wanted.get(name) is not None and not any("judges" in one for one in cases):
            raise (
                at.key("defaults")
                .key("thresholds")
                .key(name)
                .wrong(*_UNJUDGED, f"add a rubric of the kind {JUDGE}")
            )


def _rubrics(said: Mapping[str, JsonValue], at: At) -> dict[str, dict[str, Any]]:
    defaults = cast("Object", said.get("defaults") or {})
    judge = said.get("judge") or defaults.get("judge")
    found: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(cast("list[Object]", said.get("rubrics") or [])):
        here = at.key("rubrics").item(number)
        if one["id"] in found:
            raise here.key("id").wrong("it is there twice", "duplicate", "keep one")
        found[one["id"]] = _rubric(one, here, cast("Object | None", judge))
    return found


def _rubric(said: Object, at: At, judge: Object | None) -> dict[str, Any]:
    kind = said.get("kind") or "deterministic"
    row: dict[str, Any] = {
        "id": said["id"],
        "kind": kind,
        "assertions": [
            _assertion(one, at.key("assertions").item(number))
            for number, one in enumerate(listed(said, "assertions"))
        ],
        "thresholds": dict(part(said, "thresholds")),
    }
    if said.get("description"):
        row["description"] = said["description"]
    if kind == JUDGE:
        row |= _judging(said, at, judge)
        return row
    for name in ("prompt", "judge", "calibration", "stage"):
        if said.get(name) is not None:
            raise at.key(name).wrong(
                f"a rubric of the kind {kind} asks no judge",
                "contradiction",
                f"write kind: {JUDGE}",
            )
    _require_kind(row, at)
    return row


def _require_kind(row: Object, at: At) -> None:
    """Refuse a rubric that lacks what its kind says."""
    asks = any(one["kind"].startswith("hitl") for one in row["assertions"])
    looks = any(one["kind"] == "field" for one in row["assertions"])
    limits = {
        name
        for name, value in row["thresholds"].items()
        if name.startswith("max_") and value is not None
    }
    for name in _SCORES:
        if row["thresholds"].get(name) is not None:
            raise (
                at.key("thresholds")
                .key(name)
                .wrong(
                    "no judge states a score", "contradiction", f"write kind: {JUDGE}"
                )
            )
    lacking = {
        "budget": None if limits else "thresholds",
        "hitl": None if asks else "an assertion of the kind hitl-question-contains",
        "side-effect": None if looks else "an assertion of the kind field",
        "deterministic": None if row["assertions"] or limits else "assertions",
        "replay": None,  # its cases have fixtures
    }[row["kind"]]
    if lacking is not None:
        raise at.wrong(
            f"a rubric of the kind {row['kind']} lacks {lacking}",
            "asserts-nothing",
            f"write {lacking}",
        )


def _judging(said: Object, at: At, judge: Object | None) -> dict[str, Any]:
    """Return what a rubric says that a model judges by."""
    if said.get("prompt") is None:
        raise at.key("prompt").wrong(
            "it is missing", "missing-key", "say what is judged, and how"
        )
    named = part(said, "judge") or judge or {}
    chosen = {name: value for name, value in named.items() if value is not None}
    if not {"model", "provider"} & {*chosen}:
        raise at.key("judge").wrong(
            "no model judges", "missing-key", "write provider and model"
        )
    row: dict[str, Any] = {"prompt": said["prompt"], "judge": chosen}
    row["calibration"] = [dict(one) for one in listed(said, "calibration")]
    if said.get("stage") is not None:
        row["stage"] = said["stage"]
    return row


def _assertion(said: Object, at: At) -> dict[str, Any]:
    row = {name: value for name, value in said.items() if value is not None}
    if row["kind"] == "field":
        row.setdefault("op", "equals")
    needed = _NEEDS[row["kind"]]
    may = needed | _MAY.get(row["kind"], set()) | {"kind"}
    for name in needed:
        if name not in row:
            raise at.key(name).wrong(
                f"an assertion of the kind {row['kind']} needs it",
                "missing-key",
                "write it",
            )
    for name in row:
        if name not in may:
            raise at.key(name).wrong(
                f"an assertion of the kind {row['kind']} does not read it",
                "unknown-key",
                near(name, sorted(may)),
            )
    if row["kind"] == "field" and (row["op"] in UNORDERED) == ("expected" in row):
        wanted = "compares with nothing" if row["op"] in UNORDERED else "needs it"
        raise at.key("expected").wrong(
            f"the op {row['op']} {wanted}", "contradiction", "write both, or neither"
        )
    _require_sense(row, at)
    return row


def _require_sense(row: Object, at: At) -> None:
    """Refuse an assertion that nothing, or everything, would pass."""
    kind, wanted = row["kind"], row.get("expected")
    if kind == "field":
        require_sense(row, at)
    elif kind in ("run-status", "stage-status"):
        words = cast("list[str]", FORMS[kind.replace("-", " ")]["enum"])
        if wanted not in words:
            raise at.key("expected").wrong(
                f"no status is {wanted!r:.60}", "enum", near(str(wanted), words)
            )
    elif kind == "hitl-question-contains" and not worded(row["contains"]):
        raise at.key("contains").wrong(
            "it has no letter and no digit", "asserts-nothing", "write a word"
        )


def _case(
    pack: Mapping[str, JsonValue],
    said: Object,
    at: At,
    parts: Parts,
    rubrics: Mapping[str, dict[str, Any]],
) -> dict[str, Any]:
    defaults = cast("Object", pack.get("defaults") or {})
    chosen = [
        _used(rubrics, name, at.key("rubrics").item(number))
        for number, name in enumerate(listed(said, "rubrics"))
    ]
    usual, own = _thresholds(defaults), _thresholds(said)
    limits = {**usual, **_least(chosen), **own}
    case: dict[str, Any] = {
        "id": said["id"],
        "severity": said.get("severity")
        or own.get("severity")
        or _gravest(chosen, usual.get("severity") or defaults.get("severity")),
        **{name: said[name] for name in ("name", "metadata") if said.get(name)},
        **parts.run(said, at),
        **_fixture(said, at, parts),
        "rubrics": [
            _plain(one) for one in chosen if one["kind"] != JUDGE or one["assertions"]
        ],
        "judges": [_judge(one, usual, own) for one in chosen if one["kind"] == JUDGE],
        "thresholds": {k: v for k, v in limits.items() if k.startswith("max_")},
    }
    compared = said.get("compare_to") or pack.get("baseline")
    if compared:
        case["compare_to"] = parts.other(str(compared), at.key("compare_to"))
    _require_something(case, own, at)
    return {name: value for name, value in case.items() if value not in ([], {})}


def _thresholds(said: Object) -> dict[str, Any]:
    """Return the thresholds that a case, a rubric or the defaults state."""
    stated = part(said, "thresholds").items()
    return {name: value for name, value in stated if value is not None}


def _least(rubrics: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the limits of a case with *rubrics*: of each the least that one states."""
    found: dict[str, Any] = {}
    for one in rubrics:
        for name, value in _thresholds(one).items():
            if name.startswith("max_"):
                found[name] = min(value, found.get(name, value))
    return found


def _gravest(rubrics: list[dict[str, Any]], usual: str | None) -> str:
    """Return the severity of a case with *rubrics*: one that states none has the *usual*."""
    default = usual or "blocking"
    stated = [_thresholds(one).get("severity") or default for one in rubrics]
    return min(stated or [default], key=SEVERITIES.index)


def _fixture(said: Object, at: At, parts: Parts) -> dict[str, Any]:
    if said.get("fixture") is not None and said.get("fixture_path") is not None:
        raise at.key("fixture_path").wrong(
            "the case names a fixture as well", "contradiction", "keep one of them"
        )
    if said.get("fixture") is not None:
        return {"fixture": parts.fixture_named(said["fixture"], at.key("fixture"))}
    if said.get("fixture_path") is not None:
        path = at.key("fixture_path")
        return {"fixture": parts.fixture(said["fixture_path"], path)}
    return {}


def _used(rubrics: Mapping[str, dict[str, Any]], name: str, at: At) -> dict[str, Any]:
    if name not in rubrics:
        raise at.wrong(
            f"no rubric is called {name!r:.80}",
            "unknown-rubric",
            near(name, rubrics) or "add it to rubrics",
        )
    return rubrics[name]


def _plain(rubric: Mapping[str, Any]) -> dict[str, Any]:
    names = ("id", "kind", "description", "assertions")
    return {name: rubric[name] for name in names if name in rubric}


def _judge(rubric: Mapping[str, Any], usual: Object, own: Object) -> dict[str, Any]:
    row = {name: value for name, value in rubric.items() if name != "thresholds"}
    scores = {**usual, **_thresholds(rubric), **own}
    return {**row, **{one: scores[one] for one in _SCORES if one in scores}}


def _require_something(case: Object, own: Object, at: At) -> None:
    if "fixture" in case and _TAKEN in {one["id"] for one in case["rubrics"]}:
        raise at.key("rubrics").wrong(
            f"what the fixture of the case looks for is called {_TAKEN!r}",
            "duplicate",
            "name the rubric otherwise",
        )
    replays = [one["id"] for one in case["rubrics"] if one["kind"] == "replay"]
    if replays and "fixture" not in case:
        raise at.key("fixture").wrong(
            f"the rubric {replays[0]!r} is held by a fixture",
            "missing-key",
            "write fixture, or fixture_path",
        )
    if any(one in own for one in _SCORES) and not case["judges"]:
        raise at.key("thresholds").wrong(
            *_UNJUDGED, f"add a rubric of the kind {JUDGE}"
        )
    holds = ("fixture", "compare_to", "judges", "thresholds")
    asserts = any(one["assertions"] for one in case["rubrics"])
    if not asserts and not any(case.get(name) for name in holds):
        raise at.wrong(
            "the case holds a run to nothing",
            "asserts-nothing",
            "write a fixture, rubrics, thresholds or compare_to",
        )
