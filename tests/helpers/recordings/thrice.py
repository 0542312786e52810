r"""One program in three processes: alone, recorded, replayed.

    told = thrice(desk, PYTHON, "agent.py", server.url)
    assert not told.different(), "\n".join(told.different())

Rules: the program prints a line of JSON for each thing that it saw, a list of its key and
what that was; the key is a list of texts. Every other line is ignored.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection
from dataclasses import dataclass

from recording import Desk

__all__ = ["Key", "Thrice", "thrice"]

Key = tuple[str, ...]


@dataclass(frozen=True)
class Thrice:
    """What a program saw: alone, recorded and replayed."""

    alone: dict[Key, object]
    recorded: dict[Key, object]
    replayed: dict[Key, object]
    run: str
    verdict: str

    def different(
        self, recorded: Collection[Key] = (), replayed: Collection[Key] = ()
    ) -> list[str]:
        """Return where it saw something else than alone.

        What is known to differ is given, and told where it does not differ.
        """
        ways = (
            ("recorded", self.recorded, recorded),
            ("replayed", self.replayed, replayed),
        )
        return [
            f"{key}\n  alone    {self.alone.get(key)}\n  {how} {found.get(key)}"
            for how, found, known in ways
            for key in self.alone.keys() | found.keys()
            if (found.get(key) != self.alone.get(key)) != (key in known)
        ]


def thrice(desk: Desk, *line: str) -> Thrice:
    """Run the command *line* alone, recorded and replayed."""
    alone = subprocess.run(
        line,
        cwd=desk.place,
        env=desk.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert alone.returncode == 0, alone.stderr
    done = desk.record(*line)
    assert done.code == 0, done.err
    again = desk.replay(done.run, *line)
    assert desk.holds
    verdict = json.loads(again.out)["verdict"]
    known, live, replayed = map(_seen, (alone.stdout, done.out, again.err))
    return Thrice(known, live, replayed, done.run, verdict)


def _seen(text: str) -> dict[Key, object]:
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("[[")]
    return {tuple(key): saw for key, saw in lines}
