"""An experiment is the same wherever its functions run, and wherever they come from."""

from __future__ import annotations

import importlib
import linecache
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from muniment.errors import CannotTellError
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_plugins.harness import Result

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "experiments.md"

HEAD = """
from muniment_plugins.harness import *

OUTSIDE = 3

def rows(ctx):
    return [[3, 1], [2, ctx["replicate"]]]
"""
STEPS = {
    "unchanged": """
@pipeline_step
def own(data, ctx):
    assert ctx["claim"].id == "c" and ctx["spec"].allowed_imports == ("math",)
    return ctx["data"], {"seen": len(data) + len(ctx["condition"])}
""",
    "not returned": """
@pipeline_step
def own(data, ctx):
    ctx["data"].clear()
    data[0].append(7)
    return [[3, 1], [2, ctx["replicate"]]]
""",
    "changed in place": """
@pipeline_step
def own(data, ctx):
    data.sort()
    data[0].append(ctx["seed"] % 7)
    return data
""",
    "new": """
@pipeline_step()
def own(data, ctx):
    return [[one, *ctx["settings"]] for row in data for one in row], {"n": len(data)}
""",
    "another type": """
@pipeline_step
def own(data, ctx):
    return tuple(map(tuple, data)), {"same": tuple(data) == data}
""",
}
TAIL = """
def turned(data):
    rows = [*data]
    if type(data) is list:
        data[0] = "changed"
    return rows[::-1] + [[1, 2]]

@verifier
def judged(before, now, *, claim, limit=2):
    now["n_rows"].clear()
    return {"passed": limit < 3, "claim": claim.text, "of": claim.acceptance["is"][0]}

turn = {"name": "turn", "transform": "turned", "metric": "n_rows"}
CODE = "def fit_and_eval(data): return {'n_rows': 2, 'first': str(data[0])}"

experiment = (
    Experiment.builder("own")
    .datasource(rows)
    .initial_ctx({"settings": [5]})
    .add_step(specify_claim(claim=Claim("c", "t", {"is": ["x"]})))
    .add_step(generate_spec(spec=Spec(allowed_imports=["math"], properties=[turn])))
    .add_step(bounded_synthesis(code=CODE))
    .add_step(own())
    .add_step(execute_capsule())
    .add_step(run_metamorphic_tests(transforms={"turned": turned}))
    .treatment("others", {"settings": [6, 7]})
    .hypothesis("judged", verifier=judged)
    .build()
)
"""
EXECUTORS = ("serial", "threads", "processes", "dask", "ray")
PACKAGES = {"dask": "distributed", "ray": "ray"}


class Modules:
    """Writes modules, imports them, and takes them away."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def write(self, text: str, name: str = "own_plan") -> ModuleType:
        """Return the module *name* of *text*."""
        self.remove(name)
        (self.place / f"{name}.py").write_text(text)
        return importlib.import_module(name)

    def remove(self, name: str = "own_plan") -> None:
        """Leave nothing of the module *name*."""
        (self.place / f"{name}.py").unlink(missing_ok=True)
        sys.modules.pop(name, None)
        linecache.clearcache()
        importlib.invalidate_caches()


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Modules]:
    """Return what writes modules that can be imported, here and in workers."""
    place = tmp_path / "modules"
    place.mkdir()
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = Modules(place)
    yield made
    made.remove()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give the test a fresh ledger, with the real capsule."""
    with Ledger.create(tmp_path / "ledger.db") as made:
        yield made


def require_everywhere(
    ledger: Ledger, modules: Modules, run: Callable[[str], Result]
) -> None:
    """Require one digest of all executors, and of all sources in a replay."""
    found = {
        one: run(one)
        for one in EXECUTORS
        if one not in PACKAGES or find_spec(PACKAGES[one]) is not None
    }
    assert found.keys() >= {"serial", "threads", "processes"}
    for result in found.values():
        assert [str(one) for one in result.errors] == []
    digests = {result.result_digest for result in found.values()}
    assert len(digests) == 1

    def replayed(trust_source: bool) -> None:
        for result in found.values():
            report = replay(ledger, result.run_id, trust_source=trust_source)
            assert (report.verdict, report.findings) == ("acceptable", ())
            assert {report.result_digest} == digests

    replayed(trust_source=False)
    modules.remove()
    replayed(trust_source=False)
    replayed(trust_source=True)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_one_digest(ledger: Ledger, modules: Modules, step: str) -> None:
    """Every executor, every kind of step; imported, and left as source alone."""
    plan = modules.write(HEAD + STEPS[step] + TAIL)

    def run(executor: str) -> Result:
        result: Result = plan.experiment.run(
            replicates=2, executor=executor, ledger=ledger
        )
        return result

    require_everywhere(ledger, modules, run)


@pytest.mark.slow
def test_the_experiment_of_the_page(ledger: Ledger, modules: Modules) -> None:
    """The first experiment of the how-to, as a module, has one digest everywhere."""
    page = HOW_TO.read_text().split("```python\n")[1].split("```")[0]
    plan = modules.write(page.split("if __name__")[0])

    def run(executor: str) -> Result:
        result: Result = plan.builder.build().run(
            replicates=3, executor=executor, ledger=ledger
        )
        return result

    require_everywhere(ledger, modules, run)


GONE = {
    "a name around it": """
@pipeline_step
def own(data, ctx):
    return data[:OUTSIDE]
""",
    "a name around it, and no word of it": """
@pipeline_step
def own(data, ctx):
    try:
        return [*data, OUTSIDE]
    except Exception:
        return data
""",
    "a name around it that is suppressed": """
@pipeline_step
def own(data, ctx):
    import contextlib
    with contextlib.suppress(NameError):
        data = [*data, OUTSIDE]
    return data
""",
    "a default from around it": """
@pipeline_step
def own(data, ctx, limit=OUTSIDE):
    return data[:limit]
""",
    "another decorator": """
import functools

def doubled(function):
    return functools.wraps(function)(lambda data, ctx: function(data, ctx) * 2)

@pipeline_step
@doubled
def own(data, ctx):
    return data
""",
}


@pytest.mark.parametrize("trust_source", [False, True])
@pytest.mark.parametrize("step", GONE)
def test_what_stands_on_what_is_gone_cannot_be_told(
    ledger: Ledger, modules: Modules, step: str, trust_source: bool
) -> None:
    """An honest run whose functions are gone is never called unacceptable."""
    plan = modules.write(HEAD + GONE[step] + TAIL)
    result = plan.experiment.run(ledger=ledger)
    assert result.errors == ()
    assert replay(ledger, result.run_id).verdict == "acceptable"
    modules.remove()
    with pytest.raises(CannotTellError, match="cannot be imported"):
        replay(ledger, result.run_id, trust_source=trust_source)
