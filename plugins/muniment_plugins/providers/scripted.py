"""A model that answers from a script, for tests, demonstrations and drills.

    scripted:answers.json        a list of answers, used in order
    [{"when": "weather", "text": "Sunny."}, {"text": "…"}, "…"]

Rules:

- An answer is a text or the members of an `Answer`; ``{"error": …}`` fails. One with
  ``when`` is given to every prompt whose last message holds that text, one with ``turn``
  to every prompt that asks for so many-th answer of a conversation, from 1; one with both
  has to fit both. The others are used up in order, one for each question of a run.
- The order is that of the questions, and starts anew in each process. If they come in
  parallel, or a run is resumed, use ``when`` or ``turn``.
- A file is JSON, or a JSON value on each line.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, cast

import pluggy

from muniment.errors import UsageError
from muniment_plugins.providers.prompt import Answer, Prompt, split
from muniment_plugins.providers.refusals import CompletionFailed

__all__ = ["Scripted", "ask"]

_NAMES = frozenset({"when", "turn"})
"""The members by which an answer says what it is for."""
_CALL = frozenset({"id", "name", "arguments"})

hookimpl = pluggy.HookimplMarker("muniment")


class Scripted:
    """Answers the model ``scripted`` from a list; a plugin by itself.

    >>> ledger = muniment.open(plugins=Plugins(extra={"script": Scripted(["Hi."])}))
    """

    def __init__(self, answers: Iterable[str | Mapping[str, Any]]) -> None:
        """Keep *answers* in order."""
        told = [_members(one) for one in answers]
        self._named = [one for one in told if _NAMES & one.keys()]
        self._waiting = deque(one for one in told if not _NAMES & one.keys())
        self._lock = Lock()

    @hookimpl
    def complete_prompt(self, request: Mapping[str, object]) -> object:
        """Answer prompts to ``scripted``, and no others."""
        provider, name = split(request.get("model"))
        if (provider or name) != "scripted" or (provider and name):
            return None
        return self.answer(Prompt.of(request))

    def answer(self, prompt: Prompt) -> dict[str, object]:
        """Return the next answer that fits *prompt*.

        Raises:
            CompletionFailed: the answer is an error, or there is none.

        """
        told = next((one for one in self._named if _fits(one, prompt)), None)
        if told is None:
            with self._lock:
                told = self._waiting.popleft() if self._waiting else None
        if told is None:
            raise CompletionFailed(
                f"the script has no answer left for {prompt.asked[:80]!r}",
                rule="provider/script",
                place="scripted",
                remedy="add one, or one with a `when` or a `turn` that fits the prompt",
            )
        if "error" in told:
            status = cast("int | None", told.get("status"))
            raise CompletionFailed(str(told["error"]), place="scripted", status=status)
        answer = {name: told[name] for name in told.keys() - _NAMES}
        if answer.get("tool_calls"):
            answer = {"finish_reason": "tool_calls", **answer}
        return Answer.from_json(
            {"model": prompt.model or "scripted", **answer, "provider": "scripted"}
        ).to_json()


def _fits(answer: Mapping[str, Any], prompt: Prompt) -> bool:
    """Tell whether *answer* is for *prompt*: by its last message, and by its turn."""
    turn = 1 + sum(one["role"] == "assistant" for one in prompt.messages)
    return answer.get("when", "") in prompt.asked and answer.get("turn", turn) == turn


def _members(answer: object) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"text": answer}
    if isinstance(answer, dict):
        told = cast("dict[str, Any]", answer)
        if not _are_calls(told.get("tool_calls", [])):
            raise UsageError(
                "the tool_calls of an answer are no list of calls",
                rule="provider/script",
                remedy='write [{"id": "a", "name": "read", "arguments": {}}]',
            )
        return told
    raise UsageError(
        f"a value of type {type(answer).__name__} is not an answer",
        rule="provider/script",
        remedy="write a text, or an object with a text",
    )


def _are_calls(value: object) -> bool:
    """Tell whether *value* lists calls of tools."""
    if not isinstance(value, list | tuple):
        return False
    calls = cast("Sequence[object]", value)
    return all(
        isinstance(one, Mapping)
        and frozenset(cast("Mapping[str, object]", one)) == _CALL
        for one in calls
    )


def ask(run: str, prompt: Prompt) -> dict[str, object]:
    """Answer *prompt* from the file that its model names, for the run *run*."""
    path = Path(prompt.model)
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise UsageError(
            f"there is no script ({type(error).__name__})",
            rule="provider/script",
            place=prompt.model or "scripted:",
            remedy="name a file: scripted:answers.json",
        ) from error
    return _script(run, path, changed).answer(prompt)


@lru_cache(maxsize=64)
def _script(run: str, path: Path, changed: int) -> Scripted:
    """Return the script at *path* as far as *run* has used it up."""
    del run, changed
    text = path.read_text("utf-8")
    try:
        told: object = json.loads(text)
    except ValueError:
        lines = enumerate(text.splitlines(), 1)
        told = [_line(line, path, number) for number, line in lines if line.strip()]
    if not isinstance(told, list):
        told = [told]
    return Scripted(cast("list[Any]", told))


def _line(line: str, path: Path, number: int) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise UsageError(
            f"a line is not JSON ({error})",
            rule="provider/script",
            place=f"{path}:{number}",
            remedy="write a list of answers, or one answer a line",
        ) from error
