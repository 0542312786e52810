"""The stable names of workflows: their programs.

Rule: code that gives other results is another version, and gets another name; the old
one stays, for the runs that it took part in.
"""

from __future__ import annotations

from typing import cast

from muniment.programs.stable_names import StableName

__all__ = ["NAMES", "is_engine"]

_HERE = "muniment_plugins.workflow.engine.program"

NAMES = (
    StableName("muniment:async-workflow/1", f"{_HERE}:AsyncWorkflowProgram"),
    StableName("muniment:workflow/1", f"{_HERE}:WorkflowProgram"),
)


def is_engine(program: object) -> bool:
    """Tell whether the start of a run describes its *program* as the one of workflows."""
    described = cast("dict[str, object]", program) if isinstance(program, dict) else {}
    return described.get("name") in [one.name for one in NAMES]
