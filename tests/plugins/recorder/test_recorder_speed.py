"""What recording costs a Python that starts."""

from __future__ import annotations

import asyncio
import os
import resource
from pathlib import Path
from typing import cast

from muniment.runs.run import Run
from muniment_plugins.providers import recorder
from muniment_plugins.providers.recorder.server import RecorderServer
from recording import PYTHON

ROUNDS = 7


def test_a_recorded_python_starts_as_fast(tmp_path: Path) -> None:
    """What is injected takes less than a tenth of a second, connection included.

    It is the processor's time that counts: how long a start waits for a processor says
    nothing of what starts.
    """
    bare, recorded, greeted = asyncio.run(starts(tmp_path))

    assert greeted == ROUNDS
    assert recorded - bare <= 0.1


def computed() -> float:
    """Return the processor's time that the children took which have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def starts(place: Path) -> tuple[float, float, int]:
    """Return how much a Python computes without and with us, at best."""
    server = RecorderServer(cast("Run", None))  # nothing is asked
    address = await server.listen(place)
    injected = str(Path(recorder.__file__).parent / "injected")
    bare = {**os.environ, "PYTHONPATH": ""}
    ours = {**bare, "PYTHONPATH": injected, "MUNIMENT_RECORDER": address}
    times = []
    for environment in (bare, ours):
        rounds = []
        for _ in range(ROUNDS):
            before = computed()
            child = await asyncio.create_subprocess_exec(
                PYTHON, "-c", "pass", env=environment
            )
            await child.wait()
            rounds.append(computed() - before)
        times.append(min(rounds))
    await server.close()
    return times[0], times[1], len(server.unrecorded._greeted)
