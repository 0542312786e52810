"""A flow that was cut off goes on as what it was, and as nothing else."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from children import is_killed
from flow_files import sum_document, write_flow, write_policy
from muniment.errors import CannotTellError, RefusedError, UsageError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment.verification.verify import verify
from muniment_plugins.governance import load_flow, load_policy, start_flow
from muniment_plugins.governance.flows.start import ready_flow

PLUGINS = ("governance",)


def only_run(book: Ledger) -> str:
    """Return the one run of the ledger that is no verdict about a replay."""
    (run,) = [one.id for one in book.runs() if not one.name.startswith("replay of")]
    return run


def same_again(place: Path, tmp_path: Path) -> Done:
    """Run the flow to its end in a ledger of its own."""
    with Ledger.create(
        tmp_path / "whole.db", home=tmp_path / "whole-home", plugins=PLUGINS
    ) as whole:
        return start_flow(whole, load_flow(place / "flow.json"))


def commits_of(place: Path, tmp_path: Path) -> int:
    """Return how many commits the flow takes up to its end."""
    with Ledger.create(
        tmp_path / "counted.db", home=tmp_path / "counted-home", plugins=PLUGINS
    ) as counted:
        reached: list[str] = []
        counted.store.step = reached.append
        start_flow(counted, load_flow(place / "flow.json"))
        return reached.count("committed")


def nested(place: Path) -> dict[str, Any]:
    """Write the flow of two steps as a part of another; return that."""
    (place / "inner.json").write_text(json.dumps(sum_document(flow_id="inner")))
    return sum_document(
        agents=["all", "last"],
        dependencies=["last:all"],
        parts={"all": {"flow": "inner.json"}, "last": "agents:ask"},
    )


@pytest.mark.parametrize("is_nested", [False, True])
def test_killed_at_every_commit(tmp_path: Path, place: Path, is_nested: bool) -> None:
    """Whatever commit is the last, a resume ends as the uninterrupted run does.

    No retrieval that has an outcome is performed again, and the resumed run replays
    clean, with the flow that it called.
    """
    if is_nested:
        write_flow(place, nested(place))
    expected = same_again(place, tmp_path)
    last = commits_of(place, tmp_path) - 1
    assert last >= 4
    for commit in range(last):
        home = tmp_path / f"home-{commit}"
        file = tmp_path / f"killed-{commit}.db"
        Ledger.create(file, home=home, plugins=PLUGINS).close()
        (place / "calls").unlink(missing_ok=True)

        def live(opened: Ledger) -> None:
            start_flow(opened, load_flow(place / "flow.json"))

        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MUNIMENT_HOME", str(home))
            assert is_killed(file, live, commit, plugins=PLUGINS)
        with Ledger.open(file, home=home, plugins=PLUGINS) as book:
            run = next(iter(book.runs())).id
            answered = [*book.events(type="retrieval.completed")]
            before = (place / "calls").read_text() if (place / "calls").exists() else ""
            done = book.resume(run)
            assert done.status == "completed", (commit, done.error)
            assert done.result_digest == expected.result_digest
            after = (place / "calls").read_text()
            assert (after == before) == bool(answered)
            report = replay(book, run, children=True)
            assert (report.verdict, report.children) == ("acceptable", int(is_nested))
            assert [*book.events(run=run, type="policy.adopted")]
        assert verify(file, home=Path(home)).ok


@pytest.fixture
def cut(tmp_path: Path, place: Path) -> Callable[..., Ledger]:
    """Give a function that runs a flow, and kills it after its retrieval."""
    made: list[Ledger] = []

    def run(document: dict[str, Any] | None = None, **policy: object) -> Ledger:
        home = tmp_path / "home"
        file = tmp_path / "cut.db"
        Ledger.create(file, home=home, plugins=PLUGINS).close()
        manifest = write_flow(place, document)
        terms = write_policy(place, **policy)

        def live(opened: Ledger) -> None:
            start_flow(opened, load_flow(manifest), load_policy(terms))

        assert is_killed(file, live, 3, plugins=PLUGINS)
        made.append(Ledger.open(file, home=home, plugins=PLUGINS))
        return made[-1]

    return run


def refused(book: Ledger, rule: str, program: Any = None) -> str:
    """Let a resume be refused by *rule*, with nothing written; return the message."""
    before = book.head
    with pytest.raises((RefusedError, CannotTellError)) as caught:
        book.resume(only_run(book), program)
    assert caught.value.rule == rule, caught.value
    assert book.head == before
    return str(caught.value)


def test_resume_as_it_was(cut: Callable[..., Ledger]) -> None:
    """Nothing is refused when nothing changed."""
    with cut() as book:
        done = book.resume(only_run(book))
        assert done.ok, done.error


def test_another_manifest(cut: Callable[..., Ledger], place: Path) -> None:
    """A manifest that is given, and is not the recorded one, is refused."""
    with cut() as book:
        other = load_flow(write_flow(place, sum_document(flow_id="other")))
        terms = load_policy(place / "policy.json")
        refused(book, "flow/manifest", ready_flow(book, other, terms))


def test_another_policy(cut: Callable[..., Ledger], place: Path) -> None:
    """A policy that is given, and is not the recorded one, is refused."""
    with cut() as book:
        flow = load_flow(place / "flow.json")
        other = load_policy(write_policy(place, max_rule_cost=1000))
        refused(book, "flow/policy", ready_flow(book, flow, other))


def test_another_function(cut: Callable[..., Ledger], place: Path) -> None:
    """A function whose file changed is not called."""
    with cut() as book:
        file = place / "agents.py"
        file.write_text(file.read_text().replace('{"sum": sum', '{"sum": 1 + sum'))
        assert "agents" in refused(book, "program/changed")


def test_a_function_that_is_gone(cut: Callable[..., Ledger], place: Path) -> None:
    """A function that is not here is cannot tell."""
    with cut() as book:
        (place / "agents.py").unlink()
        refused(book, "flow/function")


def test_another_environment(
    cut: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another Python is refused at the level strict, and named."""
    with cut() as book:
        monkeypatch.setattr("platform.python_version", lambda: "2.7.18")
        said = refused(book, "flow/environment")
        assert "python was 3." in said
        assert "is 2.7.18" in said


def test_a_replay_elsewhere(
    cut: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay on another Python is a finding, which names what differs."""
    with cut() as book:
        done = book.resume(only_run(book))
        monkeypatch.setattr("platform.python_version", lambda: "2.7.18")
        report = replay(book, done.run_id)
        assert report.verdict == "unacceptable"
        assert report.first_divergence is not None
        assert report.first_divergence.field == "environment.python"


def test_another_environment_that_is_allowed(
    cut: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy may allow it."""
    with cut(allow_environment_change=True) as book:
        monkeypatch.setattr("platform.python_version", lambda: "2.7.18")
        done = book.resume(only_run(book))
        assert done.ok, done.error
        report = replay(book, done.run_id)
        assert report.ok


def test_a_level_that_asks_for_nothing(
    cut: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has to be equal follows from the level: unconstrained, nothing."""
    with cut(sum_document(determinism_level="unconstrained")) as book:
        monkeypatch.setattr("platform.python_version", lambda: "2.7.18")
        assert book.resume(only_run(book)).ok


def with_data(place: Path, **members: object) -> dict[str, Any]:
    """Return the flow with data, which is written."""
    (place / "corpus.txt").write_text("hello\n")
    pin = {
        "dataset_id": "corpus",
        "tenant_id": "tenant-a",
        "dataset_version": "1",
        "dataset_hash": "b1946ac92492d2347c6235b4d2611184",
        "dataset_state": "frozen",
        "storage_uri": "file://corpus.txt",
    }
    return sum_document(dataset={**pin, **members})


@pytest.mark.parametrize("state", ["frozen", "experimental"])
def test_another_dataset(cut: Callable[..., Ledger], place: Path, state: str) -> None:
    """Data that changed under a run is refused, whatever its state."""
    with cut(with_data(place, dataset_state=state)) as book:
        (place / "corpus.txt").write_text("hallo\n")
        refused(book, "dataset/changed")


def test_a_dataset_that_is_gone(cut: Callable[..., Ledger], place: Path) -> None:
    """Data that is not here is cannot tell."""
    with cut(with_data(place)) as book:
        (place / "corpus.txt").unlink()
        refused(book, "dataset/missing")


def test_from_elsewhere(
    cut: Callable[..., Ledger], place: Path, tmp_path: Path
) -> None:
    """A folder that moved as a whole is the same flow; it is stood in, as before."""
    with cut(with_data(place)) as book, pytest.MonkeyPatch.context() as patch:
        moved = tmp_path / "moved"
        shutil.move(place, moved)
        patch.chdir(moved)
        assert book.resume(only_run(book)).ok
        assert json.loads((moved / "flow.json").read_text())["flow_id"] == "sum"


def asynchronous() -> dict[str, Any]:
    """Return the flow, one of whose agents must be awaited."""
    document = sum_document()
    document["parts"]["reader"] = "agents:read_later"
    return document


def test_asynchronous_flows(cut: Callable[..., Ledger]) -> None:
    """A flow that must be awaited is resumed so, and otherwise refused, unwritten."""
    with cut(asynchronous()) as book:
        run, before = only_run(book), book.head
        with pytest.raises(UsageError, match="the program is asynchronous"):
            book.resume(run)
        assert book.head == before
        done = asyncio.run(book.aresume(run))
        assert done.ok, done.error
        assert replay(book, run).verdict == "acceptable"


FLAKY = """

def flaky(request):
    if not CALLS.exists():
        CALLS.write_text("once")
        raise OSError("the index is away")
    return search(request)
"""


def test_a_retrieval_that_failed(place: Path, tmp_path: Path) -> None:
    """A resume performs the failed retrieval again, and what came of it replays."""
    document = sum_document()
    document["parts"]["writer"]["retriever"] = "agents:flaky"
    manifest = write_flow(place, document)
    with (place / "agents.py").open("a") as file:
        file.write(FLAKY)
    with Ledger.create(
        tmp_path / "flaky.db", home=tmp_path / "flaky-home", plugins=PLUGINS
    ) as book:
        done = start_flow(book, load_flow(manifest))
        assert (done.status, "the index is away" in str(done.error)) == ("failed", True)
        assert replay(book, done.run_id).verdict == "acceptable"
        ended = book.resume(done.run_id)
        assert ended.ok, ended.error
        assert replay(book, done.run_id).verdict == "acceptable"
        assert verify(book.path, home=book.home).ok


def test_what_if(place: Path, tmp_path: Path) -> None:
    """A fork takes another answer of the retriever from there; a strict flow has none."""
    found = [{"evidence_id": "e1", "content": "other", "source_uri": "file://x"}]
    for level, forks in (("bounded", True), ("strict", False)):
        manifest = write_flow(place, sum_document(determinism_level=level))
        with Ledger.create(
            tmp_path / f"{level}.db", home=tmp_path / level, plugins=PLUGINS
        ) as book:
            done = start_flow(book, load_flow(manifest))
            (answered,) = book.events(run=done.run_id, type="retrieval.completed")
            change: dict[int, object] = {answered.seq: found}
            if not forks:
                with pytest.raises(RefusedError, match="strict"):
                    book.fork(done.run_id, at=answered.seq, changes=change)
                continue
            forked = book.fork(done.run_id, at=answered.seq, changes=change)
            assert forked.ok, forked.error
            (made,) = book.events(run=forked.run_id, type="evidence.collected")
            assert book.resolve(made)["content"] == "other"
            assert replay(book, forked.run_id).verdict == "acceptable"
