"""Frames and values on the pipes: what is written is what is read."""

from __future__ import annotations

import json
import math
import os
from collections import Counter, OrderedDict
from enum import IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.encoding.codec import encode
from muniment_plugins.capsule.parent.results import (
    ProtocolViolation,
    judge_answer,
    judge_end,
    read_frame,
)
from muniment_plugins.capsule.protocol import (
    FrameError,
    Unsendable,
    frame,
    parse_json,
    receive,
    render,
    send,
)
from muniment_plugins.capsule.value_decoder import decode_plain

texts = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
results = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=12,
).map(lambda value: {"v": value})
keys = st.integers() | texts | st.tuples(texts, st.integers())
values = st.recursive(
    scalars | st.binary(max_size=4) | st.decimals(allow_nan=False) | st.datetimes(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(st.integers() | texts, max_size=4)
        | st.frozensets(st.integers(), max_size=4)
    ),
    max_leaves=12,
)


@given(results)
def test_rendered_results_are_the_json_of_their_value(value: dict[str, object]) -> None:
    """The child's writer and the parent's reader are inverses."""
    text = render(value)
    assert json.loads(text) == value
    assert repr(read_frame(text.encode())) == repr(value)


@given(st.floats())
def test_numbers_that_are_none_pass_in_metrics_alone(number: float) -> None:
    """NaN and infinities come as they were; anywhere else they are a violation."""
    text = render({"ok": {"v": [number]}})
    assert repr(read_frame(text.encode())) == repr({"ok": {"v": [number]}})
    elsewhere = render({"layers": {"v": [number]}}).encode()
    if math.isfinite(number):
        assert read_frame(elsewhere) == {"layers": {"v": [number]}}
        return
    with pytest.raises(ProtocolViolation, match="not finite"):
        read_frame(elsewhere)


@given(values)
def test_the_child_reads_what_the_kernel_writes(value: object) -> None:
    """The small reader of the child agrees with the kernel's encoding."""
    text = json.dumps(encode(value))
    back = decode_plain(parse_json(text))
    assert (back, repr(type(back))) == (value, repr(type(value)))


class Level(IntEnum):
    """A number with a name."""

    HIGH = 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Counter("aab"), '{"a":2,"b":1}'),
        (OrderedDict(a=(1, 2)), '{"a":[1,2]}'),
        (Level.HIGH, "3"),
        (-0.0, "-0.0"),
        (3.0, "3.0"),
        ('"\\\n\x7f', '"\\u0022\\u005c\\u000a\\u007f"'),
    ],
)
def test_subclasses_are_read_by_their_base(value: object, text: str) -> None:
    """What is a dict, a list or a number in nature is one in the result."""
    assert render(value) == text


def test_a_class_that_lies_about_its_value_is_not_asked() -> None:
    """Methods of the program's own classes are never called for the result."""

    class Liar(dict[str, int]):
        def items(self) -> object:  # type: ignore[override]
            raise AssertionError("asked")

    class Number(float):
        def __repr__(self) -> str:
            raise AssertionError("asked")

    assert render(Liar(a=1)) == '{"a":1}'
    assert render(Number(1.5)) == "1.5"


@pytest.mark.parametrize("value", [b"x", {1}, object(), {1: 1}, 1j])
def test_other_values_are_refused_by_place(value: object) -> None:
    """The message says where in the result something stands that is not JSON."""
    with pytest.raises(Unsendable, match=r"a\.b\[1\]"):
        render({"a": {"b": [0, value]}})


def test_frames_pass_a_pipe_whole() -> None:
    """A frame is read as it was sent; the end of the pipe and a cap are errors."""
    reader, writer = os.pipe()
    send(writer, '{"go":true}')
    assert receive(reader) == {"go": True}
    os.write(writer, frame(b"x" * 100))
    with pytest.raises(FrameError, match="100 bytes, allowed are 99"):
        receive(reader, 99)
    os.close(writer)
    with pytest.raises(FrameError, match="closed"):
        receive(os.dup(reader) if os.read(reader, 100) else reader)
    os.close(reader)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"ok": 1},
        {"ok": {}, "more": 1},
        {"failed": {}},
        {"failed": {"rule": "raised", "message": "m", "line": 1, "column": 1}},
        {
            "failed": {
                "rule": "cpu",
                "message": "m",
                "line": 1,
                "column": 1,
                "type": "T",
            }
        },
        {
            "failed": {
                "rule": "raised",
                "message": "m",
                "line": True,
                "column": 1,
                "type": "T",
            }
        },
    ],
)
def test_answers_of_another_shape_are_violations(answer: dict[str, object]) -> None:
    """Only the child's own two shapes are answers; limits are not its to report."""
    with pytest.raises(ProtocolViolation, match="neither ok nor failed"):
        judge_answer(answer)


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(body: bytes) -> None:
    """Whatever the bytes, they are an object or a violation."""
    try:
        value = read_frame(body)
    except ProtocolViolation:
        return
    assert isinstance(value, dict)


def test_deep_and_huge_frames_are_violations() -> None:
    """Nesting and long integers do not reach the metrics."""
    for body in (
        b'{"ok":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"ok":{"a":' + b"[" * 30 + b"]" * 30 + b"}}",
        b'{"ok":{"a":' + b"9" * 400 + b"}}",
        b'{"ok":{"a":' + b"9" * 9000 + b"}}",
        b'{"ok":{"a":"\\ud800"}}',
    ):
        with pytest.raises(ProtocolViolation):
            read_frame(body)


@pytest.mark.parametrize(
    ("number", "words", "status", "rule"),
    [
        (27, "", "timeout", "capsule/cpu"),
        (24, "", "timeout", "capsule/cpu"),
        (9, "", "killed", "capsule/signal"),
        (0, "MemoryError", "limit", "capsule/memory"),
        (0, "", "killed", "capsule/protocol"),
    ],
)
def test_ends_without_an_answer_have_a_reason(
    number: int, words: str, status: str, rule: str
) -> None:
    """The signal says what the child could not."""
    found, error = judge_end(number, words)
    assert (found, error["rule"]) == (status, rule)
