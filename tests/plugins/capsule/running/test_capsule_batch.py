"""Many programs at once: what is asked for is looked at before any of it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from muniment.errors import UsageError
from muniment_plugins.capsule import Capsule, Policy
from muniment_plugins.capsule.requests import execute

PROGRAM = "def fit_and_eval(data): return {'n': data}"

NO_PAIRS: dict[str, tuple[object, str]] = {
    "one": ((PROGRAM,), "tuple of 1"),
    "three": ((PROGRAM, 1, "fit_and_eval"), "tuple of 3"),
    "none": ((), "tuple of 0"),
    "a list of one": ([PROGRAM], "list of 1"),
    "code alone": (PROGRAM, "it is str"),
    "two letters": ("ab", "it is str"),
    "nothing": (None, "it is NoneType"),
    "a mapping": ({"code": PROGRAM, "data": 1}, "it is dict"),
}


class Counting(Capsule):
    """Counts what it was to run."""

    runs = 0

    def run(self, *arguments: Any, **named: Any) -> Any:
        """Count, and run."""
        self.runs += 1
        return super().run(*arguments, **named)


@pytest.mark.parametrize("engine", ["python", "monty"])
@pytest.mark.parametrize("name", NO_PAIRS)
def test_what_is_no_pair_is_refused_before_anything_runs(
    name: str, engine: str
) -> None:
    """Its place in the batch is named, and no program ran, not even those before it."""
    wrong, said = NO_PAIRS[name]
    capsule = Counting(Policy(engine=engine))
    programs = cast("list[tuple[str, object]]", [(PROGRAM, 1)] * 3 + [wrong])
    with pytest.raises(UsageError, match=said) as refused:
        capsule.run_many(programs)
    assert (refused.value.rule, refused.value.place) == ("capsule/batch", "run_many[3]")
    assert "(code, data)" in refused.value.remedy
    assert capsule.runs == 0


NO_TEXTS: list[Any] = [PROGRAM.encode(), None, 1, [PROGRAM], (PROGRAM, 1), len]
DOORS: dict[str, Callable[[Capsule, Any], object]] = {
    "code": lambda capsule, code: capsule.run(code, 1),
    "code, validated": lambda capsule, code: capsule.validate(code),
    "code, by the hook": lambda _, code: execute({"code": code, "data": 1}),
    "run_many[1].code": lambda capsule, code: capsule.run_many(
        [(PROGRAM, 1), (code, 1)]
    ),
}


@pytest.mark.parametrize("code", NO_TEXTS, ids=lambda code: type(code).__name__)
@pytest.mark.parametrize("door", DOORS)
def test_code_is_text(door: str, code: Any) -> None:
    """Wherever a program is taken, what is not text is refused by one rule in one way."""
    with pytest.raises(UsageError) as refused:
        DOORS[door](Capsule(), code)
    error = refused.value
    assert (error.rule, error.place) == ("capsule/code", door.partition(",")[0])
    assert error.message == f"it is {type(code).__name__}, not text"
    assert error.remedy == "pass the program's source as a str"


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", True, False, b"1"], ids=repr)
def test_workers_is_a_whole_number_from_one_on(workers: Any) -> None:
    """Zero is not "as many as there are processors", and true is not one."""
    capsule = Counting()
    with pytest.raises(UsageError, match="not a whole number") as refused:
        capsule.run_many([(PROGRAM, 1)], workers=workers)
    assert (refused.value.rule, refused.value.place) == ("capsule/workers", "run_many")
    assert capsule.runs == 0


def test_no_programs_are_no_executions() -> None:
    """An empty batch has an empty answer, an iterator is as good as a list, also for a pair."""
    assert Capsule().run_many([]) == []
    mixed = cast("list[tuple[str, object]]", [(PROGRAM, 0), [PROGRAM, 1], (PROGRAM, 2)])
    many = Capsule().run_many(iter(mixed))
    assert [e.metrics for e in many] == [{"n": 0}, {"n": 1}, {"n": 2}]
