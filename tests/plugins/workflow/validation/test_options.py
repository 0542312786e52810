"""Options of a run: whatever has a wrong type is refused, and never means "none"."""

from __future__ import annotations

from typing import Any

import pytest

from muniment.errors import UsageError
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy
from muniment_plugins.workflow.engine.options import OPTIONS, options_of

WRONG: dict[str, list[Any]] = {
    "max_steps": [0, -1, 1.5, True, False, "8", "", [], {}],
    "executor": [0, 1, True, False, "", " ", [], {}],
    "ceiling": [
        [],
        ["read"],
        0,
        1,
        False,
        True,
        "",
        "none",
        {"nope": 1},
        {"tools": ""},
    ],
    "approval_policy": [[], 0, 1, False, True, "", "ask", {"default": ""}],
    "cwd": [0, 1, True, False, "", [], {}],
    "key": [0, 1, True, False, "", "a b", [], {}],
}
"""Option → values that it cannot have."""


def test_the_table_knows_every_option() -> None:
    """An option that is added gets its wrong values here."""
    assert {*WRONG} == {*OPTIONS.required, *OPTIONS.optional}


@pytest.mark.parametrize(
    ("name", "value"), [(name, one) for name, row in WRONG.items() for one in row]
)
def test_a_wrong_value_is_refused_with_its_place(name: str, value: object) -> None:
    """An empty list, zero, false and an empty text are no "not given"."""
    with pytest.raises(UsageError) as caught:
        options_of({name: value}, 1)
    assert caught.value.place.startswith(f"options: {name}")


@pytest.mark.parametrize("name", sorted(WRONG))
def test_null_is_not_given(name: str) -> None:
    """Null is the one value that means the default."""
    assert options_of({name: None}, 3) == options_of(None, 3)


@pytest.mark.parametrize("written", [[], 0, False, "", "max_steps", ["key"]])
def test_options_are_an_object(written: Any) -> None:
    """What is no object is refused, also where Python takes it for false."""
    with pytest.raises(UsageError, match="no set of options"):
        options_of(written, 1)


def test_values_that_json_lacks_are_refused() -> None:
    """A key that is no text, and a number that is none, have a place, too."""
    for written in ({1: 2}, {"ceiling": {"tools": {1}}}, {"max_steps": float("nan")}):
        with pytest.raises(UsageError, match=r"options"):
            options_of(written, 1)  # type: ignore[arg-type]


def test_a_policy_object_is_its_document() -> None:
    """A policy that was made in Python is taken as the document that it stands for."""
    policy = CapabilityPolicy(tools=())
    assert options_of({"ceiling": policy}, 1).ceiling == {"tools": []}
