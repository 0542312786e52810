"""Scripts that stand for models, and the models of the ``llm`` package."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from muniment.errors import EffectFailed
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import Scripted, acomplete, complete

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import llm
    from llm.plugins import pm

KEY = "canary-of-llm-0011223344556677"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Give a script with an answer to everything about tools, and two more."""
    call = {"id": "c1", "name": "weather", "arguments": {"city": "Ulm"}}
    answers = [
        "first",
        {"when": "weather", "text": "", "tool_calls": [call]},
        {"text": "second", "usage": {"input_tokens": 3}},
    ]
    place = tmp_path / "answers.json"
    place.write_text(json.dumps(answers))
    return place


def test_file(script: Path, ledger: Ledger) -> None:
    """Answers of a file come in order, those with a word where it is said."""

    def program(run: Run) -> list[object]:
        model = f"scripted:{script}"
        one = complete(run, model, "hello")
        called = complete(run, model, "how is the weather?")
        two = complete(run, model, "hello")
        reasons = [one.finish_reason, called.finish_reason]
        return [one.text, called.tool_calls[0].arguments, two.text, two.usage, reasons]

    done = ledger.execute(program)

    assert done.result == [
        "first",
        {"city": "Ulm"},
        "second",
        {"input_tokens": 3},
        ["stop", "tool_calls"],
    ]
    script.unlink()
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


def test_each_run_begins_anew(script: Path, ledger: Ledger) -> None:
    """A script is used up by one run, not by its neighbours."""
    model = f"scripted:{script}"
    for _ in range(2):
        done = ledger.execute(lambda run: complete(run, model, "hello").text)
        assert done.result == "first"


def test_used_up(tmp_path: Path, ledger: Ledger) -> None:
    """A script without an answer says so, and one may be an error."""
    place = tmp_path / "answers.jsonl"
    place.write_text('"one"\n\n{"error": "overloaded", "status": 529}\n')

    def program(run: Run) -> list[str]:
        said: list[str] = []
        for _ in range(3):
            try:
                said.append(complete(run, f"scripted:{place}", "hello").text)
            except EffectFailed as error:
                said.append(str(error))
        return said

    one, error, empty = cast("list[str]", ledger.execute(program).result)

    assert one == "one"
    assert "overloaded" in error
    assert "no answer left for 'hello'" in empty


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "a value of type int is not an answer"),
        ('[{"tool_calls": [{"id": "a"}]}]', "are no list of calls"),
        ('[{"tool_calls": {"edit": 1}}]', "are no list of calls"),
        ('[{"tool_calls": null}]', "are no list of calls"),
        ("{]", "answers.json:1: a line is not JSON"),
    ],
)
def test_broken_scripts(
    text: str, message: str, tmp_path: Path, ledger: Ledger
) -> None:
    """A script that is none is named with its place."""
    place = tmp_path / "answers.json"
    place.write_text(text)
    done = ledger.execute(lambda run: complete(run, f"scripted:{place}", "hi").text)

    assert message in str(done.error)


def test_no_script(ledger: Ledger) -> None:
    """A script that is not there is refused with the form of its name."""
    done = ledger.execute(lambda run: complete(run, "scripted:nowhere.json", "hi").text)

    assert "nowhere.json: there is no script" in str(done.error)


def test_list(tmp_path: Path) -> None:
    """A list of answers is a plugin; it answers for itself alone."""
    plugins = Plugins(extra={"script": Scripted(["one", "two"])})

    async def program(run: Run) -> list[str]:
        return [(await acomplete(run, "scripted", "hi")).text for _ in range(2)]

    with Ledger.create(tmp_path / "l.db", plugins=plugins) as ledger:
        done = asyncio.run(ledger.aexecute(program))
        other = ledger.execute(lambda run: complete(run, "nobody:x", "hi").text)

        assert done.result == ["one", "two"]
        assert replay(ledger, done.run_id, program=program).verdict == "acceptable"
        assert not other.ok


class Parrot(llm.Model):
    """A model of the ``llm`` package that repeats, calls tools, and fails."""

    model_id = "parrot"
    supports_tools = True
    can_stream = False

    class Options(llm.Options):
        """One option."""

        temperature: float | None = None

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> Iterator[str]:
        """Answer *prompt*."""
        del stream, conversation
        last = prompt.messages[-1]
        if prompt.tools and last.role == "user":
            response.add_tool_call(
                llm.ToolCall(prompt.tools[0].name, {"city": "Ulm"}, "c1")
            )
            return
        response.set_usage(input=5, output=2)
        part = last.parts[0]
        said = getattr(part, "text", None) or part.output
        if said == "fail":
            raise ValueError(f"Bearer {KEY} is not welcome")
        yield f"{prompt.options.temperature} {len(prompt.messages)} {said}"


@pytest.fixture
def parrot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Register the parrot, as a plugin of llm does."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))

    class Plugin:
        @llm.hookimpl
        def register_models(self, register: Any) -> None:
            register(Parrot())

    plugin = Plugin()
    pm.register(plugin, name="parrot")
    yield
    pm.unregister(plugin)


@pytest.mark.usefixtures("parrot")
def test_llm(ledger: Ledger) -> None:
    """Models of the llm package answer, with options and tools."""
    tool = {"name": "weather", "parameters": {"type": "object"}}

    def program(run: Run) -> list[object]:
        said: list[dict[str, Any]] = [{"role": "user", "content": "how is it?"}]
        plain = complete(run, "llm:parrot", "hi", temperature=0.5, system="Be.")
        asked = complete(run, "llm:parrot", said, tools=[tool])
        result = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
        said += [asked.message, result]
        told = complete(run, "llm:parrot", said, tools=[tool])
        return [plain.text, plain.usage, asked.tool_calls[0].arguments, told.text]

    done = ledger.execute(program)

    assert done.result == [
        "0.5 2 hi",
        {"input_tokens": 5, "output_tokens": 2},
        {"city": "Ulm"},
        "None 3 sunny",
    ]
    assert replay(ledger, done.run_id, program=program).verdict == "acceptable"


@pytest.mark.usefixtures("parrot")
@pytest.mark.parametrize(
    ("model", "more", "message"),
    [
        ("llm:dodo", {}, "llm knows no model 'dodo'"),
        ("llm:parrot", {"prompt": "fail"}, "Bearer [redacted] is not welcome"),
        ("llm:parrot", {"base_url": "http://h"}, "llm has no base_url"),
        ("llm:parrot", {"options": {"wings": 2}}, "wings"),
    ],
)
def test_llm_refusals(
    model: str, more: dict[str, Any], message: str, ledger: Ledger
) -> None:
    """What fails in the llm package is one line, without its keys."""
    asked = {"prompt": "hi", **more}
    done = ledger.execute(lambda run: complete(run, model, **asked).text)

    assert isinstance(done.error, EffectFailed)
    assert message in str(done.error)
    assert KEY not in str(done.error)
