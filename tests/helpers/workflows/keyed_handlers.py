"""Handlers that note the idempotency keys with which they are called."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from muniment import current_run
from muniment_plugins.workflow import StageFailed, StageInput

__all__ = ["in_pool", "notes", "notes_later", "twice"]


def notes(given: StageInput) -> str:
    """Note the key; fail as often as the node says."""
    file = Path(str(given.metadata["file"]))
    with file.open("a") as stream:
        stream.write(f"{current_run().idempotency_key}\n")
    if len(file.read_text().split()) <= int(str(given.metadata.get("fails", 0))):
        raise ValueError("again")
    return "noted"


async def notes_later(given: StageInput) -> str:
    """Do so as a coroutine."""
    return notes(given)


def twice(given: StageInput) -> str:
    """Note the key, and come to a bad end at the first visit."""
    notes(given)
    if not any(one.kind == "again" for one in given.artifacts):
        told = Path(f"{given.metadata['file']}.again")
        if not told.exists():
            told.touch()
            raise StageFailed("once more")
    return "noted"


def in_pool(given: StageInput) -> list[object]:
    """Tell whether threads of a pool see what this one sees."""
    del given
    key = current_run().idempotency_key
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(lambda: current_run().idempotency_key).result()
    return [there == key, len(key) == 64, current_run().id]
