"""``runs stats`` counts an effect as open while its outcome is unknown, and no longer.

A process that is killed inside an effect leaves a request without an outcome. Once the
effect was performed again, nothing of it is open.
"""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from first_hour import Newcomer
from muniment.formats.statement import Event
from muniment.queries.effect_stats import EffectTally, Tally

DYING = """
import os
import signal
import muniment


def ask(request):
    with open("asked", "a") as file:
        file.write("x")
    if os.path.getsize("asked") <= 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"said": "yes"}


def triage(run):
    run.effect("tool", {"name": "look"}, perform=lambda _: {"seen": 1})
    return run.effect("llm", {"prompt": "?"}, perform=ask)


if __name__ == "__main__":
    with muniment.open(create=True) as ledger:
        ledger.execute(triage)
"""


def stats(newcomer: Newcomer, *more: str) -> dict[str, tuple[int, int, int]]:
    """Return requested, completed and open of each kind."""
    listed = json.loads(newcomer.muniment("runs", "stats", "--json", *more).out)
    return {
        one["kind"]: (one["requested"], one["completed"], one["open"]) for one in listed
    }


@pytest.mark.slow
def test_doubt_is_open_until_it_is_resolved(newcomer: Newcomer) -> None:
    """Killed twice inside one effect, it is one that is open, and none at the end."""
    (newcomer.folder / "triage.py").write_text(DYING)
    assert newcomer.python("triage.py").code < 0
    assert stats(newcomer) == {"llm": (1, 0, 1), "tool": (1, 1, 0)}
    (run,) = json.loads(newcomer.muniment("runs", "--json").out)
    again = ("resume", run["id"])
    assert newcomer.muniment(*again).code < 0
    assert stats(newcomer)["llm"] == (2, 0, 1)
    done = newcomer.muniment(*again)
    assert done.code == 0, done.err
    for more in ((), ("--run", run["id"])):
        assert stats(newcomer, *more) == {"llm": (3, 1, 0), "tool": (1, 1, 0)}


IN_TURN = """
import os
import signal
import muniment


def die_once(file):
    def perform(_):
        if not os.path.exists(file):
            open(file, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"said": file}

    return perform


def triage(run):
    run.effect("llm", {"prompt": "safe"}, perform=die_once("one"))
    return run.effect("tool", {"name": "unsafe"}, perform=die_once("two"))


if __name__ == "__main__":
    with muniment.open(create=True) as ledger:
        ledger.execute(triage)
"""


@pytest.mark.slow
def test_only_the_newest_attempt_is_in_doubt(newcomer: Newcomer) -> None:
    """An effect that was repeated and ended is in doubt no more, wherever it is said.

    `runs explain` lists the other one alone, `runs tree` calls the first attempt
    repeated, and the columns of `runs stats` add up.
    """
    (newcomer.folder / "triage.py").write_text(IN_TURN)
    assert newcomer.python("triage.py").code < 0
    (run,) = json.loads(newcomer.muniment("runs", "--json").out)
    assert newcomer.muniment("resume", run["id"]).code < 0
    refused = newcomer.muniment("resume", run["id"])
    assert refused.code == 4, refused

    said = newcomer.muniment("runs", "explain", run["id"]).out
    assert said.count("it may have happened") == 1, said
    assert "unsafe" in said
    assert "llm" not in said
    tree = json.loads(newcomer.muniment("runs", "tree", run["id"], "--json").out)
    told = [(one["type"], one["status"]) for one in tree["scopes"][""]]
    assert [one for one in told if one[1]] == [
        ("llm.requested", "repeated"),
        ("llm.requested", "completed"),
        ("tool.requested", "open"),
    ]
    for one in json.loads(newcomer.muniment("runs", "stats", "--json").out):
        parts = ("completed", "failed", "open", "repeated")
        assert one["requested"] == sum(one[name] for name in parts), one
    assert "repeated" in newcomer.muniment("runs", "stats").out


places = st.tuples(
    st.sampled_from(["one", "two"]),
    st.sampled_from(["", "a", "a/b"]),
    st.integers(0, 2),
)
steps = st.tuples(places, st.sampled_from(["requested", "completed", "failed"]))


@given(st.lists(steps, max_size=30))
def test_an_effect_is_open_by_its_last_event(
    told: list[tuple[tuple[str, str, int], str]],
) -> None:
    """Whatever was asked and answered, in any order, over all runs and scopes."""
    fold, last = EffectTally(), dict[tuple[str, str, int], str]()
    state = fold.initial()
    for (run, scope, ordinal), verb in told:
        event = SimpleNamespace(
            type=f"llm.{verb}", run=run, scope=scope, ordinal=ordinal, raw={}
        )
        state = fold.apply(state, cast("Event", event))
        last[run, scope, ordinal] = verb
    asked = Counter(verb for _, verb in told)["requested"]
    waiting = Counter(last.values())["requested"]
    assert [one.open for one in fold.view(state)] == ([waiting] if asked else [])
    assert sum(one.requested for one in fold.view(state)) == asked
    sums = fold.view(state)
    assert all(one.repeated >= 0 for one in sums)


NUMBERS = (True, -1, -(1 << 40), 1.5, "7", None, [7], {"$int": "7"})


@pytest.mark.parametrize("odd", NUMBERS)
def test_only_counts_are_added(odd: object) -> None:
    """What is not a count, in a duration or in the usage of tokens, is added nowhere."""
    fold = EffectTally()
    state = fold.initial()
    usage = {"input_tokens": odd, "output_tokens": odd}
    raw = {"duration_us": odd, "about": {"usage": usage}}
    for ordinal, verb in ((1, "requested"), (1, "completed"), (2, "completed")):
        event = SimpleNamespace(
            type=f"llm.{verb}", run="one", scope="", ordinal=ordinal, raw=raw
        )
        state = fold.apply(state, cast("Event", event))
    assert fold.view(state) == (Tally("llm", requested=1, completed=1),)
