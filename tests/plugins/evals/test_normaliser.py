"""What makes two runs equal: folders and ids, and nothing that looks like them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from letters import letter, run_letter
from muniment.ledger import Ledger
from muniment_plugins.evals import (
    run_record_diff,
    run_record_eval,
    run_record_fixture,
)
from muniment_plugins.evals.views.normaliser import Normaliser
from muniment_plugins.workflow import artifact, run_record, workflow_execute
from workflow_stages import chain

OWN = ("{cwd}", "{run}", "{child}")
"""What each of two runs calls otherwise."""
PIECES = st.sampled_from(
    [
        *OWN,
        *("{cwd}/letter.txt", "{cwd}.", '"{cwd}"', "file://{cwd}/x"),
        *("$CWD", "$RUN", "$CHILD0", "$GIVEN0", "$", "$$", "CWD", "$CHILD00"),
        *("/srv/desk", "/srv/desks", "/srv/des", "/srv/desk-2", "/srv/desk/x"),
        *(" ", "\n", "a", "0", "/", ".", "-", "é"),
    ]
)
HERE = {"cwd": "/srv/desk", "run": "01M8D0VDYPP1C1A1Z0YH110S7F", "child": "01M8D0VDYPA"}
THERE = {"cwd": "/var/far/away", "run": "01M8D5N01TJVJAXE3CZB9T30QA", "child": "01M8C2"}


def normal(text: str, names: dict[str, str]) -> str:
    """Return the normal form of *text* in a run with these *names*."""
    record: dict[str, Any] = {
        "id": names["run"],
        "execution": {"cwd": ".", "folder": names["cwd"]},
        "child_runs": [{"run_id": names["child"]}],
        "artifacts": [],
    }
    return Normaliser().of(record).text(text)


@settings(max_examples=400)
@given(one=st.lists(PIECES, max_size=6), other=st.lists(PIECES, max_size=6))
def test_a_normal_form_is_of_one_text(one: list[str], other: list[str]) -> None:
    """In one run two texts have the same normal form only if they are the same."""
    texts = ["".join(pieces).format(**HERE) for pieces in (one, other)]
    same = normal(texts[0], HERE) == normal(texts[1], HERE)
    assert same == (texts[0] == texts[1])


@settings(max_examples=200)
@given(pieces=st.lists(st.sampled_from([*OWN, "$CWD", "$", "x y", "/srv/desks"])))
def test_names_of_a_run_make_no_difference(pieces: list[str]) -> None:
    """What stands by itself is equal in another folder and another run."""
    text = " ".join(pieces)
    assert normal(text.format(**HERE), HERE) == normal(text.format(**THERE), THERE)


@settings(max_examples=200)
@given(tail=st.sampled_from(["", "s", "-2", ".d", "_", "2"]), text=st.text(max_size=5))
def test_a_sibling_is_another_folder(tail: str, text: str) -> None:
    """A folder whose name begins alike is none of the run's."""
    said = f"{text} /srv/desk{tail}/x"
    assert ("$CWD" in normal(said.replace("$", ""), HERE)) == (tail == "")


def test_no_folder_is_called_by_a_word() -> None:
    """A run in the folder ``draft`` may speak of drafts."""
    record: dict[str, Any] = {"id": "01M8", "execution": {"cwd": "draft"}}
    names = Normaliser().of({**record, "artifacts": []})
    assert names.text("a draft of 01M8") == "a draft of $RUN"


def test_runs_in_the_folder_where_they_stand(
    book: Ledger, other_book: Ledger, place: Path
) -> None:
    """With the default folder, too, a text with its path is equal in another one."""
    (place / "here").mkdir()
    (place / "heretic").mkdir()
    one = run_letter(book, cwd=str(place / "here"), options=None)
    two = run_letter(other_book, cwd=str(place / "heretic"), options=None)
    mine, theirs = run_record(book, one), run_record(other_book, two)
    assert mine["execution"]["cwd"] == "."
    assert mine["execution"]["folder"] == str((place / "here").resolve())
    found = run_record_diff(book, mine, theirs)
    assert found["identical"], found
    fixture = run_record_fixture(book, one)
    assert run_record_eval(other_book, two, fixture)["verdict"] == "passed"


def test_a_changed_verifier_is_a_change(book: Ledger) -> None:
    """One that checks something else found something else, though it says the same."""
    graph = letter()
    one = run_letter(book, graph)
    gutted = letter()
    gutted["nodes"]["check"]["verify"] = {"command": "true"}
    two = run_letter(book, gutted)
    fixture = run_record_fixture(book, one)
    found = run_record_eval(book, two, fixture)
    assert found["verdict"] == "failed"
    assert "check.1: the graph says something else of its node" in found["failures"]
    assert any(one.startswith("the graph is another one") for one in found["failures"])
    diff = run_record_diff(book, one, two)
    assert (diff["identical"], diff["graph_changed"]) == (False, True)
    assert "check.1" in [row["stage_id"] for row in diff["stage_diffs"]]


def test_a_changed_graph_may_be_allowed(book: Ledger) -> None:
    """A normaliser that leaves the graph out says so, in the fixture and in the view."""
    graph = letter()
    one = run_letter(book, graph)
    other = letter()
    other["nodes"]["send"]["metadata"] = {"note": "new"}
    two = run_letter(book, other)
    left = {"ignore": ["graph"]}
    fixture = run_record_fixture(book, one, normaliser=left)
    assert "graph" not in fixture
    assert run_record_eval(book, two, fixture)["verdict"] == "passed"
    strict = run_record_eval(book, two, run_record_fixture(book, one))
    assert strict["changed_stages"] == ["send.1"]
    assert run_record_diff(book, one, two, normaliser=left)["identical"]


def test_another_task_is_a_change(book: Ledger) -> None:
    """Held by a fixture, unless it leaves the task out."""
    one, two = run_letter(book, task="A"), run_letter(book, task="B")
    found = run_record_eval(book, two, run_record_fixture(book, one))
    assert "the task is not the same" in found["failures"]
    free = run_record_fixture(book, one, normaliser={"ignore": ["task"]})
    assert run_record_eval(book, two, free)["verdict"] == "passed"


def says(run: Any, given: Any) -> object:
    """Publish, and make an artifact, as the metadata of the node says."""
    del run
    said = given.metadata
    given.mail.publish_query("progress", said.get("progress", 1))
    kept = {"kind": "artifact", "text": "t", "priority": said.get("priority", 1)}
    return artifact(kept)


def test_what_is_published_and_what_comes_first(book: Ledger) -> None:
    """A published value and a priority are compared, by fixtures and by differences."""

    def ran(**said: int) -> str:
        node = {"handler": says, "metadata": said}
        graph = chain(act=node)
        return workflow_execute(book, "T", graph).run_id

    left = {"ignore": ["graph"]}
    base = ran()
    fixture = run_record_fixture(book, base, normaliser=left)
    assert run_record_eval(book, ran(), fixture)["verdict"] == "passed"
    for other, said in (
        (ran(progress=2), "the query progress is not the same"),
        (ran(priority=2), "act.1: what it made is not the same"),
    ):
        assert said in run_record_eval(book, other, fixture)["failures"]
        assert not run_record_diff(book, base, other, normaliser=left)["identical"]
