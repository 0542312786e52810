r"""Regular expressions of schemas, matched in a bounded number of steps.

    found_in("^(a+)+$", "a" * 28 + "!", steps)      False, after a few hundred steps
    pattern_fault(r"(a)\1")                         'it refers back to a group'

Rules:

- An expression means what `re.search` finds. It is not tried way by way, which may take
  ages: all places that a part of it leads to are followed at once.
- Whoever asks gives the `Steps` that may be taken in all. Their number depends on the
  expression and the text alone, so a replay comes to the same end.
- What refers back to a group, never gives back, or sets flags is refused: no bound is known
  for it, or JSON Schema does not have it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias

__all__ = ["STEPS", "Steps", "StepsTaken", "found_in", "pattern_fault"]

STEPS = 2_000_000
"""How many steps one check may take: less than a few seconds."""
_LONGEST = 10_000
"""Characters of an expression."""
_MOST_GROUPS = 100
"""More may be too deep for the stack, which differs from call to call."""
_parser: Any = importlib.import_module("re._parser")
_REFUSED = {
    "GROUPREF": "it refers back to a group",
    "GROUPREF_EXISTS": "it asks for a group",
    "ATOMIC_GROUP": "it has a group that gives nothing back",
    "POSSESSIVE_REPEAT": "it has a repetition that gives nothing back",
}
_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": lambda one: one.isalnum() or one == "_",
}
_Ends: TypeAlias = set[int]


class StepsTaken(Exception):
    """All steps that a check may take were taken."""


@dataclass(slots=True)
class Steps:
    """How many steps are left."""

    left: int = STEPS

    def take(self, count: int = 1) -> None:
        """Take some.

        Raises:
            StepsTaken: there are not as many left.

        """
        self.left -= max(1, count)
        if self.left < 0:
            raise StepsTaken


@lru_cache(maxsize=256)
def pattern_fault(pattern: str) -> str:
    """Return why *pattern* is not matched; empty if it is."""
    if len(pattern) > _LONGEST:
        return "it is too long"
    if pattern.count("(") > _MOST_GROUPS:
        return "it has too many groups"
    try:
        re.compile(pattern)
        found = _parser.parse(pattern)
        if found.state.flags & ~re.UNICODE:
            return "it sets flags"
        faults: list[str] = [_fault(one) for one in _operations(found)]
        return next((one for one in faults if one), "")
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        return f"it is no regular expression: {error}"


def found_in(pattern: str, text: str, steps: Steps) -> bool:
    """Tell whether *pattern*, which has no fault, is found in *text*.

    Raises:
        StepsTaken: it takes more steps than are left.

    """
    starts = set(range(len(text) + 1))
    return bool(_Matcher(text, steps).ends(_parsed(pattern), starts))


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> Any:
    return _parser.parse(pattern)


def _fault(operation: tuple[Any, Any]) -> str:
    code, argument = operation
    if str(code) == "SUBPATTERN" and (argument[1] or argument[2]):
        return "it sets flags"
    return _REFUSED.get(str(code), "")


def _operations(parsed: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
    """Yield every operation, inner ones too."""
    for code, argument in parsed:
        yield code, argument
        waiting = [argument]
        while waiting:
            one = waiting.pop()
            if isinstance(one, _parser.SubPattern):
                yield from _operations(one)
            elif isinstance(one, list | tuple):
                waiting += one


@dataclass(frozen=True, slots=True)
class _Matcher:
    """Follows an expression through one text."""

    text: str
    steps: Steps

    def ends(self, parsed: Iterable[Any], starts: _Ends) -> _Ends:
        """Return all places where *parsed* ends that begins at one of *starts*."""
        found = starts
        for code, argument in parsed:
            if not found:
                break
            self.steps.take(len(found))
            found = self._one(str(code), argument, found)
        return found

    def _one(self, code: str, argument: Any, starts: _Ends) -> _Ends:
        if code == "BRANCH":
            return {end for one in argument[1] for end in self.ends(one, starts)}
        if code == "SUBPATTERN":
            return self.ends(argument[3], starts)
        if code in {"MAX_REPEAT", "MIN_REPEAT"}:
            return self._repeated(argument, starts)
        if code in {"AT", "ASSERT", "ASSERT_NOT"}:
            return {one for one in starts if self._is_so(code, argument, one)}
        fits, text = _fitting(code, argument), self.text
        return {one + 1 for one in starts if one < len(text) and fits(text[one])}

    def _is_so(self, code: str, argument: Any, place: int) -> bool:
        if code == "AT":
            return self._is_at(str(argument), place)
        return self._sees(argument, place) is (code == "ASSERT")

    def _repeated(self, argument: Any, starts: _Ends) -> _Ends:
        least, most, inner = argument
        found = starts
        for _ in range(int(least)):
            before, found = found, self.ends(inner, found)
            if found == before:
                break
        reached, new, count = set(found), found, int(least)
        while new and count < int(most):
            new = self.ends(inner, new) - reached
            reached |= new
            count += 1
        return reached

    def _sees(self, argument: Any, place: int) -> bool:
        way, inner = argument
        if way > 0:
            return bool(self.ends(inner, {place}))
        back = place - int(inner.getwidth()[0])
        return back >= 0 and place in self.ends(inner, {back})

    def _is_at(self, code: str, place: int) -> bool:
        text, size = self.text, len(self.text)
        if code in {"AT_BEGINNING", "AT_BEGINNING_STRING"}:
            return place == 0
        if code == "AT_END":
            return place == size or (place == size - 1 and text[place] == "\n")
        if code == "AT_END_STRING":
            return place == size
        is_word = _CATEGORIES["CATEGORY_WORD"]
        before = place > 0 and is_word(text[place - 1])
        after = place < size and is_word(text[place])
        between = bool(text) and before != after
        return between if code == "AT_BOUNDARY" else bool(text) and not between


def _fitting(code: str, argument: Any) -> Callable[[str], bool]:
    """Return what tells whether one character fits."""
    if code == "FAILURE":
        return lambda _: False
    if code == "ANY":
        return lambda one: one != "\n"
    if code == "IN":
        return _class(argument)
    wanted = chr(argument)
    if code == "LITERAL":
        return wanted.__eq__
    return wanted.__ne__


def _class(items: list[Any]) -> Callable[[str], bool]:
    negated = bool(items) and str(items[0][0]) == "NEGATE"
    tests = [_member(*one) for one in items[negated:]]
    return lambda one: any(test(one) for test in tests) is not negated


def _member(code: Any, argument: Any) -> Callable[[str], bool]:
    if str(code) == "RANGE":
        low, high = argument
        return lambda one: low <= ord(one) <= high
    if str(code) == "CATEGORY":
        name = str(argument)
        test = _CATEGORIES[name.replace("_NOT_", "_")]
        return (lambda one: not test(one)) if "_NOT_" in name else test
    return partial(_is, argument)


def _is(code: int, one: str) -> bool:
    return ord(one) == code
