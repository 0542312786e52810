"""The repair agent of the examples, in processes of its own: run, killed, and counted.

    folder = repository("basket", tmp_path)
    killed(folder, 12)                      dies by SIGKILL after its 13th commit
    ran = run(folder)                       goes on, as `python repair.py FOLDER` does
    performed(folder)                       ["llm mend 1", "read basket.py", …]

Rules:

- A process has nothing of the one that was killed: it is forked from the tests', in which
  no ledger is open and no model was asked.
- What was performed is counted by who performs it, the tools and the model that follows a
  script, in a file beside the folder, before they begin.
"""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import children
import repair
from muniment.ledger import Ledger
from muniment.storage import append
from muniment_plugins.providers import scripted
from muniment_plugins.providers.prompt import Prompt

__all__ = [
    "AGENTS",
    "NAMES",
    "REPOSITORIES",
    "Ran",
    "commits",
    "killed",
    "ledger_of",
    "performed",
    "repository",
    "run",
    "script",
]

AGENTS = Path(__file__).parents[3] / "examples" / "agents"
REPOSITORIES = AGENTS / "repositories"
NAMES = sorted(one.name for one in REPOSITORIES.iterdir() if one.name != "prices")
_repair: Any = repair


@dataclass(frozen=True, slots=True)
class Ran:
    """How a process of the repair agent ended."""

    code: int
    text: str
    """What it printed, and the error with which it ended, if any."""

    @property
    def lines(self) -> list[str]:
        """The lines that it printed, without those that models said while they spoke."""
        return [one for one in self.text.splitlines() if not one.startswith("  ")]

    @property
    def conclusion(self) -> str:
        """What the report concludes, without the event."""
        told = [one for one in self.lines if not one.startswith("replayed")]
        return told[-1].rpartition(" (event ")[0]


def repository(name: str, above: Path) -> Path:
    """Return a copy of a repository of the examples, in a folder of its own."""
    return Path(shutil.copytree(REPOSITORIES / name, above / name))


def script(folder: Path, *turns: Any, agent: str = "mend") -> None:
    """Let a model of the folder give these answers, turn by turn.

    An answer is a text, or a list of calls ``(tool, arguments)``.
    """
    rows: list[Any] = []
    for number, said in enumerate(turns, 1):
        row: dict[str, Any] = {"turn": number}
        if isinstance(said, str):
            row["text"] = said
        else:
            row["tool_calls"] = [
                {"id": f"{number}.{at}", "name": name, "arguments": arguments}
                for at, (name, arguments) in enumerate(said)
            ]
        rows.append(row)
    (folder / f"{agent}.json").write_text(json.dumps(rows))


def ledger_of(folder: Path) -> Ledger:
    """Open the ledger of a folder, to read it."""
    return Ledger.open(folder / ".muniment" / "ledger.db", readonly=True)


def _log(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.performed")


def performed(folder: Path) -> list[str]:
    """Return what tools and models were made to do for a folder, in any process."""
    log = _log(folder)
    return log.read_text().splitlines() if log.exists() else []


def run(folder: Path, *arguments: object) -> Ran:
    """Run the repair agent on a folder, to its end."""
    code, said = children.start(lambda _: _live(folder, arguments)).end()
    assert code == 0, said
    *text, ended = _out(folder).read_text().splitlines()
    return Ran(int(ended), "\n".join(text))


def killed(
    folder: Path,
    commit: int,
    step: str = "committed",
    arguments: tuple[object, ...] = (),
) -> bool:
    """Run it in a process that dies at a step of a commit; tell whether it did."""
    left = commit

    def reached(_: append.Store, name: str) -> None:
        nonlocal left
        left -= name == step
        if left < 0:
            children.die()

    def live(_: object) -> None:
        _at_each_step(reached)
        _live(folder, arguments)

    return children.start(live).end()[0] == -signal.SIGKILL


def commits(folder: Path) -> list[str]:
    """Run it to its end; return the type of the last event of each commit."""

    def live(report: Callable[[str], None]) -> None:
        def reached(store: append.Store, name: str) -> None:
            if name == "remembered":
                report(str(store._tail.size - 1))

        _at_each_step(reached)
        _live(folder, ())

    code, lasts = children.start(live).end()
    assert code == 0, lasts
    with ledger_of(folder) as ledger:
        return [ledger.event(int(one)).type for one in lasts]


def _at_each_step(reached: Callable[[append.Store, str], None]) -> None:
    """Have each ledger of this process tell its steps."""
    born = append.Store.__init__

    def opened(self: append.Store, *given: Any, **named: Any) -> None:
        born(self, *given, **named)
        self.step = functools.partial(reached, self)

    append.Store.__init__ = opened  # type: ignore[method-assign]


def _live(folder: Path, arguments: tuple[object, ...]) -> None:
    """Be the process: what is changed here, ends with it."""
    log = _log(folder)

    def note(what: str) -> None:
        with log.open("a") as file:
            file.write(f"{what}\n")

    for name in ("read", "edit", "run_tests", "change", "cases_hold"):
        setattr(_repair, name, _noted(getattr(_repair, name), note))
    ask = scripted.ask

    def asked(run: str, prompt: Prompt) -> dict[str, object]:
        turn = 1 + sum(one["role"] == "assistant" for one in prompt.messages)
        note(f"llm {prompt.model} {turn}")
        return ask(run, prompt)

    scripted.ask = asked
    sys.argv = ["repair.py", str(folder), *(str(one) for one in arguments)]
    with _out(folder).open("w") as out, contextlib.redirect_stdout(out):
        try:
            code = _repair.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
            print(ended.code)  # noqa: T201 - as an interpreter would
        print(code)  # noqa: T201 - for who waits


def _noted(function: Callable[..., Any], note: Callable[[str], None]) -> Any:
    @functools.wraps(function)
    def performed(*given: Any, **named: Any) -> Any:
        told = {
            name: Path(one).name if name == "path" else one
            for name, one in named.items()
        }
        note(f"{function.__name__} {json.dumps(told)}")
        return function(*given, **named)

    return performed


def _out(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.out")
