"""Those who listen to models are no part of the record, whatever they do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest

from agent_tools import calls, tools
from muniment import Run, current_run, hookimpl, replay
from muniment.errors import UsageError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.lanes.listening import LISTENER
from muniment_plugins.providers import complete
from muniment_plugins.workflow import (
    agent_aloop,
    agent_loop,
    listening_to_models,
    workflow_execute,
)

Scripts = Callable[..., Ledger]
Hears = Callable[[str], object]
SCRIPT = {1: {**calls(("read", {"path": "a"})), "text": "I read."}, 2: "It is done."}
NOT_COMPARED = {"prev", "id", "seq", "time", "run", "duration_us", "tree"}


class Spoken:
    """A provider that passes on its answers word by word, as streams are."""

    @hookimpl
    def complete_prompt(self, request: Any) -> object:
        """Answer by the turn."""
        messages = request.get("messages", [])
        turn = 1 + sum(one["role"] == "assistant" for one in messages)
        told: Any = SCRIPT[min(turn, 2)]
        answer = {"text": told} if isinstance(told, str) else told
        listener = LISTENER.get()
        for word in answer["text"].split(" "):
            if listener is not None:
                listener(word)
        return {"model": request["model"], **answer}


@pytest.fixture(params=["streamed", "whole"])
def ledgers(
    request: pytest.FixtureRequest, scripted: Scripts, tmp_path: Any
) -> Iterator[Callable[[], Ledger]]:
    """Give what makes ledgers whose model passes on its answers in parts, or does not."""
    numbers, opened = count(), list[Ledger]()

    def made() -> Ledger:
        if request.param == "whole":
            return scripted(SCRIPT)
        plugins = Plugins(("workflow", "providers"), extra={"model": Spoken()})
        path = tmp_path / f"spoken{next(numbers)}.db"
        opened.append(Ledger.create(path, home=tmp_path / "home", plugins=plugins))
        return opened[-1]

    yield made
    for one in opened:
        one.close()


def fails(error: type[BaseException]) -> Hears:
    """Return a listener that raises."""

    def raising(text: str) -> None:
        raise error(text)

    return raising


def fails_later(at: int) -> Hears:
    """Return a listener that raises at the text with that number."""
    numbers = count(1)

    def raising(text: str) -> None:
        if next(numbers) == at:
            raise ValueError(text)

    return raising


def states(text: str) -> None:
    """Do what only the program may."""
    current_run().record("note.added", {"text": text})


def draws(text: str) -> None:
    """Take a number that the program would have got."""
    del text
    current_run().random()


def hides(text: str) -> None:
    """Keep private what the program shows."""
    del text
    current_run().keep_private(everywhere=True)


async def waits(text: str) -> str:
    """Be awaited."""
    return text


def swallows(text: str) -> None:
    """Try it, and say nothing of the refusal."""
    try:
        states(text)
    except UsageError:
        return
    raise AssertionError("it was let")


LISTENERS: dict[str, Hears] = {
    "hears": lambda text: text,
    "raises": fails(ValueError),
    "exits": fails(SystemExit),
    "cancels": fails(asyncio.CancelledError),
    "stops": fails(StopIteration),
    "states": states,
    "swallows": swallows,
    "draws": draws,
    "hides": hides,
    "awaits": lambda text: [waits(text)][0],
    "odd": fails(type("Odd", (Exception,), {"__str__": lambda _: 1 / 0})),
}
LATER = "raises later"


def record(ledger: Ledger, run: str) -> list[Any]:
    """Return what the record of *run* says, but for ids, times and what follows from them."""
    rows = list[Any]()
    for event in ledger.events(run=run, order="asc"):
        if event.type.startswith("run."):
            rows.append(event.type)
            continue
        said: Any = ledger.resolve(event)
        kept = {name: one for name, one in said.items() if name not in NOT_COMPARED}
        rows.append((event.type, event.scope, repr(kept)))
    return rows


def looped(run: Run, **more: Any) -> list[object]:
    """Loop, and draw a number afterwards."""
    done = agent_loop(run, "Do it.", model="test:a", tools=tools(), **more)
    return [done.text, str(run.random())]


@pytest.mark.parametrize("name", [*LISTENERS, LATER])
@pytest.mark.parametrize("how", ["on_text", "listening", "both"])
def test_the_record_with_it_is_the_record_without(
    ledgers: Callable[[], Ledger],
    capsys: pytest.CaptureFixture[str],
    name: str,
    how: str,
) -> None:
    """Types, scopes and contents are the same; what it raised is said once, on stderr."""
    hears = fails_later(2) if name == LATER else LISTENERS[name]
    given: Any = {"on_text": hears} if how != "listening" else {}
    silent, loud = ledgers(), ledgers()
    before = silent.execute(looped)
    capsys.readouterr()

    def program(run: Run) -> list[object]:
        return looped(run, **given)

    if how == "on_text":
        done = loud.execute(program)
    else:
        with listening_to_models(lambda _, text: hears(text)):
            done = loud.execute(program)
    said = capsys.readouterr().err
    assert done.status == before.status == "completed", done.error
    assert record(loud, done.run_id) == record(silent, before.run_id)
    raises = name not in ("hears", "swallows")
    expected = (2 if how == "both" else 1) if raises else 0
    if name == LATER and how == "both":
        expected = 1  # it is the one function that counts
    assert said.count("a listener raised") == expected, said
    report = replay(loud, done.run_id, program=program)
    assert (report.verdict, report.findings) == ("acceptable", ())


def test_all_of_them_hear(ledgers: Callable[[], Ledger]) -> None:
    """Who listens in the program, and around it, hears all, whoever else raises."""
    heard: dict[str, list[str]] = {"loop": [], "near": [], "far": []}
    ledger = ledgers()

    def program(run: Run) -> str:
        tell = heard["loop"].append
        return agent_loop(run, "x", model="test:a", tools=tools(), on_text=tell).text

    with (
        listening_to_models(lambda _, text: heard["far"].append(text)),
        listening_to_models(lambda _, text: fails(ValueError)(text)),
        listening_to_models(lambda scope, text: heard["near"].append(text + scope[8:])),
    ):
        ledger.execute(program)
    assert heard["loop"] == heard["far"]
    assert " ".join(heard["loop"]) == "I read. It is done."
    assert heard["near"][0].endswith("turn.1")


def test_replays_and_dry_runs_tell_nobody(
    ledgers: Callable[[], Ledger], tmp_path: Any
) -> None:
    """So a listener that writes a file is no part of a replay; a resume tells it all."""
    ledger, heard = ledgers(), tmp_path / "heard.txt"

    def writes(text: str) -> None:
        with heard.open("a") as file:
            file.write(text)

    def program(run: Run) -> list[object]:
        return looped(run, on_text=writes)

    done = ledger.execute(program)
    assert heard.read_text().replace(" ", "") == "Iread.Itisdone."
    heard.unlink()
    with listening_to_models(lambda _, text: writes(text)):
        report = replay(ledger, done.run_id, program=program)
        ledger.execute(program, mode="dry")
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert not heard.exists()


def test_stages_and_completions(
    ledgers: Callable[[], Ledger], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the same where a stage asks a model, once or in a loop, and in `complete`."""
    policy = {"model": "test:a"}
    nodes = {
        "a": {"mode": "llm", "model_policy": policy},
        "b": {"mode": "agent", "model_policy": policy, "tools": tools()},
    }
    graph = {"entry": "a", "nodes": nodes, "edges": [{"from": "a", "to": "b"}]}
    silent, loud = ledgers(), ledgers()
    before = workflow_execute(silent, "t", graph)
    scopes = set[str]()

    def tell(scope: str, text: str) -> None:
        scopes.add(scope)
        if scope.startswith("b"):
            raise ValueError(text)

    with listening_to_models(tell):
        done = workflow_execute(loud, "t", graph)
        assert replay(loud, done.run_id).verdict == "acceptable"
    assert done.status == before.status == "completed", done.error
    assert scopes == {"a.1", "b.1/turn.1"}
    assert record(loud, done.run_id) == record(silent, before.run_id)
    assert capsys.readouterr().err.count("a listener raised") == 1

    def completes(run: Run) -> str:
        return complete(run, "test:a", "x", on_text=fails(ValueError)).text

    asked = loud.execute(completes)
    assert asked.result == "I read.", asked.error
    assert capsys.readouterr().err.count("a listener raised") == 1
    assert replay(loud, asked.run_id, program=completes).verdict == "acceptable"
    assert not capsys.readouterr().err


def takes_three(one: str, two: str, three: str) -> str:
    """Take more than anybody says."""
    return one + two + three


class Called:
    """An object that is awaited when it is called."""

    async def __call__(self, text: str) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    "tell",
    [waits, partial(waits), Called(), "print", 5, lambda: None, takes_three],
)
def test_what_cannot_listen(scripted: Scripts, tell: Any) -> None:
    """What has to be awaited, or takes no text, is refused before anybody is asked."""
    ledger = scripted(SCRIPT)

    async def awaited(run: Run) -> str:
        given: Any = {"on_text": tell}
        return (await agent_aloop(run, "x", model="test:a", **given)).text

    done = asyncio.run(ledger.aexecute(awaited))
    again = ledger.execute(lambda run: complete(run, "test:a", "x", on_text=tell).text)
    for error, place in (
        (done.error, "agent_loop: on_text"),
        (again.error, "on_text"),
    ):
        assert isinstance(error, UsageError)
        assert (error.rule, error.place) == ("run/listener", place)
        assert "plain function" in error.remedy
    assert not list(ledger.events(type="llm.requested"))
    with (
        pytest.raises(UsageError, match="listening_to_models"),
        listening_to_models(tell),
    ):
        pass


def test_ctrl_c_stays_what_it_is(ledgers: Callable[[], Ledger]) -> None:
    """Somebody who ends the program while it listens ends it."""
    ledger = ledgers()
    with pytest.raises(KeyboardInterrupt):
        ledger.execute(lambda run: looped(run, on_text=fails(KeyboardInterrupt)))


def test_no_stderr(
    ledgers: Callable[[], Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody can be told, the run goes on all the same."""
    monkeypatch.setattr(sys, "stderr", None)
    done = ledgers().execute(lambda run: looped(run, on_text=fails(ValueError)))
    assert done.status == "completed"
