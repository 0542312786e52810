"""What one side keeps private is in no difference, whoever compares, and whichever side it is.

Rules: a program states a fact, asks for effects, returns or fails, in a lane; another does
the same with one thing changed. Each of both keeps the lane private or does not. If either
does, neither's contents are told; what is public in both is told as ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest

from judged_runs import judging_plugins
from muniment.errors import EffectFailed
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.replays.diff import contrast
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.governance.documents.words import REPLAY_MODES
from muniment_plugins.governance.judgement.application import judge_runs, judged_replay
from muniment_plugins.governance.judgement.terms import Terms

SAYS = ("fact", "request", "key", "answer", "error", "failure", "result", "subject")


@dataclass(frozen=True)
class Story:
    """Says something in a lane, a secret in one place of it."""

    where: str
    said: str
    private: bool
    __name__ = "story"

    def __call__(self, run: Run) -> object:
        """Say it."""
        if self.private and self.where == "result":
            run.keep_private(everywhere=True)
        with run.scope("a") as lane:
            if self.private:
                lane.keep_private()
            self.say(lane)
        run.record("note.added", {"text": "in public"})
        return self.at("result")

    def at(self, where: str) -> str:
        """Return the secret, if it is there."""
        return self.said if self.where == where else "no secret"

    def say(self, lane: Run) -> None:
        """Say it in the lane."""
        about = [("thing", f"sha256:{self.at('subject').encode().hex():0<64}")]
        lane.record("note.added", {"text": self.at("fact")}, subject=about)
        lane.effect(
            "data", {"q": self.at("request"), self.at("key"): 1}, lambda _: "found"
        )
        lane.effect("dice", {}, lambda _: self.at("answer"))
        if self.where == "error":
            try:
                lane.effect("dice", {}, self.fail)
            except EffectFailed:
                return
        if self.where == "failure":
            raise ValueError(self.said)

    def fail(self, _: object) -> object:
        """Fail with the secret."""
        raise ValueError(self.said)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give a ledger with a kind that a replay performs again."""
    place: Path = tmp_path_factory.mktemp("private") / "ledger.db"
    with Ledger.create(place, plugins=judging_plugins()) as made:
        made.register(EffectKind("dice", source="seeded_rng", reproducible=True))
        yield made


def told(ledger: Ledger, one: str, other: str, again: Story) -> Iterator[str]:
    """Yield everything that is said of two runs, and of a replay of the first."""
    yield json.dumps(contrast(ledger, one, other).to_json())
    for mode in REPLAY_MODES:
        terms = Terms(mode, "exact_match")
        yield json.dumps(judge_runs(ledger, one, other, terms).to_json())
        yield json.dumps(
            judged_replay(ledger, one, terms, program=again).judgement.to_json()
        )
        report = replay(ledger, one, program=again, mode=mode)
        yield str(report)
        yield "\n".join(map(str, report.findings))


@pytest.mark.parametrize(("mine", "theirs"), [*product([False, True], repeat=2)])
@pytest.mark.parametrize("where", SAYS)
def test_neither_side_is_told(
    ledger: Ledger, where: str, mine: bool, theirs: bool
) -> None:
    """Unless both are public; then both are told by whoever shows contents."""
    first = Story(where, "XYZZY1", private=mine)
    second = replace(first, said="XYZZY2", private=theirs)
    runs = [ledger.execute(one).run_id for one in (first, second)]
    for one, other, again in ((0, 1, second), (1, 0, first)):
        said = [*told(ledger, runs[one], runs[other], again)]
        assert all(said)
        hits = [text for text in said if "XYZZY" in text or "58595a5a59" in text]
        if mine or theirs:
            assert hits == []
        else:
            assert len(hits) >= len(REPLAY_MODES)
