"""The page about flows and policies names every key, word and rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.documents.shapes import (
    Choice,
    Entries,
    Items,
    ObjectShape,
    OneOf,
    Shaped,
)
from muniment_plugins.governance.documents.manifest_shape import FLOW
from muniment_plugins.governance.documents.policy_shape import POLICY
from muniment_plugins.governance.documents.policy_verification import BASELINE, COMPUTED

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "flows.md"


def names(shape: Shaped) -> Iterator[str]:
    """Yield every key and every word that *shape* allows."""
    if isinstance(shape, Choice):
        yield from shape.words
    elif isinstance(shape, Items | Entries):
        yield from names(shape.shape)
    elif isinstance(shape, OneOf):
        yield from names(shape.members)
    elif isinstance(shape, ObjectShape):
        for name, one in (*shape.required.items(), *shape.optional.items()):
            yield name
            yield from names(one)


LEFT_OUT = {
    "answer",
    "description",
    "target",
    "reasoning_bundle",
    "evidence",
    "artifact",
}
"""Keys that explain themselves, or are spelled in an example."""


@pytest.mark.parametrize("shape", [FLOW, POLICY], ids=["flow", "policy"])
def test_every_key_is_there(shape: ObjectShape) -> None:
    """No key and no word is missing."""
    text = PAGE.read_text()
    missing = {one for one in names(shape) if f"`{one}`" not in text}
    assert missing - LEFT_OUT == set()


def test_every_rule_is_there() -> None:
    """Each rule in the box has a line with what it says."""
    text = PAGE.read_text()
    for name, said in (*BASELINE.items(), *COMPUTED.items()):
        assert f"| `{name}` | {said} |" in text
