"""An experiment that compares two conditions, and the ledger that it ran in.

with shrinking(tmp_path / "ledger.db") as ledger:
html = report_text(ledger, newest_run(ledger))
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from in_process import InProcess
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.evidence import check_report
from muniment_plugins.evidence.report.write import report_text
from muniment_plugins.harness import (
    Experiment,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    meets_claim,
    specify_claim,
)

__all__ = [
    "agreeing_page",
    "compared",
    "comparing",
    "comparing_ledger",
    "newest_run",
    "shrinking",
]

_CODE = "def fit_and_eval(data): return {'size': sum(data), 'n': len(data)}"
_BETTER = {"metric": "size", "min_improvement_pct": 15.0}


def load(ctx: Any) -> list[float]:
    """Return data of its own for each replicate."""
    return [10.0 + ctx["replicate"], 1.0]


def halve(ctx: Any) -> dict[str, object]:
    """Return the half of it, more or less."""
    return {"data": [one / 2 + ctx["replicate"] / 7 for one in load(ctx)]}


def comparing(
    acceptance: dict[str, object] | None = None,
    judge: Any = meets_claim,
    data: Any = load,
    treatment: Any = halve,
) -> Experiment:
    """Return an experiment with a treatment."""
    claim = {"id": "shrink", "text": "It shrinks", "acceptance": acceptance or _BETTER}
    return (
        Experiment.builder("shrinking")
        .datasource(data)
        .add_step(specify_claim(claim=claim))
        .add_step(generate_spec(spec=Spec()))
        .add_step(bounded_synthesis(code=_CODE))
        .add_step(execute_capsule())
        .treatment("halved", treatment)
        .hypothesis("smaller", verifier=judge)
        .build()
    )


def comparing_ledger(place: Path, home: Path | None = None) -> Ledger:
    """Create a ledger with the harness, and the plugin that writes reports."""
    extra = {"in-process": InProcess()}
    plugins = Plugins(["evidence", "executors", "harness"], extra)
    return Ledger.create(place, home=home, plugins=plugins)


def newest_run(ledger: Ledger) -> str:
    """Return the id of the run that started last."""
    (started,) = ledger.events(type="run.started", order="desc", limit=1)
    return str(started.run)


@contextmanager
def shrinking(place: Path) -> Iterator[Ledger]:
    """Lend a ledger with one run of six replicates."""
    with comparing_ledger(place) as ledger:
        comparing().run(replicates=6, ledger=ledger)
        yield ledger


def agreeing_page(ledger: Ledger, suffix: str = ".html") -> str:
    """Return the page about the last run, each citation of which is borne out."""
    page = report_text(ledger, newest_run(ledger), suffix)
    checked = check_report(ledger, page)
    assert (checked.verdict, checked.findings) == ("agrees", ())
    return page


def compared(html: str) -> str:
    """Return the section about what was compared; nothing if there is none."""
    return html.partition("<h2>What was compared</h2>")[2].partition("</section>")[0]
