"""What governance costs: a run of 1,000 effects, with and without a policy.

    python tools/bench.py governance

Rules:

- Both runs are the same program on ledgers with the same plugins; the effects are
  durable in both. Turns alternate.
- The policy counts by source and by kind, tokens, cost, time and events, so that every
  limit is looked at for each effect.
- Events per second are beside those of the straight-line limit, one durable commit per
  event, in the same turns.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["bench_governance"]

STEPS = 1000
REPEATS = 5
_ANSWER = {
    "text": "yes",
    "usage": {"input_tokens": 3, "output_tokens": 2},
    "cost": {"usd": "0.00002"},
}
_POLICY = {
    "spec_version": "v1",
    "policy_id": "bench",
    "entropy_budget": {
        "allowed_sources": ["external_oracle"],
        "max_magnitude": "high",
        "max_count": 2 * STEPS,
        "per_source": [
            {
                "source": "external_oracle",
                "max_magnitude": "high",
                "max_weight": 64 * STEPS,
            }
        ],
    },
    "execution_budget": {
        "effect_limits": {"llm": 2 * STEPS},
        "token_limit": 100 * STEPS,
        "cost_limit": 1000,
        "wall_time_limit": 3600,
        "trace_event_limit": 100 * STEPS,
    },
}


def program(run: Any) -> int:
    """Ask a model a thousand times."""
    for number in range(STEPS):
        run.effect("llm", {"prompt": number}, lambda _: _ANSWER)
    return STEPS


def _ledger(place: Path) -> Any:
    from muniment.ledger import Ledger

    path = Path(tempfile.mkdtemp(dir=place)) / "ledger.db"
    return Ledger.create(path, plugins=("governance",))


def _bare(place: Path) -> None:
    with _ledger(place) as ledger:
        ledger.execute(program).raise_failure()


def _held(place: Path) -> None:
    from muniment_plugins.governance import GovernancePolicy
    from muniment_plugins.governance.governed import governed

    policy = GovernancePolicy.from_document(_POLICY, "bench")  # type: ignore[arg-type]
    with _ledger(place) as ledger, governed(ledger, policy):
        ledger.execute(program).raise_failure()


def bench_governance(
    place: Path, limit: ModuleType | None, clock: Callable[..., float]
) -> None:
    """Print what a governed run takes, beside the same one without a policy."""
    bare, held, theirs = [], [], []
    for _ in range(REPEATS):
        bare.append(clock(partial(_bare, place)))
        held.append(clock(partial(_held, place)))
        if limit is not None:
            theirs.append(clock(partial(_limit, place, limit)))
    ratio = statistics.median(held) / statistics.median(bare)
    print(
        f"| a governed run of {STEPS:,} effects, times the same without a policy | "
        f"{ratio:.2f} x | | | ≤ 1.3 |",
        flush=True,
    )
    events = 2 * STEPS
    rate = events / statistics.median(held)
    if not theirs:
        print(f"| events of a governed run | {rate:,.0f}/s | | | |", flush=True)
        return
    other = events / statistics.median(theirs)
    print(
        f"| events of a governed run | {rate:,.0f}/s | {other:,.0f}/s | "
        f"{rate / other:.2f} | |",
        flush=True,
    )


def _limit(place: Path, limit: ModuleType) -> None:
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key = ed25519.Ed25519PrivateKey.generate()
    path = str(Path(tempfile.mkdtemp(dir=place)) / "l.db")
    connection = limit.connect(path)
    connection.execute(limit.DDL)
    connection.close()
    limit.append_full(path, key.sign, key.sign, 2 * STEPS, 1, "FULL")
