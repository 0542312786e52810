"""The stable name of recorded programs, and their name in the first edition.

    {"name": "muniment:recorded-program/1"}

Rule: the name holds for any version of their source: the command line decides what
they do.
"""

from __future__ import annotations

from muniment.programs.stable_names import StableName

__all__ = ["NAMES"]

_HERE = "muniment_plugins.providers"
"""Where the code is today. Where it once was is spelled out, and stays."""

NAMES = (
    StableName(
        "muniment:recorded-program/1",
        f"{_HERE}.recorder.program:RecordedProgram",
        {"muniment_plugins.providers.recorder.program:RecordedProgram": None},
    ),
)
