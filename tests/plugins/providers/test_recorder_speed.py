"""What recording costs a Python that starts."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import cast

from muniment.lanes import Lane
from muniment_plugins.providers import recorder
from muniment_plugins.providers.recorder.serving import Server
from recording import PYTHON

ROUNDS = 7


def test_a_recorded_python_starts_as_fast(tmp_path: Path) -> None:
    """What is injected costs less than a tenth of a second, connection included."""
    bare, recorded, greeted = asyncio.run(starts(tmp_path))

    assert greeted == ROUNDS
    assert recorded - bare <= 0.1


async def starts(place: Path) -> tuple[float, float, int]:
    """Return how long a Python takes without and with us, at best."""
    server = Server(cast("Lane", None))  # nothing is asked
    address = await server.listen(place)
    injected = str(Path(recorder.__file__).parent / "injected")
    bare = {**os.environ, "PYTHONPATH": ""}
    ours = {**bare, "PYTHONPATH": injected, "MUNIMENT_RECORDER": address}
    times = []
    for environment in (bare, ours):
        rounds = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            child = await asyncio.create_subprocess_exec(
                PYTHON, "-c", "pass", env=environment
            )
            await child.wait()
            rounds.append(time.perf_counter() - began)
        times.append(min(rounds))
    await server.close()
    return times[0], times[1], server.greeted
