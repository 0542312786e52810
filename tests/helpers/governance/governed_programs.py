"""Programs that spend, and the policies that they are held to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from muniment import EffectFailed, Run
from muniment.ledger import Ledger
from muniment_plugins.governance import GovernancePolicy

__all__ = [
    "ANSWER",
    "Provider",
    "asking",
    "entropy",
    "forged_lane",
    "opened",
    "policy",
    "swallowing",
]

ANSWER = {
    "text": "yes",
    "usage": {"input_tokens": 3, "output_tokens": 2},
    "cost": {"usd": "0.25"},
}


class Provider:
    """Answers, and counts how often it was called."""

    def __init__(self, answer: object = ANSWER) -> None:
        self.answer = answer
        self.calls: list[object] = []

    def __call__(self, request: object) -> object:
        """Answer *request*."""
        self.calls.append(request)
        return self.answer


def opened(tmp_path: Path) -> Ledger:
    """Make a ledger with the plugin alone."""
    return Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=("governance",)
    )


def policy(**members: object) -> GovernancePolicy:
    """Return a policy with these members."""
    document = {"spec_version": "v1", "policy_id": "tested", **members}
    return GovernancePolicy.from_document(document, "policy.json")  # type: ignore[arg-type]


def entropy(**members: object) -> dict[str, object]:
    """Return an entropy budget that allows model calls, with these members."""
    return {
        "allowed_sources": ["external_oracle", "seeded_rng", "data"],
        "max_magnitude": "high",
        **members,
    }


def forged_lane(run: Run, plugin: str) -> Run:
    """Return the lane of *plugin*, as a program gets it that reaches behind its own."""
    return Run(run._recording, f"plugin/{plugin}")


def asking(
    provider: Provider, times: int = 5, kind: str = "llm"
) -> Callable[[Run], list[object]]:
    """Return a program that asks so many times, and stops at the first failure."""

    def program(run: Run) -> list[object]:
        return [run.effect(kind, number, provider) for number in range(times)]

    return program


def swallowing(provider: Provider, times: int = 5) -> Callable[[Run], list[object]]:
    """Return a program that goes on whatever fails."""

    def program(run: Run) -> list[object]:
        got: list[object] = []
        for number in range(times):
            try:
                got.append(run.effect("llm", number, provider))
            except EffectFailed as error:
                got.append(error.error_type)
        return got

    return program
