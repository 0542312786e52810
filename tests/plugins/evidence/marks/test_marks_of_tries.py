"""Of several tries of a claim, those that are marked are listed with their marks."""

from __future__ import annotations

import re
from pathlib import Path

from governed_programs import policy
from marked_runs import MARK
from muniment.ledger import Ledger
from muniment_plugins.evidence import check_report, write_bundle
from muniment_plugins.evidence.report.write import report_text
from muniment_plugins.governance.governed import governed
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
from three_verifiers import NEEDS_NODE, verifiers

PERM = {"name": "perm", "transform": "permute_rows", "metric": "total"}
CODE = "def fit_and_eval(data): return {'total': sum(data)}"


def rows(_: object) -> list[int]:
    """Return some data."""
    return [3, 1, 2]


def tried(ledger: Ledger) -> str:
    """Try the claim once more; return the id of the run."""
    experiment = (
        Experiment.builder("e")
        .datasource(rows)
        .add_step(specify_claim(claim=Claim("sum", "any order")))
        .add_step(generate_spec(spec=Spec(properties=[PERM])))
        .add_step(bounded_synthesis(code=CODE))
        .add_step(execute_capsule())
        .add_step(run_metamorphic_tests())
        .hypothesis("m", verifier=metamorphic)
        .build()
    )
    return str(experiment.run(replicates=1, ledger=ledger).run_id)


@NEEDS_NODE
def test_no_verdict_of_another_try_without_its_mark(tmp_path: Path) -> None:
    """The page of a run that nothing marks has an earlier try's mark beside its verdict.

    That is so in a bundle as from the ledger; and the page does not begin with a mark.
    """
    with Ledger.create(tmp_path / "ledger.db", home=tmp_path / "home") as ledger:
        with governed(ledger, policy(mode="unsafe")):
            other = tried(ledger)
        run = tried(ledger)
        ledger.checkpoint()
        (event,) = ledger.events(run=other, type="run.marked")
        written = write_bundle(ledger, run, tmp_path / "b")
        of_ledger = report_text(ledger, run)
        assert check_report(ledger, of_ledger).verdict == "agrees"
    for page in (of_ledger, (tmp_path / "b" / "report.html").read_text()):
        assert "<dt>marked</dt>" not in page
        (row,) = [one for one in page.split("</tr>") if f'"{event.seq}/mark"' in one]
        assert re.search(rf"<data [^>]*>{other}</data>", row)
        assert f">{MARK}</data>" in row
        assert ">holds</data>" in row
    with verifiers(written.root, tmp_path / "nobody") as three:
        codes, said = three.codes(tmp_path / "b")
        assert codes == (0, 0, 0), said
