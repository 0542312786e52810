"""The pictures of what verdicts compare, for the report about a run.

    {"title": …}, {"graph": {"rows": [pairs, mean and interval], "dashed": [bound]}}
    {"say": …}, {"graph": {"rows": [p-value, adjusted], "dashed": [alpha], "log": True}}

Rules:

- A picture is drawn of a verdict that says which metric it compared and in which
  direction. Each pair's difference follows from two events, by the rule ``change`` of
  reports; mean, interval, p-values and alpha are those that the verdict states.
- All of a verdict's measurements are drawn, or it is said that they are not: a picture
  of what is left would be another one.
- Which null a p-value is about depends on the verifier. It is said for ours, and for
  others that it is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard, cast

from muniment.encoding.canonical import parse
from muniment.errors import CannotTellError, ErasedError
from muniment.formats.statement import BlobRef
from muniment.verification.page.quotes import plain
from muniment_plugins.harness.experiment.failures import place_in

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["comparisons", "number_in", "value_at_hand"]

_VERDICTS, _PAIRS, _NAME = 6, 60, 200
_MEASURED = "metrics.measured"
_BETTER, _WITHIN = "min_improvement_pct", "max_change_pct"
_CLAIM_2, _CLAIM_1 = "muniment:meets-claim/2", "muniment:meets-claim/1"
_LARGEST = 1e140
"""No share of numbers up to it, and none of a mean from its inverse on, is infinite."""
Block = dict[str, "JsonValue"]


def comparisons(ledger: Ledger, run: str, size: int) -> Iterator[JsonValue]:
    """Yield the pictures of each verdict of *run* that compared measurements."""
    drawn = 0
    for event in ledger.events(run=run, type="verdict.reached", to_seq=size):
        blocks = [*_Comparison(ledger, run, size, event).blocks()]
        if blocks and drawn == _VERDICTS:
            what = "There are more verdicts than a page should have pictures of."
            yield {"say": what}
            return
        yield from blocks
        drawn += bool(blocks)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A verdict, and what it says of the numbers that it compared."""

    ledger: Ledger
    run: str
    size: int
    event: Event

    def blocks(self) -> Iterator[JsonValue]:
        """Yield title, differences and p-values; nothing if it compared none."""
        result = self._mapping(self.event, "result")
        drawn = [*self._differences(result), *self._chances(result)]
        if drawn:
            scope: Block = {"event": self.event.seq, "head": "/scope"}
            under: list[JsonValue] = [" under ", scope] if self.event.scope else []
            yield {"title": [self._at("hypothesis"), *under]}
            yield from drawn

    def _differences(self, result: Mapping[str, object]) -> Iterator[JsonValue]:
        metric, direction = result.get("metric"), result.get("direction")
        if not isinstance(metric, str) or direction not in ("decrease", "increase"):
            return
        if len(metric) > _NAME or not _is_number(result.get("pct_improvement")):
            return
        pairs = self._pairs(metric)
        if pairs is None:
            what = "What it compared is not all here as pairs of numbers: no pair is drawn."
            yield {"say": what}
            return
        if len(pairs) > _PAIRS:
            yield {"say": "It compared more pairs than a picture should have."}
            return
        yield {
            "say": [
                "How much better ",
                self._at("result", "metric"),
                " is than in the baseline, in percent of its mean there. Better is: ",
                self._at("result", "direction"),
                ".",
            ]
        }
        bounds = [*self._bounds(result)]
        yield {"graph": self._graph(result, pairs, metric, direction, bounds)}
        told: list[JsonValue] = ["The full line is no change"]
        if bounds:
            told += ["; dashed is the claimed bound, ", _bound_of(bounds)]
        yield {"say": [*told, "."]}

    def _graph(
        self,
        result: Mapping[str, object],
        pairs: Sequence[tuple[Event, Event]],
        metric: str,
        direction: object,
        bounds: list[JsonValue],
    ) -> Block:
        base = place_in(pairs[0][0].scope)[0]
        sign = 1 if direction == "decrease" else -1
        points: list[JsonValue] = [
            {
                "rule": "change",
                "of": ",".join(str(one.seq) for one in both[::sign]),
                "run": self.run,
                "type": _MEASURED,
                "scope": base,
                "path": _pointer("metrics", metric),
            }
            for both in pairs
        ]
        name: list[JsonValue] = ["each pair of replicates"]
        if result.get("copies"):
            name += [", ", self._at("result", "copies"), " copies among them"]
        mean: list[JsonValue] = ["mean ", self._at("result", "pct_improvement")]
        summed: Block = {
            "name": mean,
            "points": [self._at("result", "pct_improvement")],
        }
        if _are_numbers(result.get("interval_95")):
            span = self._at("result", "interval_95")
            low, high = (self._at("result", "interval_95", str(n)) for n in (0, 1))
            mean += [", ", {**span, "as": "name"}, " from ", low, " to ", high]
            summed["span"] = span
        return {
            "rows": [{"name": name, "points": points}, summed],
            "full": [{"rule": "zero"}],
            "dashed": bounds,
        }

    def _chances(self, result: Mapping[str, object]) -> Iterator[JsonValue]:
        """Yield the p-values beside the level that they are held against."""
        if not _is_number(self.event.raw.get("p_value")):
            return
        rows: list[JsonValue] = [
            {"name": ["p-value ", self._at("p_value")], "points": [self._at("p_value")]}
        ]
        if _is_number(self.event.raw.get("p_adjusted")):
            name: list[JsonValue] = ["adjusted ", self._at("p_adjusted")]
            if "family" in result:
                name += [" for a family of ", self._at("result", "family")]
            rows.append({"name": name, "points": [self._at("p_adjusted")]})
        if number_in(self.event.raw["p_value"]) == 0:
            said = [
                "Its p-value is ",
                self._at("p_value"),
                ": no power of ten is that.",
            ]
            yield {"say": cast("JsonValue", said)}
            return
        levels: list[JsonValue] = []
        if _is_number(result.get("alpha")):
            levels = [self._at("result", "alpha")]
        told = self._null(result)
        if levels:
            which = " Adjusted, it" if rows[1:] else " It"
            told += [
                f"{which} shows the claim if it is at most ",
                levels[0],
                ", dashed.",
            ]
        yield {"say": [*told, " The scale is one of powers of ten, up to one."]}
        graph: Block = {"rows": rows, "full": [{"rule": "one"}], "dashed": levels}
        yield {"graph": {**graph, "log": True}}

    def _null(self, result: Mapping[str, object]) -> list[JsonValue]:
        """Return what a p-value is about, as far as that is known."""
        verifier, bounds = self.event.raw.get("verifier"), [*self._bounds(result)]
        chance = "How often chance alone would give as much if "
        if verifier == _CLAIM_2 and bounds:
            just = f"{chance}the truth were just the claimed bound, "
            return [just, _bound_of(bounds), "."]
        if verifier == _CLAIM_1:
            none = f"{chance}there were no improvement at all: not the claimed bound."
            return [none]
        return [
            "The p-value is what the verifier ",
            self._at("verifier"),
            " says it is.",
        ]

    def _bounds(self, result: Mapping[str, object]) -> Iterator[JsonValue]:
        """Yield the claimed bound, or both; none if it is open which one is meant."""
        criteria = result.get("criteria")
        judged = cast("Mapping[str, object]", criteria or {})
        if not isinstance(criteria, dict):
            return
        keys = [one for one in (_BETTER, _WITHIN) if one in judged]
        if len(keys) != 1:
            return
        cited = self._claimed(keys[0])
        if cited is None:
            return
        yield cited
        if keys[0] == _WITHIN:
            yield {"rule": "minus", "of": str(cited["event"]), "path": cited["path"]}

    def _claimed(self, key: str) -> Block | None:
        """Return where the bound is stated: by the verifier's settings, or the claim."""
        if _is_number(self._mapping(self.event, "settings").get(key)):
            return self._at("settings", key)
        stated = self.ledger.events(run=self.run, type="claim.stated", to_seq=self.size)
        found: dict[object, int] = {}
        for one in stated:
            if place_in(one.scope)[0] == place_in(self.event.scope)[0]:
                found.setdefault(
                    number_in(self._mapping(one, "acceptance").get(key)), one.seq
                )
        if len(found) != 1 or not all(map(_is_number, found)):
            return (
                None  # none, or several: the verdict does not say which one it judged
            )
        return _at(next(iter(found.values())), "acceptance", key)

    def _pairs(self, metric: str) -> list[tuple[Event, Event]] | None:
        """Return the pairs of measurements; None if one is missing or is no number."""
        scopes = cast(
            "list[str]", value_at_hand(self.ledger, self.event, "inputs") or []
        )
        measured = self._measured(scopes[: 2 * _PAIRS + 2])
        sides: dict[str, dict[int | None, Event]] = {}
        for scope, event in measured.items():
            value = None if event is None else self._number(event, metric)
            if (
                event is None
                or not -_LARGEST < (math.inf if value is None else value) < _LARGEST
            ):
                return None
            condition, number = place_in(scope)
            sides.setdefault(condition, {})[number] = event
        now = sides.pop(place_in(self.event.scope)[0], {})
        if len(sides) != 1 or not now:
            return None
        (before,) = sides.values()
        values = [self._number(one, metric) or 0 for one in before.values()]
        if before.keys() != now.keys() or abs(math.fsum(values)) < 1 / _LARGEST:
            return None
        return [(before[one], now[one]) for one in before]

    def _measured(self, scopes: Sequence[str]) -> dict[str, Event | None]:
        """Return scope → its measurement; None if it has none, or more than one.

        A condition with measurements that the verdict did not read has none, either:
        the mean of all is not the one that it compared with.
        """
        found: dict[str, Event | None] = dict.fromkeys(scopes)
        conditions = {place_in(one)[0] for one in scopes}
        seen: set[str] = set()
        events = self.ledger.events(run=self.run, type=_MEASURED, to_seq=self.size)
        for one in events:
            scope = one.scope or ""
            if place_in(scope)[0] in conditions:
                found[scope] = one if scope in found and scope not in seen else None
                seen.add(scope)
        return found

    def _number(self, event: Event, metric: str) -> float | None:
        value = number_in(self._mapping(event, "metrics").get(metric))
        return float(value) if _is_number(value) else None

    def _mapping(self, event: Event, name: str) -> Mapping[str, object]:
        found = value_at_hand(self.ledger, event, name)
        return found if isinstance(found, dict) else {}

    def _at(self, *names: str) -> Block:
        return _at(self.event.seq, *names)


def value_at_hand(ledger: Ledger, event: Event, name: str) -> JsonValue:
    """Return a member of an event's data as JSON; None if it is not at hand."""
    value = event.raw.get(name)
    if not isinstance(value, dict) or "$blob" not in value:
        return value
    try:
        return parse(ledger.get_blob(BlobRef.from_json(value)))
    except ErasedError:
        return None
    except CannotTellError as error:
        if error.rule not in ("bundle/absent", "bundle/withheld"):
            raise
        return None


def _bound_of(bounds: Sequence[JsonValue]) -> JsonValue:
    """Return the words for one bound, or for one and its opposite."""
    return [bounds[0], " either way" if bounds[1:] else "", " percent"]


def number_in(value: object) -> int | float | None:
    """Return the number that *value* is or stands for; None if it is none."""
    told = plain(cast("JsonValue", value))
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return told


def _is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether *value* is a finite number, or stands for one."""
    number = number_in(value)
    return number is not None and math.isfinite(number)


def _are_numbers(value: object) -> bool:
    both = isinstance(value, list) and len(cast("list[object]", value)) == 2  # noqa: PLR2004 - low, high
    return both and all(map(_is_number, cast("list[object]", value)))


def _at(event: int, *names: str) -> Block:
    return {"event": event, "path": _pointer(*names)}


def _pointer(*names: str) -> str:
    parts = (one.replace("~", "~0").replace("/", "~1") for one in names)
    return "".join(f"/{one}" for one in parts)
