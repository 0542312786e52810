"""What counts of a fact for the result of its run."""

from __future__ import annotations

import hashlib
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from drawn_values import patient
from muniment.encoding.canonical import JsonValue, canonical
from muniment.recorded.compare import entry

VALUES = st.integers(-9, 9) | st.text(max_size=4) | st.lists(st.booleans(), max_size=3)
NAMES = st.text("ab_", max_size=3)


@patient
@given(st.text(max_size=5), st.text(max_size=5), st.dictionaries(NAMES, VALUES))
def test_an_entry_is_the_hash_of_one_value(
    scope: str, kind: str, data: dict[str, JsonValue]
) -> None:
    """Hashed piece by piece, a fact has the hash of scope, type and data as one."""
    whole = cast("JsonValue", [scope, kind, data])
    assert entry(scope, kind, data) == hashlib.sha256(canonical(whole)).hexdigest()
