"""Values: what goes in comes back equal, with equal types; properties."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from drawn_values import ARRAYS, HASHABLE, TYPES, VALUES, patient, same
from muniment.encoding.canonical import JsonValue, canonical, parse_canonical
from muniment.encoding.codec import decode, encode, settle
from muniment.errors import (
    CannotTellError,
    WrongError,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=5), inner, max_size=4),
    ),
    max_leaves=12,
)
TAGS = (
    "$arrow",
    "$bytes",
    "$complex",
    "$dataframe",
    "$date",
    "$datetime",
    "$decimal",
    "$float",
    "$frozenset",
    "$int",
    "$map",
    "$ndarray",
    "$npscalar",
    "$object",
    "$set",
    "$time",
    "$timedelta",
    "$tuple",
    "$uuid",
    "$no",
    "$",
)


@patient
@given(VALUES)
def test_every_accepted_value_comes_back_equal(value: object) -> None:
    """What is encoded, written, read and decoded is equal, with equal types."""
    data = canonical(encode(value, TYPES))
    assert same(decode(parse_canonical(data), TYPES), value)


@patient
@given(VALUES)
def test_encoding_twice_gives_the_same_bytes(value: object) -> None:
    """The canonical bytes of a value are those of the value that comes back."""
    first = canonical(encode(value, TYPES))
    assert canonical(encode(value, TYPES)) == first
    assert canonical(encode(settle(value, TYPES), TYPES)) == first


@patient
@given(st.lists(HASHABLE, max_size=8), st.randoms())
def test_the_order_of_a_set_leaves_no_trace(items: list[object], random: Any) -> None:
    """Sets built in another order have the same bytes."""
    unique = list(set(items))
    random.shuffle(unique)
    first, second = set(items), set(unique)
    assert canonical(encode(first, TYPES)) == canonical(encode(second, TYPES))


@patient
@given(st.dictionaries(st.text(max_size=4).map(lambda s: "$" + s), JSON))
def test_keys_that_look_like_tags_are_escaped(value: dict[str, JsonValue]) -> None:
    """No user's dict can be read as a tag, whatever its keys and contents say."""
    encoded = encode(value)
    assert isinstance(encoded, dict)
    assert all(key.startswith("$$") for key in encoded)
    assert same(decode(encoded), value)


@patient
@given(VALUES)
def test_the_encoded_form_may_be_a_value_again(value: object) -> None:
    """An encoded value handed in as data comes back as data, not as what it says."""
    encoded = encode(value, TYPES)
    assert same(settle(encoded, TYPES), encoded)


@patient
@given(JSON)
def test_reading_arbitrary_json_fails_only_as_documented(value: JsonValue) -> None:
    """JSON that no encoder wrote raises a wrong or cannot tell, nothing else."""
    _decode_or_fail(value)


@patient
@given(st.sampled_from(TAGS), JSON | st.binary().map(lambda b: encode(b)["$bytes"]))  # type: ignore[index, call-overload]
def test_reading_arbitrary_tags_fails_only_as_documented(
    tag: str, content: JsonValue
) -> None:
    """A tag around anything at all raises a wrong or cannot tell, nothing else."""
    _decode_or_fail({tag: content})
    _decode_or_fail([{tag: [content, content]}])
    _decode_or_fail({"$object": ["test.Ticket", content]})
    _decode_or_fail({"$object": ["test.Reply", content]})


@patient
@given(ARRAYS, st.data())
def test_damaged_arrays_fail_only_as_documented(array: object, data: Any) -> None:
    """No damage to the bytes of an array raises anything but what is documented."""
    ((tag, content),) = encode(array).items()  # type: ignore[union-attr]
    damaged = bytearray(base64.b64decode(content))  # type: ignore[arg-type]
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(
        st.integers(0, 255)
    )
    _decode_or_fail({tag: base64.b64encode(damaged).decode()})


def _decode_or_fail(value: JsonValue) -> None:
    try:
        decode(value, TYPES)
    except (WrongError, CannotTellError) as error:
        shown = str(error)
    else:
        shown = ""
    assert "\n" not in shown
