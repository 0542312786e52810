"""What came of a run: printed, and as an exit code.

0 the program returned, and no verdict of it failed
1 it raised, or a verdict failed           4 a rule, a plugin or a limit said no
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from muniment_cli.output import Cell, fields, hint, show_json
from muniment_cli.showing import short, status_style

if TYPE_CHECKING:
    from muniment.canonical import JsonValue
    from muniment.executing import Done
    from muniment.ledger import Ledger

__all__ = ["exit_code", "progress_of_run", "show_done"]

_TICK = 0.2


def exit_code(done: Done, failed_verdicts: int) -> int:
    """Return what the shell is told about *done*."""
    if _ended_dry(done):
        return 0
    if done.error is not None:
        return 4 if done.status == "refused" else 1
    return 1 if failed_verdicts else 0


def show_done(ledger: Ledger, done: Done, *, as_json: bool, dry: bool = False) -> int:
    """Print what came of a run, and return the exit code."""
    from muniment.canonical import parse
    from muniment.values import encode

    verdicts = [] if dry else _verdicts(ledger, done.run_id)
    failed = sum(one is False for one in verdicts)
    code = exit_code(done, failed)
    status = "dry" if dry else done.status
    value: JsonValue = None
    if done.error is None:
        from muniment.canonical import canonical

        value = parse(canonical(encode(done.value, ledger.port.values)))
    if as_json:
        error = done.error
        show_json(
            {
                "run": None if dry else done.run_id,
                "status": status,
                "ok": code == 0,
                "result": value,
                "error": None if error is None else _error(error),
                "verdicts": {"reached": len(verdicts), "failed": failed},
                "result_digest": done.result_digest,
            }
        )
        return code
    pairs: list[tuple[str, Cell]] = [("status", status_style(status))]
    if not dry:
        pairs.insert(0, ("run", done.run_id))
    if done.error is None:
        pairs.append(("result", short(value, 1000)))
    else:
        pairs.append((_word(done), f"{type(done.error).__name__}: {done.error}"))
    if verdicts:
        text = f"{len(verdicts)} reached, {failed} failed"
        pairs.append(("verdicts", (text, "red" if failed else "green")))
    pairs.append(("result digest", done.result_digest))
    fields(pairs)
    if not dry:
        word = "explain" if done.error is not None else "show"
        hint(f"`muniment runs {word} {done.run_id}` says more")
    return code


def _word(done: Done) -> str:
    return "ended by" if _ended_dry(done) else "error"


def _ended_dry(done: Done) -> bool:
    return getattr(done.error, "rule", "") == "run/dry-end"


def _error(error: Exception) -> dict[str, JsonValue]:
    return {
        "type": type(error).__name__,
        "message": str(error),
        "rule": str(getattr(error, "rule", "")) or None,
    }


def _verdicts(ledger: Ledger, run: str) -> list[object]:
    events = ledger.events(type="verdict.reached", run=run)
    return [event.raw.get("passed") for event in events]


@contextmanager
def progress_of_run(ledger: Ledger) -> Generator[None]:
    """Show on stderr what is being recorded, where a person looks at it."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    stop = threading.Event()
    start = ledger.head.size
    with Console(stderr=True).status("running…") as status:

        def watch() -> None:
            seen, last = start, ""
            while not stop.wait(_TICK):
                for event in ledger.events(from_seq=seen):
                    seen, last = event.seq + 1, event.type
                status.update(f"{seen - start} events  {last}")

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            stop.set()
            watcher.join()
