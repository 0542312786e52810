"""The options that say under which terms a run is judged.

    --accept statistically_bounded --mode bounded --tolerance accuracy=0.01

Rules:

- Without any of them, a run that a policy governed, or whose program is a flow, is judged
  under its own terms, and any other run by the kernel, as ever.
- An option takes the place of the run's own term. For a run without terms ``--accept``
  means the mode ``bounded``: a strict judge accepts nothing that differs.
- An envelope counts under ``statistically_bounded`` alone, and is refused elsewhere.
- Where the plugin ``governance`` may not load, nothing is judged under terms: that is
  *cannot tell*.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from muniment_cli.shell.options import pairs

if TYPE_CHECKING:
    from muniment.ledger import Ledger
    from muniment.replays.report import Mode
    from muniment_plugins.governance.documents.words import Acceptability
    from muniment_plugins.governance.judgement.judge import Judgement
    from muniment_plugins.governance.judgement.terms import Terms

__all__ = ["Acceptance", "accept_options", "can_judge", "mode_option"]

F = TypeVar("F", bound=Callable[..., object])

_PLUGIN = "governance"


def accept_options(function: F) -> F:
    """Add ``--accept`` and the options of its envelope."""
    for option in (
        click.option(
            "--tolerance",
            "tolerances",
            multiple=True,
            metavar="METRIC=NUMBER",
            help="By how much a metric may differ.",
        ),
        click.option(
            "--max-contradiction-delta",
            type=click.IntRange(min=0),
            metavar="NUMBER",
            help="The most contradictions that may be new.",
        ),
        click.option(
            "--min-claim-overlap",
            type=click.FloatRange(0, 1),
            metavar="NUMBER",
            help="The least share of claims that must be found again, from 0 to 1.",
        ),
        click.option(
            "--accept",
            type=click.Choice(
                ["exact_match", "invariant_preserving", "statistically_bounded"]
            ),
            help="What may differ: nothing, contents, or whatever the envelope allows.",
        ),
    ):
        function = option(function)
    return function


def mode_option(text: str) -> Callable[[F], F]:
    """Return what adds ``--mode``, with this *text* as its help."""
    modes = click.Choice(["strict", "bounded", "observational"])
    return click.option("--mode", type=modes, help=text)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What was asked for on the command line."""

    mode: Mode | None = None
    accept: Acceptability | None = None
    min_claim_overlap: float | None = None
    max_contradiction_delta: int | None = None
    tolerances: tuple[str, ...] = ()

    @classmethod
    def taken(cls, options: dict[str, Any]) -> Acceptance:
        """Take its options out of all that click hands over."""
        return cls(*(options.pop(name) for name in cls.__dataclass_fields__))

    @property
    def asked(self) -> bool:
        """Whether somebody asked for the judge of the plugin."""
        return self.accept is not None or bool(self._envelope)

    def terms(self, ledger: Ledger, run: str) -> Terms | None:
        """Return the terms for *run*; None if the kernel's verdict is asked for.

        Raises:
            CannotTellError: terms were asked for, and nothing here can judge by them.
            click.UsageError: the envelope has no effect.

        """
        envelope = self._envelope
        if not can_judge(ledger, asked=self.asked):
            return None
        from muniment_plugins.governance.judgement.application import terms_of
        from muniment_plugins.governance.judgement.terms import Terms

        own = terms_of(ledger, run)
        if own is None and not self.asked:
            return None
        terms = own or Terms("strict" if self.accept is None else "bounded")
        terms = replace(
            terms,
            mode=self.mode or terms.mode,
            acceptability=self.accept or terms.acceptability,
        )
        if envelope and terms.acceptability != "statistically_bounded":
            raise click.UsageError(
                "an envelope counts with --accept statistically_bounded alone; "
                f"these are {terms.acceptability}"
            )
        more = cast("dict[str, float]", envelope.pop("metric_tolerances", {}))
        known = {**terms.metric_tolerances, **more}
        return replace(terms, metric_tolerances=known, **cast("Any", envelope))

    def judged(self, ledger: Ledger, one: str, other: str) -> Judgement | None:
        """Return the judgement on *other* by *one*; None if nothing asks for one.

        Raises:
            CannotTellError: one was asked for, and nothing here can judge.

        """
        terms = self.terms(ledger, one)
        if terms is None:
            return None
        from muniment_plugins.governance.judgement.application import judge_runs

        return judge_runs(ledger, one, other, terms)

    def mode_of(self, terms: Terms | None) -> Mode:
        """Return the mode of a replay under *terms*."""
        return terms.mode if terms is not None else self.mode or "strict"

    @property
    def _envelope(self) -> dict[str, object]:
        """The parts of the envelope that were given."""
        given = {
            "min_claim_overlap": self.min_claim_overlap,
            "max_contradiction_delta": self.max_contradiction_delta,
            "metric_tolerances": dict(
                map(_tolerance, pairs(self.tolerances, "tolerance").items())
            )
            or None,
        }
        return {name: one for name, one in given.items() if one is not None}


def can_judge(ledger: Ledger, *, asked: bool) -> bool:
    """Tell whether the plugin that judges is active.

    Raises:
        CannotTellError: it is not, and somebody asked for it.

    """
    if _PLUGIN in ledger.plugins.versions:
        return True
    if not asked:
        return False
    from muniment.errors import CannotTellError

    raise CannotTellError(
        "the plugin that judges by --accept may not load",
        rule="replay/accept",
        place=f"plugin {_PLUGIN}",
        remedy="allow it in MUNIMENT_PLUGINS",
    )


def _tolerance(pair: tuple[str, str]) -> tuple[str, float]:
    name, text = pair
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise click.UsageError(
            f"--tolerance {name} takes a number from 0, not {text!r}"
        )
    return name, value
