"""Answers that no child of ours sends: refused by the parent, whatever they say."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from machines import patched_worker, run_python, strong
from muniment_plugins.capsule import Capsule, pool
from muniment_plugins.capsule.machine import machine
from muniment_plugins.capsule.parent import start, supervisor
from muniment_plugins.capsule.parent.results import (
    ProtocolViolation,
    judge_answer,
    read_frame,
)
from muniment_plugins.capsule.protocol import (
    MAX_RESULT_DEPTH,
    Unsendable,
    render_metrics,
)
from unguarded_programs import POLICY, Unread, run

DEEP = """
import json, sys
from muniment_plugins.capsule.protocol import (
    MAX_RESULT_DEPTH,
    Unsendable,
    render_metrics,
)
from muniment_plugins.capsule.parent.results import ProtocolViolation, read_frame
sys.setrecursionlimit(10**7)
sys.set_int_max_str_digits(0)
said = []
deepest = 10**6
for body in (
    *(b"[" * deepest, b"[" * deepest + b"]" * deepest, b'{"[":' * deepest),
    b'{"ok":{"n":' + b"1234567890" * 100_000 + b"}}",
):
    try:
        said.append(read_frame(body))
    except ProtocolViolation as violation:
        said.append(str(violation))
print(json.dumps(said))
"""


def test_no_answer_exhausts_a_host() -> None:
    """Wherever it has put its own limits of recursion and of digits."""
    deep, long = "nested too deeply", "a number of too many digits"
    assert run_python(DEEP) == [deep, deep, deep, long]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("line", 2**53), ("line", -1), ("column", 2**53), ("column", True)),
        *(("message", "m" * 5000), ("type", "T" * 300)),
    ],
)
def test_a_failure_is_no_larger_than_ours_are(member: str, value: object) -> None:
    """What a program makes up about its end is bounded like what we say of it."""
    said = {"column": 1, "line": 1, "message": "m", "rule": "raised", "type": "T"}
    assert judge_answer({"failed": said})[0] == "error"
    with pytest.raises(ProtocolViolation, match="neither ok nor failed"):
        judge_answer({"failed": {**said, member: value}})


def test_what_never_ran_has_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer before the layers are stated can only be that there is no program."""
    says = (
        'body = b\'{"ok":{"n":1}}\'',
        "sys.argv[2] == 'alone' and os.write(int(sys.argv[3]), bytes([0, 0, 0, 14]) + body)",
        "os._exit(0)",
    )
    machine()
    monkeypatch.setattr(start, "WORKER", patched_worker(tmp_path, *says))
    execution = Capsule().run("def fit_and_eval(data): return {}", None)
    assert execution.status == "killed"
    assert execution.error is not None
    assert execution.error["message"] == "an answer out of turn"


FORGED = """
text = b'{"failed":{"column":0,"line":0,"message":"","rule":"prepare","type":""}}'
for descriptor in range(3, 1024):
    try:
        os.write(descriptor, len(text).to_bytes(4, "big") + text)
        os.close(descriptor)
    except OSError:
        continue
time.sleep(9)"""


@strong
def test_what_ran_was_prepared() -> None:
    """A program cannot lay its failure on its packages."""
    execution = run(FORGED, Unread(POLICY))
    assert execution.error is not None
    assert execution.error["message"] == "an answer out of turn"


def test_as_deep_as_may_be_is_not_too_deep() -> None:
    """A thousand lists side by side, where none may be in one list more."""
    value: Any = []
    for _ in range(MAX_RESULT_DEPTH - 2):
        value = [value]
    many = [value] * 1000
    body = render_metrics({"n": many})
    assert read_frame(body.encode()) == {"ok": {"n": many}}
    with pytest.raises(Unsendable, match="nested deeper"):
        render_metrics({"n": [many]})


INNERMOST = {
    "a list": ([], "[]"),
    "a mapping": ({}, "{}"),
    "a number": (1, "1"),
    "a text": ("[", '"["'),
    "nothing": (None, "null"),
    "true": (True, "true"),
}


@pytest.mark.parametrize("depth", range(MAX_RESULT_DEPTH - 2, MAX_RESULT_DEPTH + 4))
@pytest.mark.parametrize("name", INNERMOST)
def test_both_sides_have_one_limit_of_depth(name: str, depth: int) -> None:
    """What the child would not send is not an answer, whatever is innermost."""
    value, text = INNERMOST[name]
    for _ in range(depth - 1):
        value, text = [value], f"[{text}]"
    body = f'{{"ok":{{"v":{text}}}}}'
    if depth <= MAX_RESULT_DEPTH:
        assert render_metrics({"v": value}) == body
        assert read_frame(body.encode()) == {"ok": {"v": value}}
        return
    with pytest.raises(Unsendable, match="nested deeper"):
        render_metrics({"v": value})
    with pytest.raises(ProtocolViolation, match="nested too deeply"):
        read_frame(body.encode())


def test_numbers_of_numpy_are_as_deep_as_numbers() -> None:
    """What stands for a number or a list counts as one, and no array is without end."""
    value: Any = np.int64(1)
    for _ in range(MAX_RESULT_DEPTH - 1):
        value = [value]
    assert '"v":[[' in render_metrics({"v": value})
    with pytest.raises(Unsendable, match="nested deeper"):
        render_metrics({"v": [value]})
    endless = np.array(None, dtype=object)
    endless[()] = endless
    with pytest.raises(Unsendable, match="of type ndarray"):
        render_metrics({"v": endless})


@given(body=st.text('[]{}",:\\\\1 a', max_size=40))
def test_looking_at_the_depth_refuses_no_answer(body: str) -> None:
    """What is shallow is for the parser to judge, brackets in texts included."""
    quoted = json.dumps(body)
    frame = f'{{"ok":{{"n":[{quoted},{{{quoted}:1}}]}}}}'.encode()
    assert read_frame(frame) == {"ok": {"n": [body, {body: 1}]}}
    with contextlib.suppress(ProtocolViolation):
        read_frame(body.encode())


ANSWER = """
text = b'{"ok":{"forged":1}}'
for descriptor in range(3, 1024):
    try:
        os.write(descriptor, len(text).to_bytes(4, "big") + text)
    except OSError:
        continue
"""
ENDS = {
    "exit": ("ctypes.CDLL(None).quick_exit(0)", "ok", ""),
    "code": ("ctypes.CDLL(None).quick_exit(3)", "killed", "capsule/protocol"),
    "abort": ("os.abort()", "killed", "capsule/signal"),
    "fault": ("ctypes.string_at(0)", "killed", "capsule/signal"),
    "forbidden": ("os.execv('/bin/sh', ['sh'])", "killed", "capsule/protocol"),
    "time": ("while True: pass", "timeout", "capsule/cpu"),
    "asleep": ("time.sleep(3600)", "timeout", "capsule/wall"),
    "raised": ("data.missing", "killed", "capsule/protocol"),
}
"""How a program ends that has written an answer of its own -> what that counts as."""


@strong
@pytest.mark.parametrize("way", ["warm", "cold"])
@pytest.mark.parametrize("name", ENDS)
def test_what_did_not_end_well_is_no_success(
    name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it answered first: the one that ends well shows that it was heard."""
    machine()
    if way == "cold":
        monkeypatch.setattr(pool.Pool, "_have", lambda *_: None)
    monkeypatch.setattr(supervisor, "GRACE_S", 60 if name == "time" else 0.5)
    end, status, rule = ENDS[name]
    short = dataclasses.replace(POLICY, time_s=0.5)
    execution = run(ANSWER + end, Unread(short))
    assert (execution.status, (execution.error or {}).get("rule", "")) == (status, rule)
    assert (execution.metrics == {"forged": 1}) is (status == "ok")


@pytest.mark.parametrize("way", ["warm", "cold"])
def test_an_honest_end_is_clean(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever way a child was started, its own end is none that counts against it."""
    machine()
    if way == "cold":
        monkeypatch.setattr(pool.Pool, "_have", lambda *_: None)
    for _ in range(30):
        execution = Capsule().run("def fit_and_eval(data): return {'n': 1}", None)
        assert (execution.status, execution.exit) == ("ok", "answered")


NO_COUNT = "zygote._cpu_s = lambda _: 0.0"


def test_a_kernel_that_counts_no_time_ends_them_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the worker waits for the end that it gives a child, and asks what it used."""
    imported = "import muniment_plugins.capsule.child.zygote as zygote"
    machine()
    pool.pool().close()
    worker = patched_worker(tmp_path, imported, NO_COUNT)
    monkeypatch.setattr(start, "WORKER", worker)
    execution = Capsule().run("def fit_and_eval(data): return {'n': 1}", None)
    assert (execution.status, execution.exit) == ("ok", "answered")
    aborted = run(ANSWER + "os.abort()", Unread(POLICY))
    assert aborted.status == "killed"
