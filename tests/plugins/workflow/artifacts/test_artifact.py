"""Artifacts are read strictly, and come back from JSON as they were."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given

from made_artifacts import made, raw_artifacts, stamps
from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import UsageError
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.workflow.artifacts.artifact import (
    artifact,
    read_artifact,
)

TIME = "2026-01-01T00:00:00.000000Z"


@given(raw_artifacts())
def test_json_has_an_inverse(raws: list[dict[str, object]]) -> None:
    """To JSON and back is the same artifact; the normal form has itself as normal form."""
    for one in made(*raws):
        written = one.to_json()
        assert read_artifact(written) == one == artifact(written)
        assert canonical(artifact(written).to_json()) == canonical(written)
        assert artifact(one) == one
        assert one.digest == read_artifact(written).digest


@given(raw_artifacts(3))
def test_order_of_keys(raws: list[dict[str, object]]) -> None:
    """In which order keys are written changes nothing."""
    turned = [dict(reversed([*raw.items()])) for raw in raws]
    assert made(*raws) == made(*turned)


def test_normal_form() -> None:
    """Nulls and what says nothing are left out; the weights are always there."""
    (one,) = made(
        {
            "_type": "artifact",
            "kind": "test",
            "text": "abcde",
            "title": None,
            "data": None,
            "lineage": ["x", "y", "x"],
            "metadata": {},
            "freshness": "unknown",
        }
    )
    assert one.to_json() == {
        "id": "a0",
        "kind": "test_result",
        "created_at": TIME,
        "priority": 100,
        "estimated_tokens": 2,
        "text": "abcde",
        "lineage": ["x", "y"],
    }


def test_it_is_a_copy() -> None:
    """Who changes what was given, or what was written, changes no artifact."""
    inner = {"paths": ["a"]}
    (one,) = made({"data": inner, "metadata": inner})
    inner["paths"].append("b")
    written = one.to_json()
    written["data"]["paths"].append("c")  # type: ignore[index, union-attr, call-overload]
    assert one.data == {"paths": ["a"]} == one.metadata


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 4, 2), ("x" * 800, 200)],
)
def test_tokens(text: str, tokens: int) -> None:
    """A token is four bytes of UTF-8, rounded up; 800 characters are 200."""
    assert artifact({"text": text}).estimated_tokens == tokens
    heavy = artifact({"text": text, "estimated_tokens": 7}).estimated_tokens
    assert heavy == max(7, tokens), "what it weighs, or more"


def test_tokens_of_data() -> None:
    """Without a text the body is the data as JSON, and that is what is counted."""
    one = artifact({"data": {"b": 1, "a": [True]}})
    assert one.body == '{"a":[true],"b":1}'
    assert one.estimated_tokens == 5
    assert artifact({"data": {"a": 1}, "text": ""}).estimated_tokens == 0


@pytest.mark.parametrize(
    ("given_time", "kept"),
    [
        ("2026-01-01T00:00:00Z", TIME),
        ("2026-01-01t00:00:00z", TIME),
        ("2026-01-01T01:30:00+01:30", TIME),
        ("2025-12-31T23:59:59.5-00:00", "2025-12-31T23:59:59.500000Z"),
        ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123456Z"),
    ],
)
def test_times(given_time: str, kept: str) -> None:
    """Whatever the offset, the time is kept in UTC in one spelling."""
    assert artifact({"created_at": given_time}).created_at == kept


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01",
        "2026-01-01T00:00:00",
        "yesterday",
        "2026-02-30T00:00:00Z",
        "2026-01-01T00:00:60Z",
        "0001-01-01T00:00:00+01:00",
        "\uff19999-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z\n",
    ],
)
def test_no_times(text: str) -> None:
    """What is no moment is refused."""
    with pytest.raises(UsageError, match=r"artifact: created_at: .*\[workflow/time\]"):
        artifact({"created_at": text})


LOOP: list[object] = []
LOOP.append(LOOP)
WRONG: list[tuple[object, str]] = [
    (None, "artifact: it is a NoneType, not an object"),
    ([], "artifact: it is a list, not an object"),
    ({"txt": "a"}, "artifact: txt: nothing reads this key .*did you mean text"),
    ({"_type": "plan"}, "artifact: _type: "),
    ({"id": "a b"}, "artifact: id: "),
    ({"id": ""}, "artifact: id: "),
    ({"id": "a" * 300}, "artifact: id: "),
    ({"id": 5}, "artifact: id: it is a number, not a text"),
    ({"kind": True}, "artifact: kind: it is true or false"),
    ({"text": b"bytes"}, "artifact: text: a bytes is no value of JSON"),
    ({"text": 5}, "artifact: text: it is a number, not a text"),
    ({"text": "\ud800"}, "artifact: a string holds a lone surrogate"),
    ({"priority": -1}, "artifact: priority: -1 is below 0"),
    ({"priority": 1.5}, "artifact: priority: it is a number"),
    ({"priority": True}, "artifact: priority: it is true or false"),
    ({"priority": 2**60}, "artifact: priority: an integer beyond"),
    ({"relevance": math.nan}, "artifact: relevance: the number nan"),
    ({"relevance": math.inf}, "artifact: relevance: the number inf"),
    ({"relevance": -0.1}, "artifact: relevance: -0.1 is out of bounds"),
    ({"relevance": "high"}, "artifact: relevance: it is a text"),
    ({"estimated_tokens": -3}, "artifact: estimated_tokens: "),
    ({"freshness": "frsh"}, "artifact: freshness: .*did you mean fresh"),
    ({"lineage": "a"}, "artifact: lineage: it is a text, not a list"),
    ({"lineage": ["a", 5]}, r"artifact: lineage\[1\]: it is a number"),
    ({"id": "a", "lineage": ["b", "a"]}, "artifact: lineage: a is made from itself"),
    ({"metadata": []}, "artifact: metadata: it is a list, not an object"),
    ({"metadata": {1: 2}}, "artifact: metadata: the key 1 is not a text"),
    ({"metadata": {"x": {1, 2}}}, "artifact: metadata.x: a set is no value of JSON"),
    ({"metadata": {"changed_paths": "a"}}, "artifact: metadata.changed_paths: "),
    ({"metadata": {"evidence_paths": [1]}}, r"metadata.evidence_paths\[0\]: "),
    ({"data": LOOP}, r"artifact: data\[0\].*: it nests deeper than 32"),
    ({"data": {"n": math.nan}}, "artifact: data.n: the number nan"),
    ({"kind": "handoff"}, "artifact: data.source_persona: it is missing"),
]


@pytest.mark.parametrize(("raw", "message"), WRONG, ids=[said for _, said in WRONG])
def test_mistakes(raw: object, message: str) -> None:
    """Each mistake is refused in one line that names the place."""
    with pytest.raises(UsageError, match=message) as refused:
        artifact(raw)
    assert refused.value.rule.startswith("workflow/")
    assert len(str(refused.value)) < 800


def test_huge_text() -> None:
    """A text may have megabytes."""
    assert artifact({"text": "ä" * 5_000_000}).estimated_tokens == 2_500_000


def test_tuples_and_mappings() -> None:
    """Tuples are lists, and every mapping is an object."""

    class Other(dict[str, object]):
        """A mapping of its own type."""

    one = artifact(Other(lineage=("x", "y"), data={"a": (1, Other(b=2))}))
    assert one.lineage == ("x", "y")
    assert one.data == {"a": [1, {"b": 2}]}


@pytest.mark.parametrize("missing", ["id", "created_at"])
def test_reading_draws_nothing(missing: str) -> None:
    """What is read brings its id and its time."""
    raw = {"id": "a", "created_at": TIME, "text": "x"}
    assert read_artifact(raw).id == "a"
    with pytest.raises(UsageError, match=rf"artifact: {missing}: it is missing"):
        read_artifact({**raw, missing: None})


def test_ids_outside_of_a_run() -> None:
    """Outside of a run each artifact has an id of its own."""
    one, other = artifact({}), artifact({})
    assert one.id != other.id
    assert re.fullmatch(r"artifact_[0-9a-f]{32}", one.id)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", one.created_at)


def test_given_stamps() -> None:
    """Ids and times come from where the caller says, if they are not given."""
    counting = stamps()
    one = artifact({"id": "mine"}, stamps=counting)
    other = artifact({"created_at": "2020-01-01T00:00:00Z"}, stamps=counting)
    assert (one.id, one.created_at) == ("mine", TIME)
    assert (other.id, other.created_at) == ("a0", "2020-01-01T00:00:00.000000Z")


def several(run: Run) -> list[dict[str, JsonValue]]:
    """Make artifacts in a run, in a scope of it, and in an effect."""
    one, other = artifact({"text": "a"}), artifact({"text": "b"})
    with run.scope("inner"):
        third = artifact({"text": "c"})
    fourth = run.effect("work", {}, lambda _: artifact({"text": "d"}).to_json())
    made = [one.to_json(), other.to_json(), third.to_json()]
    return [*made, cast("dict[str, JsonValue]", fourth)]


def test_a_replay_makes_the_same(tmp_path: Path) -> None:
    """Inside a run ids and times come from the run, so its replay gives the same."""
    with Ledger.create(tmp_path / "l.db", home=tmp_path / "home", plugins=()) as book:
        book.register(EffectKind("work"))
        done = book.execute(several)
        report = replay(book, done.run_id, several)
    assert report.ok, report.findings
    assert report.result_digest == done.result_digest
    ids = [one["id"] for one in cast("list[dict[str, JsonValue]]", done.value)]
    assert len({*ids}) == 4
