"""The words of plans: under which keys planners write what, and what their words mean.

Rules:

- Keys are looked for in the order in which they stand here; the first one that says
  something counts.
- A word that is not listed means nothing: the next key, and in the end a default, decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = [
    "CLASSES",
    "CONTAINERS",
    "DEPENDENCIES",
    "GROUPS",
    "INSTRUCTIONS",
    "LEVELS",
    "NAMES",
    "NESTED",
    "ORDERED",
    "PHASES",
    "PHASE_KEYS",
    "SOURCE_IDS",
    "TITLES",
    "TOOLS",
    "class_of_tools",
    "phase_named",
]

PHASES = ("research", "execute", "verify")
CLASSES = ("read", "write", "exec", "mixed", "generic", "verify")
CONTAINERS = ("actions", "plan", "steps", "items", "tasks")
"""Keys of a plan under which its actions are."""
ORDERED = ("batches", "phases")
"""Keys of a plan under which its actions are in groups, each after the one before."""
NESTED = ("actions", "items", "steps", "tasks", "substeps", "children")
"""Keys under which an action, or a batch, has actions of its own."""
GROUPS = PHASES
"""Keys of a plan that hold the actions of one phase."""
TITLES = ("title", "name", "label", "action", "task", "instruction", "summary")
INSTRUCTIONS = (
    "instruction",
    "prompt",
    "task",
    "action",
    "goal",
    "description",
    "text",
)
SOURCE_IDS = ("id", "action_id", "name", "label")
TOOLS = ("tools", "tool", "allowed_tools", "capabilities")
PHASE_KEYS = ("phase", "kind", "type", "category", "mode")
DEPENDENCIES = ("depends_on", "dependsOn", "dependencies", "needs", "after")
NAMES = ("id", "action_id", "ref", "action", "step", "name", "label", "title")
"""Keys under which an object that is a reference names what it refers to."""

_PHASE_WORDS = {
    "research": "research discover analyze analysis investigate",
    "verify": "verify verification test check evaluate evaluator qa",
    "execute": "execute act implementation implement apply fix edit",
}
_BY_WORD = {
    word: phase for phase, words in _PHASE_WORDS.items() for word in words.split()
}
_TOOL_WORDS = {
    "read": "read search fetch query list inspect grep",
    "write": "edit write create update delete apply_patch",
    "exec": "run exec shell test",
}
_BY_TOOL = {word: one for one, words in _TOOL_WORDS.items() for word in words.split()}
LEVELS = {"read": "read_only", "write": "workspace_write", "exec": "process_exec"}
"""Class of tools → the most that those who work on such actions may do."""
_FIRST_WORD = re.compile(r"\W*([A-Za-z]+)")


def phase_named(word: object) -> str | None:
    """Return the phase that *word*, or the first word of a text, means."""
    found = _FIRST_WORD.match(word) if isinstance(word, str) else None
    return None if found is None else _BY_WORD.get(found[1].lower())


def class_of_tools(tools: Iterable[str], phase: str) -> str:
    """Return the class of *tools*, as an action of *phase* uses them."""
    if phase == "verify":
        return "verify"
    classes = {_BY_TOOL.get(one.lower(), "generic") for one in tools}
    if not classes:
        return "read" if phase == "research" else "generic"
    if "generic" in classes:
        return "generic"
    return classes.pop() if len(classes) == 1 else "mixed"
