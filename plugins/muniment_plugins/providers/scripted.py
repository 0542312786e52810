"""A model that answers from a script, for tests, demonstrations and drills.

    scripted:answers.json        a list of answers, used in order
    [{"when": "weather", "text": "Sunny."}, {"text": "…"}, "…"]

Rules:

- An answer is a text or the members of an `Answer`; ``{"error": …}`` fails. One with
  ``when`` is given to every prompt whose last message holds that text; the others are
  used up in order, one for each question of a run.
- The order is that of the questions, and starts anew in each process. If they come in
  parallel, or a run is resumed, use ``when``.
- A file is JSON, or a JSON value on each line.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, cast

import pluggy

from muniment.errors import UsageError
from muniment_plugins.providers.prompt import Answer, Prompt, split
from muniment_plugins.providers.refusals import CompletionFailed

__all__ = ["Scripted", "ask"]

hookimpl = pluggy.HookimplMarker("muniment")


class Scripted:
    """Answers the model ``scripted`` from a list; a plugin by itself.

    >>> ledger = muniment.open(plugins=Plugins(extra={"script": Scripted(["Hi."])}))
    """

    def __init__(self, answers: Iterable[str | Mapping[str, Any]]) -> None:
        """Keep *answers* in order."""
        told = [_members(one) for one in answers]
        self._named = [one for one in told if "when" in one]
        self._waiting = deque(one for one in told if "when" not in one)
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
        told = next((one for one in self._named if one["when"] in prompt.asked), None)
        if told is None:
            with self._lock:
                told = self._waiting.popleft() if self._waiting else None
        if told is None:
            raise CompletionFailed(
                f"the script has no answer left for {prompt.asked[:80]!r}",
                rule="provider/script",
                place="scripted",
                remedy="add one, or one with a `when` that the prompt holds",
            )
        if "error" in told:
            status = cast("int | None", told.get("status"))
            raise CompletionFailed(str(told["error"]), place="scripted", status=status)
        answer = {name: told[name] for name in told.keys() - {"when"}}
        if answer.get("tool_calls"):
            answer = {"finish_reason": "tool_calls", **answer}
        return Answer.from_json(
            {"model": prompt.model or "scripted", **answer, "provider": "scripted"}
        ).to_json()


def _members(answer: object) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"text": answer}
    if isinstance(answer, dict):
        return cast("dict[str, Any]", answer)
    raise UsageError(
        f"a value of type {type(answer).__name__} is not an answer",
        rule="provider/script",
        remedy="write a text, or an object with a text",
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
    text = path.read_text()
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
