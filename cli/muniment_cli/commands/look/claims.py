"""``muniment claims``: what was claimed, how often it was tried, and what came out.

Rules: a claim is known by its id. Verdicts are counted by what they say, undecided and
missing ones too; a text or a goalpost that was moved is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.terminal.output import hint, show_json

if TYPE_CHECKING:
    from muniment_cli.views.claims import Tried

__all__ = ["command"]


@click.command(
    "claims",
    epilog=examples("muniment claims", "muniment claims sum", "muniment claims --json"),
)
@click.argument("claim", metavar="[CLAIM]", required=False)
@json_option
@pass_session
def command(session: Session, claim: str | None, *, as_json: bool) -> int:
    """List claims: their runs, verdicts and integrity; or all runs of CLAIM."""
    from muniment_cli.views.claims import claims_tried, show_claim, show_claims

    with session.open() as ledger:
        tried = claims_tried(ledger)
        found = tried if claim is None else [_chosen(tried, claim)]
        if as_json:
            show_json([one.to_json() for one in found])
        elif claim is not None:
            show_claim(found[0])
        elif found:
            show_claims(found)
        else:
            hint("nothing was claimed yet: an experiment states its claim")
    return 0


def _chosen(tried: list[Tried], claim: str) -> Tried:
    """Return the claim with the id *claim*."""
    import difflib

    from muniment.errors import UsageError

    known = {one.claim.id: one for one in tried}
    if claim in known:
        return known[claim]
    near = difflib.get_close_matches(claim, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else "`muniment claims` lists them"
    raise UsageError(
        "the ledger has no such claim", rule="claim/unknown", place=claim, remedy=remedy
    )
