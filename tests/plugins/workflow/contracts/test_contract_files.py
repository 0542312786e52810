"""What a contract file says holds beside what the node says; or the two are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute
from muniment_plugins.workflow.contracts.verifier import VerifierContract, united
from muniment_plugins.workflow.documents.shapes import CONTRACT

TWO: dict[str, tuple[Any, Any]] = {
    "summary": ("own", "file"),
    "command": ("echo own", "echo file"),
    "timeout_s": (5, 6),
    "expect_status": (0, 7),
    "assert_text": ("own", "file"),
    "expect_text": ("own", "file"),
    "required_identifiers": (["own"], ["file"]),
    "required_paths": (["own"], ["file"]),
    "required_text": (["own"], ["file"]),
    "notes": (["own"], ["file"]),
    "checks": (
        [{"kind": "text", "value": "own"}],
        [{"kind": "text", "value": "file"}],
    ),
}
"""Key → what the node says, and what the file says."""
REFUSED = {"command", "timeout_s", "expect_status"}
"""Keys of which only one could hold."""


def said(own: dict[str, Any], file: dict[str, Any]) -> VerifierContract:
    """Return the contract of a node that names a file."""
    whole = united({**own, "contract_path": "c.json"}, {"c.json": file})
    return VerifierContract("act", whole)


def test_the_table_knows_every_key() -> None:
    """A key that is added to contracts gets its line here."""
    assert {*TWO} == {*CONTRACT.optional}


@pytest.mark.parametrize("key", sorted(TWO))
def test_both_hold_or_the_conflict_is_refused(key: str) -> None:
    """Nothing of the file vanishes behind what the node says of the same key."""
    own, file = TWO[key]
    if key in REFUSED:
        with pytest.raises(UsageError) as caught:
            said({key: own}, {key: file})
        assert caught.value.rule == "workflow/contract-conflict"
        assert caught.value.place == f"c.json: {key}"
        return
    text = json.dumps(said({key: own}, {key: file}).told())
    assert ("own" in text, "file" in text) == (True, True)


@pytest.mark.parametrize("key", sorted(TWO))
def test_what_both_say_alike_holds_once(key: str) -> None:
    """Equal values are no conflict, and are checked once."""
    own, _ = TWO[key]
    one, both = said({key: own}, {}), said({key: own}, {key: own})
    assert both.told() == one.told()


@pytest.mark.parametrize("key", sorted(TWO))
@pytest.mark.parametrize("other", sorted(TWO))
def test_different_keys_stand_beside_each_other(key: str, other: str) -> None:
    """What the file says of another key holds, whatever the node says."""
    if key == other:
        return
    both = said({key: TWO[key][0]}, {other: TWO[other][1]}).said
    assert {key, other} <= both.keys()


def test_a_conflict_is_refused_before_anything_runs(book: Ledger, place: Path) -> None:
    """Neither of two commands is run, no run begins, and the refusal is recorded."""
    (place / "c.json").write_text(json.dumps({"command": "touch FILE"}))
    verify = {"contract_path": "c.json", "command": "touch OWN"}
    with pytest.raises(UsageError, match="something else"):
        workflow_execute(
            book, "t", {"nodes": {"act": {"kind": "verify", "verify": verify}}}
        )
    assert not [one for one in place.iterdir() if one.name in ("FILE", "OWN")]
    assert list(book.runs()) == []
    (refused,) = book.events(type="workflow.refused")
    assert "CONTRACT_CONFLICT" in str(refused.data["findings"])


def test_a_text_of_the_file_fails_the_verifier(book: Ledger, place: Path) -> None:
    """A command that passes the node's check, and not the file's, has not passed."""
    (place / "c.json").write_text(json.dumps({"assert_text": "all tests passed"}))
    verify = {"contract_path": "c.json", "command": "echo hi", "assert_text": "hi"}
    graph = {"nodes": {"act": {"kind": "verify", "verify": verify}}}
    done = workflow_execute(book, "t", graph)
    (found,) = book.events(run=done.run_id, type="node.completed")
    assert found.data["branch"] == "failed"


@pytest.mark.parametrize(
    "file",
    [
        {},
        {"notes": ["x"]},
        {"checks": [{"kind": "text", "value": 1}]},
        {"command": "true", "expect_status": 256},
        {"required_paths": ["~/x"]},
    ],
)
def test_a_file_that_checks_nothing_real_is_refused(
    file: dict[str, Any], book: Ledger, place: Path
) -> None:
    """A file is held to what a node is held to."""
    (place / "c.json").write_text(json.dumps(file))
    verify = {"contract_path": "c.json"}
    with pytest.raises(UsageError, match=r"c\.json"):
        workflow_execute(
            book, "t", {"nodes": {"act": {"kind": "verify", "verify": verify}}}
        )
