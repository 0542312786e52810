"""Moves of a goalpost, each played on a ledger, and the integrity that must come of it.

    for move in MOVES:
        assert play(move, ledger) == move.integrity

Rule: each move is a few steps, of which the last is the run whose verdict is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from muniment.ledger import Ledger
from muniment_plugins.harness import (
    Claim,
    Experiment,
    Result,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    run_metamorphic_tests,
    specify_claim,
)

__all__ = ["MOVES", "Move", "Plan", "play", "table"]

CODE = "def fit_and_eval(data): return {'total': sum(data) * 1.0, 'n': len(data) * 1.0}"
OTHER = CODE + "  # better"


def rows(_: object) -> list[float]:
    """Return the same rows always."""
    return [1.0, 2.0, 3.0, 4.0, 5.0]


def edited(_: object) -> list[float]:
    """Return them with one cell changed."""
    return [1.0, 2.0, 3.0, 4.0, 6.0]


def reordered(_: object) -> list[float]:
    """Return them in another order."""
    return [5.0, 1.0, 2.0, 3.0, 4.0]


def cut(_: object) -> list[float]:
    """Return more rows, those among them."""
    return [1.0, 2.0, 3.0, 4.0, 5.0, 90.0]


def fresh(_: object) -> list[float]:
    """Return rows that nobody has seen."""
    return [11.0, 12.5, 13.0, 14.0, 15.5]


def drawn(ctx: Mapping[str, Any]) -> list[float]:
    """Return rows that are drawn by the seed."""
    return [float(ctx["seed"] % (n + 7919)) for n in range(6)]


def half(ctx: Mapping[str, Any]) -> dict[str, object]:
    """Return half of the drawn rows."""
    return {"data": [one / 2 for one in drawn(ctx)]}


@dataclass(frozen=True)
class Plan:
    """What an experiment of these tests is made of."""

    name: str | None = "sum"
    claim: str = "c"
    pct: float = 15.0
    metric: str = "total"
    text: str = "It is better."
    source: Callable[..., object] = drawn
    code: str = CODE
    tolerance: float = 1e-6
    treatments: Mapping[str, object] = field(
        default_factory=lambda: {"a": half, "b": {"code": OTHER}}
    )
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    hypothesis: str = "better"
    context: Mapping[str, object] = field(default_factory=dict[str, object])

    def build(self) -> Experiment:
        """Return the experiment."""
        acceptance = {"metric": self.metric, "min_improvement_pct": self.pct}
        order = {"name": "order", "transform": "permute_rows", "metric": "total"}
        builder = (
            Experiment.builder(self.name)
            .datasource(self.source)
            .initial_ctx(self.context)
            .add_step(specify_claim(claim=Claim(self.claim, self.text, acceptance)))
            .add_step(
                generate_spec(spec=Spec(properties=[{**order, "rtol": self.tolerance}]))
            )
            .add_step(bounded_synthesis(code=self.code))
            .add_step(execute_capsule())
            .add_step(run_metamorphic_tests(permutations=1))
            .treatments(self.treatments)  # type: ignore[arg-type] # mappings and functions
        )
        judge = meets_claim(**self.settings)
        return builder.hypothesis(self.hypothesis, verifier=judge).build()

    def but(self, **changes: Any) -> Plan:
        """Return the plan with *changes*."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Step:
    """One thing that is done: a plan is registered, or run."""

    plan: Plan
    replicates: int = 3
    register: bool = False


@dataclass(frozen=True)
class Move:
    """What somebody does, in words and in steps, and what the last run must be called."""

    words: str
    integrity: str
    steps: Sequence[Step]


P = Plan()
FIXED = Plan(source=rows, treatments={"b": {"code": OTHER}})
WEAK = P.but(pct=1.0)
A, B = {"a": half}, {"b": {"code": OTHER}}


def _run(plan: Plan, replicates: int = 3) -> Step:
    return Step(plan, replicates)


def _register(plan: Plan, replicates: int = 3) -> Step:
    return Step(plan, replicates, register=True)


def _after(words: str, integrity: str, plan: Plan, *more: int) -> Move:
    """Return the move that runs *plan* after a look at the usual one."""
    return Move(words, integrity, [_run(P), _run(plan, *more)])


MOVES = [
    Move("nothing: the first run", "valid", [_run(P)]),
    Move("the same again", "valid", [_run(P), _run(P)]),
    Move("what was registered is run", "valid", [_register(P), _run(P)]),
    Move(
        "another question on data of its own",
        "valid",
        [_run(FIXED), _run(FIXED.but(name="other", claim="d", source=fresh))],
    ),
    Move(
        "two questions are registered, and both are run",
        "valid",
        [
            _register(FIXED),
            _register(FIXED.but(name="other", claim="d")),
            _run(FIXED),
            _run(FIXED.but(name="other", claim="d")),
        ],
    ),
    Move(
        "after a look, other code is registered and run on data that nobody had seen",
        "valid",
        [
            _run(FIXED),
            _register(FIXED.but(code=OTHER, source=fresh)),
            _run(FIXED.but(code=OTHER, source=fresh)),
        ],
    ),
    _after("the threshold is lowered after a look", "changed_claim", WEAK),
    _after("the metric is switched", "changed_claim", P.but(metric="n")),
    _after("the claim's words change", "changed_claim", P.but(text="Not worse.")),
    _after(
        "the direction is turned",
        "changed_claim",
        P.but(settings={"direction": "increase"}),
    ),
    _after("alpha is raised", "changed_claim", P.but(settings={"alpha": 0.2})),
    _after("the hypothesis is renamed", "changed_claim", P.but(hypothesis="good")),
    _after(
        "the claim gets another id, under the same name",
        "changed_claim",
        P.but(claim="d"),
    ),
    _after(
        "the threshold is lowered under another name",
        "changed_claim",
        WEAK.but(name="again"),
    ),
    Move(
        "a weaker claim is registered after a look, and run",
        "changed_claim",
        [_register(P), _run(P), _register(WEAK), _run(WEAK)],
    ),
    Move(
        "a weaker claim than was registered is run",
        "changed_claim",
        [_register(P), _run(WEAK)],
    ),
    Move(
        "a strong and a weak claim are registered, and the weak one is run",
        "several_registrations",
        [_register(P), _register(WEAK), _run(WEAK)],
    ),
    Move(
        "both are registered and run, and the weak one is cited",
        "several_registrations",
        [_register(P), _register(WEAK), _run(P), _run(WEAK)],
    ),
    _after("a property is tested less strictly", "changed_spec", P.but(tolerance=0.1)),
    _after(
        "a treatment is renamed, to draw anew",
        "changed_conditions",
        P.but(treatments={"z": half, **B}),
    ),
    Move(
        "a treatment is renamed against its registration",
        "changed_conditions",
        [_register(P), _run(P.but(treatments={"z": half, **B}))],
    ),
    Move(
        "a treatment is renamed and registered after a look",
        "registered_after_data",
        [
            _run(P),
            _register(P.but(treatments={"z": half, **B})),
            _run(P.but(treatments={"z": half, **B})),
        ],
    ),
    _after(
        "the treatment that failed is dropped",
        "changed_conditions",
        P.but(treatments=A),
    ),
    _after(
        "a treatment changes something else under its name",
        "changed_conditions",
        P.but(treatments={**A, "b": {"code": CODE}}),
    ),
    _after("the context changes", "changed_conditions", P.but(context={"draw": 2})),
    Move(
        "other code than was registered",
        "changed_code",
        [_register(P), _run(P.but(code=OTHER))],
    ),
    Move(
        "other data than was registered is loaded",
        "changed_code",
        [_register(FIXED), _run(FIXED.but(source=fresh))],
    ),
    _after("more replicates, until it passes", "extra_replicates", P, 4),
    _after("fewer replicates, the better ones", "fewer_replicates", P, 2),
    Move(
        "eight are registered and two are run",
        "fewer_replicates",
        [_register(P, 8), _run(P, 2)],
    ),
    Move(
        "two are registered and three are run",
        "extra_replicates",
        [_register(P, 2), _run(P, 3)],
    ),
    _after("other code is tried on the same data", "reused_data", P.but(code=OTHER)),
    _after(
        "the experiment is renamed, and other code tried",
        "reused_data",
        P.but(name="new", code=OTHER),
    ),
    _after(
        "name and claim are renamed, on the same data",
        "reused_data",
        P.but(name="new", claim="d"),
    ),
    Move(
        "one cell of the data is changed, and other code tried",
        "reused_data",
        [_run(FIXED), _run(FIXED.but(source=edited, code=OTHER))],
    ),
    Move(
        "the rows are put in another order",
        "reused_data",
        [_run(FIXED), _run(FIXED.but(source=reordered))],
    ),
    Move(
        "a row is taken away",
        "reused_data",
        [_run(FIXED.but(source=cut)), _run(FIXED)],
    ),
    Move(
        "it is registered when the data had been seen",
        "registered_after_data",
        [_run(P.but(code=OTHER)), _register(P), _run(P)],
    ),
]


def play(move: Move, ledger: Ledger) -> Result:
    """Do the steps of *move*; return what came of the last."""
    result: Result | None = None
    for step in move.steps:
        built = step.plan.build()
        if step.register:
            built.register(replicates=step.replicates, ledger=ledger)
        else:
            result = built.run(replicates=step.replicates, ledger=ledger)
    if result is None:
        raise AssertionError("a move ends with a run")
    return result


def table() -> str:
    """Return the moves as the page shows them."""
    rows = [f"| {one.words} | `{one.integrity}` |\n" for one in MOVES]
    return "".join(["| what is done | `integrity` |\n|---|---|\n", *rows])
