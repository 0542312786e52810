"""What users are promised: the example, what is blocked, and what helps with errors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.verification.verify import verify
from muniment_plugins.harness import (
    BoundedExecutionError,
    Case,
    Experiment,
    bounded_synthesis,
    execute_capsule,
    run_metamorphic_tests,
)
from refused_programs import BLOCKED, TROUBLE, WIDER

Begun = Callable[..., Case]
Make = Callable[..., Experiment]

EXAMPLE = Path(__file__).parents[4] / "examples" / "guide_example.py"
PRINTED = (
    "{'total': [15, 15, 15], 'mean': [3.0, 3.0, 3.0], "
    "'perm_pass': [True, True, True]}\n"
    "metamorphic: {'baseline': {'metamorphic_ok': True, 'perm_pass': True}}\n"
)
SUM = "def fit_and_eval(data): return {'total': sum(data)}"


def words(head: str) -> str:
    """Return the words of an error in the heading *head*."""
    return head.removeprefix("BoundedExecutionError: ")


def run(begun: Begun, code: str, entrypoint: str | None = None, **spec: Any) -> Case:
    """Synthesize and execute *code* under a spec with these changes."""
    case = bounded_synthesis(code=code, entrypoint=entrypoint)(begun(**spec))
    return execute_capsule()(case)


def test_the_example_prints_what_it_says(tmp_path: Path, home: Path) -> None:
    """As a plain script, from an empty directory, twice; every fact is in the ledger."""
    work = tmp_path / "empty"
    work.mkdir()
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, EXAMPLE],
            cwd=work,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (ran.stdout, ran.stderr) == (PRINTED, "")
    path = work / ".muniment" / "ledger.db"
    assert verify(path, home=home).ok
    with muniment.open(path, readonly=True) as ledger:
        runs = [event.run for event in ledger.events(type="run.started")]
        reports = [replay(ledger, run) for run in runs if run is not None]
    assert [report.verdict for report in reports] == ["acceptable"] * 2
    assert len({report.result_digest for report in reports}) == 1
    bundles = sorted(work.glob("artifacts/*/v*/baseline/evidence/bundle.json"))
    assert [json.loads(one.read_text())["proof"]["run"] for one in bundles] == runs
    assert len(list(work.glob("artifacts/*/v*/baseline/prompts/llm_calls.json"))) == 2


@pytest.mark.parametrize(
    ("code", "message"),
    [pair for programs in BLOCKED.values() for pair in programs.items()],
)
def test_what_is_blocked_is_refused(begun: Begun, code: str, message: str) -> None:
    """Every kind of code that is said to be blocked is, in the words that are said.

    By a narrow spec; of the same a wide one lets four through, and no other.
    """
    with pytest.raises(BoundedExecutionError, match=message):
        bounded_synthesis(code=code)(begun(syntax="narrow"))
    if code in WIDER:
        assert bounded_synthesis(code=code)(begun()).code == code
        return
    with pytest.raises(BoundedExecutionError, match=message):
        bounded_synthesis(code=code)(begun())


def test_four_kinds_of_syntax_are_wider() -> None:
    """What a wide spec lets through is ``global``, ``nonlocal``, ``with`` and ``try``."""
    said = {BLOCKED[kind][one] for kind in BLOCKED for one in WIDER & {*BLOCKED[kind]}}
    words = ("global", "nonlocal", "try", "with")
    assert said == {f"Forbidden syntax: {word}" for word in words}
    assert len(WIDER) == len(words)


@pytest.mark.parametrize("head", TROUBLE)
def test_every_error_has_its_words(begun: Begun, head: str) -> None:
    """Each error that users look up says what they look for."""
    code, changes = TROUBLE[head]
    with pytest.raises(BoundedExecutionError, match=words(head)):
        run(begun, code, **changes)


@pytest.mark.parametrize("head", TROUBLE)
def test_every_error_ends_a_run_with_its_words(
    ledger: Ledger, experiment: Make, head: str
) -> None:
    """In an experiment the error is in the result and in the ledger, and counts."""
    code, changes = TROUBLE[head]
    result = experiment(code, **changes).run(ledger=ledger)
    assert words(head) in result.errors[0].message
    assert (result.ok, result.exit_code, result.status) == (False, 1, "failed")
    assert list(ledger.events(run=result.run_id, type="run.failed"))


def test_what_helps_with_an_import(begun: Begun) -> None:
    """Either the module is added to the spec, or the import is removed."""
    code, _ = TROUBLE["BoundedExecutionError: Import not allowed"]
    assert run(begun, code, allowed_imports=["json"]).metrics == {"total": 6}
    assert run(begun, code.replace("import json\n", "")).metrics == {"total": 6}


def test_what_helps_with_a_call(begun: Begun) -> None:
    """The code is rewritten without it; no import allows it."""
    code, _ = TROUBLE["BoundedExecutionError: Forbidden call"]
    with pytest.raises(BoundedExecutionError, match="Forbidden call: eval"):
        run(begun, code, allowed_imports=["math", "json"])
    assert run(begun, code.replace("eval('1')", "1")).metrics == {"total": 6}


def test_what_helps_with_a_missing_entrypoint(begun: Begun) -> None:
    """Either the function is defined, or ``entrypoint`` names the one that there is."""
    code, _ = TROUBLE["BoundedExecutionError: Entrypoint missing"]
    assert run(begun, code, "run_eval").metrics == {"total": 6}
    assert run(begun, code.replace("run_eval", "fit_and_eval")).metrics == {"total": 6}


def test_what_helps_with_an_async_entrypoint(begun: Begun) -> None:
    """A regular def."""
    code, _ = TROUBLE["BoundedExecutionError: must be a sync function"]
    assert run(begun, code.removeprefix("async ")).metrics == {"total": 6}


@pytest.mark.parametrize("seconds", [1, 0.2])
def test_what_helps_with_a_timeout(begun: Begun, seconds: float) -> None:
    """Either the limit is raised, or the code needs less; fractions count."""
    code, _ = TROUBLE["Execution timeout"]
    limits = {"time_s": seconds, "mem_mb": 256}
    with pytest.raises(BoundedExecutionError, match="Execution timeout"):
        run(begun, code, resources=limits)
    less = code.replace("9**9", "9**2")
    assert run(begun, less, resources=limits).metrics == {"total": 237}
    more = {"time_s": 20, "mem_mb": 256}
    enough = code.replace("9**9", "9**6")
    assert run(begun, enough, resources=more).metrics["total"]


@pytest.mark.parametrize(
    ("code", "prop", "helps"),
    [
        # The property does not hold for this algorithm: another algorithm.
        ("data[0]", {"transform": "permute_rows"}, {"code": "min(data)"}),
        # The tolerance is too tight.
        ("1 + data[0] / 1e4", {"transform": "permute_rows"}, {"tolerance": 0.01}),
        # The transform is affecting the metric unexpectedly: it is another relation.
        (
            "sum(data)",
            {"transform": "duplicate_rows"},
            {"relation": "equivariant"},
        ),
    ],
)
def test_what_helps_with_a_failing_test(
    begun: Begun, code: str, prop: dict[str, object], helps: dict[str, str]
) -> None:
    """The three reasons why a metric changed, and what each is met with."""

    def passes(body: str, **members: object) -> object:
        properties = [{"name": "p", "metric": "total", **prop, **members}]
        program = f"def fit_and_eval(data): return {{'total': {body}}}"
        return run_metamorphic_tests()(
            run(begun, program, properties=properties)
        ).metrics["p_pass"]

    assert passes(code) is False
    better = dict(helps)
    assert passes(better.pop("code", code), **better) is True


def test_a_failing_test_says_why(ledger: Ledger, experiment: Make) -> None:
    """The fact holds both metrics, the difference, the tolerance and the seed."""
    code = "def fit_and_eval(data): return {'total': data[0]}"
    result = experiment(code).run(ledger=ledger)
    (event,) = ledger.events(run=result.run_id, type="property.tested")
    fact = ledger.resolve(event)
    assert (fact["passed"], fact["tolerance"], fact["difference"]) == (False, 1e-6, 4.0)
    details = fact["details"]
    assert isinstance(details, dict)
    assert details["before"] == {"total": 1}
    (reversal, *seeded) = details["cases"]
    assert (reversal["after"], reversal["difference"]) == ({"total": 5}, 4.0)
    assert all(type(one["seed"]) is int for one in seeded)
    assert (details["relation"], details["rtol"]) == ("invariant", 0.0)


def test_a_property_is_known_by_its_name(begun: Begun) -> None:
    """A property ``name`` gives the metric ``name_pass``, of all numbers or of one."""
    properties = [
        {"name": "all", "transform": "permute_rows"},
        {"name": "one", "transform": "permute_rows", "metric": "total"},
    ]
    code = "def fit_and_eval(data): return {'total': sum(data), 'first': data[0]}"
    tested = run_metamorphic_tests()(run(begun, code, properties=properties))
    assert tested.metrics["all_pass"] is False
    assert tested.metrics["one_pass"] is True


def test_only_numbers_are_metrics(ledger: Ledger, experiment: Make) -> None:
    """What the code returns beside numbers is kept as output, and is not a metric."""
    code = "def fit_and_eval(data): return {'total': 15, 'why': 'sum', 'parts': data}"
    result = experiment(code).run(ledger=ledger)
    assert result.metrics.baseline.metrics == {"total": [15], "perm_pass": [True]}
    (event,) = ledger.events(run=result.run_id, type="metrics.measured")
    outputs = ledger.resolve(event)["outputs"]
    assert outputs == {"total": 15, "why": "sum", "parts": [1, 2, 3, 4, 5]}


def test_the_data_is_given_as_it_is(begun: Begun) -> None:
    """The entrypoint gets the raw data, and returns a dictionary of metrics."""
    assert run(begun, SUM).metrics == {"total": 6}
    with pytest.raises(
        BoundedExecutionError, match="returned a value of type list, not a dict"
    ):
        run(begun, "def fit_and_eval(data): return [1]")
    with pytest.raises(
        BoundedExecutionError, match="returned a value of type NoneType, not a dict"
    ):
        run(begun, "def fit_and_eval(data): pass")
