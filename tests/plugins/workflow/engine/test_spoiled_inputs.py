"""Whatever handlers do to what they are given, or keep, or do to their process: it moves nothing.

Each handler here spoils all that it gets, all that it made before, and the process that it
runs in. What comes after it has what the record says.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from muniment import Run
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment_plugins.workflow import (
    Artifact,
    StageInput,
    artifact,
    run_record,
    workflow_execute,
)
from workflow_stages import Document, chain, stage

HERE = f"{__name__}:"
KEPT: list[Any] = []
SEEN: list[object] = []
GIVEN = {
    "id": "g",
    "created_at": "2026-01-01T00:00:00Z",
    "text": "g",
    "data": {"list": [1], "object": {"a": 1}},
    "metadata": {"note": ["n"]},
}


@pytest.fixture(autouse=True)
def _forget() -> None:
    KEPT.clear()
    SEEN.clear()


def ruin(value: Any) -> None:
    """Change all that can be changed in *value*."""
    if isinstance(value, dict):
        for one in list(value.values()):
            ruin(one)
        value["spoiled"] = True
    elif isinstance(value, list):
        for one in list(value):
            ruin(one)
        value.append("spoiled")


def spoil(given: StageInput) -> None:
    """Change what was given, and what was made before."""
    for one in given.artifacts:
        ruin(one.data)
        ruin(one.metadata)
    ruin(given.item)
    ruin(given.metadata)
    for contract in given.contracts:
        ruin(contract)
    for one in KEPT:
        ruin(one)


def makes(given: StageInput) -> object:
    """Spoil, and make what is spoiled later."""
    spoil(given)
    made = {"made": [given.node]}
    KEPT.append(made)
    return made


def makes_artifact(given: StageInput) -> Artifact:
    """Spoil, and make an artifact that is spoiled later."""
    spoil(given)
    data: Any = {"made": [given.node]}
    KEPT.append(data)
    return artifact({"text": given.node, "data": data, "metadata": {"of": data}})


def makes_in_lane(run: Run, given: StageInput) -> object:
    """Do the same as a part of the program."""
    del run
    return makes(given)


def makes_artifact_in_lane(run: Run, given: StageInput) -> Artifact:
    """Do the same as a part of the program."""
    del run
    return makes_artifact(given)


async def makes_later(given: StageInput) -> object:
    """Do the same in a task."""
    return makes(given)


def judges(given: StageInput) -> bool:
    """Spoil, and find all well."""
    spoil(given)
    return True


def judges_in_lane(run: Run, given: StageInput) -> bool:
    """Spoil, and find all well, as a part of the program."""
    del run
    return judges(given)


def looks(given: StageInput) -> str:
    """Note what there is."""
    SEEN.append([one.to_json() for one in given.artifacts])
    SEEN.append(dict(given.metadata))
    return "seen"


MAKERS = [
    "makes",
    "makes_artifact",
    "makes_in_lane",
    "makes_artifact_in_lane",
    "makes_later",
]
ITEMS: Document = {"items": [{"item": [1]}, {"item": [2]}]}
SPOILERS: dict[str, Document] = {
    **{one: {"handler": HERE + one} for one in MAKERS},
    **{
        f"reduce {one}": {"kind": "reduce", "reduce_policy": {"handler": HERE + one}}
        for one in MAKERS[:1]
    },
    **{
        f"map {one}": {"kind": "map", "handler": HERE + one, "map_policy": ITEMS}
        for one in MAKERS
    },
    "verify": {"kind": "verify", "verify": {"handler": f"{HERE}judges"}},
    "verify in lane": {
        "kind": "verify",
        "verify": {"handler": f"{HERE}judges_in_lane"},
    },
    "condition": {"kind": "condition", "handler": f"{HERE}judges"},
}


@pytest.mark.parametrize("spoiler", SPOILERS)
def test_nothing_is_spoiled(book: Ledger, spoiler: str) -> None:
    """What comes after has what the record says; so has the result.

    That the result is as recorded is looked at for each run of each test.
    """
    metadata = {"metadata": {"of": ["node"]}}
    document = chain(
        first={"handler": f"{HERE}makes", **metadata},
        spoiler={**SPOILERS[spoiler], **metadata},
        again={"handler": f"{HERE}makes_in_lane", **metadata},
        last={"handler": f"{HERE}looks", **metadata},
    )
    if document["nodes"]["spoiler"].get("kind") == "condition":
        document["edges"][1]["branch"] = "true"
        document["nodes"]["no"] = stage()
        document["edges"].append({"from": "spoiler", "to": "no", "branch": "false"})
    for one in document["nodes"].values():
        if one.get("kind") == "reduce":
            one["handler"] = one.pop("reduce_policy")["handler"]
    done = workflow_execute(book, "t", document, [GIVEN])

    assert done.status == "completed", done.error
    assert "spoiled" not in repr(SEEN)
    assert "spoiled" not in repr([one.to_json() for one in done.artifacts])


def test_equal_texts_with_other_data_are_no_duplicates(book: Ledger) -> None:
    """Only what is equal in all that it says is one."""
    rows = [{"text": "row", "data": {"ok": one}} for one in (True, False, True)]
    rules = {"keep_duplicates": False}
    last = {"handler": f"{HERE}looks", "context_policy": rules}
    done = workflow_execute(book, "t", chain(last=last), rows)

    assert done.status == "completed", done.error
    seen: Any = SEEN[0]
    assert [one["data"] for one in seen] == [{"ok": True}, {"ok": False}]


def moves(given: StageInput) -> str:
    """Put a file elsewhere, and go there."""
    del given
    there = Path("elsewhere")
    there.mkdir()
    (there / "tests.ok").write_text("")
    os.chdir(there)
    os.environ["PATH"] = f"{there.absolute()}:{os.environ['PATH']}"
    (Path("wanted")).write_text("#!/bin/sh\nexit 0\n")
    Path("wanted").chmod(0o755)
    return "moved"


@pytest.mark.parametrize("inner", [False, True], ids=["here", "in a child"])
@pytest.mark.parametrize(
    "contract",
    [
        {"command": "test -f tests.ok"},
        {"required_paths": ["tests.ok"]},
        {"command": "wanted"},
    ],
    ids=lambda one: next(iter(one)),
)
def test_a_check_is_made_where_the_run_began(
    book: Ledger,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    contract: Document,
    inner: bool,
) -> None:
    """A handler that moves its process moves no check, nor what commands are found."""
    monkeypatch.setenv("PATH", os.environ["PATH"])
    check: Document = {"kind": "verify", "verify": contract}
    if inner:
        check = {"kind": "subagent", "graph": chain(check=check)}
    document = chain(first={"handler": f"{HERE}moves"}, check=check)
    try:
        done = workflow_execute(book, "t", document)
    finally:
        os.chdir(place)
    assert done.status == "failed"


COMMAND: Document = {"command": "touch ran"}
HELD: Document = {"side_effect_level": "read_only"}
VERIFY: Document = {"kind": "verify", "verify": {"contract_path": "c.json"}}


@pytest.mark.parametrize(
    "node",
    [
        VERIFY,
        {**VERIFY, "capability_policy": HELD},
        {"kind": "subagent", "graph": chain(check=VERIFY)},
        {"kind": "map", "body": VERIFY, "map_policy": ITEMS},
    ],
    ids=["plain", "declared", "child", "map"],
)
def test_a_command_in_a_file_is_held_to_the_ceiling(
    book: Ledger, place: Path, node: Document
) -> None:
    """What a contract file says is as if the graph said it, wherever it is named."""
    (place / "c.json").write_text('{"command": "touch ran"}')
    with pytest.raises(RefusedError, match="CEILING_EXCEEDED"):
        workflow_execute(book, "t", chain(check=node), [], {"ceiling": HELD})

    assert not (place / "ran").exists()
    (refused,) = book.events(type="workflow.refused")
    assert "command" in str(refused.data["findings"])


def adds(given: StageInput) -> int:
    """Add what the artifacts count."""
    rows: Any = [one.data for one in given.artifacts]
    return sum(one["count"] for one in rows)


def counts(given: StageInput) -> dict[str, int]:
    """Count one for each item, whatever it is."""
    del given
    return {"count": 1}


def all_there(given: StageInput) -> bool:
    """Tell whether all 130 are there."""
    return len(given.artifacts) == NUMBER


NUMBER = 130
MANY: Document = {
    "kind": "map",
    "handler": f"{HERE}counts",
    "map_policy": {"items": [5] * NUMBER},
}
EACH: Document = {
    "kind": "map",
    "handler": f"{HERE}counts",
    "map_policy": {"item_artifact_kind": "artifact"},
}
ADDS: Document = {"kind": "reduce", "handler": f"{HERE}adds"}
WHOLE: dict[str, Document] = {
    "a reduction": chain(many=MANY, adds=ADDS),
    "a map, and a reduction": chain(many=MANY, each=EACH, adds=ADDS),
    "a subagent": chain(many=MANY, child={"kind": "subagent", "graph": chain(a=ADDS)}),
    "a verifier": chain(
        many=MANY,
        check={"kind": "verify", "verify": {"handler": f"{HERE}all_there"}},
        adds={**ADDS, "input_contract": {"input_kinds": ["artifact"]}},
    ),
}


@pytest.mark.parametrize("shape", WHOLE)
def test_nothing_gets_lost_on_the_way(book: Ledger, shape: str) -> None:
    """However many there are, and though they are equal: all are worked on."""
    done = workflow_execute(book, "t", WHOLE[shape])

    assert done.status == "completed", done.error
    sums = [one.data for one in done.artifacts if isinstance(one.data, int)]
    assert sums == [2 * NUMBER if "map," in shape else NUMBER]
    for one in book.events(type="context.selected"):
        if one.raw["node"] != "body":  # of a map, which is a stage
            assert not {"count", "duplicate"} & one.raw["left_out"].keys()  # type: ignore[union-attr]


def test_a_map_says_how_many_items_it_left_out(book: Ledger) -> None:
    """What `max_items` leaves out is counted, and the map is partial."""
    items = {"items": [1, 2, 3], "max_items": 2}
    done = workflow_execute(book, "t", chain(many={**MANY, "map_policy": items}))

    (stage_of_map,) = [
        one
        for one in run_record(book, done.run_id)["stages"]
        if one["node_id"] == "many"
    ]
    assert stage_of_map["joined"]["left_out"] == 1
    assert stage_of_map["outcome"] == "partial"
