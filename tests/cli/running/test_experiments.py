"""Experiments from the shell: what fails shows in the exit code, and is explained."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muniment_plugins.capsule.machine import machine

MODULE = """
from pathlib import Path

from muniment_plugins.harness import (
    Claim, Experiment, Spec, bounded_synthesis, execute_capsule, generate_spec,
    metamorphic, run_metamorphic_tests, specify_claim,
)

PERM = {"name": "perm", "transform": "permute_rows", "metric": "total"}
RIGHT = "def fit_and_eval(data): return {'total': sum(data)}"


def rows(ctx):
    return [1, 2, 3]


def down(*_):
    if not Path("up").exists():
        raise ConnectionError("no route to host")
    return RIGHT


def misled(*_):
    return {"allowed_import": ["os"]}


def build(spec=None, **how):
    spec = spec or generate_spec(spec=Spec(properties=[PERM]))
    return (
        Experiment.builder("shell")
        .datasource(rows)
        .add_step(specify_claim(claim=Claim("c", "t")))
        .add_step(spec)
        .add_step(bounded_synthesis(**how))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests())
        .hypothesis("m", verifier=metamorphic)
        .build()
    )


fine = build(code=RIGHT)
refused = build(code="import os\\ndef fit_and_eval(data): return {'total': 1}")
crashed = build(code="def fit_and_eval(data): return {'total': 1 / 0}")
wrong = build(code="def fit_and_eval(data): return {'total': data[0]}")
asked = build(llm=down)
greedy = build(code="def fit_and_eval(data): return {'total': len('a' * 10**10)}")
proposed = build(spec=generate_spec(llm=misled), code=RIGHT)
"""

FUSSY = """
from muniment_plugins.harness import pipeline_step


@pipeline_step
def choosy(data, ctx):
    raise ValueError("too odd")


def misreads(baseline, now):
    return {"passed": now["totl"]}


def again():
    return Experiment.builder("placed").datasource(rows).pipeline(fine.program.pipeline)


fussy = again().add_step(choosy()).build()
doubtful = again().hypothesis("h", verifier=misreads).build()
"""

_numbers = itertools.count()

Run = Callable[[str], tuple[int, str]]


@pytest.fixture
def run(shell: Any, work: Path) -> Run:
    """Return what runs an experiment of the module; exit code and explanation."""
    assert shell("init").code == 0
    module = f"experiments_{next(_numbers)}.py"
    (work / module).write_text(MODULE)

    def call(name: str) -> tuple[int, str]:
        ran = shell("run", f"{module}:{name}", "--json")
        explained = shell("runs", "explain", ran.json["run"])
        assert explained.code == 0
        return ran.code, explained.out

    return call


def test_what_went_well_exits_0(run: Run) -> None:
    """A whole experiment whose verdicts hold is a success."""
    code, said = run("fine")
    assert code == 0
    assert "the program returned" in said


def test_a_verdict_is_shown_with_what_held_the_code(shell: Any, work: Path) -> None:
    """The level of isolation stands beside the verdicts, for people and as JSON."""
    assert shell("init").code == 0
    (work / "held.py").write_text(MODULE)
    ran = shell("run", "held.py:fine")
    level = machine().level
    assert f"1 reached, 0 failed; code held at {level}" in " ".join(ran.out.split())
    told = shell("run", "held.py:fine", "--json").json["verdicts"]
    assert told == {"reached": 1, "failed": 0, "levels": [level]}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "refused",
            [
                "replicate.failed, event",
                "Import not allowed: os, line 1 [capsule/import]",
                "prints it",
            ],
        ),
        (
            "crashed",
            ["ZeroDivisionError: division by zero", "read the message and the line"],
        ),
        (
            "proposed",
            ["spec.refused, event", "allowed_import means nothing here", "known: "],
        ),
        ("wrong", ["1 of 1 verdicts failed", "m of baseline", "metamorphic_ok"]),
        (
            "asked",
            [
                "failed with  ConnectionError: no route to host",
                "muniment resume",
                "performs what failed again",
            ],
        ),
        (
            "greedy",
            [
                "CodeStopped: MemoryError: the memory is used up",
                "[capsule/memory]; raise mem_mb, or hold less at a time",
            ],
        ),
    ],
)
def test_what_went_wrong_exits_1_and_is_explained(
    run: Run, name: str, parts: list[str]
) -> None:
    """Refused code, a crash, a refused spec, a refuted claim, a model that is down."""
    code, said = run(name)
    assert code == 1
    for part in parts:
        assert part in said, said


def test_each_failure_is_said_with_its_place(shell: Any, work: Path) -> None:
    """The function that broke is named; in JSON no fact takes another's place."""
    assert shell("init").code == 0
    (work / "placed.py").write_text(MODULE + FUSSY)
    run = shell("run", "placed.py:fussy", "--json").json["run"]
    said = shell("runs", "explain", run).out
    assert "baseline/replicate/0, choosy: too odd" in said
    run = shell("run", "placed.py:doubtful", "--json").json["run"]
    said = shell("runs", "explain", run).out
    assert "baseline, hypothesis h: no metric is called 'totl'" in said
    run = shell("run", "placed.py:asked", "-p", "replicates=2", "--json").json["run"]
    facts = shell("runs", "explain", run, "--json").json["facts"]
    assert "replicate/0" in facts["effect"]
    assert "replicate/1" in facts["effect 2"]
    assert facts["failed with"] == facts["failed with 2"]


def test_a_resume_that_lacks_a_function_leaves_the_run_as_it_was(
    shell: Any, work: Path
) -> None:
    """What cannot be imported is said with exit code 3, and the run replays on."""
    assert shell("init").code == 0
    text = MODULE.replace("def rows(ctx):", "rows = lambda ctx: (\n", 1)
    text = text.replace("    return [1, 2, 3]\n", "    [1, 2, 3]\n)\n", 1)
    (work / "lost.py").write_text(text)
    run = shell("run", "lost.py:asked", "--json").json["run"]
    refused = shell("resume", run)
    assert (refused.code, refused.out) == (3, "")
    assert "[harness/function]" in refused.err
    assert "--program FILE:NAME" in refused.err
    assert shell("replay", run).code == 0
    (work / "up").touch()
    assert shell("resume", run, "--program", "lost.py:asked").code == 0


def test_the_advice_works(run: Run, shell: Any, work: Path) -> None:
    """``muniment resume``, as it was advised, goes on once the model is there again."""
    _, said = run("asked")
    (line,) = (one for one in said.splitlines() if "muniment resume" in one)
    command = line.split("  ")[1].split()[1:]
    assert shell(*command).code == 1
    (work / "up").touch()
    assert shell(*command).code == 0


def test_people_see_conditions_hypotheses_and_what_failed(
    shell: Any, work: Path
) -> None:
    """No raw JSON: replicates and means, a verdict per condition, the failures."""
    assert shell("init").code == 0
    (work / "seen.py").write_text(MODULE)
    fine = shell("run", "seen.py:fine", "-p", "replicates=2")
    lines = [" ".join(line.split()) for line in fine.out.splitlines()]
    assert "condition replicates mean total mean perm_pass" in lines
    assert "baseline 2 of 2 6 1" in lines
    assert "m baseline holds" in lines
    assert "{" not in fine.out
    down = shell("run", "seen.py:asked", "-p", "replicates=2")
    said = " ".join(down.out.split())
    assert down.code == 1
    assert "baseline 0 of 2" in said
    assert "m baseline not judged" in said
    assert "0 reached, 0 failed, 1 not judged" in said
    assert "(2 replicates: 0, 1): ConnectionError: no route to host" in said
    assert "muniment runs explain" in down.err


def test_every_verdict_that_is_missing_is_counted(shell: Any, work: Path) -> None:
    """A condition that broke has no verdicts: each is a row, in the plan's order."""
    assert shell("init").code == 0
    (work / "missing.py").write_text(MODULE + HALF)
    done = shell("run", "missing.py:half", "-p", "replicates=2", "--json").json
    assert done["verdicts"]["reached"] == 3
    pairs = [(a["hypothesis"], a["condition"], a["judged"]) for a in done["hypotheses"]]
    assert pairs == [
        ("better", "broken", False),
        ("better", "sorted", True),
        ("m", "baseline", True),
        ("m", "broken", False),
        ("m", "sorted", True),
    ]
    conditions = [one["condition"] for one in done["conditions"]]
    assert conditions == ["baseline", "broken", "sorted"]
    people = shell("run", "missing.py:half", "-p", "replicates=2", "-p", THREADS)
    lines = [" ".join(line.split()) for line in people.out.splitlines()]
    assert "verdicts 3 reached, 0 failed, 2 not judged" in "\n".join(lines)
    assert "better broken not judged" in lines
    assert lines.index("broken 0 of 2") == lines.index("baseline 2 of 2 6 1") + 1


def test_a_file_that_raises_its_failures_shows_them(shell: Any, work: Path) -> None:
    """``raise_for_errors()`` in a script is the run's failure, and no broken import."""
    assert shell("init").code == 0
    own = "\n\nresult = refused.run(replicates=2)\nresult.raise_for_errors()\n"
    (work / "raising.py").write_text(MODULE + own)
    done = shell("run", "raising.py")
    assert done.code == 1
    assert "m baseline not judged" in " ".join(done.out.split())
    assert "(2 replicates: 0, 1): BoundedExecutionError" in done.out
    (work / "breaking.py").write_text(f"{MODULE}{own}\n".replace("result.r", "resul.r"))
    broken = shell("run", "breaking.py")
    assert broken.code == 3
    assert "importing it fails: NameError" in broken.err


def test_the_hypothesis_that_failed_is_named(shell: Any, work: Path) -> None:
    """The exit code is 1 for a reason, which people read and machines get."""
    assert shell("init").code == 0
    (work / "named.py").write_text(MODULE)
    done = shell("run", "named.py:wrong")
    assert done.code == 1
    said = " ".join(done.out.split())
    assert "refuted m (baseline)" in said
    assert "m baseline refuted" in said
    told = shell("run", "named.py:wrong", "--json").json
    assert told["reason"] == "refuted: m (baseline)"
    (verdict,) = told["hypotheses"]
    assert (verdict["hypothesis"], verdict["condition"]) == ("m", "baseline")
    assert (verdict["passed"], verdict["judged"]) == (False, True)
    assert told["conditions"][0]["means"]["total"] in (1, 2, 3)
    assert shell("run", "named.py:fine", "--json").json["reason"] is None


COMPARED = """
from muniment_plugins.harness import meets_claim

SORTED = "def fit_and_eval(data): return {'error': 1.0 + data[0] / 10}"
RAW = "def fit_and_eval(data): return {'error': 4.0 + data[0] / 10}"
compared = (
    Experiment.builder("compared")
    .datasource(lambda ctx: [ctx["replicate"]])
    .add_step(specify_claim(claim=Claim("c", "t", {"min_improvement_pct": 15})))
    .add_step(generate_spec(spec=Spec()))
    .add_step(bounded_synthesis(code=RAW))
    .add_step(execute_capsule())
    .treatment("sorted", {"code": SORTED})
    .hypothesis("better", verifier=meets_claim)
    .build()
)
"""


HALF = """
from muniment_plugins.harness import meets_claim

half = (
    Experiment.builder("half")
    .datasource(rows)
    .add_step(specify_claim(claim=Claim("c", "t", {"metric": "total", "min_value": 1})))
    .add_step(generate_spec(spec=Spec(properties=[PERM])))
    .add_step(bounded_synthesis(code=RIGHT))
    .add_step(execute_capsule())
    .add_step(run_metamorphic_tests(permutations=1))
    .treatment("broken", {"code": "import os"})
    .treatment("sorted", {"code": RIGHT.replace("data)}", "sorted(data))}")})
    .hypothesis("better", verifier=meets_claim)
    .hypothesis("m", verifier=metamorphic)
    .build()
)
"""
THREADS = "executor=threads"


def test_p_value_and_interval_stand_beside_the_verdict(shell: Any, work: Path) -> None:
    """What a comparison measured is a column of its own, and a member of the JSON."""
    assert shell("init").code == 0
    (work / "compared.py").write_text(MODULE + COMPARED)
    done = shell("run", "compared.py:compared", "-p", "replicates=6")
    assert done.code == 0
    columns = " ".join(done.out.split())
    assert "hypothesis condition verdict p-value improvement 95 % interval" in columns
    told = shell("run", "compared.py:compared", "-p", "replicates=6", "--json").json
    (better,) = told["hypotheses"]
    assert 0 < better["p_value"] < 0.1
    low, high = better["interval_95"]
    assert low <= better["improvement_pct"] <= high


def test_what_could_not_be_judged_is_no_success(shell: Any, work: Path) -> None:
    """A hypothesis that the replicates cannot decide exits with 3, and says why."""
    assert shell("init").code == 0
    (work / "few.py").write_text(MODULE + COMPARED)
    done = shell("run", "few.py:compared", "-p", "replicates=2", "--json")
    (left,) = done.json["hypotheses"]
    assert (left["passed"], bool(left["why"])) == (None, True)
    assert (done.code, done.json["ok"]) == (3, False)
    assert done.json["reason"] == "undecided: better (sorted)"


NOT_FINITE = """
ALL = "def fit_and_eval(data): return {'m': 1, 'n': nan, 'i': inf, 'b': 1e308}"
ALL = ALL.replace("nan", "float('nan')").replace("inf", "float('inf')")
wild = (
    Experiment.builder("wild")
    .datasource(rows)
    .add_step(specify_claim(claim=Claim("c", "t")))
    .add_step(generate_spec(spec=Spec(allow_non_finite=True)))
    .add_step(bounded_synthesis(code=ALL))
    .add_step(execute_capsule())
    .build()
)
"""


def test_metrics_that_are_not_finite_are_shown(shell: Any, work: Path) -> None:
    """A mean that is NaN or infinite is no reason to leave the metric out."""
    assert shell("init").code == 0
    (work / "wild.py").write_text(f"{MODULE}{NOT_FINITE}")
    done = shell("run", "wild.py:wild", "-p", "replicates=2")
    table = [one for one in done.out.splitlines() if one.startswith(("cond", "base"))]
    assert table[0].split()[2:] == ["mean", "m", "mean", "b", "mean", "n", "mean", "i"]
    assert table[1].split()[4:] == ["1", "1e+308", *["not", "finite"] * 2]
    told = shell("run", "wild.py:wild", "-p", "replicates=2", "--json").json
    (measured,) = told["conditions"]
    assert measured["means"] == {"m": 1.0, "b": 1e308}
    assert measured["not_finite"] == ["n", "i"]
