"""What counts as spent, and what an answer may say of itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governed_programs import Provider, asking, opened, policy, swallowing
from muniment import Run
from muniment.events.effect_kinds import KERNEL_KINDS
from muniment.events.token_counts import tokens_taken
from muniment.ledger import Ledger
from muniment_plugins.governance.budgets import spending
from muniment_plugins.governance.governed import governed
from muniment_plugins.providers.wire_formats.dialects import about

LYING = [
    {"usage": {"input_tokens": -100, "output_tokens": 2}},
    {"usage": {"input_tokens": 1.5}},
    {"usage": {}},
    {"usage": None},
    {"usage": "many"},
    {"usage": {"input_tokens": 2**53 + 1, "output_tokens": 20}},
    {"usage": {"input_tokens": 10**400, "output_tokens": 20}},
    {"usage": {"input_tokens": "2000", "output_tokens": 0}},
    {"usage": {"input_tokens": 0, "output_tokens": 0, "cache_read_tokens": 1.5}},
]
CHEAP: list[object] = [
    "1e999999",
    "9" * 199,
    "-5",
    "NaN",
    "Infinity",
    "-0.1",
    "free",
    "",
    None,
    {},
    [],
]


@pytest.mark.parametrize("answer", LYING)
def test_tokens_that_cannot_be_counted_stop_the_budget(
    tmp_path: Path, answer: dict[str, object]
) -> None:
    """An answer with negative tokens, or with none, gives nothing back: it is the last."""
    provider = Provider({"text": "yes", **answer})
    limit = {"token_limit": 1000}
    with opened(tmp_path) as ledger, governed(ledger, policy(execution_budget=limit)):
        done = ledger.execute(asking(provider))
    assert (done.status, len(provider.calls)) == ("failed", 1)


NUMBERS = st.integers(0, 2**53 - 1)
ODD = st.one_of(
    st.integers(max_value=-1),
    st.integers(min_value=2**53),
    st.floats(),
    st.booleans(),
    st.text(max_size=9),
    st.lists(st.integers(), max_size=2),
)
EXTRA = ("cache_read_tokens", "cache_write_tokens", "total_tokens")


@st.composite
def half_read(draw: st.DrawFn) -> dict[str, object]:
    """Return a usage object of which one count, or more, is missing or is none."""
    usage: dict[str, object] = {
        name: draw(NUMBERS) for name in ("input_tokens", "output_tokens")
    }
    usage |= draw(st.dictionaries(st.sampled_from(EXTRA), NUMBERS))
    name = draw(st.sampled_from([*usage]))
    if name in EXTRA or draw(st.booleans()):
        return usage | {name: draw(ODD)}
    return {key: value for key, value in usage.items() if key != name}


@given(half_read())
def test_no_half_read_usage_is_known(usage: dict[str, object]) -> None:
    """Anything but two whole numbers below 2**53 is unknown, and nothing raises.

    What can be read of it is spent nevertheless; the kind's facts of it say no more.
    """
    (llm,) = (one for one in KERNEL_KINDS if one.name == "llm")
    for told in (usage, llm.about_response({"usage": usage}).get("usage", {})):
        taken = tokens_taken(told)
        assert not taken.is_known
        assert taken.total >= 0


@given(NUMBERS, NUMBERS, NUMBERS)
def test_the_larger_of_total_and_parts_is_spent(
    read: int, made: int, total: int
) -> None:
    """An answer that says 0, 0 and 2000 in all took 2000."""
    usage = {"input_tokens": read, "output_tokens": made, "total_tokens": total}
    taken = tokens_taken(usage)
    assert (taken.total, taken.is_known) == (max(read + made, total), True)


WIRE = {
    "usage": ("prompt_tokens", "completion_tokens", "total_tokens"),
    "usageMetadata": ("promptTokenCount", "candidatesTokenCount", "totalTokenCount"),
}


@given(st.sampled_from([*WIRE]), st.integers(0, 2), ODD, st.booleans())
def test_no_half_read_answer_of_a_provider_is_known(
    member: str, at: int, odd: object, streamed: bool
) -> None:
    """The same of what arrives over the wire, whole and streamed."""
    usage = dict(zip(WIRE[member], (3, 2, 5), strict=True))
    events = [{"model": "m", member: usage}, {member: {WIRE[member][at]: odd}}]
    whole = {"model": "m", member: {**usage, WIRE[member][at]: odd}}
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in events)
    media = "text/event-stream" if streamed else "application/json"
    told = about(media, body if streamed else json.dumps(whole))
    assert not tokens_taken(told.get("usage", {})).is_known


def test_an_observer_that_fails_lets_nothing_more_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where counting itself fails, the budget is not blind: the run is halted."""
    monkeypatch.setattr(spending, "tokens_taken", lambda _: 1 / 0)
    provider = Provider()
    with opened(tmp_path) as ledger, governed(ledger, policy()):
        done = ledger.execute(swallowing(provider))
    assert (done.status, len(provider.calls)) == ("failed", 1)


@pytest.mark.parametrize("amount", CHEAP)
def test_costs_that_cannot_be_counted_stop_the_budget(
    tmp_path: Path, amount: object
) -> None:
    """The same of costs."""
    provider = Provider({"text": "yes", "cost": {"usd": amount}})
    limit = {"cost_limit": 1000}
    with opened(tmp_path) as ledger, governed(ledger, policy(execution_budget=limit)):
        done = ledger.execute(asking(provider))
    assert (done.status, len(provider.calls)) == ("failed", 1)


def test_another_attempt_inside_an_effect_counts(tmp_path: Path) -> None:
    """A performer that asks three times, and states it, spends three."""

    def program(run: Run) -> None:
        def perform(_: object) -> str:
            with run.scope("retries") as lane:
                for attempt in (1, 2, 3):
                    lane.record("llm.attempted", {"attempt": attempt})
            return "yes"

        for number in range(3):
            run.effect("llm", number, perform)

    with (
        Ledger.create(
            tmp_path / "ledger.db",
            home=tmp_path / "home",
            plugins=("governance", "providers"),
        ) as ledger,
        governed(ledger, policy(execution_budget={"effect_limits": {"llm": 4}})),
    ):
        done = ledger.execute(program)
        assert done.status == "failed"
        assert "6 of 4 is spent" in str(done.error)
