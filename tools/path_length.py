"""Count the way of an append, an effect, a replay, a verify: calls and borders crossed.

    python tools/path_length.py            a table
    python tools/path_length.py effect     and which borders an effect crosses

Rules:

- Only functions of the kernel (``muniment.*``) are counted, after a warm-up, so that
  imports, caches and the first connection are not.
- A *border* is crossed where a function of one module calls one of another, whatever
  foreign code stands between. Each crossing is a place where a reader changes files.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

ROOT = str(Path(__file__).resolve().parent.parent / "ledger" / "muniment") + os.sep
Way = Callable[[], object]


def walk(action: Way) -> tuple[int, Counter[tuple[str, str]]]:
    """Return the calls within the kernel during *action*, and its border crossings."""
    calls, borders = 0, Counter[tuple[str, str]]()
    stack = [""]

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        path = frame.f_code.co_filename
        if not path.startswith(ROOT):
            return
        if event == "call":
            here = path[len(ROOT) :].removesuffix(".py")
            calls += 1
            if stack[-1] and stack[-1] != here:
                borders[stack[-1], here] += 1
            stack.append(here)
        elif event == "return" and len(stack) > 1:
            stack.pop()

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls, borders


def ways(place: Path) -> dict[str, Way]:
    """Return the ways through a small ledger, each warmed up."""
    from muniment.ledger import Ledger
    from muniment.replays.replay import replay
    from muniment.verification.verify import verify

    ledger = Ledger.create(place / "ledger.db")
    run = ledger.run("path").__enter__()

    def once(lane: object) -> object:
        return lane.effect("tool", {"name": "search"}, lambda _: {"hits": 3})  # type: ignore[attr-defined]

    recorded = ledger.execute(once).run_id
    found: dict[str, Way] = {
        "append": lambda: ledger.append("note.added", {"text": "…"}),
        "effect": lambda: once(run),
        "run": lambda: ledger.execute(once),
        "replay": lambda: replay(ledger, recorded, once),
        "verify": lambda: verify(ledger.path),
    }
    for action in found.values():
        action()
        action()
    return found


def main() -> None:
    """Print the table, or where one way crosses borders."""
    with tempfile.TemporaryDirectory() as place:
        os.environ["MUNIMENT_HOME"] = str(Path(place) / "home")
        os.environ["MUNIMENT_PLUGINS"] = "none"
        found = {name: walk(action) for name, action in ways(Path(place)).items()}
    if len(sys.argv) > 1:
        for (one, other), count in found[sys.argv[1]][1].most_common():
            print(f"{count:5} {one} → {other}")
        return
    print(f"{'':8} {'calls':>6} {'borders':>8}")
    for name, (calls, borders) in found.items():
        print(f"{name:8} {calls:6} {borders.total():8}")


if __name__ == "__main__":
    main()
