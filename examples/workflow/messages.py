"""Letters to a run that is open: signals, updates, queries, a pause, and going on as new.

python messages.py        a run waits, is written to, goes on, and ends as a new one

What is sent is an event, and so is that it was taken: a resume takes no letter twice, and a
replay is told the same at the same place. `muniment workflow signal`, `update`, `query`,
`pause` and `mail` do the same from another process.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import muniment
from muniment import Run
from muniment_plugins.workflow import (
    StageCall,
    StageInput,
    workflow_execute,
    workflow_mail,
    workflow_pause,
    workflow_query,
    workflow_resume,
    workflow_signal,
    workflow_status,
    workflow_update,
)


def ask(run: Run, stage: StageCall) -> str:
    """Say what it waits for, and wait for it; answer the update that comes with it."""
    del run
    stage.mail.publish_query("progress", {"waits_for": "go"})
    letter = stage.mail.receive("go")
    return f"{letter.payload['by']} said go"  # type: ignore[index,call-overload]


def work(stage: StageInput) -> str:
    """Work with the notes that came meanwhile."""
    notes = [one.text for one in stage.artifacts if one.kind == "signal"]
    return f"worked, with {len(notes)} note"


def hand_over(run: Run, stage: StageCall) -> str:
    """Go on as new, if this was the first shift."""
    del run
    (_, *more) = [one for one in stage.artifacts if one.body.startswith("worked")]
    if not more:
        stage.mail.continue_as_new("the next shift")
    return "the end"


def budget(update: StageInput) -> dict[str, Any]:
    """Answer an update; what this raises would refuse it."""
    return {"calls": update.item}


GRAPH = {
    "name": "watch",
    "nodes": {
        "ask": {"handler": ask},
        "work": {"handler": work},
        "over": {"handler": hand_over},
    },
    "entry": "ask",
    "edges": [{"from": "ask", "to": "work"}, {"from": "work", "to": "over"}],
    "mailbox": {"signals": ["note"], "updates": {"budget": budget}},
}

if __name__ == "__main__":
    with muniment.open(create=True) as ledger, ThreadPoolExecutor() as others:
        run = workflow_execute(ledger, "Keep watch", GRAPH).run_id
        print(f"waits: {workflow_query(ledger, run, 'progress')}")
        workflow_signal(ledger, run, "note", "mind the spans")
        workflow_signal(ledger, run, "go", {"by": "Lena"})
        workflow_signal(ledger, run, "go", {"by": "Max"})
        workflow_pause(ledger, run, "the data are late")
        # Whoever sends an update waits for its answer: here in a thread of its own.
        asked = others.submit(workflow_update, ledger, run, "budget", 40)
        while len(workflow_mail(ledger, run)) < 5:  # noqa: PLR2004 - those above
            time.sleep(0.01)
        done = workflow_resume(ledger, run)
        print(f"the update is answered: {asked.result()}")
        for one in workflow_mail(ledger, run):
            print(f"  {one['kind']} {one['name']}: {one['state']}")
        last = done.run_id
        for each in (run, last):
            said = workflow_status(ledger, each)
            print(f"generation {said['generation']}: {said['status']}")
        for made in done.artifacts:
            print(f"  {made.kind}: {made.body}")
        for each in (run, last):
            print(f"replayed: {muniment.replay(ledger, each).verdict}")
