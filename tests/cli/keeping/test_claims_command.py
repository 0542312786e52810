"""`muniment claims`: no try is left out, and every verdict stands beside its claim."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from forge import Forge
from muniment import Run
from muniment.ledger import Ledger
from muniment_plugins.harness import (
    Claim,
    Experiment,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    metamorphic,
    run_metamorphic_tests,
    specify_claim,
)

PERM = {"name": "perm", "transform": "permute_rows", "metric": "total"}
RIGHT = "def fit_and_eval(data): return {'total': sum(data)}"
WRONG = "def fit_and_eval(data): return {'total': data[0] + sum(data)}"
FAILS = "def fit_and_eval(data): return {'total': 1 / 0}"


def rows(ctx: Any) -> list[int]:
    """Return different data for each seed."""
    return [ctx["seed"] % 97, ctx["seed"] % 89, 1]


def experiment(
    code: str,
    claim: str = "sum",
    text: str = "any order",
    name: str = "e",
    source: Any = rows,
) -> Any:
    """Return an experiment that claims *text*."""
    return (
        Experiment.builder(name)
        .datasource(source)
        .add_step(specify_claim(claim=Claim(claim, text)))
        .add_step(generate_spec(spec=Spec(properties=[PERM])))
        .add_step(bounded_synthesis(code=code))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests())
        .hypothesis("m", verifier=metamorphic)
        .build()
    )


def states(run: Run) -> None:
    """State a claim without an experiment, twice."""
    for text in ("plain", "plain"):
        run.record("claim.stated", {"id": "by hand", "text": text})


@pytest.fixture
def tried(work: Path) -> list[str]:
    """Try a claim four times, the last under other words; return the ids of its runs."""
    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        experiment(RIGHT, claim="other", name="f").register(ledger=ledger)
        for code in (WRONG, RIGHT, FAILS):
            experiment(code).run(replicates=1, ledger=ledger)
        experiment(RIGHT, text="most orders").run(replicates=1, ledger=ledger)
        ledger.execute(states)
        started = ledger.events(type="run.started")
        return [str(one.run) for one in started if one.raw["name"] == "e"]


def test_every_try_is_counted_with_what_came_of_it(
    shell: Any, tried: list[str]
) -> None:
    """Refuted, failed and reworded runs stand beside those that hold."""
    claims = {one["claim"]: one for one in shell("claims", "--json").json}

    assert [*claims] == ["other", "sum", "by hand"]
    told = claims["sum"]
    assert told["texts"] == ["any order", "most orders"]
    assert [one["run"] for one in told["runs"]] == tried
    assert [one["number"] for one in told["runs"]] == [1, 2, 3, 4]
    assert [one["status"] for one in told["runs"]].count("failed") <= 1
    verdicts = [one["verdicts"] for one in told["runs"]]
    assert [(one["passed"], one["judged"]) for (one,) in verdicts] == [
        (False, True),
        (True, True),
        (None, False),
        (True, True),
    ]
    (last,) = verdicts[-1]
    assert last["integrity"] == "changed_claim"
    assert (claims["other"]["registrations"], claims["other"]["runs"]) == (1, [])
    (by_hand,) = claims["by hand"]["runs"]
    assert (by_hand["number"], by_hand["verdicts"]) == (None, [])


def test_people_see_it_in_a_line_for_each(shell: Any, tried: list[str]) -> None:
    """One line for a claim; a line for a verdict of one; the older text is told."""
    lines = {one.split()[0]: one for one in shell("claims").out.splitlines()}
    one = shell("claims", "sum").out

    assert lines["sum"].split()[1:5] == ["4", "2", "1", "1"]
    assert "changed claim" in lines["sum"]
    assert lines["sum"].endswith("most orders")
    assert all(run in one for run in tried)
    assert "before, its text was: any order" in one
    assert [word in one for word in ("refuted", "holds", "not judged")] == [True] * 3
    assert "registered  1 time" in shell("claims", "other").out


def test_what_is_not_there_is_named(shell: Any, tried: list[str], work: Path) -> None:
    """A misspelt claim is refused with the nearest; a ledger without any says so."""
    assert tried
    misspelt = shell("claims", "sun")
    with Ledger.create(work / "empty.db"):
        pass
    nothing = shell("claims", "--ledger", "empty.db")

    assert (misspelt.code, misspelt.out) == (2, "")
    assert "[claim/unknown]; did you mean 'sum'?" in misspelt.err
    assert (nothing.code, nothing.out) == (0, "")
    assert "nothing was claimed yet" in nothing.err


RUN = "01M842YZYX2TNYV5CM979Y8N90"
REGISTERED: dict[str, Any] = {
    "experiment": "e",
    "plan": f"sha256:{'0' * 64}",
    "replicates": 1,
    "conditions": ["baseline"],
    "claims": [{"id": "c", "text": "t"}],
    "hypotheses": [{"name": "h", "verifier": {"name": "v", "compares": False}}],
}
FAILED = {"error_type": "E", "message": "m"}
SAID: dict[str, dict[str, Any]] = {
    "experiment.registered": REGISTERED,
    "hypothesis.unjudged": {"hypothesis": "h", **FAILED},
    "replicate.failed": {"replicate": 0, "step": "s", **FAILED},
    "verdict.reached": {"hypothesis": "h", "verifier": "v", "passed": True},
    "claim.stated": {"id": "c", "text": "t", "acceptance": {}},
}
ODD: tuple[Any, ...] = (
    None,
    True,
    -1.5,
    "x",
    [1],
    [[1]],
    [{}],
    {"$nope": 1},
    [{"name": "h"}],
    ...,
)


@pytest.mark.parametrize("kind", SAID)
def test_no_event_keeps_the_other_claims_from_being_read(
    shell: Any, work: Path, kind: str
) -> None:
    """Whatever a writer signs in place of a member, the claim beside it is listed."""
    for number, (name, odd) in enumerate(itertools.product(SAID[kind], ODD)):
        data = {**SAID[kind], name: odd}
        forge = Forge("odd").open()
        forge.append("claim.stated", {"id": "beside", "text": "t"})
        forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
        for one in {"experiment.registered", kind} - {kind}:
            forge.append(one, SAID[one], run=RUN)
        kept = {key: one for key, one in data.items() if one is not ...}
        forge.append(kind, kept, run=RUN, scope="baseline")
        file = forge.write(work / f"{number}.db")
        for line in (("claims",), ("claims", "--json")):
            listed = shell(*line, "--ledger", file)
            assert (listed.code, "beside" in listed.out) == (0, True), (name, odd)


def test_erased_words_are_left_out_and_nothing_else(
    shell: Any, tried: list[str]
) -> None:
    """After an erasure runs and verdicts are as before; why there is none may be gone."""

    def said() -> list[tuple[Any, ...]]:
        names = ("hypothesis", "passed", "judged", "integrity", "denominator")
        (told,) = (one for one in claims() if one["claim"] == "sum")
        runs = [(one["run"], one["number"], one["verdicts"]) for one in told["runs"]]
        return [
            (run, number, *(one[name] for name in names for one in verdicts))
            for run, number, verdicts in runs
        ]

    def claims() -> Any:
        return shell("claims", "--json").json

    before = said()
    for run in tried:
        assert shell("erase", run, "--reason", "asked for").code == 0

    assert [run for run, *_ in before] == tried
    assert said() == before
    assert "was erased" in shell("claims", "--json").out


def judged(passed: object) -> dict[str, object]:
    """Return the data of a verdict."""
    return {"hypothesis": "h", "verifier": "v", "passed": passed, "p_value": 0.01}


@pytest.mark.parametrize(
    "said", [*itertools.permutations([True, False, None]), (True, True)]
)
def test_no_verdict_hides_another(
    shell: Any, work: Path, said: tuple[bool | None, ...]
) -> None:
    """A writer may reach as many as they like about one hypothesis: all are told."""

    def flips(run: Run) -> None:
        run.record("claim.stated", {"id": "c", "text": "t"})
        for one in said:
            run.record("verdict.reached", judged(one))

    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        ledger.execute(flips)
    ((told,),) = [one["runs"] for one in shell("claims", "--json").json]
    line = shell("claims").out.splitlines()[1]
    counts = [said.count(one) for one in (True, False, None)]

    assert tuple(one["passed"] for one in told["verdicts"]) == said
    assert line.split()[2:-1] == [str(one) for one in counts if one]
    assert shell("claims", "c").out.count(" h ") == len(said)


@pytest.mark.parametrize("text", ["any order", "any order " * 1_000])
def test_no_start_of_a_run_of_the_claim_is_lost(
    shell: Any, work: Path, text: str
) -> None:
    """A run that was cut off before it stated anything counts, also once it is erased."""

    def cut_off(ctx: Any) -> list[int]:  # noqa: ARG001 - as a datasource has it
        raise KeyboardInterrupt

    with Ledger.create(work / ".muniment" / "ledger.db") as ledger:
        with pytest.raises(KeyboardInterrupt):
            experiment(RIGHT, text=text, source=cut_off).run(
                replicates=1, ledger=ledger
            )
        experiment(RIGHT, text=text).run(replicates=1, ledger=ledger)
        runs = [str(one.run) for one in ledger.events(type="run.started")]
        ledger.erase(runs[0], reason="asked for")
    (told,) = shell("claims", "--json").json

    assert [one["run"] for one in told["runs"]] == runs
    assert [one["number"] for one in told["runs"]] == [1, 2]


def test_a_run_that_its_series_alone_counts(shell: Any, work: Path) -> None:
    """It ended before it could register anything: it stands before those that came on."""
    key = "experiment.claim/c"
    forge = Forge("series").open()
    prev = None
    for number, run in enumerate((RUN, RUN[:-1] + "1"), 1):
        link = {"count": number} | ({"prev": prev} if prev else {})
        start = {"name": "x", "seed": "0"}
        row = forge.append("run.started", start, run=run, series={key: link})
        prev = row.hash.hex()
    forge.append("claim.stated", {"id": "c", "text": "t"}, run=RUN[:-1] + "1")
    file = forge.write(work / "series.db")
    (told,) = shell("claims", "--json", "--ledger", file).json

    assert [one["number"] for one in told["runs"]] == [1, 2]
