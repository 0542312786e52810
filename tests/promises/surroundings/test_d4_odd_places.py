"""A directory that is gone, a name that no system takes: an error like any other."""

from __future__ import annotations

import sys

import pytest

from first_hour import Newcomer


@pytest.mark.skipif(sys.platform != "linux", reason="removes where a process stands")
@pytest.mark.parametrize("command", ["status", "verify", "runs list", "doctor", "init"])
def test_a_directory_that_is_gone(newcomer: Newcomer, command: str) -> None:
    """Whoever stands in a removed directory is told so, and exits with 3."""
    gone = newcomer.folder / "gone"
    script = (
        f'mkdir "{gone}" && cd "{gone}" && rmdir "{gone}" && exec muniment {command}'
    )
    said = newcomer.start(["sh", "-c", script])
    assert (said.code, said.out) == (3, "")
    assert "the working directory was removed [cli/directory]" in said.err


@pytest.mark.parametrize(
    "command", ["verify {}", "compare {} {}", "--ledger {} status"]
)
def test_a_name_that_is_too_long(newcomer: Newcomer, command: str) -> None:
    """A path of 5,000 characters is refused by its own rule, and is not a bug of ours."""
    said = newcomer.muniment(*command.format("a" * 5000, "a" * 5000).split())
    assert said.code in {2, 3}
    assert "Traceback" not in said.err
    assert "cli/bug" not in said.err
