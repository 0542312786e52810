"""Personal data is kept out where that is asked for, and numbers stay numbers."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from muniment.errors import UsageError
from muniment_plugins.providers.secrets.personal_data import VARIABLE, personal
from muniment_plugins.providers.secrets.redaction import MASK, Redaction

TEXT = (
    "Ada, ada@example.org, +41 44 668 18 00, card 4111 1111 1111 1111, "
    "IBAN CH9300762011623852957, SSN 536-90-4399; call 1234567890 in 2024"
)
LEFT = (
    f"Ada, {MASK}, {MASK}, card {MASK}, "
    f"IBAN {MASK}, SSN {MASK}; call 1234567890 in 2024"
)


@pytest.fixture
def presidio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for presidio, where it is installed."""
    pytest.importorskip("presidio_analyzer")
    monkeypatch.setenv(VARIABLE, "presidio")


@pytest.mark.usefixtures("presidio")
def test_personal_data_is_taken_out() -> None:
    """What shows by form or checksum is masked, in prose and in JSON alike."""
    assert Redaction().text(TEXT) == LEFT
    for indent in (None, 1):
        body = json.dumps({"a": [TEXT], "n": 1}, indent=indent)
        assert json.loads(Redaction().text(body)) == {"a": [LEFT], "n": 1}


@pytest.mark.usefixtures("presidio")
def test_numbers_of_json_stay() -> None:
    """Counts, times and long numbers are not telephones and no cards; nor are ids."""
    told = {"created": 1717171717, "n": [4111111111111111], "p": 0.4466818, "id": "c-1"}
    for indent in (None, 1):
        body = json.dumps({"id": "chatcmpl-1234567890", **told}, indent=indent)
        assert Redaction().text(body) == body
        line = f"data: {json.dumps(told)}"
        assert Redaction().text(line) == line


def test_nothing_is_looked_for_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable personal data stays, and presidio is not needed."""
    monkeypatch.setitem(sys.modules, "presidio_analyzer.predefined_recognizers", None)
    assert Redaction().text(TEXT) == TEXT


def test_what_cannot_redact_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown name, and a package that is not there, never let anything through."""
    monkeypatch.setenv(VARIABLE, "presidoi")
    with pytest.raises(UsageError, match="'presidoi' redacts nothing"):
        Redaction().text("x")
    monkeypatch.setenv(VARIABLE, "presidio")
    absent: Any = {"presidio_analyzer.predefined_recognizers": None}
    monkeypatch.setattr(sys, "modules", {**sys.modules, **absent})
    recognizers = sys.modules[personal.__module__]._recognizers
    recognizers.cache_clear()
    with pytest.raises(UsageError, match="presidio is not installed"):
        Redaction().text("x")
    recognizers.cache_clear()
