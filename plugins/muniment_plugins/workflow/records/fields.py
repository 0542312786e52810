"""The fields of a run's record: one table, from which schema and reference page are made.

    FIELDS["attempt"][0]      RecordField("attempt", "whole", "from 1", needed=True)

Rules:

- A form is a word of `FORMS`, the name of another object of the table, or a list of
  either, written ``[stage]``.
- A field that is not needed is absent where nothing is known: never null, never made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from muniment.encoding.canonical import JsonValue
from muniment.formats.lifecycle import STATUSES

__all__ = ["FIELDS", "FORMS", "RecordField", "record_schema"]

_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$"
_ERASED: dict[str, JsonValue] = {
    "type": "object",
    "required": ["$erased"],
    "additionalProperties": False,
    "properties": {"$erased": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}},
}
FORMS: Mapping[str, Mapping[str, JsonValue]] = MappingProxyType(
    {
        "text": {"type": "string"},
        "content": {"oneOf": [{"type": "string"}, _ERASED]},
        "time": {"type": "string", "pattern": _TIME},
        "whole": {"type": "integer", "minimum": 0},
        "number": {"type": "number"},
        "flag": {"type": "boolean"},
        "object": {"type": "object"},
        "anything": {},
        "title": {"oneOf": [{"type": ["string", "null"]}, _ERASED]},
        "run status": {"enum": [*STATUSES]},
        "stage status": {"enum": [*STATUSES, "cancelled"]},
        "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
        "reason": {"enum": ["start", "stage_complete", "finalize"]},
        "record": {"const": "run_record"},
        "node kind": {"enum": ["run", "trigger", "stage", "predicate", "worker"]},
        "edge kind": {
            "enum": [
                *("trigger_dispatch", "entry", "transition", "predicate_gate"),
                *("delegates", "retry"),
            ]
        },
    }
)


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field of an object of a record."""

    name: str
    form: str
    says: str
    needed: bool = False


def _fields(text: str) -> tuple[RecordField, ...]:
    """Return the fields in *text*: ``name form | what it says``; ``name*`` is needed."""
    found: list[RecordField] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        head, _, says = line.partition(" | ")
        name, _, form = head.partition(" ")
        found.append(
            RecordField(name.rstrip("*"), form.strip(), says, name.endswith("*"))
        )
    return tuple(found)


FIELDS: Mapping[str, tuple[RecordField, ...]] = MappingProxyType(
    {
        "run": _fields("""
            _type* record | what this is
            schema_version* whole | goes up when a field changes its meaning
            id* text | the run
            workflow_id* text | the name of the graph
            workflow_name text | the name of the run, if it has one of its own
            task content | what the run is to do
            status* run status | as every run's; `open` runs, or was cut off
            started_at* time | when it began
            finished_at time | when it ended; absent while it runs or waits
            reason content | why it waits, or was given up
            error run error | what it raised
            marks [mark] | what it is marked with, by whoever may; absent if nothing
            parent_run_id text | the run that called it
            root_run_id text | the run above all
            stages* [stage] | the visits of nodes, in their order
            transitions* [transition] | the ways that paths took
            checkpoints* [checkpoint] | where it stood at the start, after each node, and at the end
            queue* queue | where it goes on, and what is done
            child_runs* [child run] | the runs that it called
            artifacts* [artifact] | what it was given, then what it made
            handoffs* [anything] | the data of those artifacts that are handoffs
            usage* usage | what models took, without the runs that it called
            answered_usage usage | of a fork: what models had taken for what its origin answered
            hitl_questions* [question] | what people were asked
            policy* object | the ceiling that the run was held to
            execution* object | `cwd`: where commands ran, as the option says; `folder`: the same, absolute, whoever resumed it
            published object | what it last said to whoever asks, by the name of the query
            metadata* object | version and digest of the graph and of each node, steps, origin
            observability* observability | what happened, at a glance; derived from the rest
            erased [digest] | the commitments of contents that are gone
            """),
        "run error": _fields("""
            type* text | the class of the error
            message* content | what it said
            """),
        "mark": _fields("""
            mark* text | what the run is marked with: of one that is `non_certifiable` no verdict may be relied upon
            reason* content | why, as the first event of the mark says
            event* whole | that event
            """),
        "stage": _fields("""
            id* text | the scope of the visit, which is in a run once
            node_id* text | the node
            visit* whole | how often this path had come to the node
            scope* text | the path: empty for that of the run, `fork.1/lint` for a branch
            kind* text | the kind of the node
            status* stage status | `cancelled` if it was not needed any more
            outcome text | how it ended, in the word of its kind
            branch text | the branch that it ended in
            cause text | the node that the path came from
            started_at* time | when the path came to it
            finished_at time | when it ended
            event* whole | the event that began it
            rule text | the rule that it broke
            error content | what it failed by
            item_of text | the map whose item it worked on
            visible_text content | the text of what it made, if that is one artifact
            verification verification | what a verifier found
            joined joined | how branches or items ended
            items object | how many items of a map are done, and how many failed
            denials [denial] | calls of tools that were refused
            answered [answered] | effects that nobody performed: somebody else gave the answer
            agent agent | the turns of a model that called tools in a loop
            usage usage | what models took for it
            consumed_artifact_ids* [text] | what it worked on, in the order of its prompt
            produced_artifact_ids* [text] | what it made, and what was made below it
            attempts* [attempt] | the attempts at its work that ended
            metadata* object | what the graph says of the node, and its context
            """),
        "attempt": _fields("""
            attempt* whole | from 1
            status* text | `completed` or `failed`
            outcome text | as that of the stage
            branch text | as that of the stage
            rule text | the rule that it broke
            error_type text | the class of its error
            error content | what it failed by
            wait_s number | how long the next one waited
            superseded flag | whether a resumption performed it again
            started_at* time | when its first effect was asked for
            finished_at* time | when it ended
            """),
        "agent": _fields("""
            agent* text | its name: that of the node
            reason* text | why it ended; `open` as long as its run may go on
            tokens whole | read and written, for answers and for summaries of its conversation; absent if one of them does not say
            cost_usd text | what these cost in US dollars, a decimal; absent if a price is not known
            calls* whole | calls of tools that the model asked for
            denied* whole | those that were not performed, also since the loop ended before
            failed* whole | those that raised, or gave a result that says error
            corrected* whole | answers that were not the last one, which the model was told
            turns* [turn] | in their order
            """),
        "turn": _fields("""
            turn* whole | from 1
            model* text | the model that was asked; empty if a fork named none
            finish_reason text | why its answer ended
            corrected object | `code` and `place`: why an answer without calls was not the last
            event* whole | the event that began it
            started_at* time | when
            answered_at time | when the model had answered
            calls* [call] | the calls of tools, in the order of the answer
            """),
        "call": _fields("""
            position* whole | from 0, in its answer
            tool content | its name; absent if it is private
            status* text | `waiting` for people, `open`, `done`, `failed` or `denied`
            question whole | the event that asked people whether it may be performed
            code text | why it was denied
            place content | the argument, or the member of a policy, that decided
            error_type text | the class of its error
            event* whole | the event that asked for it, or denied it
            """),
        "verification": _fields("""
            verdict* text | `verified` or `verification_failed`
            ok* flag | whether it is verified
            checks* anything | kind, expected, actual, ok of each check
            """),
        "joined": _fields("""
            strategy* text | `all`, `first` or `quorum`
            arrived [text] | those that arrived
            dead [text] | those that a condition ended
            failed [text] | those that failed
            cancelled [text] | those that were not needed any more
            left_out number | how many items `max_items` left out
            """),
        "answered": _fields("""
            kind* text | the kind of the effect: `check`, `stage`, `tool`, …
            who* text | `plugin`, or `change`: that of a fork
            name text | the plugin
            event* whole | the event that is its answer
            """),
        "denial": _fields("""
            tool content | the tool; absent if it is private
            outcome* text | `denied`
            code* text | why, in a word that stays
            place content | the argument, or the member of a policy, that decides; absent if it is private
            message content | why, for people
            at* time | when
            """),
        "transition": _fields("""
            id* text | scope and ordinal of its event
            event* whole | its event
            from_stage_id text | the visit that ended
            from_node_id* text | its node
            to_node_id* text | the node that is next
            branch text | the branch that the visit ended in
            matched text | `exact`, `alias`, `any` or `default`: why the edge was taken
            timestamp* time | when
            consumed_artifact_ids* [text] | what the visit worked on
            produced_artifact_ids* [text] | what it made
            """),
        "checkpoint": _fields("""
            id* text | its name
            event* whole | the event after which it holds
            reason* reason | why there is one
            persisted_at* time | when
            ready_nodes* [text] | the nodes to which a way had been taken, not visited yet
            completed_stages* whole | how many visits had ended
            last_stage_id text | the visit that had ended last
            """),
        "queue": _fields("""
            pending_nodes* [text] | the nodes where the run is, or goes on if it is resumed
            completed_nodes* [text] | the nodes that completed at least once
            """),
        "child run": _fields("""
            run_id* text | the child
            worker_name* text | its name: that of the node
            worker_id text | scope and ordinal of the call
            parent_stage_id text | the stage that called it; absent if erasures leave open which
            task content | what it is to do
            status* run status | how it is
            started_at* time | when it began
            finished_at time | when it ended
            marks [mark] | what it is marked with; absent if nothing
            """),
        "artifact": _fields("""
            id* text | its id
            kind* text | what it is
            title title | what people call it
            text content | its text
            data anything | its data; `{"$erased": "sha256:…"}` if they are gone
            source content | where it was taken from
            created_at* time | when it was recorded, or made before the run
            freshness text | how new it is
            priority whole | more comes first
            lineage [text] | what it was made from
            relevance number | more is more relevant
            estimated_tokens whole | how much of a context it takes
            stage text | the node that made it
            metadata object | what users keep with it
            visibility text | `private`: text and data are shown to whoever asks for them
            event whole | the event that recorded it: of a race that another run answered, its end; absent if the run was given it
            """),
        "usage": _fields("""
            input_tokens* whole | tokens that models read, from caches, too
            output_tokens* whole | tokens that they wrote
            other_tokens whole | tokens that answers say in a total alone, beyond these; absent if there are none
            call_count* whole | calls that were answered
            total_duration_ms* whole | how long these took
            total_cost text | in US dollars, a decimal: of the calls whose price is known
            unpriced_calls whole | the calls whose price is not known
            uncounted_calls whole | the calls whose answer does not state both kinds of tokens
            models* [text] | the models that answered
            """),
        "question": _fields("""
            request_id* text | the hash of the event, which an answer names
            stage_id text | the stage that asked
            prompt content | the question
            asked_at* time | when
            quorum whole | how many people have to approve
            outcome text | `approved` or `denied`, once that is decided
            decided_at time | when the run went on with it
            """),
        "observability": _fields("""
            planner_rounds* [round] | the stages that asked models
            research_fact_count* whole | how many artifacts are of the kind `analysis_note`
            action_graph_nodes* [graph node] | the run, its stages, the runs that it called
            action_graph_edges* [graph edge] | how one of these led to another
            worker_lineage* [worker] | the runs that it called, by the stage that did
            verification_outcomes* [verification outcome] | what verifiers concluded
            transcript_pointers* [transcript pointer] | where the calls of models are
            """),
        "round": _fields("""
            stage_id* text | the stage
            node_id* text | its node
            calls* whole | how often it asked a model
            input_tokens* whole | what that took
            output_tokens* whole | what that gave
            denied_tools* whole | how many calls of tools were refused
            """),
        "graph node": _fields("""
            id* text | `run`, `trigger`, a stage, or `worker:` and a run
            kind* node kind | what it is; a condition is a predicate
            label* text | the name of the graph, node, run or trigger
            trace_id* text | the run above all, in every node
            status text | as that of the run or stage
            outcome text | as that of the stage
            stage_id text | the stage, if it is one
            node_id text | the node of that stage
            worker_id text | the effect that called the run, if it is one
            run_id text | the run, if it is one
            """),
        "graph edge": _fields("""
            from_id* text | a node of the graph
            to_id* text | a node of the graph
            kind* edge kind | how the one led to the other
            label text | the branch that was taken, or how many attempts there were
            """),
        "worker": _fields("""
            run_id* text | the run
            worker_name* text | its name
            worker_id text | the effect that called it
            parent_stage_id text | the stage that called it
            status* run status | as that run's
            """),
        "verification outcome": _fields("""
            stage_id* text | the stage
            node_id* text | its node
            status* text | `verified` or `verification_failed`
            passed* flag | whether it is verified
            summary text | how many checks held, and which did not
            """),
        "transcript pointer": _fields("""
            id* text | the stage, and `llm`
            label* text | its node
            kind* text | `llm`
            location* text | the run, the scope and the first event
            """),
    }
)
"""Object → its fields."""


def record_schema() -> dict[str, JsonValue]:
    """Return the JSON Schema (2020-12) of a run's record."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:muniment:workflow:run-record:1",
        "title": "The record of a run of a graph",
        "$ref": "#/$defs/run",
        "$defs": {
            _key(name): {
                "type": "object",
                "additionalProperties": False,
                "required": [one.name for one in fields if one.needed],
                "properties": {one.name: _schema(one) for one in fields},
            }
            for name, fields in FIELDS.items()
        },
    }


def _key(name: str) -> str:
    return name.replace(" ", "_")


def _schema(field: RecordField) -> dict[str, JsonValue]:
    said: dict[str, JsonValue] = {"description": field.says.replace("`", "")}
    form = field.form
    if form.startswith("["):
        return {**said, "type": "array", "items": _form(form.strip("[]"))}
    return {**said, **_form(form)}


def _form(form: str) -> dict[str, JsonValue]:
    if form in FIELDS:
        return {"$ref": f"#/$defs/{_key(form)}"}
    return dict(FORMS[form])
