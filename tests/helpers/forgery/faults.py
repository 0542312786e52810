"""What every fault must look like, and what must hold once it is lifted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from muniment.errors import MunimentError
from muniment.ledger import Ledger
from muniment.verification.verify import verify

__all__ = ["NOTE", "clear", "opened", "refused", "well"]

NOTE = {"text": "x", "details": "y" * 3000}


def clear(error: MunimentError, code: int, rule: str) -> None:
    """Check that *error* is one line with rule, place and remedy."""
    text = str(error)
    assert (error.exit_code, error.rule) == (code, rule), text
    assert "\n" not in text
    assert f"[{rule}]" in text
    assert error.place
    assert error.place in text
    assert error.remedy
    assert error.remedy in text


def refused(call: Callable[[], object], code: int, rule: str) -> None:
    """Check that *call* is refused with exit *code* by *rule*, in one line."""
    with pytest.raises(MunimentError, match=r"\[[a-z-]+/[a-z-]+\]") as caught:
        call()
    clear(caught.value, code, rule)


def well(place: Path, size: int) -> None:
    """Check that the ledger has *size* events, grows, and verifies."""
    with Ledger.open(place, plugins=()) as ledger:
        assert ledger.head.size == size
        assert ledger.append("note.added", NOTE).seq == size
    report = verify(place)
    assert (report.ok, report.size) == (True, size + 1), report


def opened(place: Path) -> Ledger:
    """Open the ledger at *place*, waiting for nobody."""
    return Ledger.open(place, plugins=(), timeout=0.1)
