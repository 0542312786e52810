"""A first ledger: a note, a run with a fact and an effect, a check, a proof.

Run it in an empty directory; run it again and the ledger grows.
"""

from __future__ import annotations

import muniment


def search(request: object) -> list[str]:
    """Stand for a tool: whatever reaches outside is called through an effect."""
    return [f"result for {request['query']}"]  # type: ignore[index]


def triage(run: muniment.Run, ticket: str) -> str:
    """State what is claimed, ask the tool, and come to an answer."""
    run.record("claim.stated", {"id": "c1", "text": f"{ticket} is a known issue"})
    hits = run.effect("tool", {"name": "search", "query": ticket}, perform=search)
    return f"{ticket}: {hits}"


with muniment.open(create=True) as ledger:
    note = ledger.append("note.added", {"text": "the first entry"})
    done = ledger.execute(triage, params={"ticket": "T-1"}, name="triage")
    print(f"event {note.seq} is durable, run {done.status}: {done.result}")

    again = muniment.replay(ledger, done.run_id, program=triage)
    print(f"replayed without the tool: {again.verdict}")

    proof = ledger.prove(note.seq)
    print(
        f"event {proof.index} is under a signed tree head: {len(proof.hashes)} hashes"
    )
    path = ledger.path

report = muniment.verify(path)
print(f"{report.integrity}, {report.authenticity}, {report.completeness}")
