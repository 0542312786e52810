"""A sentence of the specification is broken alone, and the verifier says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from all_breaches import BREACHES


@pytest.mark.parametrize("name", BREACHES)
def test_a_sentence_alone(name: str, tmp_path: Path) -> None:
    """A world with the breach breaks exactly its rules; without it, the world is sound."""
    breach = BREACHES[name]
    assert breach.judged(tmp_path / "sound", wrong=False) == set()
    assert breach.judged(tmp_path / "wrong", wrong=True) == breach.rules
