"""A study that is tried twenty times, and lucky once."""

from __future__ import annotations

from pathlib import Path

from muniment import verify_bundle
from muniment.ledger import Ledger
from muniment.runs.run import Run
from muniment.verification.report import Report
from standalone_program import exit_code_of

__all__ = ["RUNS", "Study", "best", "judged", "rules", "tried"]

RUNS, BEST = 20, 7


class Study:
    """A program that says its series, as experiments do."""

    name = "study"

    def __call__(self, run: Run, number: int = 0) -> bool:
        """State a claim, fail now and then, and be lucky once."""
        run.record("claim.stated", {"id": "c1", "text": "the new way is better"})
        if number % 5 == 4:
            raise ValueError("it broke")
        verdict = {"hypothesis": "h", "verifier": "v", "passed": number == BEST}
        run.record("verdict.reached", verdict)
        return number == BEST

    def series_of_run(self, _: object) -> tuple[str, ...]:
        """Count the runs of the claim, and those on the data."""
        return ("experiment.claim/c1", "experiment.data/d")


def tried(ledger: Ledger, runs: int = RUNS, first: int = 0) -> list[str]:
    """Run the study; return all its runs."""
    for number in range(first, first + runs):
        try:
            ledger.execute(Study(), params={"number": number})
        except ValueError:
            continue
    return [str(one.run) for one in ledger.events(type="run.started")]


def best(ledger: Ledger) -> str:
    """Return the run that somebody would like to publish."""
    starts = list(ledger.events(type="run.started"))
    return str(starts[BEST].run)


def judged(folder: Path, root: str) -> Report:
    """Verify a bundle; the standalone verifier gives the same exit code."""
    report = verify_bundle(folder, keys=[root], home=folder.parent / "nobody")
    code, said = exit_code_of(folder, root)
    assert code == report.exit_code, (said, str(report))
    return report


def rules(report: Report) -> set[str]:
    """Return the rules that broke."""
    return {one.rule for one in report.findings}
