"""Workflows: typed graphs of stages that hold what they declare, in parallel, resumably.

    done = workflow_execute(ledger, "Fix the diagnostic.", graph, [selection])

A workflow is a program over effects. This module offers the hooks, and knows the others by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    from muniment import EffectKind, Event, EventType, Ledger, RunFacts
    from muniment.hookspecs import OpenLedger
    from muniment.programs.stable_names import StableName
    from muniment_plugins.workflow.actions.batches import (
        ActionBatch,
        action_graph_batches,
    )
    from muniment_plugins.workflow.actions.flow import action_graph_flow
    from muniment_plugins.workflow.actions.normalising import action_graph
    from muniment_plugins.workflow.actions.planned import ActionGraph, PlannedAction
    from muniment_plugins.workflow.actions.rendering import action_graph_render
    from muniment_plugins.workflow.actions.running import (
        ActionGraphRun,
        action_graph_run,
    )
    from muniment_plugins.workflow.agents.loop.counts import AgentDone
    from muniment_plugins.workflow.agents.loop.host import listening_to_models
    from muniment_plugins.workflow.agents.loop.program import agent_aloop, agent_loop
    from muniment_plugins.workflow.api import (
        WorkflowDone,
        planned_workflow,
        workflow_aexecute,
        workflow_continue,
        workflow_continue_as_new,
        workflow_execute,
        workflow_resume,
    )
    from muniment_plugins.workflow.artifacts.artifact import Artifact, artifact
    from muniment_plugins.workflow.artifacts.context.assembly import assemble_context
    from muniment_plugins.workflow.artifacts.context.rendering import artifact_context
    from muniment_plugins.workflow.artifacts.context.selection import artifact_select
    from muniment_plugins.workflow.artifacts.derivation import artifact_derive
    from muniment_plugins.workflow.artifacts.hosting.host_artifacts import (
        artifact_command_result,
        artifact_diff,
        artifact_editor_selection,
        artifact_git_diff,
        artifact_handoff,
        artifact_test_result,
        artifact_verification_bundle,
        artifact_verification_result,
        artifact_workspace_file,
        artifact_workspace_snapshot,
    )
    from muniment_plugins.workflow.artifacts.hosting.host_reviews import (
        artifact_apply_intent,
        artifact_diff_review,
        artifact_patch_proposal,
        artifact_review_decision,
    )
    from muniment_plugins.workflow.documents.graph import (
        WorkflowGraph,
        load_graph,
        workflow_graph,
    )
    from muniment_plugins.workflow.documents.words import Branches
    from muniment_plugins.workflow.edits.committing import workflow_commit
    from muniment_plugins.workflow.edits.editing import (
        workflow_clone,
        workflow_insert_node,
        workflow_remove_node,
        workflow_replace_node,
        workflow_rewire,
        workflow_rewrite,
    )
    from muniment_plugins.workflow.edits.history import (
        workflow_committed,
        workflow_history,
    )
    from muniment_plugins.workflow.edits.inspection import (
        workflow_inspect,
        workflow_policy_report,
    )
    from muniment_plugins.workflow.edits.setting import (
        workflow_set,
        workflow_set_auto_compact,
        workflow_set_capability_policy,
        workflow_set_context_policy,
        workflow_set_model_policy,
        workflow_set_output_visibility,
        workflow_set_retry_policy,
    )
    from muniment_plugins.workflow.edits.structural import workflow_diff
    from muniment_plugins.workflow.engine.plan import workflow_plan
    from muniment_plugins.workflow.findings import WorkflowFinding
    from muniment_plugins.workflow.mailbox.letters import Mail
    from muniment_plugins.workflow.mailbox.sending import (
        SentMail,
        workflow_pause,
        workflow_signal,
        workflow_update,
    )
    from muniment_plugins.workflow.mailbox.views import workflow_mail
    from muniment_plugins.workflow.nodes.kind import NodeKind
    from muniment_plugins.workflow.pictures.mermaid import workflow_mermaid
    from muniment_plugins.workflow.pictures.svg import workflow_svg
    from muniment_plugins.workflow.records.agents.agent_views import agent_records
    from muniment_plugins.workflow.records.derived.status import (
        workflow_query,
        workflow_status,
    )
    from muniment_plugins.workflow.records.record import recorded_artifacts, run_record
    from muniment_plugins.workflow.records.run_tree import load_run_tree
    from muniment_plugins.workflow.runtime.failures import StageFailed, WorkflowFailed
    from muniment_plugins.workflow.runtime.outcomes import NodeOutcome
    from muniment_plugins.workflow.runtime.seams import NodeVisit
    from muniment_plugins.workflow.runtime.stage_input import StageInput
    from muniment_plugins.workflow.stages.tool_calls import StageCall
    from muniment_plugins.workflow.tools.registry import (
        ToolRegistry,
        tool_define,
        tool_registry,
        tool_select,
    )
    from muniment_plugins.workflow.validation.checks import (
        ValidationReport,
        workflow_validate,
    )

__all__ = [
    "ActionBatch",
    "ActionGraph",
    "ActionGraphRun",
    "AgentDone",
    "Artifact",
    "Branches",
    "Mail",
    "NodeKind",
    "NodeOutcome",
    "NodeVisit",
    "PlannedAction",
    "SentMail",
    "StageCall",
    "StageFailed",
    "StageInput",
    "ToolRegistry",
    "ValidationReport",
    "WorkflowDone",
    "WorkflowFailed",
    "WorkflowFinding",
    "WorkflowGraph",
    "action_graph",
    "action_graph_batches",
    "action_graph_flow",
    "action_graph_render",
    "action_graph_run",
    "agent_aloop",
    "agent_loop",
    "agent_records",
    "artifact",
    "artifact_apply_intent",
    "artifact_command_result",
    "artifact_context",
    "artifact_derive",
    "artifact_diff",
    "artifact_diff_review",
    "artifact_editor_selection",
    "artifact_git_diff",
    "artifact_handoff",
    "artifact_patch_proposal",
    "artifact_review_decision",
    "artifact_select",
    "artifact_test_result",
    "artifact_verification_bundle",
    "artifact_verification_result",
    "artifact_workspace_file",
    "artifact_workspace_snapshot",
    "assemble_context",
    "at_start",
    "effect_kinds",
    "event_types",
    "hookspecs",
    "listening_to_models",
    "load_graph",
    "load_run_tree",
    "planned_workflow",
    "rebuild_program",
    "recorded_artifacts",
    "run_record",
    "stable_names",
    "tool_define",
    "tool_registry",
    "tool_select",
    "workflow_aexecute",
    "workflow_clone",
    "workflow_commit",
    "workflow_committed",
    "workflow_continue",
    "workflow_continue_as_new",
    "workflow_diff",
    "workflow_execute",
    "workflow_graph",
    "workflow_history",
    "workflow_insert_node",
    "workflow_inspect",
    "workflow_mail",
    "workflow_mermaid",
    "workflow_pause",
    "workflow_plan",
    "workflow_policy_report",
    "workflow_query",
    "workflow_remove_node",
    "workflow_replace_node",
    "workflow_resume",
    "workflow_rewire",
    "workflow_rewrite",
    "workflow_set",
    "workflow_set_auto_compact",
    "workflow_set_capability_policy",
    "workflow_set_context_policy",
    "workflow_set_model_policy",
    "workflow_set_output_visibility",
    "workflow_set_retry_policy",
    "workflow_signal",
    "workflow_status",
    "workflow_svg",
    "workflow_update",
    "workflow_validate",
]

# The kernel's own marker is equal, but importing it would load the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "ActionBatch": ".actions.batches",
        "ActionGraph": ".actions.planned",
        "ActionGraphRun": ".actions.running",
        "PlannedAction": ".actions.planned",
        "action_graph": ".actions.normalising",
        "action_graph_batches": ".actions.batches",
        "action_graph_flow": ".actions.flow",
        "action_graph_render": ".actions.rendering",
        "action_graph_run": ".actions.running",
        "AgentDone": ".agents.loop.counts",
        "Artifact": ".artifacts.artifact",
        "Branches": ".documents.words",
        "Mail": ".mailbox.letters",
        "SentMail": ".mailbox.sending",
        "workflow_continue": ".api",
        "workflow_continue_as_new": ".api",
        "workflow_mail": ".mailbox.views",
        "workflow_pause": ".mailbox.sending",
        "workflow_query": ".records.derived.status",
        "workflow_resume": ".api",
        "workflow_signal": ".mailbox.sending",
        "workflow_status": ".records.derived.status",
        "workflow_update": ".mailbox.sending",
        "NodeKind": ".nodes.kind",
        "NodeOutcome": ".runtime.outcomes",
        "NodeVisit": ".runtime.seams",
        "StageCall": ".stages.tool_calls",
        "StageFailed": ".runtime.failures",
        "StageInput": ".runtime.stage_input",
        "ToolRegistry": ".tools.registry",
        "ValidationReport": ".validation.checks",
        "WorkflowDone": ".api",
        "WorkflowFailed": ".runtime.failures",
        "WorkflowFinding": ".findings",
        "WorkflowGraph": ".documents.graph",
        "agent_aloop": ".agents.loop.program",
        "agent_loop": ".agents.loop.program",
        "agent_records": ".records.agents.agent_views",
        "artifact": ".artifacts.artifact",
        "artifact_apply_intent": ".artifacts.hosting.host_reviews",
        "artifact_command_result": ".artifacts.hosting.host_artifacts",
        "artifact_context": ".artifacts.context.rendering",
        "artifact_derive": ".artifacts.derivation",
        "artifact_diff": ".artifacts.hosting.host_artifacts",
        "artifact_diff_review": ".artifacts.hosting.host_reviews",
        "artifact_editor_selection": ".artifacts.hosting.host_artifacts",
        "artifact_git_diff": ".artifacts.hosting.host_artifacts",
        "artifact_handoff": ".artifacts.hosting.host_artifacts",
        "artifact_patch_proposal": ".artifacts.hosting.host_reviews",
        "artifact_review_decision": ".artifacts.hosting.host_reviews",
        "artifact_select": ".artifacts.context.selection",
        "artifact_test_result": ".artifacts.hosting.host_artifacts",
        "artifact_verification_bundle": ".artifacts.hosting.host_artifacts",
        "artifact_verification_result": ".artifacts.hosting.host_artifacts",
        "artifact_workspace_file": ".artifacts.hosting.host_artifacts",
        "artifact_workspace_snapshot": ".artifacts.hosting.host_artifacts",
        "assemble_context": ".artifacts.context.assembly",
        "listening_to_models": ".agents.loop.host",
        "load_graph": ".documents.graph",
        "load_run_tree": ".records.run_tree",
        "planned_workflow": ".api",
        "recorded_artifacts": ".records.record",
        "run_record": ".records.record",
        "tool_define": ".tools.registry",
        "tool_registry": ".tools.registry",
        "tool_select": ".tools.registry",
        "workflow_aexecute": ".api",
        "workflow_clone": ".edits.editing",
        "workflow_commit": ".edits.committing",
        "workflow_committed": ".edits.history",
        "workflow_diff": ".edits.structural",
        "workflow_execute": ".api",
        "workflow_graph": ".documents.graph",
        "workflow_history": ".edits.history",
        "workflow_insert_node": ".edits.editing",
        "workflow_inspect": ".edits.inspection",
        "workflow_mermaid": ".pictures.mermaid",
        "workflow_policy_report": ".edits.inspection",
        "workflow_remove_node": ".edits.editing",
        "workflow_replace_node": ".edits.editing",
        "workflow_rewire": ".edits.editing",
        "workflow_rewrite": ".edits.editing",
        "workflow_set": ".edits.setting",
        "workflow_set_auto_compact": ".edits.setting",
        "workflow_set_capability_policy": ".edits.setting",
        "workflow_set_context_policy": ".edits.setting",
        "workflow_set_model_policy": ".edits.setting",
        "workflow_set_output_visibility": ".edits.setting",
        "workflow_set_retry_policy": ".edits.setting",
        "workflow_svg": ".pictures.svg",
        "workflow_plan": ".engine.plan",
        "workflow_validate": ".validation.checks",
    },
)


@hookimpl
def event_types() -> Iterable[EventType]:
    """Add the facts of workflows to the vocabulary."""
    from muniment_plugins.workflow.vocabulary import TYPES  # noqa: PLC0415 - lazy

    return TYPES


@hookimpl
def effect_kinds() -> Iterable[EffectKind]:
    """Add stages, checks and races."""
    from muniment_plugins.workflow.vocabulary import KINDS  # noqa: PLC0415 - lazy

    return KINDS


@hookimpl
def hookspecs() -> Iterable[ModuleType | type]:
    """Declare the hook by which other plugins add kinds of nodes."""
    from muniment_plugins.workflow.hooks import WorkflowHooks  # noqa: PLC0415 - lazy

    return (WorkflowHooks,)


@hookimpl
def at_start(facts: RunFacts, ledger: OpenLedger) -> None:
    """Let no second run walk that was started with the key of another one."""
    if "options" in facts.params and not facts.resumed:
        from muniment_plugins.workflow.engine import keyed_starts  # noqa: PLC0415 - lazy

        keyed_starts.require_first(facts, ledger)


@hookimpl
def before_run(run: RunFacts, events: tuple[Event, ...], ledger: OpenLedger) -> object:
    """Let no run go on where the folder in which it works is not."""
    if not events and run.origin is None:
        return None
    from muniment_plugins.workflow.runtime import workplaces  # noqa: PLC0415 - lazy

    return workplaces.unworkable(run, events, ledger)


@hookimpl
def stable_names() -> Iterable[StableName]:
    """Name the programs of workflows."""
    from muniment_plugins.workflow.declared_names import NAMES  # noqa: PLC0415 - lazy

    return NAMES


@hookimpl
def rebuild_program(
    ledger: Ledger, run: str, trust_source: bool
) -> Callable[..., object] | None:
    """Make a workflow's program from its events; None for every other run."""
    from muniment_plugins.workflow.engine.assembly import rebuild  # noqa: PLC0415 - lazy

    return rebuild(ledger, run, trust_source)
