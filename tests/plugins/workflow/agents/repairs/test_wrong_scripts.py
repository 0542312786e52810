"""A model that does the wrong thing mends nothing, and the report says why.

Rules: whatever the model does or says, the run ends, nothing outside of its modules is
touched, the report never says that something is repaired, and its last line is the reason.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import capsule_cases
from capsule_cases import judged, read_cases
from forged_modules import FORGED
from muniment import verify
from repairs import Ran, killed, ledger_of, repository, run, script

TEST: Any = [("run_tests", {})]
WRONG = "total // size + 1"
RIGHT = "max(1, -(-total // size))"
SAID = "All cases hold now."


def edit(path: str, old: str, new: str) -> list[Any]:
    """Return an answer that edits a file."""
    return [("edit", {"path": path, "old": old, "new": new})]


def refused(folder: Path, *reasons: str) -> Ran:
    """Run, and hold the run to the rules of this file; each reason is in a line."""
    before = {one: one.read_bytes() for one in others(folder)}
    ran = run(folder)
    assert ran.code == 1
    assert not [one for one in ran.text.splitlines() if one.startswith("repaired")]
    assert ran.conclusion.startswith("not repaired: "), ran.text
    for reason in reasons:
        assert any(reason in one for one in ran.lines), (reason, ran.text)
    assert {one: one.read_bytes() for one in others(folder)} == before
    modules = {
        one.name: one.read_text() for one in folder.glob("*.py") if one.is_file()
    }
    assert not judged(read_cases(folder / "cases.json"), modules)["ok"]
    assert "replayed, with nothing asked or run: acceptable" in ran.lines
    with ledger_of(folder) as ledger:
        assert verify(ledger.path).ok
    return ran


def others(folder: Path) -> list[Path]:
    """Return what a model may not change: all but modules, and what is above them."""
    beside = [one for one in folder.parent.iterdir() if one.suffix == ".py"]
    return [*beside, *folder.glob("*.json")]


@pytest.fixture
def paging(tmp_path: Path) -> Path:
    """Give a broken repository, and a module beside it."""
    (tmp_path / "outside.py").write_text("total // size + 1\n")
    return repository("paging", tmp_path)


def test_the_cases_are_edited(paging: Path) -> None:
    """Cases are no modules: what they want cannot be changed."""
    script(paging, edit("cases.json", '"wanted": 3}', '"wanted": 4}'), TEST, SAID)
    ran = refused(paging, "call.0 edit denied: argument_refused")
    assert "verification_failed" in ran.conclusion


def test_a_link_to_the_cases_is_edited(paging: Path) -> None:
    """Neither can they by a link that is called like a module."""
    (paging / "cases.py").symlink_to("cases.json")
    script(paging, edit("cases.py", '"wanted": 3}', '"wanted": 4}'), TEST, SAID)
    refused(paging, "edit cases.py failed: cases.json is none of the modules paging.py")


def test_a_pipe_is_read(paging: Path) -> None:
    """What nobody writes to is no file that a model could read, and holds nothing up."""
    os.mkfifo(paging / "pipe")
    script(paging, [("read", {"path": "pipe"})], TEST, SAID)
    refused(paging, "read pipe failed")


def test_the_cases_are_edited_by_others(paging: Path) -> None:
    """Whoever changes cases while it runs: it is judged by those with which it began."""
    script(paging, TEST, SAID)
    assert killed(paging, 4)
    whole = (paging / "cases.json").read_text()
    (paging / "cases.json").write_text(json.dumps(json.loads(whole)[:1]))
    ran = run(paging)
    assert "mend.1/turn.1/call.0 run_tests done, 0 of 1 cases are wrong" in ran.text
    assert ran.conclusion.startswith("not repaired: verify.3 verification_failed"), (
        ran.text
    )


def test_the_modules_are_edited_by_others(tmp_path: Path) -> None:
    """Whoever changes modules after they were verified: that they are repaired is no more so."""
    folder = repository("prices", tmp_path)
    broken = (folder / "prices.py").read_text()
    assert killed(folder, 40)  # the cases held
    (folder / "prices.py").write_text(broken)
    ran = run(folder)
    assert ran.code == 1
    assert ran.lines[-1] == (
        "error: somebody changed the modules after they were verified"
    )


def test_there_are_no_cases(paging: Path) -> None:
    """Nothing is verified by no cases."""
    (paging / "cases.json").write_text("[]")
    script(paging, edit("paging.py", WRONG, RIGHT), TEST, SAID)
    ran = run(paging)
    assert ran.code == 1
    assert ran.conclusion.startswith("not repaired: verify.3 verification_failed")


@pytest.mark.parametrize(
    "said", [SAID, "", "repaired (event 85, c8f5419ca647)", "%$&/(\x00"]
)
def test_nothing_is_run(paging: Path, said: str) -> None:
    """Who claims success is told to run the cases; who goes on claiming it, has failed."""
    script(paging, *[said] * 5)
    ran = refused(paging, "told to go on: tools_missing")
    assert ran.conclusion == "not repaired: mend.1 ended: max_nudges"


def test_a_claim_against_the_cases(paging: Path) -> None:
    """Who runs them, and says that they hold where they do not, is contradicted."""
    script(paging, TEST, SAID)
    ran = refused(paging, "2 of 6 cases are wrong")
    assert ran.conclusion.startswith("not repaired: verify.3 verification_failed")
    assert ran.lines[-3].startswith("run.failed: ")
    assert "it may be visited 3 times" in ran.lines[-3]


@pytest.mark.parametrize(
    "path", ["../outside.py", "{above}/outside.py", "x/../../outside.py", "~/x.py"]
)
def test_outside_is_edited(paging: Path, path: str) -> None:
    """What is not in the folder is neither edited nor read, however it is spelled."""
    path = path.format(above=paging.parent)
    script(paging, edit(path, WRONG, RIGHT), [("read", {"path": path})], TEST, SAID)
    refused(paging, "call.0 edit denied: ", "call.0 read denied: path_")


@pytest.mark.parametrize("target", ["../outside.py", ".."])
def test_a_link_that_leads_out(paging: Path, target: str) -> None:
    """A link in the folder leads nowhere but into it."""
    (paging / "linked").symlink_to(target)
    (paging / "linked.py").symlink_to("../outside.py")
    path = "linked/outside.py" if target == ".." else "linked.py"
    script(paging, edit(path, WRONG, RIGHT), [("read", {"path": path})], TEST, SAID)
    refused(paging, "call.0 edit")


def test_it_repeats_itself(paging: Path) -> None:
    """A loop that asks for the same again and again is ended, and so is one that varies."""
    script(paging, *[TEST] * 20)
    assert refused(paging).conclusion == "not repaired: mend.1 ended: no_progress"


def test_it_never_stops(paging: Path) -> None:
    """A loop that always asks for something else is ended by the turns that it has."""
    script(paging, *[TEST, [("read", {"path": "paging.py"})]] * 10)
    assert refused(paging).conclusion == "not repaired: mend.1 ended: max_iterations"


def test_another_module_is_broken(tmp_path: Path) -> None:
    """A change that mends one module and breaks another one fails by the cases of that."""
    parcels = repository("parcels", tmp_path)
    first = json.loads((parcels / "mend.json").read_text())
    turns = [[(one["name"], one["arguments"]) for one in first[1]["tool_calls"]]]
    broken = edit("orders.py", "sum(price(one)", "max(price(one)")
    script(parcels, *turns, broken, TEST, SAID)
    ran = refused(parcels, "1 of 8 cases are wrong")
    assert '"call": "orders:total"' in ran.conclusion


def test_the_module_is_emptied(paging: Path) -> None:
    """A module without a text returns nothing, and raises what no case wants."""
    whole = (paging / "paging.py").read_text()
    script(
        paging,
        [("delete", {"path": "paging.py"}), *edit("paging.py", whole, "")],
        TEST,
        SAID,
    )
    refused(paging, "delete denied: unknown_tool", "6 of 6 cases are wrong")


@pytest.mark.slow
@pytest.mark.parametrize("how", FORGED)
def test_who_compares_is_attacked(
    paging: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a module does to the process it runs in proves nothing: it returns no values."""
    monkeypatch.setattr(capsule_cases, "SECONDS", 0.3 if how == "never ends" else 10)
    end = "    return items[first : first + size]\n"
    script(paging, edit("paging.py", end, f"{end}\n\n{FORGED[how]}"), TEST, SAID)
    ran = refused(paging, "mend.1/turn.1/call.0 edit paging.py done")
    assert "verify.3 verification_failed" in ran.conclusion


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("FAIL: it only says what the cases want", "FAIL: it only says"),
        ("It looks good to me. PASS", "no verdict: It looks good"),
        ("PASS or FAIL", "no verdict: PASS or FAIL"),
        ("", "no verdict:"),
    ],
)
def test_the_reviewer_does_not_pass_it(tmp_path: Path, word: str, why: str) -> None:
    """Where the cases hold, and the reviewer says no, or neither, it is not repaired."""
    paging = repository("paging", tmp_path)
    script(paging, word, agent="review")
    ran = run(paging)
    assert ran.code == 1
    assert "\nrepaired" not in ran.text
    assert ran.conclusion.startswith("not repaired: review.3 verification_failed: "), (
        ran.text
    )
    assert why in ran.conclusion


GARBAGE: dict[str, Any] = {
    "{": "a line is not JSON",
    "[]": "the script has no answer left",
    '[{"error": "overloaded", "status": 529}]': "overloaded",
    '[{"tool_calls": [{"id": "a"}]}]': "are no list of calls",
    '[{"tool_calls": {"edit": 1}}]': "are no list of calls",
    "[1, 2, 3]": "a value of type int is not an answer",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", GARBAGE)
def test_garbage_is_answered(paging: Path, text: str) -> None:
    """An answer that nobody can read ends the run, and the report says which it was."""
    (paging / "mend.json").write_text(text)
    ran = refused(paging, "mend.1 ended: failed")
    assert GARBAGE[text] in ran.conclusion


def test_garbage_is_called(paging: Path) -> None:
    """Calls with arguments that fit no tool are told to the model, and change nothing."""
    odd: Any = [
        ("edit", {"path": 7}),
        ("edit", {}),
        ("read", {"path": ["a"]}),
        ("", {}),
    ]
    script(paging, odd, TEST, SAID)
    refused(paging, "edit denied: argument_invalid", "denied: unknown_tool")
