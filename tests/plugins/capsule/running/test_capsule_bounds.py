"""Every bound to the unit: what lies on it passes, and one more is refused by name."""

from __future__ import annotations

import ast
import decimal
from pathlib import Path

import orjson
import pytest

from muniment.errors import ValueRefused
from muniment_plugins.capsule import Capsule, Execution, Policy, ProgramRefused
from muniment_plugins.capsule import capsule as capsule_module
from muniment_plugins.capsule.isolation.limits import MAX_DESCRIPTORS
from muniment_plugins.capsule.language.syntax_check import (
    MAX_DEPTH,
    MAX_PARTS,
    SyntaxCheck,
)
from muniment_plugins.capsule.parent import start, supervisor
from muniment_plugins.capsule.parent.supervisor import GRACE_S
from muniment_plugins.capsule.protocol import (
    MAX_INTEGER_BITS,
    MAX_RESULT,
    MAX_RESULT_DEPTH,
)
from muniment_plugins.capsule.validation import MAX_SOURCE

CAPSULE = Capsule(Policy(time_s=5, mem_mb=256))
MB = 1024 * 1024
FRAME = len('{"ok":}')


def run(body: str, data: object = None, capsule: Capsule = CAPSULE) -> Execution:
    """Run a function with this body."""
    indented = body.replace("\n", "\n    ")
    return capsule.run(f"def fit_and_eval(data):\n    {indented}\n", data)


def reason(execution: Execution) -> tuple[str, object]:
    """Return status and rule."""
    assert execution.error is not None
    assert execution.error["message"]
    return execution.status, execution.error["rule"]


def test_the_size_of_a_result() -> None:
    """The metrics may take a megabyte as JSON, to the byte."""
    room = MAX_RESULT - FRAME - len('{"t":""}')
    body = "return {'t': 'x' * data}"
    assert run(body, room).metrics == {"t": "x" * room}
    assert reason(run(body, room + 1)) == ("limit", "capsule/result-size")
    # Bytes count, not letters.
    assert run("return {'t': 'é' * data}", room // 2).status == "ok"
    over = run("return {'t': 'é' * data}", room // 2 + 1)
    assert reason(over) == ("limit", "capsule/result-size")


@pytest.mark.parametrize("size", [64 * 1024, MB, 20 * MB])
def test_results_of_any_size_are_no_timeout(size: int) -> None:
    """What is too large is told at once, and never looks like something else."""
    execution = run("return {'t': 'x' * data}", size)
    if size < MAX_RESULT - 100:
        assert execution.metrics == {"t": "x" * size}
    else:
        assert reason(execution) == ("limit", "capsule/result-size")


@pytest.mark.parametrize("size", [64 * 1024, MB, 20 * MB])
def test_outputs_of_any_size_are_no_timeout(size: int) -> None:
    """Output is kept to its bound and the program goes on; the rest is dropped."""
    body = "print('y' * data, end='')\nreturn {'n': data}"
    execution = run(body, size)
    assert execution.metrics == {"n": size}
    assert len(execution.stdout) == min(size, CAPSULE.policy.max_output)
    assert execution.stdout_truncated == (size > CAPSULE.policy.max_output)
    whole = run(body, size, Capsule(Policy(max_output=size)))
    assert (len(whole.stdout), whole.stdout_truncated) == (size, False)


def test_the_length_of_output() -> None:
    """max_output bytes are all kept; one more is dropped, and told."""
    capsule = Capsule(Policy(max_output=10))
    body = "print('é' * data, end='')\nreturn {}"
    at = run(body, 5, capsule)
    assert (at.stdout, at.stdout_truncated) == ("é" * 5, False)
    beyond = run("print('y' * 11, end='')\nreturn {}", None, capsule)
    assert (beyond.stdout, beyond.stdout_truncated) == ("y" * 10, True)
    none = run("print('y')\nreturn {}", None, Capsule(Policy(max_output=0)))
    assert (none.stdout, none.stdout_truncated) == ("", True)


def test_the_depth_of_a_result() -> None:
    """Lists within lists, as deep as stated and no deeper."""
    body = "x = []\nfor _ in range(data): x = [x]\nreturn {'x': x}"
    deepest = MAX_RESULT_DEPTH - 1
    assert run(body, deepest).status == "ok"
    assert reason(run(body, deepest + 1)) == ("error", "capsule/result")


@pytest.mark.parametrize("sign", [1, -1])
def test_the_size_of_an_integer(sign: int) -> None:
    """Integers of 1024 bits are carried exactly; those of 1025 are not."""
    body = f"return {{'n': {sign} * ((1 << data) - 1)}}"
    largest = sign * ((1 << MAX_INTEGER_BITS) - 1)
    assert run(body, MAX_INTEGER_BITS).metrics == {"n": largest}
    assert reason(run(body, MAX_INTEGER_BITS + 1)) == ("error", "capsule/result")


def test_the_size_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data that is too large for the pipe is the caller's error, before anything runs."""
    body, data = "return {'n': len(data)}", "x" * 1000
    code = f"def fit_and_eval(data):\n    {body}\n"
    program = CAPSULE.validate(code)
    largest = len(CAPSULE._request(program, orjson.Fragment(orjson.dumps(data))))
    monkeypatch.setattr(capsule_module, "MAX_REQUEST", largest)
    assert run(body, data).metrics == {"n": 1000}
    with pytest.raises(ValueRefused, match=f"{largest + 1} bytes, allowed are"):
        run(body, data + "x")


def refused(code: str) -> str | None:
    """Return the rule by which *code* is refused, or None."""
    try:
        CAPSULE.validate(code)
    except ProgramRefused as error:
        return error.rule
    return None


PROGRAM = "def fit_and_eval(data): return {}\n"


def test_the_size_of_a_program() -> None:
    """A quarter of a megabyte of source, to the byte."""
    room = MAX_SOURCE - len(PROGRAM)
    assert refused(PROGRAM + "#" * room) is None
    assert refused(PROGRAM + "#" * (room + 1)) == "capsule/size"
    assert refused(PROGRAM + "#" + "é" * (room // 2)) == "capsule/size"


def test_the_number_of_parts_of_a_program() -> None:
    """Sixty thousand parts of the syntax tree, to the part."""
    reader = SyntaxCheck(frozenset())
    reader.read(ast.parse(f"{PROGRAM}(1,)"))
    # The tuple has one part more for each number more.
    room = MAX_PARTS - reader.parts + 1
    assert refused(f"{PROGRAM}({'1,' * room})") is None
    assert refused(f"{PROGRAM}({'1,' * (room + 1)})") == "capsule/size"


def test_the_nesting_of_a_program() -> None:
    """A hundred and fifty levels of the syntax tree, to the level."""
    # A module, an expression, the signs, the number; a level further is its absence.
    deepest = MAX_DEPTH - 3
    assert refused(f"{PROGRAM}{'-' * deepest}1") is None
    assert refused(f"{PROGRAM}{'-' * (deepest + 1)}1") == "capsule/size"


def test_the_cpu_time() -> None:
    """Within the time a program ends by itself; beyond it, within a second more."""
    capsule = Capsule(Policy(allowed_imports=("time",), time_s=2))
    body = (
        "import time\nbegan = time.process_time()\n"
        "while time.process_time() - began < data: pass\n"
        "return {}"
    )
    # The system counts CPU time in ticks, not as exactly as a program can ask for it.
    assert run(body, 0.5, capsule).status == "ok"
    beyond = run(body, 50, capsule)
    assert reason(beyond) == ("timeout", "capsule/cpu")
    assert float(str(beyond.usage["cpu_s"])) < 2 + 1


def test_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may wait for time_s and a second more, and no longer."""
    capsule = Capsule(Policy(allowed_imports=("time",), time_s=0.5))
    body = "import time\ntime.sleep(data)\nreturn {}"
    assert run(body, 1, capsule).status == "ok"
    monkeypatch.setattr(supervisor, "GRACE_S", GRACE_S)
    beyond = run(body, 600, capsule)
    assert reason(beyond) == ("timeout", "capsule/wall")
    assert float(str(beyond.usage["wall_s"])) >= 0.5 + GRACE_S == 1.5


def test_the_memory() -> None:
    """A tenth below the limit is given, a tenth beyond it is not."""
    capsule = Capsule(Policy(mem_mb=100))
    body = "return {'n': len(bytearray(data))}"
    assert run(body, 90 * MB, capsule).metrics == {"n": 90 * MB}
    beyond = run(body, 110 * MB, capsule)
    assert reason(beyond) == ("limit", "capsule/memory")
    # The limit counts what is held, not what passes by.
    passing = "for _ in range(9): x = bytearray(data)\nreturn {}"
    assert run(passing, 40 * MB, capsule).status == "ok"


DEEP = {
    "attributes": "class A: pass\nx = None\nwhile True:\n    a = A(); a.x = x; x = a",
    "dicts": "x = None\nwhile True: x = {1: x}",
    "lists": "x = None\nwhile True: x = [x]",
    "tuples": "x = None\nwhile True: x = (x,)",
}


@pytest.mark.parametrize("name", DEEP)
def test_the_memory_of_what_is_nested_without_end(name: str) -> None:
    """To let go of it takes stack, which is there although memory is out."""
    execution = run(DEEP[name], None, Capsule(Policy(mem_mb=64)))
    assert reason(execution) == ("limit", "capsule/memory")
    assert execution.error is not None
    assert execution.error["message"] == "the memory is used up"


def test_the_depth_of_calls() -> None:
    """Python's own limit of recursion ends a program by an ordinary error."""
    body = "def f(n): return n and f(n - 1)\nreturn {'n': f(data)}"
    assert run(body, 900).metrics == {"n": 0}
    execution = run(body, 5000)
    assert reason(execution) == ("error", "capsule/raised")
    assert execution.error is not None
    assert execution.error["type"] == "RecursionError"


SYSTEM = Capsule(Policy(allowed_imports=("os",), allow_dangerous=True))


def test_the_number_of_descriptors() -> None:
    """A program that has the system at hand may hold thirty-two, and no more."""
    body = (
        "import os\nheld = [os.dup(0) for _ in range(data - 4)]\n"
        "return {'last': held[-1]}"
    )
    assert run(body, MAX_DESCRIPTORS, SYSTEM).metrics == {"last": MAX_DESCRIPTORS - 1}
    execution = run(body, MAX_DESCRIPTORS + 1, SYSTEM)
    assert reason(execution) == ("error", "capsule/raised")
    assert execution.error is not None
    assert execution.error["type"] == "OSError"


def test_the_time_for_preparation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package that takes too long to load is told as that, in time."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "sluggish.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.syspath_prepend(packages)
    run("return {}")
    monkeypatch.setattr(start, "PREPARE_S", 1.0)
    capsule = Capsule(Policy(allowed_imports=("sluggish",)))
    execution = run("import sluggish\nreturn {}", None, capsule)
    assert reason(execution) == ("timeout", "capsule/prepare")


NAN = float("nan")


@pytest.mark.parametrize(
    "data",
    [
        {1.0, NAN},
        [{"a": frozenset({2, NAN})}],
        ({(1, NAN)},),
        {frozenset({(1, frozenset({NAN}))})},
        {decimal.Decimal("nan")},
        {complex(NAN, 1)},
    ],
)
def test_data_whose_order_nobody_can_tell_is_refused(data: object) -> None:
    """NaN has no place of its own in a set; elsewhere it is a value like others."""
    with pytest.raises(ValueRefused) as refused:
        Capsule().run("def fit_and_eval(data): return {}", data)
    assert refused.value.rule == "capsule/data-order"
    listed = [[NAN], (NAN,), {"a": NAN}, {1.0, 2.0}, frozenset({"nan"})]
    assert Capsule().run("def fit_and_eval(data): return {}", listed).status == "ok"
