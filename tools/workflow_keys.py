"""What each key of a graph, its nodes and their policies does: one line each.

Rules:

- A key has a default and an effect. The keys and their types come from the shapes; a key
  without a line, and a line without a key, are mistakes (`workflow_page`).
- "none" as a default says that what is not written is not there.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment.documents.shapes import ObjectShape
from muniment_plugins.workflow.artifacts.context.assembled import ASSEMBLY
from muniment_plugins.workflow.artifacts.context.context_policy import CONTEXT_POLICY
from muniment_plugins.workflow.ceilings.annotations import ANNOTATIONS
from muniment_plugins.workflow.ceilings.approvals import APPROVAL_POLICY
from muniment_plugins.workflow.ceilings.constraints import ARG_CONSTRAINT
from muniment_plugins.workflow.ceilings.policy import CAPABILITY_POLICY
from muniment_plugins.workflow.documents.compaction_shape import AUTO_COMPACT
from muniment_plugins.workflow.documents.shapes import EDGE, GRAPH, NODE
from muniment_plugins.workflow.engine.options import OPTIONS
from muniment_plugins.workflow.tools.registry import TOOL

__all__ = ["SECTIONS", "KeySection", "Lines"]

Lines = Mapping[str, tuple[str, str]]
KeySection = tuple[str, ObjectShape, Lines]


def _of(key: str) -> ObjectShape:
    shape = NODE.optional[key]
    assert isinstance(shape, ObjectShape), key  # noqa: S101 - of the code
    return shape


def _mailbox() -> ObjectShape:
    shape = GRAPH.optional["mailbox"]
    assert isinstance(shape, ObjectShape)  # noqa: S101 - of the code
    return shape


_METADATA = (
    "for handlers; conditions read `contains_text` and `artifact_kind`; with "
    "`workflow_verification_scope: local_only` it is told of no verifiers; with "
    "`workflow_target_paths` its tools write nowhere else, whatever is approved; "
    "`workflow_handler_level` is the level that is declared for its handler, if somebody "
    "else set that of its `capability_policy`"
)
_GRAPH: Lines = {
    "nodes": ("", "name → node; a name has no spaces and no `/`"),
    "edges": ("none", "in the order in which branches of a fork are merged"),
    "entry": (
        "`act`; else the one to which no edge leads; else the first by name",
        "the node that is first",
    ),
    "name": ("`workflow`", "of the graph, and of its runs"),
    "version": ("1", "a number that people raise"),
    "id": ("none", "whatever its users call it; nothing reads it"),
    "capability_policy": ("none", "what its nodes may do at most, under the ceiling"),
    "approval_policy": ("none", "which calls of tools go on, wait, or are denied"),
    "mailbox": ("none", "what its runs take of what is sent to them"),
    "made_of": (
        "none",
        "of a file that `workflow edit` wrote: what it was made of; no part of the graph",
    ),
    "metadata": ("none", "whatever its users say of it; nothing reads it"),
    "_type": ("`workflow_graph`", "says that it is a graph"),
}
_MAILBOX: Lines = {
    "signals": ("none", "those that become artifacts, of the kind `signal`, at a node"),
    "updates": (
        "none",
        "name → function that answers it; the `item` of its `StageInput` is what it says",
    ),
}
_EDGE: Lines = {
    "from": ("", "a node"),
    "to": ("", "a node"),
    "branch": ("none", "the branch that takes it; `*` for any; without it, success"),
    "label": ("none", "what pictures write on it, before its branch"),
}
_NODE: Lines = {
    "id": ("its name", "the name again, or nothing"),
    "kind": ("`stage`", "what it does: see the kinds"),
    "mode": (
        "`function` with a handler",
        "who does the work: a function, one call of a model, or a loop of calls",
    ),
    "handler": ("none", "`module:function`, from the folder of the document first"),
    "prompt": ("none", "what the node itself asks; handlers get it, too"),
    "system": ("none", "the system prompt; handlers get it, too"),
    "task_label": ("none", "a line above the task in the prompt"),
    "tools": (
        "none",
        "a registry, or a list of tools: what its handler, or its model, may call",
    ),
    "auto_compact": ("never", "when its session is compacted, and how"),
    "output_visibility": (
        "all, with private parts apart",
        "`public`: private parts are not kept; `private`: nobody else is shown anything",
    ),
    "transcript_policy": ("", "is refused: sessions have verbs, and no modes"),
    "model_policy": ("none", "which model is asked, and how"),
    "tool_servers": (
        "none",
        "of a loop: functions that connect to servers of tools, as `tool_server` does",
    ),
    "done_sentinel": (
        "none",
        "the last word or line of an answer with which the model of a loop says that it is done",
    ),
    "context_policy": (
        "everything; stages: at most 100",
        "which artifacts it works on",
    ),
    "context_assembler": ("none", "cuts what a model is shown into chunks"),
    "retry_policy": ("one attempt", "how often its work is tried"),
    "timeout_s": (
        "none",
        "seconds for each effect of its work; a thread goes on behind it",
    ),
    "max_visits": ("none", "how often one path may come to it; a branch counts anew"),
    "capability_policy": ("none", "what it may do at most, under the graph's"),
    "approval_policy": ("none", "as in the graph; the stricter answer counts"),
    "input_contract": ("none", "what it takes: kinds, counts, schema"),
    "output_contract": ("none", "what it may make: kinds, schema"),
    "branch_semantics": ("none", "own names for its branches, for its edges to use"),
    "map_policy": ("none", "what a map works on"),
    "join_policy": ("all", "when a join, or a map, goes on"),
    "reduce_policy": ("texts, joined", "how a reduction makes one of many"),
    "escalation_policy": ("one approver", "who is asked, and what for"),
    "verify": ("none", "what a verifier checks"),
    "body": ("none", "the node that a map visits for each item"),
    "graph": ("none", "the graph that a subagent runs"),
    "metadata": (
        "none",
        _METADATA,
    ),
}
_INPUT: Lines = {
    "require_transcript": ("false", "an empty session fails the node"),
    "input_kinds": ("all", "which kinds count, and come into the context"),
    "min_inputs": ("0", "fewer fail the node"),
    "max_inputs": ("none", "more fail the node"),
    "schema": ("none", "JSON Schema of the `data` of each"),
}
_OUTPUT: Lines = {
    "output_kinds": ("all", "another kind fails the node; the first is its own kind"),
    "schema": ("none", "JSON Schema of the `data` of each"),
}
_RETRY: Lines = {
    "max_attempts": ("1", "how often in all; in a loop, for each call of the model"),
    "backoff_ms": ("0", "milliseconds before the second attempt, a durable timer"),
    "backoff_multiplier": ("2", "times that for each further one"),
}
_MODEL: Lines = {
    "provider": ("none", "the part before the colon, such as `openai`, `scripted`"),
    "model": ("`default`", "the part behind it"),
    "temperature": ("the provider's", "is sent along"),
    "max_tokens": ("the provider's", "is sent along"),
    "session_id": ("none", "the [session](../how-to/sessions.md) that it converses in"),
    "session_held": (
        "`refuse`",
        "what is done if another run has it: the run fails, or writes a `fork`",
    ),
    "stream": ("false", "the answer comes in parts, for those who listen"),
    "max_iterations": ("16", "of a loop: how often the model is asked at most"),
    "max_tool_calls": ("none", "of a loop: how many calls of tools it may ask for"),
    "max_total_tokens": ("none", "of a loop: tokens after which nothing more is done"),
    "max_cost_usd": ("none", "of a loop: US dollars after which nothing more is done"),
    "max_repeats": ("3", "of a loop: how many answers in a row may call the same"),
    "max_concurrent_tools": ("8", "of a loop: how many calls are performed at once"),
    "max_nudges": ("3", "of a loop: how often it is told that it is not done"),
    "nudge": ("a sentence of ours", "of a loop: what it is told then"),
    "max_repairs": ("2", "of a loop: how often it is told that the schema is not met"),
    "stop_after_successful_tools": (
        "none",
        "of a loop: tools that end it, once one succeeds",
    ),
    "require_successful_tools": (
        "none",
        "of a loop: tools that have to succeed before it ends",
    ),
}
_COMPACT: Lines = {
    "enabled": ("false", "whether it is compacted by itself"),
    "auto_compact": ("", "another name of `enabled`"),
    "token_threshold": ("48000", "above so many tokens"),
    "compact_threshold": ("", "another name of `token_threshold`"),
    "keep_last": ("12", "how many of the last messages stay at least"),
    "compact_keep_last": ("", "another name of `keep_last`"),
    "tool_output_max_chars": ("16000", "results of tools that stay are cut to so many"),
    "compact_strategy": (
        "`observation_mask`",
        "what makes the summary: `truncate`, `observation_mask`, `llm`, `custom`",
    ),
    "hard_limit_tokens": ("none", "what a session may not exceed after a compaction"),
    "hard_limit_strategy": ("`llm`", "what makes the summary if it does"),
    "summarize_model": (
        "that of the node or the loop",
        "who writes it: `provider:name`",
    ),
    "summarize_prompt": ("our own", "what that model is asked"),
    "custom_compactor": ("none", "a function from messages to a summary"),
    "mask_callback": ("none", "a function from a masked result to what stands for it"),
    "compress_callback": ("none", "a function that makes a long result shorter"),
}
_MAP: Lines = {
    "items": ("none", "any values; without them, artifacts that are selected"),
    "item_artifact_kind": ("all", "of which kind these are"),
    "output_kind": ("`artifact`", "of which kind each result is"),
    "max_items": ("none", "further items are left out"),
    "max_concurrent": ("32 threads, 64 tasks", "how many at once"),
}
_JOIN: Lines = {
    "strategy": ("`all`", "`all`; or a race: `first`, `quorum`"),
    "require_all_inputs": ("false", "all have to succeed, the items of a map, too"),
    "min_completed": ("all of them; of a map's items one", "how many have to succeed"),
}
_REDUCE: Lines = {
    "strategy": ("by the handler", "`function` with a handler, `concat` without"),
    "separator": ("a blank line", "between texts"),
    "output_kind": ("`summary`", "of which kind the result is"),
}
_ESCALATION: Lines = {
    "level": ("none", "a part of what people decide on"),
    "queue": ("none", "a part of what people decide on"),
    "reason": ("manual review required", "what people are asked"),
    "quorum": ("1", "how many have to approve"),
    "of": ("every approver", "ids of the keys that may answer"),
}
_VERIFY: Lines = {
    "command": ("none", "a line for the shell, or a list: program and arguments"),
    "timeout_s": (
        "600",
        "seconds for the command; then all that it started is killed",
    ),
    "expect_status": ("0", "with which the command has to end, at most 255"),
    "assert_text": ("none", "in standard output; without a command, in an artifact"),
    "expect_text": ("none", "in standard output or standard error"),
    "required_identifiers": ("none", "whole words in output, artifacts or files"),
    "required_paths": ("none", "files below the folder of the run, which are read"),
    "required_text": ("none", "texts in output, artifacts or these files"),
    "checks": ("none", "the same as a list: `kind`, `value`, `note`; kinds below"),
    "summary": ("none", "is told to those who do the work"),
    "notes": ("none", "are told to those who do the work"),
    "contract_path": (
        "none",
        "a file with the keys above; holds beside the node's own; what cannot both hold is refused",
    ),
    "handler": ("none", "a function that says true or false, or `{ok, reason}`"),
    "rubric": (
        "the node's prompt",
        "what a model judges by, with the mode `llm` or `agent`",
    ),
}
_CONTEXT: Lines = {
    "max_artifacts": ("100", "how many come in"),
    "max_tokens": ("none", "the budget of their bodies"),
    "reserve_tokens": ("0", "kept back from it"),
    "include_kinds": ("all", "which kinds come in"),
    "exclude_kinds": ("none", "which do not; stronger than the former"),
    "prioritize_kinds": ("none", "which come first"),
    "pinned_ids": ("none", "which come in before all others"),
    "include_stages": ("all", "from which nodes"),
    "prefer_recent": ("false", "the newest first"),
    "prefer_fresh": ("false", "the freshest first"),
    "keep_duplicates": (
        "false where a model is asked, else true",
        "whether artifacts that say the same all come in",
    ),
    "render": ("`xml`", "how a model is shown them: `xml`, `json`"),
}
_ASSEMBLY: Lines = {
    "budget_tokens": ("8000", "how many tokens come in"),
    "chunk_tokens": ("500", "how many a chunk has at most"),
    "dedup": ("`chunked`", "which chunks are the same: none, equal ones, similar ones"),
    "strategy": ("`relevance`", "which come first"),
    "query": ("none", "words that relevance looks for"),
    "semantic_overlap": ("0.85", "how similar is the same"),
}
_CAPABILITY: Lines = {
    "tools": ("no limit", "patterns of names; an empty list is no tool"),
    "capabilities": ("no limit", "capability → operations, `*` for all"),
    "workspace_roots": (
        "no limit",
        "folders that paths have to be in, links followed, also those that a verifier asks for; an empty list is no path",
    ),
    "also_roots": (
        "none",
        "further lists of roots: a path is in a root of each; an intersection keeps there those of both sides",
    ),
    "side_effect_level": (
        "no limit",
        "the highest of `none`, `read_only`, `workspace_write`, `process_exec`, `network`",
    ),
    "recursion_limit": ("no limit", "how many levels of nested runs are left"),
    "tool_arg_constraints": ("none", "which arguments tools may get"),
    "tool_annotations": ("none", "more about tools than they state themselves"),
}
_CONSTRAINT: Lines = {
    "tool": ("", "a pattern of names"),
    "arg_patterns": ("", "patterns of texts; an empty list allows none"),
    "arg_key": ("every argument", "the argument, dotted if it is in another"),
}
_APPROVAL: Lines = {
    "auto_deny": ("none", "is denied, whatever else matches"),
    "write_path_allowlist": (
        "no limit",
        "where tools may write, links followed: a path and what is below it, or a pattern with `*` or `**`; an empty list is nowhere",
    ),
    "auto_approve": (
        "none",
        "goes on, unless the same policy denies it, or lets it wait",
    ),
    "require_approval": ("none", "waits for people, whatever approves it"),
    "default": ("reading: `allow`, else `deny`", "what becomes of the others"),
    "also": ("none", "policies that are asked, too: the stricter answer counts"),
}
_TOOL: Lines = {
    "name": ("", "its name"),
    "description": ("none", "what models read"),
    "parameters": ("none", "name → schema, or a JSON Schema: calls are held to it"),
    "returns": ("none", "JSON Schema, for readers: what it returns is not held to it"),
    "handler": (
        "none",
        "`module:function`; without one, no call of it can be performed",
    ),
    "policy": ("counts as `network`", "what its author states about it"),
    "defer_loading": (
        "false",
        "for hosts that search for tools; a handler may call it",
    ),
}
_ANNOTATION: Lines = {
    "kind": ("none", "`read`, `search`, `edit`, `execute`, …"),
    "side_effect_level": ("by kind, else `network`", "what it does at most"),
    "mutation_classification": ("none", "`read_only`, `apply_workspace`, …"),
    "path_params": (
        "none",
        "which arguments are paths: what is held of them reaches it absolute",
    ),
    "arg_aliases": ("none", "other names of arguments"),
    "required": ("none", "arguments that must be there"),
    "arg_schema": ("none", "the three before, in one object"),
    "capabilities": ("none", "operations that it needs"),
    "emits_artifacts": ("false", "whether its results are artifacts"),
    "result_readers": ("none", "tools that read its results"),
    "inline_result": ("false", "whether its result is in its answer"),
}
_OPTIONS: Lines = {
    "max_steps": (
        "4 for each node",
        "nodes that one path comes to; then the run pauses, and people decide",
    ),
    "executor": ("threads here", "what calls handlers: see executors"),
    "ceiling": ("no limit", "a capability policy that the whole run is held to"),
    "approval_policy": ("none", "which calls of tools go on, wait, or are denied"),
    "cwd": (
        "`.`",
        (
            "where commands run, and where roots and paths begin, those of tools too; a "
            "resume works in the same folder, wherever its process is"
        ),
    ),
    "key": ("none", "with which it is started once: [Started once](#started-once)"),
}

SECTIONS: tuple[KeySection, ...] = (
    ("A graph", GRAPH, _GRAPH),
    ("`mailbox`", _mailbox(), _MAILBOX),
    ("An edge", EDGE, _EDGE),
    ("A node", NODE, _NODE),
    ("`input_contract`", _of("input_contract"), _INPUT),
    ("`output_contract`", _of("output_contract"), _OUTPUT),
    ("`retry_policy`", _of("retry_policy"), _RETRY),
    ("`model_policy`", _of("model_policy"), _MODEL),
    ("`auto_compact`", AUTO_COMPACT, _COMPACT),
    ("`map_policy`", _of("map_policy"), _MAP),
    ("`join_policy`", _of("join_policy"), _JOIN),
    ("`reduce_policy`", _of("reduce_policy"), _REDUCE),
    ("`escalation_policy`", _of("escalation_policy"), _ESCALATION),
    ("`verify`", _of("verify"), _VERIFY),
    ("`context_policy`", CONTEXT_POLICY, _CONTEXT),
    ("`context_assembler`", ASSEMBLY, _ASSEMBLY),
    ("`capability_policy`", CAPABILITY_POLICY, _CAPABILITY),
    ("`tool_arg_constraints`", ARG_CONSTRAINT, _CONSTRAINT),
    ("`approval_policy`", APPROVAL_POLICY, _APPROVAL),
    ("A tool", TOOL, _TOOL),
    ("`policy` of a tool", ANNOTATIONS, _ANNOTATION),
    ("Options of a run", OPTIONS, _OPTIONS),
)
"""Heading, shape, lines."""
