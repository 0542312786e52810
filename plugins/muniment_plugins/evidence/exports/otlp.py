"""A run as an OpenTelemetry trace: what OTLP/HTTP takes as a body.

    muniment export 01JD3 --format otlp -o run.otlp
    curl -H 'Content-Type: application/x-protobuf' --data-binary @run.otlp HOST/v1/traces

Rules:

- The run is the root span, each effect a span below it, each fact an event of the root; an
  earlier attempt is an event of its effect.
- Calls of models have the names of the GenAI semantic conventions. These are written out
  here: the package that has them as constants marks them as deprecated.
- Ids follow from the ledger, the run and the leaf hashes: the same run gives the same
  bytes. Prompts and answers are not in a trace; their commitments are.
- What the run is marked with is ``muniment.marks`` of the root span, which nothing marks
  has not; the status of the span says how the program ended, and nothing else.
- Times are those that the writer claims. An effect without an outcome ends when it began,
  and says so.
"""

from __future__ import annotations

import hashlib
from calendar import timegm
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from muniment.encoding.canonical import canonical
from muniment.events.token_counts import tokens_taken
from muniment.formats.lifecycle import COMPLETED
from muniment_plugins.evidence.exports.record import ExportedEffect, ExportedRun, needed

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment_plugins.evidence.report.record import Source

__all__ = ["as_otlp"]

_OPERATIONS = {"llm": "chat", "tool": "execute_tool"}
"""Kind of effect → ``gen_ai.operation.name``."""
_OK, _ERROR = 1, 2
_INTERNAL, _CLIENT = 1, 3


def as_otlp(ledger: Source, run: str) -> bytes:
    """Return the run as a serialized ``ExportTraceServiceRequest``.

    Raises:
        CannotTellError: opentelemetry-proto is not installed.

    """
    try:
        trace_pb2: Any = import_module("opentelemetry.proto.trace.v1.trace_pb2")
    except ImportError:
        raise needed("opentelemetry-proto", "otlp") from None
    record = ExportedRun.of(ledger, run)
    trace = hashlib.sha256(f"{ledger.id} {run}".encode()).digest()[:16]
    data: Any = trace_pb2.TracesData()
    resource = data.resource_spans.add()
    _tell(
        resource.resource,
        {
            "service.name": record.name,
            "muniment.ledger": ledger.id,
            "muniment.run": run,
            "muniment.coverage": record.coverage(),
        },
    )
    scope = resource.scope_spans.add()
    scope.scope.name = "muniment"
    root = scope.spans.add()
    _root(root, record, trace)
    for step in record.steps:
        _step(scope.spans.add(), step, trace, root.span_id)
    return bytes(data.SerializeToString(deterministic=True))


def _root(span: Any, record: ExportedRun, trace: bytes) -> None:
    first, last = record.events[0], record.events[-1]
    span.trace_id, span.span_id = trace, _id(first)
    span.name, span.kind = f"run {record.name}", _INTERNAL
    span.start_time_unix_nano, span.end_time_unix_nano = _nanos(first), _nanos(last)
    if record.ended is not None:
        span.status.code = _OK if record.ended.type == COMPLETED else _ERROR
        span.status.message = (
            "" if record.ended.type == COMPLETED else record.ended.type
        )
    named = {"muniment.first_event": first.seq, "muniment.last_event": last.seq}
    _tell(span, {**named, "muniment.marks": record.marks})
    for fact in record.facts:
        _happened(span, fact)


def _step(span: Any, step: ExportedEffect, trace: bytes, parent: bytes) -> None:
    request, outcome = step.request, step.outcome
    span.trace_id, span.span_id, span.parent_span_id = trace, _id(request), parent
    span.start_time_unix_nano = _nanos(request)
    span.end_time_unix_nano = _nanos(request if outcome is None else outcome)
    asked = _about(request)
    answered: Mapping[str, object] = {} if outcome is None else _about(outcome)
    operation = _OPERATIONS.get(step.kind)
    named = str(asked.get("model") or asked.get("name") or "")
    span.name = f"{operation or step.kind} {named}".strip()
    span.kind = _CLIENT if step.kind == "llm" else _INTERNAL
    told: dict[str, object] = {
        "muniment.kind": step.kind,
        **_named("muniment.request", request),
        "muniment.request.data": canonical(request.raw).decode(),
        **_genai(step.kind, operation, asked, answered),
    }
    if outcome is None:
        told["muniment.unfinished"] = True
    else:
        told["muniment.outcome.data"] = canonical(outcome.raw).decode()
        span.status.code = _ERROR if step.failed else _OK
        told |= _named("muniment.outcome", outcome)
    if outcome is not None and step.failed:
        told["error.type"] = str(outcome.raw.get("error_type") or "_OTHER")
    _tell(span, told)
    for one in step.earlier:
        _happened(span, one)


def _happened(span: Any, event: Event) -> None:
    """Add an event of the record as an event of the span."""
    added = span.events.add()
    added.name, added.time_unix_nano = event.type, _nanos(event)
    data = canonical(event.raw).decode()
    _tell(added, {**_named("muniment", event), "muniment.data": data})


def _genai(
    kind: str,
    operation: str | None,
    asked: Mapping[str, object],
    answered: Mapping[str, object],
) -> dict[str, object]:
    """Return the attributes of the GenAI conventions that the record has."""
    if operation is None:
        return {}
    told: dict[str, object] = {"gen_ai.operation.name": operation}
    if kind == "tool":
        return {**told, "gen_ai.tool.name": asked.get("name")}
    taken = tokens_taken(answered.get("usage"))
    ended = answered.get("finish_reason")
    return {
        **told,
        "gen_ai.provider.name": asked.get("provider"),
        "gen_ai.request.model": asked.get("model"),
        "gen_ai.response.model": answered.get("model"),
        "gen_ai.response.finish_reasons": None if ended is None else [ended],
        "gen_ai.usage.input_tokens": taken.read,
        "gen_ai.usage.output_tokens": taken.written,
    }


def _about(event: Event) -> Mapping[str, object]:
    told = event.raw.get("about")
    return cast("Mapping[str, object]", told) if isinstance(told, dict) else {}


def _named(part: str, event: Event) -> dict[str, object]:
    """Return where *event* is, as attributes of *part*."""
    return {
        f"{part}.seq": event.seq,
        f"{part}.type": event.type,
        f"{part}.scope": event.scope or "",
        f"{part}.ordinal": event.ordinal or 0,
        f"{part}.leaf_hash": event.hash,
    }


def _id(event: Event) -> bytes:
    return bytes.fromhex(event.hash)[:8]


def _nanos(event: Event) -> int:
    at = datetime.fromisoformat(event.time)
    return timegm(at.utctimetuple()) * 10**9 + at.microsecond * 1000


def _tell(target: Any, told: Mapping[str, object]) -> None:
    """Add the attributes that have a value, in the order of their names."""
    for name in sorted(told):
        if told[name] is None or told[name] == []:
            continue
        attribute = target.attributes.add()
        attribute.key = name
        _set(attribute.value, told[name])


def _set(value: Any, told: object) -> None:
    if isinstance(told, bool):
        value.bool_value = told
    elif isinstance(told, int):
        value.int_value = told
    elif isinstance(told, float):
        value.double_value = told
    elif isinstance(told, str):
        value.string_value = told
    elif isinstance(told, list):
        for one in cast("list[object]", told):
            _set(value.array_value.values.add(), one)
    else:  # as an object of its own: a text that looks like it is another value
        for name, one in sorted(cast("Mapping[str, object]", told or {}).items()):
            member = value.kvlist_value.values.add()
            member.key = name
            _set(member.value, one)
