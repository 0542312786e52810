"""A governed run: a policy allows two look-ups, and answers the rest by a fallback.

Run it in an empty directory. The program knows nothing of the policy.
"""

from __future__ import annotations

from typing import Any

import muniment
from muniment_plugins.governance import GovernancePolicy
from muniment_plugins.governance.budgets.table import budget_table
from muniment_plugins.governance.governed import governed

POLICY: dict[str, Any] = {
    "spec_version": "v1",
    "policy_id": "two-look-ups",
    "execution_budget": {
        "effect_limits": {"tool": 2},
        "exhaustion_action": "degrade",
        "fallback": {"answer": "not looked up"},
    },
}


def look_up(city: object) -> str:
    """Stand for a tool: whatever reaches outside is called through an effect."""
    print("looking up", city)
    return f"{city} is in the timetable"


def timetable(run: muniment.Run, cities: list[str]) -> list[object]:
    """Look every city up."""
    return [run.effect("tool", city, look_up) for city in cities]


if __name__ == "__main__":
    policy = GovernancePolicy.from_document(POLICY, "policy of the example")
    with muniment.open(create=True) as ledger:
        with governed(ledger, policy):
            done = ledger.execute(
                timetable, params={"cities": ["Rome", "Oslo", "Bern"]}
            )
        print(f"{done.status}: {done.result}")

        table = budget_table(ledger, done.run_id)
        for row in table.rows if table else ():
            print(f"{row.limit}: {row.spent} of {row.allowed} spent, then {row.action}")
        for event in ledger.events(run=done.run_id, type="effect.degraded"):
            print(
                f"event {event.seq}: {event.data['effect']} took {event.data['fallback']}"
            )

        again = muniment.replay(ledger, done.run_id, program=timetable)
        print(f"replayed without tool and policy: {again.verdict}")
        path = ledger.path
    print(muniment.verify(path).integrity)
