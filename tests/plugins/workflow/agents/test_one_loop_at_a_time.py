"""A session of a run is written by one loop at a time: in threads, in tasks, and nested."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tools import calls
from muniment import current_run, hookimpl, replay
from muniment.errors import MunimentError, RefusedError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment_plugins.workflow import (
    agent_aloop,
    agent_loop,
    tool_define,
    tool_registry,
)
from muniment_plugins.workflow.sessions import agent_session_snapshot
from muniment_plugins.workflow.sessions.inside import RunSession
from muniment_plugins.workflow.tools.registry import ToolRegistry

Scripts = Callable[..., Ledger]


class Twice:
    """A model that calls the tool ``work`` so often as its question says, then answers."""

    @hookimpl
    def complete_prompt(self, request: Any) -> object:
        """Answer."""
        messages = request["messages"]
        asked = [n for n, one in enumerate(messages) if one["role"] == "user"][-1]
        name, _, times = str(messages[asked]["content"]).partition(":")
        done = sum(one["role"] == "tool" for one in messages[asked:])
        if done < int(times or 1):
            return calls(("work", {"who": name}))
        return {"text": f"{name} is done"}


def working(work: Callable[..., object]) -> ToolRegistry:
    """Return a tool that works."""
    said = {
        "parameters": {"who": {"type": "string"}},
        "handler": work,
        "policy": {"side_effect_level": "read_only"},
    }
    return tool_define(tool_registry(), "work", "works", said)


def told(ledger: Ledger, name: str = "desk") -> list[str]:
    """Return who said what in a session: the one who asks, calls, answers, or says it."""
    found: Any = agent_session_snapshot(ledger, name)
    return [
        f"{one['role']} {one['content'] or one['tool_calls'][0]['arguments']['who']}"
        for one in found["messages"]
    ]


def conversation(name: str, times: int = 1) -> list[str]:
    """Return what a whole loop says."""
    work = [f"assistant {name}", f"tool {name} worked"] * times
    return [f"user {name}:{times}", *work, f"assistant {name} is done"]


def test_in_threads(scripted: Scripts) -> None:
    """The second of two loops is refused before anything is asked, in replays, too."""
    ledger = scripted(Twice())
    going, refused = threading.Event(), threading.Event()

    def work(who: str) -> str:
        going.set()
        assert refused.wait(20)
        return f"{who} worked"

    def main(run: Run) -> object:
        found: dict[str, str] = {}
        with RunSession.join(run, "desk") as session:

            def loop(name: str) -> None:
                try:
                    done = agent_loop(
                        run,
                        f"{name}:1",
                        model="test:a",
                        session=session,
                        tools=working(work),
                        name=name,
                    )
                    found[name] = done.text
                except RefusedError as error:
                    found[name] = f"{error.place}: {error.rule}"
                    refused.set()

            threads = [threading.Thread(target=loop, args=(one,)) for one in "ab"]
            threads[0].start()
            if not run.replays:
                assert going.wait(20)
            threads[1].start()
            for one in threads:
                one.join()
        return found

    done = ledger.execute(main)
    assert done.value == {"a": "a is done", "b": "desk: session/in-use"}
    assert told(ledger) == conversation("a")
    assert not [
        one
        for one in ledger.events(run=done.run_id, type="llm.requested")
        if str(one.scope).startswith("b.")
    ]
    for _ in range(3):
        assert replay(ledger, done.run_id, program=main).verdict == "acceptable"


def test_within_another(scripted: Scripts) -> None:
    """A loop in a tool of a loop is refused, and the outer one is told so and goes on."""
    ledger = scripted(Twice())
    held: list[RunSession] = []

    def work(who: str) -> str:
        with pytest.raises(RefusedError, match="session/in-use"):
            held[0].inject({"role": "user", "content": "aside"})
        for verb in (held[0].reset, held[0].compact, lambda: held[0].trim(0)):
            with pytest.raises(RefusedError, match="session/in-use"):
                verb()
        branch = held[0].branch(current_run(), "aside")
        branch.inject({"role": "user", "content": who})
        agent_loop(current_run(), "inner:1", model="test:a", session=held[0])
        raise AssertionError

    def main(run: Run) -> object:
        with RunSession.join(run, "desk") as session:
            held[:] = [session]
            return agent_loop(
                run, "a:1", model="test:a", session=session, tools=working(work)
            ).text

    done = ledger.execute(main)
    assert done.value == "a is done"
    user, call, result, answer = told(ledger)
    assert [user, call, answer] == [
        one for one in conversation("a") if "tool" not in one
    ]
    assert "RefusedError" in result
    assert replay(ledger, done.run_id, program=main).verdict == "acceptable"


def test_after_another(scripted: Scripts) -> None:
    """Once a loop ended, however it ended, the next one goes on in the session."""
    ledger = scripted(Twice())

    def work(who: str) -> str:
        return f"{who} worked"

    def main(run: Run) -> object:
        with RunSession.join(run, "desk") as session:
            with pytest.raises(MunimentError):
                agent_loop(run, [], model="test:a", session=session)
            for name in "ab":
                agent_loop(
                    run,
                    f"{name}:1",
                    model="test:a",
                    session=session,
                    tools=working(work),
                )
            session.inject({"role": "user", "content": "thanks"})
        return len(session)

    done = ledger.execute(main)
    assert done.error is None
    assert told(ledger) == [*conversation("a"), *conversation("b"), "user thanks"]
    assert replay(ledger, done.run_id, program=main).verdict == "acceptable"


def test_what_was_let_go_of(scripted: Scripts) -> None:
    """What was closed is written by nobody, and is joined again once its loop ended."""
    ledger = scripted(Twice())
    held: list[RunSession] = []

    def work(who: str) -> str:
        held[0].close()
        with pytest.raises(MunimentError, match="open"):
            RunSession.join(current_run(), "desk")
        return f"{who} worked"

    def main(run: Run) -> object:
        held[:] = [RunSession.join(run, "desk")]
        agent_loop(run, "a:1", model="test:a", session=held[0], tools=working(work))
        if run.replays:
            held[0].close()
        with pytest.raises(RefusedError, match="session/left"):
            held[0].inject({"role": "user", "content": "late"})
        with RunSession.join(run, "desk") as again:
            again.inject({"role": "user", "content": "on"})
        return len(again)

    done = ledger.execute(main)
    assert done.error is None
    assert told(ledger) == [*conversation("a"), "user on"]
    assert replay(ledger, done.run_id, program=main).verdict == "acceptable"


def test_while_it_is_compacted(scripted: Scripts) -> None:
    """What makes a summary does not write the session of which it makes one."""
    ledger = scripted(Twice())
    refusals: list[str] = []

    def main(run: Run) -> object:
        with RunSession.join(run, "desk") as session:
            for number in range(4):
                session.inject({"role": "user", "content": f"{number} " * 200})

            def compacted(messages: object) -> str:
                del messages
                with pytest.raises(RefusedError) as caught:
                    session.inject({"role": "user", "content": "in between"})
                refusals.append(caught.value.rule)
                return "in short"

            policy = {"compact_strategy": "custom", "custom_compactor": compacted}
            session.compact({**policy, "keep_last": 1})
            session.inject({"role": "user", "content": "after"})
            return [one["content"][-8:] for one in session.messages()]

    done = ledger.execute(main)
    assert cast("list[str]", done.value)[-1] == "after"
    assert refusals == ["session/in-use"]
    assert replay(ledger, done.run_id, program=main).verdict == "acceptable"


LOOPS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 3), st.integers(0, 4)),
    min_size=2,
    max_size=4,
)
"""Of each loop: after how many turns of the others it begins, its calls, how long they take."""


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(loops=LOOPS)
def test_any_interleaving(
    tmp_path_factory: pytest.TempPathFactory, loops: list[tuple[int, int, int]]
) -> None:
    """However tasks interleave, a session is whole conversations, and replays agree."""
    place: Path = tmp_path_factory.mktemp("loops")
    plugins = Plugins(("workflow",), extra={"model": Twice()})

    async def main(run: Run) -> object:
        session = await RunSession.ajoin(run, "desk")

        async def one(number: int) -> str:
            begins, times, ticks = loops[number]
            name = f"l{number}"

            async def work(who: str) -> str:
                for _ in range(ticks):
                    await asyncio.sleep(0)
                return f"{who} worked"

            for _ in range(begins):
                await asyncio.sleep(0.001)
            try:
                done = await agent_aloop(
                    run,
                    f"{name}:{times}",
                    model="test:a",
                    session=session,
                    tools=working(work),
                    name=name,
                )
            except RefusedError as error:
                return error.rule
            return done.text

        return await asyncio.gather(*map(one, range(len(loops))))

    with Ledger.create(place / "l.db", home=place / "home", plugins=plugins) as ledger:
        done = asyncio.run(ledger.aexecute(main))
        assert done.error is None
        came = cast("list[str]", done.value)
        good = [n for n, text in enumerate(came) if text != "session/in-use"]
        assert good
        said = told(ledger)
        order = [
            int(one[6 : one.index(":")]) for one in said if one.startswith("user l")
        ]
        assert sorted(order) == good
        assert said == [
            line for n in order for line in conversation(f"l{n}", loops[n][1])
        ]
        asked = {str(one.scope)[1] for one in ledger.events(type="llm.requested")}
        assert asked == {str(n) for n in good}
        report = replay(ledger, done.run_id, program=main)
        assert report.verdict == "acceptable", report
