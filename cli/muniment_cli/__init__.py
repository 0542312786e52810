"""The command line: ``muniment COMMAND …``.

Rules: this package is imported by every command and imports nothing itself; each
command's module is loaded when that command is called, and not before.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (``sys.argv`` without *arguments*); return the exit code."""
    from muniment_cli.conduct import conduct

    return conduct(arguments)
