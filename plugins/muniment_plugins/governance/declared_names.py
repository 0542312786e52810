"""The stable names of governance: its programs, and the agents in the box.

Rule: code that gives other results is another version, and gets another name; the old
one stays, for the runs that it took part in.
"""

from __future__ import annotations

from muniment.programs.stable_names import StableName

__all__ = ["NAMES"]

_GOVERNANCE = "muniment_plugins.governance"
_HERE = f"{_GOVERNANCE}.flows"

NAMES = (
    StableName("muniment:amendment/1", f"{_GOVERNANCE}.budgets.amendments:amend"),
    StableName("muniment:async-flow/1", f"{_HERE}.program:AsyncFlowProgram"),
    StableName("muniment:echo/1", f"{_HERE}.steps.box_agents:echo"),
    StableName("muniment:flow/1", f"{_HERE}.program:FlowProgram"),
    StableName(
        "muniment:observation/1", f"{_GOVERNANCE}.views.observation:earlier_observation"
    ),
    StableName(
        "muniment:observation/2", f"{_GOVERNANCE}.views.observation:observation"
    ),
    StableName("muniment:llm/1", f"{_HERE}.steps.box_agents:llm"),
)
