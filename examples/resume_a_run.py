"""A run that survives being killed: start it, kill it, start it again.

python resume_a_run.py        prints what it performs; press Ctrl-C, or kill -9 it
python resume_a_run.py        performs the rest only, and completes the same run
"""

from __future__ import annotations

import time

import muniment

STEPS = 5


def square(request: object) -> int:
    """Stand for something slow and costly, such as a call of a model."""
    number: int = request["number"]  # type: ignore[index]
    print(f"performing {number}", flush=True)
    time.sleep(0.4)
    return number * number


def squares(run: muniment.Run) -> list[object]:
    """Ask for the squares, one effect each."""
    return [
        run.effect("tool", {"name": "square", "number": number}, perform=square)
        for number in range(STEPS)
    ]


def unfinished(ledger: muniment.Ledger) -> str | None:
    """Return the run that was cut off, if there is one."""
    left = ledger.runs(status="open,interrupted", order="desc", limit=1)
    return next((one.id for one in left), None)


with muniment.open(create=True) as ledger:
    run = unfinished(ledger)
    if run is None:
        done = ledger.execute(squares, name="squares")
    else:
        print(f"going on with run {run}", flush=True)
        # The effect that was cut off may have happened: squaring twice does no harm.
        done = ledger.resume(run, squares, repeat=["tool"])
    print(f"{done.status}: {done.result}")
