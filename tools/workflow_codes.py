"""The codes that validation finds, by the source, with what they mean and what to do.

Rule: the codes come from the source; one without a line, and a line without a code, are
mistakes (`workflow_page`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import muniment_plugins.workflow as plugin

__all__ = ["MEANINGS", "severities"]

_HERE = Path(plugin.__file__).parent
_CALLS = {"WorkflowFinding": "", "_found": "TOOL_SURFACE_", "_twice": ""}
"""What makes a finding → what its codes begin with."""
_BY_HELPERS = {"_found": "warning", "_twice": "error"}
"""Helpers → the severity where a call says none."""

MEANINGS: Mapping[str, tuple[str, str]] = {
    "AGENT_OPTION": ("an option of a loop can never hold", "see the message"),
    "AUTO_COMPACT_INCOMPLETE": (
        "a strategy has nobody who makes its summary, or names contradict",
        "see the message",
    ),
    "BODY_KIND": ("the body of a map is a fork, a join or a condition", "another kind"),
    "CEILING_EXCEEDED": ("a node asks for more than its ceiling has", "ask for less"),
    "CEILING_UNDECLARED": (
        "under a level, a handler or a kind of a plugin declares none",
        "write its `side_effect_level`, if it is true",
    ),
    "CONDITION_MISSPELLED": ("metadata that a condition nearly reads", "its own name"),
    "CONDITION_TYPE": ("a condition asks for what is no text", "write a text"),
    "CONDITION_OPEN": ("a condition lacks the edge of a branch", "add it"),
    "CONTEXT_EMPTY": ("nothing could come into a context", "exclude or reserve less"),
    "CONTRACT_COUNTS": (
        "at least more than at most",
        "a maximum not below the minimum",
    ),
    "CONTRACT_SCHEMA": ("a schema is no JSON Schema", "mend it"),
    "EDGE_AMBIGUOUS": (
        "no branch takes the edge: others, to other nodes, take them before",
        "a fork, or one edge",
    ),
    "EDGE_DUPLICATE": (
        "no branch takes the edge: one to the same node takes it before",
        "leave one out",
    ),
    "EDGE_UNKNOWN": ("an edge names no node", "see what is suggested"),
    "ENTRY_UNKNOWN": ("the entry is no node", "see what is suggested"),
    "ESCALATION_QUORUM": ("more are to answer than may", "a quorum that is there"),
    "FORK_LABEL": ("an edge of a fork has a branch", "leave it out"),
    "FORK_NARROW": ("a fork has fewer than two edges", "an edge to each branch"),
    "FORK_UNSTRUCTURED": (
        "branches of a fork meet in part, or elsewhere than in one join",
        "let all meet in one join, or end",
    ),
    "HANDLER_ARGUMENTS": (
        "a handler cannot be called as its node calls it",
        "one argument; or two, for what takes the lane",
    ),
    "HANDLER_MISSING": ("the mode is function, and no handler is named", "name one"),
    "JOIN_NARROW": ("fewer than two edges lead to a join", "leave it out"),
    "JOIN_QUORUM": (
        "a join policy contradicts itself, or needs more than can come",
        "see the message",
    ),
    "KEY_INERT": ("nothing reads the key in such a node", "leave it out"),
    "KIND_UNKNOWN": ("there is no such kind", "see what is suggested; load its plugin"),
    "LABEL_DEAD": ("the node never ends in that branch", "see what is suggested"),
    "MAP_NO_ITEMS": ("a map has nothing to work on", "`items`, or a kind of artifacts"),
    "MAP_TWO_WORKS": ("a map has a body and work of its own", "leave one out"),
    "MODEL_MISSING": ("a model is asked, and none is named", "write a `model_policy`"),
    "MODEL_OPEN": (
        "a loop names no model, and cannot be run",
        "write a `model_policy`",
    ),
    "NODE_UNREACHABLE": ("no path leads to the node", "an edge, or leave it out"),
    "OUTPUT_KIND": ("a kind that the output contract forbids", "one that it allows"),
    "RACE_DECIDES": ("people would be asked in a race", "ask before it, or after"),
    "REDUCE_INPUTS": ("a reduction takes whatever there is", "say `input_kinds`"),
    "REDUCE_STRATEGY": ("strategy and handler disagree", "leave the strategy out"),
    "SEMANTICS_TAKEN": ("a name of a branch means another one already", "a free name"),
    "SEMANTICS_UNKNOWN": ("the kind has no such branch to name", "see the suggestion"),
    "SESSION_HELD_TWICE": (
        "nodes say different things of one session that another run has",
        "say the same at each",
    ),
    "SESSION_MISSING": (
        "something is said of a session, and the node names none",
        "write `session_id`, or leave it out",
    ),
    "SUBAGENT_WORK": (
        "a subagent has no work, or two",
        "a graph, or a handler or mode",
    ),
    "TOOL_DEFERRED": (
        "a loop would have to load a tool later",
        "leave `defer_loading` out",
    ),
    "TOOL_UNPERFORMED": ("a graph is run, and nobody performs a tool", "a `handler`"),
    "TOOLS_UNCALLED": (
        "a single call of a model, or a handler of one argument, calls no tools",
        "a handler of two arguments",
    ),
    "VERIFY_CHECK_VALUE": ("a check with a value that nothing has", "one that fits"),
    "VERIFY_CHECK_UNKNOWN": ("there is no such check", "see which are known"),
    "VERIFY_NO_CHECKS": ("a verifier checks nothing", "a command, texts, a handler, …"),
    "VERIFY_NO_COMMAND": ("a key is about a command, and there is none", "write one"),
    "VERIFY_NO_JUDGE": (
        "a rubric by which nobody judges",
        "the mode `llm`, and a model",
    ),
    "VERIFY_NO_RUBRIC": ("a model judges, and nothing says by what", "a rubric"),
    "WORK_MISSING": ("nobody does the work", "a handler, or a mode"),
    "WORK_TWICE": ("a handler beside the mode of a model", "leave one out"),
    "TOOL_SURFACE_ALLOWLIST_NO_PATHS": (
        "an allowlist, and a tool that names no path: each call is denied",
        "its `path_params`",
    ),
    "TOOL_SURFACE_ROOTS_NO_PATHS": (
        "roots, and a tool of which they hold no argument",
        "its `path_params`, or a capsule",
    ),
    "TOOL_SURFACE_APPROVAL_OVERRULED": (
        "what it approves waits for people, or is denied, by the same policy",
        "leave it out, or narrow the others",
    ),
    "TOOL_SURFACE_APPROVAL_PATTERN_NO_MATCH": ("a pattern matches no tool", "mend it"),
    "TOOL_SURFACE_CAPABILITY_CEILING_EXCEEDED": (
        "a tool needs an operation that is not allowed",
        "leave the tool out, or allow it",
    ),
    "TOOL_SURFACE_CONTRADICTORY_ANNOTATIONS": (
        "statements about a tool contradict each other",
        "state what is true",
    ),
    "TOOL_SURFACE_DEFERRED_TOOL_PROMPT_REFERENCE": (
        "a prompt speaks of a tool that is loaded later",
        "load it at once",
    ),
    "TOOL_SURFACE_DEPRECATED_ARG_ALIAS": (
        "an argument by another name",
        "its own name",
    ),
    "TOOL_SURFACE_INVALID_SCHEMA": ("a schema is no JSON Schema", "mend it"),
    "TOOL_SURFACE_MISSING_ANNOTATIONS": (
        "nothing is stated about a tool: it counts as network",
        "write its `policy`",
    ),
    "TOOL_SURFACE_MISSING_EXECUTOR": ("nothing performs a tool", "give it a handler"),
    "TOOL_SURFACE_MISSING_RESULT_READER": (
        "a tool makes artifacts that nothing reads",
        "`result_readers`, or `inline_result`",
    ),
    "TOOL_SURFACE_MISSING_SCHEMA": ("parameters are not described", "describe them"),
    "TOOL_SURFACE_MISSING_SIDE_EFFECT_LEVEL": ("no level is stated", "state it"),
    "TOOL_SURFACE_PROMPT_TOOL_NOT_IN_POLICY": (
        "a prompt speaks of a tool that no call may use",
        "leave it out, or allow it",
    ),
    "TOOL_SURFACE_RELABELLED_TOOL": (
        "the host states more about a tool than its author",
        "state the same",
    ),
    "TOOL_SURFACE_SHADOWED_HOST_TOOL": (
        "a handler would stand for a tool of the host",
        "rename the tool",
    ),
    "TOOL_SURFACE_SIDE_EFFECT_CEILING_EXCEEDED": (
        "a tool is above the level that is allowed",
        "leave it out, or raise the level",
    ),
    "TOOL_SURFACE_TOOL_NOT_IN_CEILING": ("a tool is not listed", "list it"),
    "TOOL_SURFACE_UNCHECKED_SCHEMA": (
        "nothing here checks schemas",
        "`pip install 'muniment[workflow]'`",
    ),
    "TOOL_SURFACE_UNKNOWN_ARG_CONSTRAINT_KEY": ("no such parameter", "mend it"),
    "TOOL_SURFACE_UNKNOWN_ANNOTATED_TOOL": (
        "something is stated about a tool that is not there",
        "mend it",
    ),
    "TOOL_SURFACE_UNKNOWN_ARG_CONSTRAINT_TOOL": ("no such tool", "mend it"),
    "TOOL_SURFACE_UNKNOWN_PROMPT_TOOL": ("a prompt speaks of no tool here", "mend it"),
    "TOOL_SURFACE_UNKNOWN_RESULT_READER": ("no such tool reads results", "mend it"),
}
"""Code → what it means, and what to do."""


def severities() -> dict[str, str]:
    """Return code → severity, of each code that the source can find."""
    found: dict[str, str] = {}
    for file in sorted(_HERE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                found.update(_codes(node))
    return found


def _codes(call: ast.Call) -> Iterator[tuple[str, str]]:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name not in _CALLS or not call.args:
        return
    first = call.args[0]
    several = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
    words = [one.value for one in call.args if isinstance(one, ast.Constant)]
    said = [one for one in words if one in ("error", "warning")]
    severity = str((said or [_BY_HELPERS.get(name, "")])[0])
    for one in several:
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield f"{_CALLS[name]}{one.value}", severity
