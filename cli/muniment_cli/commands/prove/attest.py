"""``muniment attest``: what a run proves, signed in other people's predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import fields, hint, show_json

if TYPE_CHECKING:
    from muniment_plugins.evidence import Attestation

__all__ = ["command"]

_PREDICATES = ("slsa", "svr", "test-result", "vsa")


@click.command(
    epilog=examples(
        "muniment attest 01JD3 --predicate test-result",
        "muniment attest 01JD3 --predicate svr --predicate slsa",
        "muniment export 01JD3 --format in-toto -o run.intoto.jsonl",
    )
)
@click.argument("run", metavar="RUN", shell_complete=complete_runs)
@click.option(
    "--predicate",
    "predicates",
    type=click.Choice(_PREDICATES),
    multiple=True,
    required=True,
    help="in-toto's test result or simple verification result, SLSA's provenance or "
    "verification summary; may be repeated.",
)
@json_option
@pass_session
def command(
    session: Session, run: str, predicates: tuple[str, ...], *, as_json: bool
) -> int:
    """Sign what the record of RUN proves, as statements that in-toto's tools read.

    The record is verified first, and a statement says no more than it: what is not there
    is refused. The ledger gets an event, in no run, for each; one that was issued before,
    and is still true, is found again. `muniment export RUN --format in-toto` writes them.
    """
    from muniment_plugins.evidence import attest

    with session.open(write=True) as ledger:
        chosen = ledger.run_id(run)
        issued = attest(ledger, chosen, predicates)
    if as_json:
        show_json({"run": chosen, "statements": [_document(one) for one in issued]})
        return 0
    for one in issued:
        fields(
            [
                ("statement", f"{one.kind}: {one.result or 'provenance'}"),
                *(("about", f"{name} {digest}") for name, digest in one.subjects),
                ("event", str(one.event.seq)),
                ("rests on", one.coverage),
            ]
        )
    hint("\nTo write them:", f"muniment export {chosen} --format in-toto")
    return 0


def _document(one: Attestation) -> dict[str, object]:
    return {
        "coverage": one.coverage,
        "event": one.event.seq,
        "predicate": one.kind,
        "predicate_type": one.statement["predicateType"],
        "result": one.result or None,
        "subjects": [{"digest": digest, "name": name} for name, digest in one.subjects],
    }
