"""Every record that differs from a given one in one thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.replays.account import AccountEnd, AccountEntry
from muniment_plugins.governance.judgement.record import ComparedRun

__all__ = ["SingleChange", "single_changes"]

Data = Mapping[str, JsonValue]


@dataclass(frozen=True)
class SingleChange:
    """A record with one change, and where a judge has to find it."""

    name: str
    run: ComparedRun
    seqs: tuple[int | None, ...]
    """The events of which one is the first that differs; None if the record has none."""
    after: tuple[int | None, ...] = ()
    """The events of which something too many follows one."""
    path: str = ""
    """The field that differs, if a value was changed."""


def single_changes(run: ComparedRun) -> Iterator[SingleChange]:
    """Yield each entry dropped, doubled, moved and changed; and start and end changed."""
    for at, one in enumerate(run.entries):
        alike = _alike(run, at)
        dropped = replace(run, entries=_spliced(run, at, []))
        yield SingleChange(f"drop {one.seq}", dropped, alike)
        doubled = replace(run, entries=_spliced(run, at, [one, replace(one, seq=None)]))
        yield SingleChange(f"double {one.seq}", doubled, (None,), alike)
        yield from _moved(run, at)
        for path, data in _leaves(one.data):
            changed = replace(one, data=cast("Data", data))
            name = f"{one.seq} {path}"
            yield _with(run, name, _spliced(run, at, [changed]), one.seq, path=path)
        yield from _linked(run, at)
        yield from _answers(run, at)
    yield from _ends(run)
    yield from _starts(run)


def _alike(run: ComparedRun, at: int) -> tuple[int | None, ...]:
    """Return the entry at *at*, and its equals with nothing else of its kind between."""
    one = run.entries[at]
    near = [
        other
        for other in run.entries
        if (other.scope, bool(other.kind)) == (one.scope, bool(one.kind))
    ]
    same = [_content(other) == _content(one) for other in near]
    here = first = last = near.index(one)
    while first and same[first - 1]:
        first -= 1
    while last + 1 < len(near) and same[last + 1]:
        last += 1
    assert first <= here <= last
    return tuple(other.seq for other in near[first : last + 1])


def _content(one: AccountEntry) -> tuple[object, ...]:
    return one.type, one.data, one.links, one.outcome, one.answer


def _linked(run: ComparedRun, at: int) -> Iterator[SingleChange]:
    """Yield the fact at *at* about something more, and in a series more."""
    one = run.entries[at]
    for field in () if one.kind else ("subject", "series"):
        more = (*getattr(one.links, field), f"z sha256:{'9' * 64}")
        links = replace(one.links, **{field: more})
        entries = _spliced(run, at, [replace(one, links=links)])
        yield _with(run, f"{one.seq} {field}", entries, one.seq, path=field)


def _answers(run: ComparedRun, at: int) -> Iterator[SingleChange]:
    one = run.entries[at]
    if one.answer is None:
        return
    for path, answer in _leaves(one.answer):
        entries = _spliced(run, at, [replace(one, answer=cast("Data", answer))])
        yield _with(run, f"{one.answered} {path}", entries, one.answered, path=path)
    other = "completed" if one.outcome == "failed" else "failed"
    for outcome, data in ((other, one.answer), (None, None)):
        entries = _spliced(run, at, [replace(one, outcome=outcome, answer=data)])
        yield _with(run, f"{one.answered} {outcome}", entries, one.answered)


def _moved(run: ComparedRun, at: int) -> Iterator[SingleChange]:
    """Yield the fact at *at* after each later fact of its scope that is another."""
    one = run.entries[at]
    passed: list[int | None] = []
    differs = False
    for later in range(at + 1, len(run.entries)):
        other = run.entries[later]
        if one.kind or other.kind or other.scope != one.scope:
            continue
        passed.append(other.seq)
        differs |= _content(one) != _content(other)
        if not differs:
            continue
        entries = [*run.entries[:at], *run.entries[at + 1 : later + 1], one]
        entries += run.entries[later + 1 :]
        moved = replace(run, entries=tuple(entries))
        yield SingleChange(
            f"move {one.seq} behind {other.seq}", moved, (one.seq, *passed)
        )


def _ends(run: ComparedRun) -> Iterator[SingleChange]:
    end = run.end
    if end is None:
        return
    yield SingleChange("no end", replace(run, end=None), (end.seq,))
    for status in ("completed", "failed", "refused"):
        if status != end.status:
            other = replace(run, end=AccountEnd(status, end.data, end.seq))
            yield SingleChange(f"end {status}", other, (end.seq,), path="status")
    for path, data in _leaves(end.data):
        other = replace(run, end=replace(end, data=cast("Data", data)))
        yield SingleChange(f"end {path}", other, (end.seq,), path=path)


def _starts(run: ComparedRun) -> Iterator[SingleChange]:
    for path, params in _leaves(run.params):
        other = replace(run, params=params)
        at = f"params{path}" if path.startswith("[") else f"params.{path}"
        yield SingleChange(at, other, (run.start,), path=at if path else "params")
    other = replace(run, policy="sha256:another")
    yield SingleChange("policy", other, (run.start,), path="policy")


def _with(
    run: ComparedRun,
    name: str,
    entries: tuple[AccountEntry, ...],
    seq: int | None,
    *,
    path: str = "",
) -> SingleChange:
    return SingleChange(name, replace(run, entries=entries), (seq,), path=path)


def _spliced(
    run: ComparedRun, at: int, instead: list[AccountEntry]
) -> tuple[AccountEntry, ...]:
    return (*run.entries[:at], *instead, *run.entries[at + 1 :])


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield the path of each leaf of *value*, and *value* with another one there."""
    if isinstance(value, dict) and value:
        for name, one in value.items():
            for there, other in _leaves(one, f"{path}.{name}" if path else name):
                yield there, {**value, name: other}
    elif isinstance(value, list) and value:
        for at, one in enumerate(value):
            for there, other in _leaves(one, f"{path}[{at}]"):
                yield there, [*value[:at], other, *value[at + 1 :]]
    else:
        yield path, _another(value)


def _another(value: object) -> JsonValue:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}, otherwise" if isinstance(value, str) else "otherwise"
