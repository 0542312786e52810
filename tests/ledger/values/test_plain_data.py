"""Plain declarations are read as pydantic would read them, and refused in its words."""

from __future__ import annotations

import enum
import math
from collections import OrderedDict
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from muniment.errors import RefusedError, UsageError
from muniment.events.effect_types import effect_types
from muniment.events.fields import LARGE, VOLATILE, Plain, PlainData
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.pydantic_fields import EventData, model_of
from muniment.events.types import EventType
from muniment_plugins.harness.vocabulary import TYPES as HARNESS_TYPES
from muniment_plugins.providers.vocabulary import TYPES as PROVIDERS_TYPES

BUILT_IN = (*KERNEL_TYPES, *effect_types("kind"), *HARNESS_TYPES, *PROVIDERS_TYPES)


class AllForms(PlainData):
    """Every form that a plain field may have."""

    text: str
    whole: int
    number: float
    flag: bool
    anything: object
    word: Literal["one", "two"]
    perhaps: int | None
    texts: list[str]
    numbers: Annotated[list[float], LARGE]
    by_name: dict[str, bool]
    nested: list[dict[str, object]]
    deep: Annotated[dict[str, list[int | None]] | None, VOLATILE] = None
    late: dict[str, object] = {"a": 1}  # noqa: RUF012 - as a vocabulary spells it


class Text(str):
    """A text that is not exactly one."""

    __slots__ = ()


class Rank(enum.IntEnum):
    """A number that is not exactly one."""

    FIRST = 1


ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.characters(categories=["Cs"]),
    st.sampled_from(["one", "two", Text("one"), Rank.FIRST, b"x", 1j]),
    st.sampled_from([2**53 + 1, -(2**53) - 1, 2**2000]),
)
KEYS = st.one_of(st.text(max_size=2), st.sampled_from([1, None, Text("k"), "\ud800"]))
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=2).map(OrderedDict),
    ),
    max_leaves=6,
)
NUMBERS = st.floats() | st.integers(-(2**53), 2**53)
FITTING: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=3),
    "whole": st.integers(),
    "number": NUMBERS,
    "flag": st.booleans(),
    "anything": VALUES,
    "word": st.sampled_from(["one", "two"]),
    "perhaps": st.none() | st.integers(),
    "texts": st.lists(st.text(max_size=2), max_size=3),
    "numbers": st.lists(NUMBERS, max_size=3),
    "by_name": st.dictionaries(st.text(max_size=2), st.booleans(), max_size=3),
    "nested": st.lists(st.dictionaries(st.text(max_size=2), VALUES), max_size=2),
}
MODEL = model_of(AllForms)


def shape(value: object) -> object:
    """Return *value* with the type of everything in it: 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return type(value), [(shape(key), shape(one)) for key, one in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [shape(one) for one in value]
    return type(value), repr(value)


def by_pydantic(data: dict[str, Any]) -> dict[str, Any] | None:
    """Return what pydantic reads, None where it refuses."""
    try:
        return vars(MODEL.model_validate(data))
    except ValueError:
        return None


@given(st.fixed_dictionaries(FITTING, optional={"late": st.just({})}))
def test_what_fits_is_read(data: dict[str, Any]) -> None:
    """Data of the declared types is never left to pydantic."""
    read = Plain(AllForms).read(data)

    assert read is not None
    assert shape(read) == shape(by_pydantic(data))


@given(
    st.fixed_dictionaries(FITTING),
    st.dictionaries(st.sampled_from([*FITTING, "deep", "late"]), VALUES, max_size=2),
    st.sets(st.sampled_from([*FITTING]), max_size=1),
)
def test_what_is_read_is_what_pydantic_reads(
    data: dict[str, Any], odd: dict[str, Any], missing: set[str]
) -> None:
    """Whatever is taken without pydantic is taken by it, too, and as the same."""
    tried = {k: v for k, v in {**data, **odd}.items() if k not in missing}
    read = Plain(AllForms).read(tried)

    assert read is None or shape(read) == shape(by_pydantic(tried))


@pytest.mark.parametrize("one", BUILT_IN, ids=lambda one: one.name)
def test_vocabularies(one: EventType) -> None:
    """The built-in types are plain, and their models have the same fields and marks."""
    assert issubclass(one.model, PlainData)
    fields = one.full_model.model_fields
    marks = EventType(one.name, one.full_model).marks

    assert list(one.marks) == list(fields)
    assert one.marks == marks
    needed = {name for name, field in fields.items() if field.is_required()}
    assert needed == {name for name in fields if not hasattr(one.model, name)}


class Said(EventData):
    """As `SaidPlainly`, by pydantic."""

    text: str
    counts: dict[str, int]
    status: Literal["ok", "no"] = "ok"


class SaidPlainly(PlainData):
    """As `Said`, plainly."""

    text: str
    counts: dict[str, int]
    status: Literal["ok", "no"] = "ok"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"text": "x"},
        {"text": 1, "counts": {}},
        {"text": "x", "counts": {"a": True}},
        {"text": "x", "counts": {1: 1}},
        {"text": "x", "counts": [("a", 1)]},
        {"text": "x", "counts": {}, "status": "perhaps"},
        {"text": "x", "counts": {}, "more": 1},
        {"text": None, "counts": None, "more": 1},
    ],
    ids=str,
)
def test_refusals(data: dict[str, Any]) -> None:
    """What is refused is refused in the same words as by a pydantic model."""
    with pytest.raises(RefusedError) as plainly:
        EventType("a.said", SaidPlainly).prepare(data)
    with pytest.raises(RefusedError) as said:
        EventType("a.said", Said).prepare(data)

    assert str(plainly.value) == str(said.value)
    assert plainly.value.place == said.value.place


def test_what_is_not_exact_is_left_to_pydantic() -> None:
    """A kind of text is not text to a plain reader, but is one to pydantic."""
    given = {"text": Text("x"), "counts": {}}

    assert Plain(SaidPlainly).read(given) is None
    assert EventType("a.said", SaidPlainly).prepare(given).inline["text"] == "x"


def test_nothing_is_shared() -> None:
    """What is read is a copy, of defaults too: who changes it changes nothing else."""
    counts = {"a": 1}
    reader = Plain(AllForms)
    data = dict.fromkeys(FITTING) | {
        "text": "",
        "whole": 0,
        "number": math.pi,
        "flag": True,
        "word": "one",
        "texts": ["t"],
        "numbers": [],
        "by_name": {},
        "nested": [counts],
    }
    first, second = reader.read(data), reader.read(data)
    assert first is not None
    assert second is not None

    first["late"]["b"] = 2  # type: ignore[index]  # a mapping, as it is declared
    first["nested"][0]["b"] = 2  # type: ignore[index]  # the same

    assert second["late"] == AllForms.late == {"a": 1}
    assert second["nested"] == [{"a": 1}] == [counts]


@pytest.mark.parametrize(
    "kind",
    [
        bytes,
        complex,
        tuple[str, ...],
        dict[int, str],
        int | str,
        Literal[1],
        Annotated[int, Field(ge=0)],
        list[set[str]],
    ],
    ids=str,
)
def test_what_is_not_plain(kind: object) -> None:
    """A field that only pydantic can read has to be declared for it."""
    declared = type("Declared", (PlainData,), {"__annotations__": {"field": kind}})

    with pytest.raises(UsageError, match=r"Declared\.field: .* is not plain") as error:
        EventType("a.said", declared).prepare({"field": 1})
    assert error.value.rule == "event/plain"
    assert "EventData" in str(error.value)


class Scored(EventData):
    """A stranger's model, with what only pydantic knows."""

    score: Annotated[int, Field(ge=0, le=10), VOLATILE]


def test_models_of_pydantic() -> None:
    """A declaration for pydantic is a pydantic model, with all that it can say."""
    scored = EventType("a.scored", Scored)

    assert scored.full_model is Scored
    assert scored.volatile == {"score"}
    assert scored.prepare({"score": 3}).inline == {"score": 3}
    with pytest.raises(RefusedError, match="less than or equal to 10"):
        scored.prepare({"score": 11})
