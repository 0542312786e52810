"""``muniment status``: whether this user can append, and what hinders them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


def said(shell: Any) -> tuple[str, bool]:
    """Return what the status says of the key, and whether one can append."""
    line = next(x for x in shell("status").out.splitlines() if x.startswith("key"))
    return line.removeprefix("key").strip(), shell("status", "--json").json["writable"]


@pytest.mark.usefixtures("made")
def test_with_key_and_access_one_can_append(shell: Any) -> None:
    """Nothing hinders whoever made the ledger."""
    assert said(shell) == ("here: this user can append", True)


def test_a_read_only_file_is_said(
    shell: Any, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is not enough where the file, or its directory, cannot be written to."""
    real = os.access

    def access(path: Any, mode: int) -> bool:
        return str(path) != str(made) and real(path, mode)

    monkeypatch.setattr(os, "access", access)
    assert said(shell) == (f"here, but {made} cannot be written to", False)


@pytest.mark.usefixtures("made")
def test_a_ledger_that_was_merely_found_is_said(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a pin nothing is appended to what nobody named, key or not."""
    (key,) = Path(os.environ["MUNIMENT_HOME"]).glob("ledgers/*/keys/writer.pem")
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "stranger"))
    assert said(shell) == ("none: this user can only read", False)
    monkeypatch.setenv("MUNIMENT_KEY", str(key))
    text, writable = said(shell)
    assert "no key of it is pinned" in text
    assert not writable
