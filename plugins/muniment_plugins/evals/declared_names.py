"""The stable names of evals: their program.

Rule: code that gives other results is another version, and gets another name; the old
one stays, for the runs that it took part in.
"""

from __future__ import annotations

from muniment.programs.stable_names import StableName

__all__ = ["NAMES"]

NAMES = (
    StableName("muniment:eval/1", "muniment_plugins.evals.engine.program:EvalProgram"),
)
