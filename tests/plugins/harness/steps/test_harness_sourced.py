"""Functions that are gone: called again from their recorded source, or said."""

from __future__ import annotations

import importlib
import inspect
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muniment.encoding.canonical import sha256_tag
from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.harness import (
    Experiment,
    Result,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.functions.recorded_functions import Sources, recall
from muniment_plugins.harness.functions.recorded_source import Sourced

HEAD = "from collections.abc import Mapping\nfrom muniment_plugins.harness import verifier\n"
SMALL = '''
@verifier
def judge(before: Mapping, now: Mapping[str, list[int]], *, limit: int = 3) -> dict:
    """Judge by a limit."""
    import math
    return {"passed": math.fsum(now["total"]) < limit, "of": {"total": now["total"]}}
'''
OUTSIDE = """
LIMIT = 9

def judge(before, now):
    return {"passed": max(now["total"]) < LIMIT}
"""
ESCAPING = """
def judge(before, now):
    if len(now["total"]) < 2:
        import os
        os.getcwd()
    return {"passed": True}
"""
ASKING = """
def judge(before, now, *, claim, seed):
    return {"passed": claim.id == "c"}
"""


@pytest.fixture
def gone(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Return what runs an experiment with a verifier, and then takes it away."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def run(text: str, **settings: object) -> Result:
        file = tmp_path / "own_judges.py"
        file.write_text(HEAD + text)
        linecache.clearcache()
        importlib.invalidate_caches()
        sys.modules.pop("own_judges", None)
        judge: Any = importlib.import_module("own_judges").judge
        experiment = (
            Experiment.builder()
            .datasource(lambda _: [1, 2])
            .add_step(specify_claim(claim={"id": "c", "text": "t"}))
            .add_step(generate_spec(spec={}))
            .add_step(
                bounded_synthesis(code="def fit_and_eval(d): return {'total': sum(d)}")
            )
            .add_step(execute_capsule())
            .hypothesis("own", verifier=judge(**settings) if settings else judge)
            .build()
        )
        result = experiment.run(ledger=ledger)
        assert result.errors == ()
        file.unlink()
        sys.modules.pop("own_judges")
        return result

    return run


def test_a_recorded_verifier_judges_again(
    ledger: Ledger, gone: Callable[..., Result]
) -> None:
    """Its source runs in the capsule, with its settings, and says the same."""
    result = gone(SMALL, limit=7)
    assert result.metrics.hypotheses[0].passed is True
    report = replay(ledger, result.run_id)
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert report.guards == ("sockets", "subprocesses", "file writes", "signals")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OUTSIDE, "does not run by itself: .*LIMIT"),
        ("judge = verifier(lambda _b, now: {'passed': True})", "cannot be imported"),
    ],
)
def test_what_does_not_stand_by_itself_cannot_be_told(
    ledger: Ledger, gone: Callable[..., Result], text: str, message: str
) -> None:
    """A verdict that needs what is gone is not derived again, and that is said."""
    result = gone(text)
    with pytest.raises(CannotTellError, match=message):
        replay(ledger, result.run_id)


def test_a_recorded_verifier_is_told_the_claim(
    ledger: Ledger, gone: Callable[..., Result]
) -> None:
    """A claim has its members in the capsule, too."""
    report = replay(ledger, gone(ASKING).run_id)
    assert (report.verdict, report.findings) == ("acceptable", ())


def test_recorded_source_stays_in_its_bounds(
    ledger: Ledger, gone: Callable[..., Result]
) -> None:
    """Source from a ledger gets no module that leads out, whoever recorded it."""
    result = gone(ESCAPING)
    with pytest.raises(CannotTellError, match=r"does not run by itself: .*os"):
        replay(ledger, result.run_id)


def test_a_function_is_taken_bare() -> None:
    """Decorators and annotations, whose names may be gone, are left out."""
    left = Sourced.of({"import": "own:judge"}, SMALL)
    assert left is not None
    assert "verifier" not in left.code
    assert "Mapping" not in left.code
    assert left.imports == ("math",)
    assert str(inspect.signature(left)) == "(*, before, now, limit=Ellipsis)"
    for text in ("x = 1", "def f(: pass", "def f(): pass\ndef g(): pass"):
        assert Sourced.of({}, text) is None


STEPS = '''
@pipeline_step
def kept(data, share=1.0):
    """Return a part of the data."""
    return data[: int(len(data) * share)], {"share": share}

def turned(data):
    return data[::-1]

def judge(before, now):
    return {"passed": now["total"] == [6], "pair": (1, {"a": None})}
'''
NEEDY = """
@pipeline_step
def kept(data, ctx):
    return [*data, len(ctx["condition"])]

def turned(data):
    try:
        return type(data)(reversed(data))
    finally:
        pass

def judge(before, now):
    import os.path
    return {"passed": os.path.basename("/a/b") == "b"}
"""


@pytest.fixture
def lost(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Result]:
    """Return what runs an experiment with functions of its own, and takes them away."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def run(text: str) -> Result:
        file = tmp_path / "own_steps.py"
        file.write_text(f"from muniment_plugins.harness import pipeline_step\n{text}")
        linecache.clearcache()
        importlib.invalidate_caches()
        sys.modules.pop("own_steps", None)
        own: Any = importlib.import_module("own_steps")
        turned = {"name": "turned", "transform": "turned", "metric": "total"}
        code = "def fit_and_eval(d): return {'total': sum(d)}"
        experiment = (
            Experiment.builder()
            .datasource(lambda _: [1, 2, 3])
            .add_step(own.kept())
            .add_step(specify_claim(claim={"id": "c", "text": "t"}))
            .add_step(generate_spec(spec={"properties": [turned]}))
            .add_step(bounded_synthesis(code=code))
            .add_step(execute_capsule())
            .add_step(run_metamorphic_tests(transforms={"turned": own.turned}))
            .treatment("own", {"transforms": {"turned": own.turned}})
            .hypothesis("own", verifier=own.judge)
            .build()
        )
        result = experiment.run(ledger=ledger)
        assert result.errors == ()
        file.unlink()
        sys.modules.pop("own_steps")
        return result

    return run


@pytest.mark.parametrize("trust_source", [False, True])
def test_recorded_steps_and_transforms_run_again(
    ledger: Ledger, lost: Callable[[str], Result], trust_source: bool
) -> None:
    """What an experiment called is derived again from source; every type stays."""
    result = lost(STEPS)
    report = replay(ledger, result.run_id, trust_source=trust_source)
    assert (report.verdict, report.findings) == ("acceptable", ())


def test_trusted_source_runs_here(
    ledger: Ledger, lost: Callable[[str], Result]
) -> None:
    """What the capsule cannot hold runs in this process, only where that is said."""
    result = lost(NEEDY)
    with pytest.raises(CannotTellError, match="does not run by itself"):
        replay(ledger, result.run_id)
    report = replay(ledger, result.run_id, trust_source=True)
    assert (report.verdict, report.findings) == ("acceptable", ())


@pytest.mark.parametrize("trusted", [False, True])
def test_another_source_than_the_plan_names_is_not_run(trusted: bool) -> None:
    """A text is taken for the recorded source by its digest, and not by its place."""
    text = "def f(data):\n    return data\n"
    digest = sha256_tag(text.encode())
    described = {"import": "gone:f", "source": digest}
    assert callable(Sources({digest: text}, trusted).recall(described))
    with pytest.raises(CannotTellError, match="gone:f cannot be imported"):
        Sources({digest: text + " "}, trusted).recall(described)


def test_trusted_source_lacks_what_was_around_it(
    ledger: Ledger, gone: Callable[..., Result]
) -> None:
    """A function that stood on names of its module cannot be told, trusted or not."""
    result = gone(OUTSIDE)
    with pytest.raises(CannotTellError, match=r"does not run by itself: .*LIMIT"):
        replay(ledger, result.run_id, trust_source=True)


def test_what_changes_its_type_in_the_capsule_is_no_answer(ledger: Ledger) -> None:
    """An array that would come back as a list is refused, and not compared as one."""
    text = "def f(data):\n    import numpy\n    return numpy.arange(3)\n"
    left = Sourced.of({"import": "own:f"}, text)
    assert left is not None

    def program(_: Run) -> object:
        with pytest.raises(CannotTellError, match="ndarray does not leave the capsule"):
            left([1])
        return left.code

    assert ledger.execute(program).result == left.code


def test_why_a_function_cannot_be_imported_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its import raised is in the message: a module may be there, and broken."""
    file = tmp_path / "broken_judges.py"
    file.write_text("LIMIT = 1 / 0\ndef judge(before, now): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    files = {file.name: sha256_tag(file.read_bytes())}
    with pytest.raises(CannotTellError, match="harness/function") as caught:
        recall({"import": "broken_judges:judge", "files": files})
    assert "(ZeroDivisionError: division by zero)" in caught.value.message
