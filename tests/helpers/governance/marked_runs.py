"""Runs that carry marks: by a budget that they exceeded, by an unsafe policy, by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from governed_programs import ANSWER, Provider, entropy, policy
from muniment import Run
from muniment.ledger import Ledger
from muniment_plugins.governance.governed import governed

__all__ = [
    "MARK",
    "WAYS",
    "Marked",
    "marked_ledger",
    "marked_run",
    "verdict_with_calls",
]

MARK = "non_certifiable"
WAYS = ("budget", "unsafe", "program")
"""How a run comes by its mark."""
_POLICIES: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "budget": {
            "entropy_budget": entropy(
                max_count=2, exhaustion_action="mark_non_certifiable"
            )
        },
        "unsafe": {"mode": "unsafe", "entropy_budget": entropy(max_count=2)},
    }
)


@dataclass(frozen=True)
class Marked:
    """A ledger, and its runs by how each came by its mark; ``none`` has none."""

    ledger: Ledger
    runs: dict[str, str]

    @property
    def root(self) -> str:
        """The key id of the root."""
        (root,) = self.ledger.keys.current("root")
        return root.keyid


@contextmanager
def marked_ledger(base: Path) -> Iterator[Ledger]:
    """Lend a ledger with evidence and governance alone."""
    with Ledger.create(
        base / "ledger.db", home=base / "home", plugins=("evidence", "governance")
    ) as ledger:
        yield ledger


def verdict_with_calls(
    by_hand: bool = False, times: int = 4
) -> Callable[[Run], list[object]]:
    """Return a program that calls a model, and reaches a verdict that passed."""
    provider = Provider(ANSWER)

    def program(run: Run) -> list[object]:
        run.record("claim.stated", {"id": "c1", "text": "it is so"})
        answers = [run.effect("llm", number, provider) for number in range(times)]
        said = {"hypothesis": "so", "verifier": "v", "passed": True, "p_value": 0.01}
        run.record("verdict.reached", said)
        if by_hand:
            run.mark(MARK, "the data were changed by hand")
        return answers

    return program


def marked_run(ledger: Ledger, way: str) -> str:
    """Execute a run that is marked in that *way*; return its id."""
    terms = _POLICIES.get(way)
    context = nullcontext() if terms is None else governed(ledger, policy(**terms))
    with context:
        return ledger.execute(verdict_with_calls(way == "program")).run_id
