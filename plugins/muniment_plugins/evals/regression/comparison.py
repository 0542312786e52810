"""Two sets of runs of one suite, paired by case: what got better, worse, or stayed.

    {"verdict": "undecided", "better": 3, "worse": 1, "unchanged": 8, "p_value": 0.625, …}

Rules:

- A pair is an input: runs that have the same label (``case=…``), or the same task and the
  same artifacts. A run passes if it passes every blocking case of the suite, or every case
  if none is blocking: cases of one run are not independent, and count once. What only one
  side has is listed, and paired with nothing.
- With one run on each side a pair got better if the newer one passed and the older one
  failed. With several its share of passes counts; the input is one pair all the same, since
  repeats of one input are no inputs.
- Beside that, each case of the suite is told by itself, its p-value adjusted for their
  number (`holm`).
- A pair of which a side cannot be told says nothing. It is counted as undecided; so is one of
  a run that is marked *non_certifiable*, unless it got worse.
- The verdict is ``better`` or ``worse`` only if the exact test shows it. Too few cases that
  differ show nothing, and the reason says how many would be needed; nothing shown is not
  "no difference".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from muniment.encoding.canonical import canonical, sha256_tag
from muniment_plugins.evals.checks.marks import doubts
from muniment_plugins.evals.checks.verdicts import CANNOT_TELL, FAILED, PASSED
from muniment_plugins.evals.regression.paired_statistics import (
    ALPHA,
    change_of,
    least_pairs,
    rate_interval,
    sign_test,
)
from muniment_plugins.evals.views.rows import Row, listed
from muniment_plugins.evals.views.sealed import is_keyed
from muniment_plugins.evals.views.usage import spent, stages_of, tokens_in, unread
from muniment_plugins.harness.statistics.holm import holm

__all__ = ["compared_sets"]

_BAD = (PASSED, CANNOT_TELL, FAILED)
"""Verdicts, from good to bad."""
_SHOWN = 5
"""More reasons of one case say no more."""
_NUMBERS = ("tokens", "cost_usd", "duration_ms", "stages")


def compared_sets(results: list[Row], views: list[Row], pair_by: str) -> Row:
    """Return how the runs that are ``against`` and the others differ, case by case.

    Args:
        results: of cases, some of which are ``against``.
        views: the view of the run of each.
        pair_by: the label that pairs runs.

    """
    sides = _sides(*_whole_runs(results, views), pair_by)
    pairs = [_pair(key, *both) for key, both in sides.items() if all(both)]
    detail = _sides(results, views, pair_by)
    cases = [_pair(key, *both) for key, both in detail.items() if all(both)]
    counts = _counts(pairs)
    better, worse = counts["better"], counts["worse"]
    p_value = sign_test(better, worse)
    told = len(pairs) - counts["undecided"]
    found: Row = {
        "pairs": len(pairs),
        **counts,
        "older_rate": _mean(one["older"] for one in pairs if "older" in one),
        "newer_rate": _mean(one["newer"] for one in pairs if "older" in one),
        "interval": _interval(pairs, better, worse, told),
        "p_value": p_value,
        "alpha": ALPHA,
        "verdict": _verdict(better, worse, p_value),
        "numbers": {name: change_of(_numbers(pairs, name)) for name in _NUMBERS},
        "by_case": _by_case(cases),
        "cases": [
            {name: value for name, value in one.items() if name != "numbers"}
            for one in cases
        ],
        "unpaired": [
            {"pair": key[1], "side": "older" if both[0] else "newer"}
            for key, both in sides.items()
            if not all(both)
        ],
    }
    reason = _why(found)
    return found if reason is None else {**found, "because": reason}


def _whole_runs(results: list[Row], views: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return one result for each run: as bad as the worst of the cases that decide."""
    blocks = any(one["severity"] == "blocking" for one in results)
    runs: dict[str, Row] = {}
    seen: dict[str, Row] = {}
    for one, view in zip(results, views, strict=True):
        run = one["run_id"]
        known = runs.get(run)
        if blocks and one["severity"] != "blocking":
            continue
        seen[run] = view
        if known is None:
            runs[run] = {**one, "case": ""}
            continue
        worst = max(known["verdict"], one["verdict"], key=_BAD.index)
        lists = ("failures", "undecided")
        runs[run] = {
            **known,
            "verdict": worst,
            **{name: [*known[name], *one[name]] for name in lists},
        }
    return [*runs.values()], [seen[run] for run in runs]


def _counts(pairs: list[Row]) -> dict[str, int]:
    of = [one["change"] for one in pairs]
    words = ("better", "worse", "unchanged", "undecided")
    return {word: of.count(word) for word in words}


def _by_case(cases: list[Row]) -> list[Row]:
    """Return how each case of the suite changed, with p-values adjusted by Holm."""
    names = [*dict.fromkeys(one["case"] for one in cases)]
    rows: list[Row] = []
    for name in names:
        counts = _counts([one for one in cases if one["case"] == name])
        p_value = sign_test(counts["better"], counts["worse"])
        rows.append({"case": name, **counts, "p_value": p_value})
    tested = [one for one in rows if one["p_value"] is not None]
    adjusted = holm([one["p_value"] for one in tested], len(rows))
    for one, value in zip(tested, adjusted, strict=True):
        one["p_adjusted"] = value
    return rows


def _sides(
    results: list[Row], views: list[Row], pair_by: str
) -> dict[tuple[str, str], tuple[list[Row], list[Row]]]:
    """Return the older and the newer runs of each case and input."""
    sides: dict[tuple[str, str], tuple[list[Row], list[Row]]] = {}
    for result, view in zip(results, views, strict=True):
        key = (result["case"], _paired_by(view, pair_by))
        both = sides.setdefault(key, ([], []))
        both[0 if "against" in result else 1].append({**result, "view": view})
    return sides


def _paired_by(view: Row, label: str) -> str:
    labels: Mapping[str, str] = view["origin"].get("labels", {})
    if label in labels:
        return f"{label}={labels[label]}"
    contents = (view["task"], *view["given"])
    if None in contents or any(map(is_keyed, contents)):  # it is like no other
        return f"run={view['run']}"
    return sha256_tag(canonical([view["task"], view["given"]]))[:19]


def _pair(key: tuple[str, str], older: list[Row], newer: list[Row]) -> Row:
    case, paired = key
    row: Row = {
        "case": case,
        "pair": paired,
        "severity": (older + newer)[0]["severity"],
        "older_runs": [one["run_id"] for one in older],
        "newer_runs": [one["run_id"] for one in newer],
        "change": "undecided",
        "numbers": {name: _both(older, newer, name) for name in _NUMBERS},
    }
    marks = [mark for one in (*older, *newer) for mark in listed(one, "marks")]
    if marks:
        row["marks"] = marks
    verdicts = {one["verdict"] for one in (*older, *newer)}
    why = [text for one in (*older, *newer) for text in one["undecided"]]
    if CANNOT_TELL in verdicts:
        return {**row, "because": [*dict.fromkeys(why)][:_SHOWN]}
    rates = [_mean(one["verdict"] == PASSED for one in side) for side in (older, newer)]
    change = {-1: "worse", 0: "unchanged", 1: "better"}[_sign(rates)]
    doubtful = bool(doubts(row))
    if doubtful and change != "worse":
        return {**row, "because": [*dict.fromkeys(why)][:_SHOWN]}
    row["older"], row["newer"] = rates
    row["change"] = change
    failures = why if doubtful else []
    failures += [text for one in newer for text in one["failures"]]
    if change == "worse":
        row["because"] = [*dict.fromkeys(failures)][:_SHOWN]
    return row


def _sign(rates: list[Any]) -> int:
    return int(rates[1] > rates[0]) - int(rates[1] < rates[0])


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def _both(older: list[Row], newer: list[Row], name: str) -> tuple[Any, Any]:
    sides = ([_number(one["view"], name) for one in side] for side in (older, newer))
    means = [None if None in one else _mean(one) for one in sides]  # type: ignore[arg-type]  # none is None
    return means[0], means[1]


def _number(view: Row, name: str) -> float | None:
    took = view["duration_us"]
    if name == "duration_ms":
        return None if took is None else took / 1000
    if unread(view):
        return None
    if name == "stages":
        return float(stages_of(view))
    usage = spent(view)
    if name == "tokens":
        known = not usage.get("uncounted_calls")
        return float(tokens_in(usage)) if known else None
    known = "total_cost" in usage and not usage.get("unpriced_calls")
    return float(usage["total_cost"]) if known else None


def _numbers(pairs: list[Row], name: str) -> list[tuple[float, float]]:
    found = (one["numbers"][name] for one in pairs)
    return [both for both in found if None not in both]


def _interval(
    pairs: list[Row], better: int, worse: int, told: int
) -> list[float] | None:
    """Return the interval of the difference of the rates; None with repeated runs."""
    if any(len(one["older_runs"]) + len(one["newer_runs"]) > 2 for one in pairs):  # noqa: PLR2004 - one on each side
        return None
    found = rate_interval(better, worse, told)
    return None if found is None else [*found]


def _verdict(better: int, worse: int, p_value: float | None) -> str:
    if p_value is None or p_value > ALPHA:
        return "undecided"
    return "better" if better > worse else "worse"


def _why(found: Row) -> str | None:
    """Return why nothing is shown."""
    if found["verdict"] != "undecided":
        return None
    if found["pairs"] == found["undecided"] > 0:
        return "of no pair can both sides be told"
    differ, least = found["better"] + found["worse"], least_pairs()
    if not found["pairs"]:
        return "no input has runs on both sides: nothing was compared"
    if not differ:
        return "no input came out otherwise: that shows no change, and rules none out"
    if differ < least:
        return (
            f"{differ} inputs came out otherwise: fewer than {least}, all one way, cannot "
            f"show a change at {ALPHA:g}"
        )
    return (
        f"the p-value {found['p_value']:.3g} is above {ALPHA:g}: chance may explain it"
    )
