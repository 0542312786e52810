"""Which runs the cases of a suite are about.

    bound_cases(ledger, suite, ["01JD3Z", "prompt=new"], against=["prompt=old"])

Rules:

- A case that names a run is about that one; one that names none is about each run that is
  given, by its id, or by a label that it has.
- Runs that nothing is held to, and cases without a run, are refused: an eval that looks at
  nothing passes nothing.
- A label means the runs that have it, the oldest first, and ``last`` the newest run of a
  graph; calls and replays aside. A fork has the labels of its origin, whatever it was given
  instead, so a label does not mean it: it is named by its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from muniment.documents.places import At, near
from muniment.errors import UsageError
from muniment.queries.run_summary import RunSummaries, RunSummary
from muniment.runs.resume import verified_events
from muniment_plugins.evals.documents.suite import FAMILY, EvalSuite
from muniment_plugins.workflow.records.record import walks_graph

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["bound_cases", "graph_run", "require_label", "runs_named"]

Bound = list[dict[str, Any]]
_LAST = re.compile(r"last(?:~(\d{1,9}))?")


def bound_cases(
    ledger: Ledger,
    suite: EvalSuite,
    runs: Sequence[str] = (),
    against: Sequence[str] = (),
) -> Bound:
    """Return the cases of *suite*, each with a run: as the params of an eval have them.

    Raises:
        UsageError: there is no such run, it walks no graph, or nothing is held to it.

    """
    at = At(suite.place, FAMILY)
    given, base = runs_named(ledger, runs), runs_named(ledger, against)
    _require_two_sets(given, base)
    bound: Bound = []
    for number, case in enumerate(suite.cases):
        here = at.key("cases").item(number)
        row: dict[str, Any] = {"case": number}
        if "compare_to" in case:
            row["compare_to"] = _whole(ledger, case["compare_to"], here)
        if "run" in case or "run_path" in case:
            bound.append({**row, **_whole(ledger, case, here)})
            continue
        if not given:
            raise here.key("run").wrong(
                "the case names no run, and none is given",
                "no-run",
                "name one in the case, or behind the suite",
            )
        bound += [{**row, "run": one} for one in given]
        bound += [{**row, "run": one, "against": True} for one in base]
    _require_use(suite, given, base, at)
    return bound


def _require_two_sets(given: Sequence[str], base: Sequence[str]) -> None:
    both = sorted({*given} & {*base})
    if both:
        raise UsageError(
            f"run {both[0]} is on both sides",
            rule="evals/one-side",
            place="--against",
            remedy="a run is no better than itself: name two sets of runs",
        )


def _require_use(
    suite: EvalSuite, given: Sequence[str], base: Sequence[str], at: At
) -> None:
    """Refuse runs that no case is about."""
    named = [one for one in suite.cases if "run" in one or "run_path" in one]
    if (given or base) and len(named) == len(suite.cases):
        raise at.wrong(
            "every case names its run: nothing would be held to those given",
            "unused-run",
            "leave the runs out, or the run of a case",
        )
    if base and named:
        raise at.key("cases").wrong(
            f"case {named[0]['id']!r} names its run, so that there are no two sets",
            "one-side",
            "leave `run` out where two sets are compared",
        )


def _whole(ledger: Ledger, said: dict[str, Any], at: At) -> dict[str, Any]:
    """Return the run that a document names, by its whole id."""
    if "run_path" in said:
        return {"run_path": said["run_path"]}
    try:
        return {"run": graph_run(ledger, said["run"])}
    except UsageError as error:
        raise at.key("run").wrong(error.message, "run", error.remedy) from error


def runs_named(ledger: Ledger, texts: Iterable[str]) -> list[str]:
    """Return the ids of the runs in *texts*: ids, prefixes of ids, or ``LABEL=VALUE``.

    Raises:
        UsageError: there is none of a name, or it walks no graph.

    """
    found: dict[str, None] = {}
    for text in texts:
        if "=" in text:
            found |= dict.fromkeys(_labelled(ledger, text))
        else:
            found[graph_run(ledger, text)] = None
    return [*found]


def graph_run(ledger: Ledger, text: str) -> str:
    """Return the id of the run of a graph that *text* names.

    Raises:
        UsageError: there is none, or it walks no graph.
        WrongError: it walks none, and its events do not verify.

    """
    newest = _LAST.fullmatch(text)
    if newest is not None:
        return _newest(ledger, int(newest[1] or 0), text)
    run = ledger.run_id(text)
    if not walks_graph(ledger, run):
        verified_events(ledger, run)  # its start may say otherwise than it did
        raise UsageError(
            "it walks no graph",
            rule="workflow/run",
            place=f"run {run}",
            remedy="name a run of a graph: evals look at stages",
        )
    return run


def _newest(ledger: Ledger, back: int, text: str) -> str:
    """Return the run of a graph that was started last, or one *back* from it."""
    begun = ledger.events(type="workflow.started", order="desc")
    runs = (str(one.run) for one in begun)
    own = (one for one in runs if _is_own(ledger.project(RunSummaries, run=one)))
    found = next(islice(own, back, None), None)
    if found is None:
        raise UsageError(
            "there is no such run of a graph",
            rule="query/run",
            place=text,
            remedy="`muniment runs` lists those that there are",
        )
    return found


def _is_own(summary: RunSummary) -> bool:
    return not summary.replay_of and not summary.parent


def _labelled(ledger: Ledger, text: str) -> list[str]:
    label, _, value = text.partition("=")
    rows = ledger.runs(labels={label: value})
    found = [
        one.id
        for one in rows
        if _is_own(one) and one.fork is None and walks_graph(ledger, one.id)
    ]
    if not found:
        raise UsageError(
            f"no run of a graph has the label {text}",
            rule="evals/label",
            place=text,
            remedy=_known_labels(ledger, label, value),
        )
    return sorted(found)


def require_label(ledger: Ledger, bound: Bound, label: str) -> None:
    """Refuse to pair runs by a *label* that none of them has.

    Raises:
        UsageError: none has it.

    """
    known: dict[str, None] = {}
    for run in dict.fromkeys(one["run"] for one in bound if "run" in one):
        known |= dict.fromkeys(ledger.project(RunSummaries, run=run).labels)
    if label not in known:
        raise UsageError(
            f"none of the runs has the label {label!r:.60}",
            rule="evals/label",
            place="--pair-by",
            remedy=near(label, known) or "run a graph with `--label KEY=VALUE`",
        )


def _known_labels(ledger: Ledger, label: str, value: str) -> str:
    """Return which labels runs have, the near ones first."""
    known: dict[str, dict[str, None]] = {}
    for summary in ledger.runs(limit=500):
        for name, one in summary.labels.items():
            known.setdefault(name, {})[one] = None
    if label in known:
        return near(f"{label}={value}", [f"{label}={one}" for one in known[label]][:20])
    return near(label, [*known][:20]) or "run a graph with `--label KEY=VALUE`"
