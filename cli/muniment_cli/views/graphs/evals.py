"""The result of an eval on the terminal: a row for each case, then the verdict.

    case     run         verdict  compared  what
    letters  01M8CK783T  failed         23  check.1: the branch is failed, not passed

Rules:

- Of many cases only those that did not pass are shown, and how many did.
- What was not compared is counted: requests of models, and what an older fixture lacks.
- A case of a marked run names the mark, whatever else it says.
- What a case says first is what failed, else why nobody can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muniment_cli.terminal.output import Cell, count, fields, hint, say, table
from muniment_cli.views.event_view import SHORT_RUN

if TYPE_CHECKING:
    from muniment_cli.terminal.fitting import Give

__all__ = ["show_eval"]

Row = dict[str, Any]
_MOST = 50
_GIVES: dict[str, Give] = {"what": "first", "run": "never", "verdict": "never"}
_COLOURS = {"passed": "green", "failed": "red", "cannot_tell": "yellow"}
_CHANGES = {"better": "green", "worse": "red", "undecided": "yellow"}
_UNITS = {"tokens": "", "cost_usd": " USD", "duration_ms": " ms", "stages": ""}


def show_eval(result: Row) -> None:
    """Print the result of a suite, or of two sets of runs."""
    compared = result.get("comparison")
    if compared is not None:
        _show_sets(compared)
    else:
        _show_cases(result["cases"])
        say()
    pairs: list[tuple[str, Cell]] = [
        ("suite", f"{result['suite']}, {result['digest']}")
    ]
    pairs.append(("verdict", _verdict(result)))
    if compared is None:
        counts = f"{result['passed']} passed, {result['failed']} failed"
        if result["cannot_tell"]:
            counts += f", {result['cannot_tell']} cannot tell"
        pairs.append(("cases", counts))
    if result["warnings"]:
        text = count(result["warnings"], "case")
        pairs.append(("warnings", (f"{text} not passed, none blocking", "yellow")))
    if result["verified"]:
        pairs.append(("verified", count(result["verified"], "event")))
    pairs.append(("compared", f"{result['compared']:,}"))
    left_out = _left_out(result["cases"])
    if left_out:
        pairs.append(("not compared", left_out))
    pairs += [
        ("recorded as", result["eval_run_id"]),
    ]
    fields(pairs)
    if result["compared"] == 0:
        hint("nothing was compared: that is no pass")


def _left_out(cases: list[Row]) -> str:
    """Return how much of the runs was not compared, of all *cases* together."""
    found: dict[str, int] = {}
    for one in cases:
        for name, number in one.get("not_compared", {}).items():
            found[name] = found.get(name, 0) + number
    return ", ".join(f"{name}: {number:,}" for name, number in sorted(found.items()))


def _verdict(result: Row) -> Cell:
    word = result["verdict"]
    said, colour = word.replace("_", " "), _COLOURS[word]
    if not result["blocking"]:
        return [
            (said, "yellow"),
            (": no case is blocking, so that nothing could fail", ""),
        ]
    return said, colour


def _show_cases(cases: list[Row]) -> None:
    shown = cases
    if len(cases) > _MOST:
        shown = [one for one in cases if one["verdict"] != "passed"]
    rows: list[list[Cell]] = [
        [
            one["case"],
            one["run_id"][:SHORT_RUN],
            (one["verdict"].replace("_", " "), _COLOURS[one["verdict"]]),
            str(sum(one["compared"].values())),
            _what(one),
        ]
        for one in shown[:_MOST]
    ]
    if rows:
        headings = ["case", "run", "verdict", "compared", "what"]
        table(headings, rows, right=["compared"], gives=_GIVES)
    left = len(shown) - len(rows)
    if left:
        hint(f"{left} more did not pass; --json lists every case")


def _what(case: Row) -> str:
    said = [*case["failures"], *case["undecided"]]
    marks = [] if case["severity"] == "blocking" else [case["severity"]]
    marks += ["unsigned"] if case.get("unsigned") else []
    text = said[0] if said else ""
    if len(said) > 1:
        text += f" (and {len(said) - 1} more)"
    words = {f"marked {one['mark']}" for one in case.get("marks", [])}
    marks += sorted(one for one in words if one not in text)
    head = ", ".join(marks)
    return f"{head}: {text}" if head and text else head or text


def _show_sets(found: Row) -> None:
    changed = [one for one in found["cases"] if one["change"] != "unchanged"]
    rows: list[list[Cell]] = [
        [
            one["case"],
            one["pair"],
            (one["change"], _CHANGES[one["change"]]),
            _rate(one.get("older")),
            _rate(one.get("newer")),
            next(iter(one.get("because", [])), ""),
        ]
        for one in changed[:_MOST]
    ]
    if rows:
        headings = ["case", "input", "change", "older", "newer", "what"]
        table(headings, rows, right=["older", "newer"], gives={"what": "first"})
        say()
    if len(changed) > len(rows):
        hint(f"{len(changed) - len(rows)} more changed; --json lists every case")
    fields(_facts(found))
    say()


def _facts(found: Row) -> list[tuple[str, Cell]]:
    counts = f"{found['better']} better, {found['worse']} worse"
    counts += f", {found['unchanged']} unchanged"
    if found["undecided"]:
        counts += f", {found['undecided']} cannot tell"
    word = found["verdict"]
    pairs: list[tuple[str, Cell]] = [
        ("inputs", f"{found['pairs']}: {counts}"),
    ]
    if found["older_rate"] is not None:
        rates = f"{_rate(found['older_rate'])}, now {_rate(found['newer_rate'])}"
        pairs.append(("passed", rates))
    if found["interval"] is not None:
        low, high = (100 * one for one in found["interval"])
        pairs.append(("difference", f"{low:+.1f} to {high:+.1f} points, at 95 %"))
    if found["p_value"] is not None:
        pairs.append(("p-value", f"{found['p_value']:.3g}, exact, two-sided"))
    pairs.append(("shown", (word, _CHANGES[word])))
    if "because" in found:
        pairs.append(("because", found["because"]))
    if found["unpaired"]:
        pairs.append(("unpaired", (count(len(found["unpaired"]), "run"), "yellow")))
    pairs += [_case(one) for one in found["by_case"] if len(found["by_case"]) > 1]
    pairs += [
        _number(name, one) for name, one in found["numbers"].items() if one["pairs"]
    ]
    return pairs


def _case(said: Row) -> tuple[str, Cell]:
    """Return how one case of the suite changed."""
    text = f"{said['better']} better, {said['worse']} worse"
    text += f", {said['unchanged']} unchanged"
    if "p_adjusted" in said:
        text += f", p {said['p_adjusted']:.3g} among the cases"
    return f"  {said['case']}", text


def _number(name: str, said: Row) -> tuple[str, Cell]:
    text = f"{said['older_mean']:.6g}, now {said['newer_mean']:.6g}{_UNITS[name]}"
    if "change_pct" in said:
        low, high = said["change_pct"]
        text += f" ({low:+.1f} to {high:+.1f} %)"
    if "p_value" in said:
        text += f", p {said['p_value']:.3g}"
    return name.partition("_")[0], text


def _rate(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"
