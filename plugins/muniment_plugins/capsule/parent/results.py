"""What the parent accepts in a child's frames, and how it names a child's end.

    {"ok": {"total": 15}}                  -> metrics, checked once more
    {"failed": {"rule": "raised", …}}      -> error
    no second frame, signal SIGPROF        -> timeout, rule capsule/cpu

Rules:

- A frame is hostile text: strict UTF-8 and JSON, no duplicate member, bounded depth and
  bounded size of integers. A frame that breaks a rule is a violation, never a result.
- NaN and the infinities may occur only in metrics, and are an error there unless the
  policy allows them.
- Whatever the child says about its end, its signal and the deadline say it better.
"""

from __future__ import annotations

import json
import math
import re
import signal
from collections.abc import Iterator
from typing import Any

from muniment.encoding.canonical import JsonValue
from muniment_plugins.capsule.isolation.native import architecture
from muniment_plugins.capsule.isolation.syscalls import name_of
from muniment_plugins.capsule.language.alternatives import instead_of
from muniment_plugins.capsule.protocol import (
    MAX_FRAME_DEPTH,
    MAX_INTEGER_BITS,
    MAX_MESSAGE,
    MAX_TYPE,
    is_list,
    is_object,
)

__all__ = [
    "ProtocolViolation",
    "error_of",
    "judge_answer",
    "judge_end",
    "judge_start",
    "read_frame",
    "signal_name",
]

_STATUS = {"memory": "limit", "result-size": "limit"}
_REMEDY = {
    "memory": "raise mem_mb, or hold less at a time",
    "prepare": "install the package, or take it off the allowed imports",
    "raised": "read the message and the line",
    "refused": "do without what the message names; the manual says what programs may",
    "result": "return a dict of numbers, text, truth values, None, lists and dicts",
    "result-size": "return summaries instead of tables",
}
_CALL = "system-call"
_LONGEST = 10  # digits of a number of 32 bits
_WORDS = 500
_TIMERS = {"SIGPROF", "SIGXCPU"}
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = bytes({*range(256)}.difference(b"[]{}"))
_MOST_OPEN = 256
_AS_NINES = bytes.maketrans(b"012345678", b"9" * 9)
_MOST_DIGITS = b"9" * 1000
_MOST_LINES = 2**31
_FAILURE = {"column": int, "line": int, "message": str, "rule": str, "type": str}


class ProtocolViolation(Exception):
    """The child sent something that none of our children sends."""


def read_frame(body: bytes) -> dict[str, Any]:
    """Return the one JSON object in *body*.

    Raises:
        ProtocolViolation: it is anything else.

    """
    _refuse_endless(body)
    try:
        value: object = json.loads(body.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ProtocolViolation(f"no frame of JSON: {error}") from None
    if not is_object(value):
        raise ProtocolViolation("a frame that is not an object")
    _check(value, 0)
    if "ok" not in value and _non_finite(value):
        raise ProtocolViolation("a number that is not finite")
    return value


def _refuse_endless(body: bytes) -> None:
    """Refuse endless nesting and endless numbers before the parser meets them.

    A host may have raised the recursion limit beyond what its stack holds, and the
    limit of digits beyond what it has time to read.
    """
    bare = _TEXT.sub(b"", body)
    if _MOST_DIGITS in bare.translate(_AS_NINES):
        raise ProtocolViolation("a number of too many digits")
    left = bare.translate(None, _NO_BRACKETS)
    for _ in range(MAX_FRAME_DEPTH + 1):  # enough for the brackets of any valid frame
        left = left.replace(b"[]", b"").replace(b"{}", b"")
        if not left:
            return
    if len(left) > _MOST_OPEN:
        raise ProtocolViolation("nested too deeply")


def judge_answer(
    answer: dict[str, Any], *, allow_non_finite: bool = False
) -> tuple[str, dict[str, JsonValue] | None, dict[str, JsonValue] | None]:
    """Return status, metrics and error from the second frame.

    Raises:
        ProtocolViolation: it is neither ``ok`` nor ``failed``.

    """
    metrics: object = answer.get("ok")
    if answer.keys() == {"ok"} and is_object(metrics):
        if not allow_non_finite and (wrong := _non_finite(metrics)):
            message = f"{wrong}, which is not a number"[:MAX_MESSAGE]
            return "error", None, error_of("non-finite", message)
        return "ok", metrics, None
    failed: object = answer.get("failed")
    if answer.keys() == {"failed"} and is_object(failed):
        is_failure = _is_failure(failed)
        if is_failure and failed["rule"] == _CALL:
            return "killed", None, _forbidden(**failed)
        if is_failure and failed["rule"] in _REMEDY:
            status = _STATUS.get(failed["rule"], "error")
            return status, None, error_of(**failed)
    raise ProtocolViolation("an answer that is neither ok nor failed")


def _is_failure(failed: dict[str, Any]) -> bool:
    """Tell whether it has our shape, and is no larger than ours can be."""
    shape: dict[str, object] = {key: type(item) for key, item in failed.items()}
    return (
        shape == _FAILURE
        and len(failed["message"]) <= MAX_MESSAGE
        and len(failed["type"]) <= MAX_TYPE
        and min(failed["line"], failed["column"]) >= 0
        and max(failed["line"], failed["column"]) < _MOST_LINES
    )


def judge_start(number: int, last_words: str) -> dict[str, JsonValue]:
    """Return the error of a child that ended before its program ran."""
    how = f"by {signal_name(number)}" if number else "by itself"
    said = last_words.strip()[-_WORDS:]
    message = (
        f"the child ended {how} before the program ran{': ' if said else ''}{said}"
    )
    return error_of("prepare", message)


def judge_end(number: int, last_words: str) -> tuple[str, dict[str, JsonValue]]:
    """Return status and error of a child that ended without an answer.

    Args:
        number: the signal that ended it; 0 if it ended by itself.
        last_words: the end of its standard error.

    """
    if not number and "MemoryError" in last_words:
        return "limit", error_of("memory", "the memory is used up")
    if not number:
        message = f"the child ended without an answer: {last_words.strip()[-_WORDS:]}"
        return "killed", error_of("protocol", message)
    name = signal_name(number)
    if name in _TIMERS:
        return "timeout", error_of("cpu", f"the CPU time is over ({name})")
    if name == "SIGSYS":
        message = "it made a system call that no program may make (SIGSYS)"
        return "killed", error_of(_CALL, message)
    return "killed", error_of("signal", f"ended by {name}")


def signal_name(number: int) -> str:
    """Return the name of a signal; most real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _forbidden(
    message: str, line: int, column: int, **_: object
) -> dict[str, JsonValue]:
    """Return the error for a forbidden call that the child reported by its number."""
    if not (message.isascii() and message.isdigit() and len(message) <= _LONGEST):
        raise ProtocolViolation("a forbidden call without its number")
    name = name_of(architecture(), int(message))
    told = f"it asked the system for {name}, which no program may"
    return error_of(_CALL, told, line, column)


def error_of(
    rule: str,
    message: str,
    line: int = 0,
    column: int = 0,
    type: str = "",  # noqa: A002 - the member's name
) -> dict[str, JsonValue]:
    """Return an error as executions carry it."""
    remedies = {
        **_REMEDY,
        "cpu": "raise time_s, or compute less",
        "non-finite": "return a finite number, leave it out, or allow_non_finite",
        "engine": "report it to Monty, or use engine='python'",
        "protocol": "return metrics from the entrypoint only",
        "signal": "look for what the program asked of the system",
        "system-call": "start no process, debug none, mount nothing",
        "wall": "raise time_s, or wait less",
    }
    return {
        "column": column,
        "line": line,
        "message": message,
        "remedy": (instead_of(message) if rule == "refused" else None)
        or remedies[rule],
        "rule": f"capsule/{rule}",
        "type": type,
    }


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice")
    return members


def _check(value: object, depth: int) -> None:
    if depth > MAX_FRAME_DEPTH:
        raise ProtocolViolation("nested too deeply")
    if is_object(value):
        for key, item in value.items():
            _check(key, depth)
            _check(item, depth + 1)
    elif is_list(value):
        for item in value:
            _check(item, depth + 1)
    elif isinstance(value, str):
        _check_text(value)
    elif isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        raise ProtocolViolation("an integer that is too large")


def _non_finite(value: object) -> str:
    """Return the place of the first non-finite number in *value*; empty if none."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return _where_non_finite(value, "")
    return ""


def _where_non_finite(value: object, place: str) -> str:
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"{place} is {value!r}"
    found: Iterator[str] = iter(())
    if is_object(value):
        dot = "." if place else ""
        members = value.items()
        found = (_where_non_finite(one, f"{place}{dot}{key}") for key, one in members)
    elif is_list(value):
        items = enumerate(value)
        found = (_where_non_finite(one, f"{place}[{i}]") for i, one in items)
    return next(filter(None, found), "")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ProtocolViolation("a lone surrogate") from None
