"""Each export is read back by its own library, and compared with the events."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from prov.model import ProvDocument
from pyarrow import parquet

from exported import Exported
from muniment.encoding.canonical import parse
from muniment.errors import CannotTellError
from muniment.formats.statement import Event
from muniment_plugins.evidence.exports import tables
from muniment_plugins.evidence.exports.tables import COLUMNS, COVERAGE, plain_cell

ROC = Path(__file__).resolve().parents[4] / "build" / "roc-validator"
NUMBERS = ("seq", "version", "ordinal")
Change = Callable[[dict[str, Any]], object]


def events_of(exported: Exported) -> list[Event]:
    """Return the events of the run."""
    return list(exported.ledger.events(run=exported.run))


def same_row(row: dict[str, Any], event: Event) -> None:
    """Require a row to say what its event says."""
    assert (row["type"], row["run"], row["leaf_hash"]) == (
        event.type,
        event.run,
        event.hash,
    )
    assert (row["scope"], row["actor"], row["tenant"]) == (
        event.scope,
        event.actor,
        event.tenant,
    )
    assert tuple(int(row[name]) for name in NUMBERS) == (
        event.seq,
        event.version,
        event.ordinal,
    )
    assert parse(row["data"].encode()) == event.raw
    blobs = {name for name, one in event.raw.items() if is_blob(one)}
    contents, missing = json.loads(row["contents"]), json.loads(row["missing"])
    assert json.loads(row["encoding"]).keys() == contents.keys()
    assert contents.keys() | missing.keys() == blobs
    assert not contents.keys() & missing.keys()


def is_blob(value: object) -> bool:
    """Tell whether *value* refers to a blob."""
    return isinstance(value, dict) and "$blob" in value


def test_csv(exported: Exported) -> None:
    """Every event is a row, every cell leads back to what was recorded, the end is there."""
    text = exported.written("csv").decode()
    head, *lines = csv.reader(io.StringIO(text, newline=""))
    assert tuple(head) == COLUMNS
    *rows, last = [dict(zip(head, map(plain_cell, one), strict=True)) for one in lines]
    events = events_of(exported)
    assert len(rows) == len(events) > 15
    for row, event in zip(rows, events, strict=True):
        same_row(row, event)
        assert row["time"] == event.time
    told = json.loads(last["data"])
    assert last["type"] == COVERAGE
    assert (
        told["coverage"]
        == f"{len(events)} of {len(events)} events; without a place: none"
    )


def test_csv_gives_a_spreadsheet_no_formula(exported: Exported) -> None:
    """No cell begins with what starts one, though texts and scopes did."""
    text = exported.written("csv").decode()
    cells = [one for row in csv.reader(io.StringIO(text, newline="")) for one in row]
    assert not [
        one for one in cells if one.startswith(("=", "+", "-", "@", "\t", "\r"))
    ]
    assert "'=lane/0" in cells
    table = pd.read_csv(io.StringIO(text), keep_default_na=False)
    assert len(table) == len(events_of(exported)) + 1


@given(st.text())
def test_a_guarded_cell_leads_back(text: str) -> None:
    """Whatever a text is, one apostrophe less is what was recorded."""
    assert plain_cell(str(tables._cell(text))) == text


def test_parquet(exported: Exported) -> None:
    """Numbers are numbers, times are times, and the metadata says what is covered."""
    table = parquet.read_table(io.BytesIO(exported.written("parquet")))
    events = events_of(exported)
    rows = table.to_pylist()
    assert tuple(table.column_names) == COLUMNS
    assert len(rows) == len(events)
    for row, event in zip(rows, events, strict=True):
        same_row(row, event)
        assert row["time"] == event.when
    told = json.loads(table.schema.metadata[b"muniment"])
    assert told["coverage"].startswith(f"{len(events)} of {len(events)} events")


def test_what_is_gone(exported: Exported) -> None:
    """The erased content is named by its commitment, and nothing stands in its place."""
    rows = parquet.read_table(io.BytesIO(exported.written("parquet"))).to_pylist()
    gone = [
        (event.raw[name], one)
        for row, event in zip(rows, events_of(exported), strict=True)
        for name, one in json.loads(row["missing"]).items()
    ]
    ((ref, one),) = gone
    assert one == {"state": "erased", "digest": ref["$blob"]}  # type: ignore[index, call-overload]


def trace_of(exported: Exported) -> Any:
    """Return the trace, as a collector parses it."""
    request = ExportTraceServiceRequest()
    request.ParseFromString(exported.written("otlp"))
    return request


def plain(value: Any) -> Any:
    """Return an attribute's value."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(one) for one in value.array_value.values]  # noqa: PD011 - no pandas
    return getattr(value, kind)


def attributes(target: Any) -> dict[str, Any]:
    """Return the attributes of a span, an event or a resource."""
    found = {one.key: plain(one.value) for one in target.attributes}
    assert len(found) == len(target.attributes)
    return found


def test_otlp_has_a_place_for_every_event(exported: Exported) -> None:
    """Each number is once in the trace, with its leaf hash and data."""
    (resource,) = trace_of(exported).resource_spans
    (scope,) = resource.scope_spans
    events = {one.seq: one for one in events_of(exported)}
    seen: Counter[int] = Counter()
    for span in scope.spans:
        told = attributes(span)
        parts = [("muniment.request", told), ("muniment.outcome", told)]
        parts += [("muniment", attributes(one)) for one in span.events]
        for part, about in parts:
            if f"{part}.seq" not in about:
                continue
            event = events[about[f"{part}.seq"]]
            seen[event.seq] += 1
            assert about[f"{part}.leaf_hash"] == event.hash
            assert parse(about[f"{part}.data"].encode()) == event.raw
    assert seen == Counter(events.keys())
    coverage = attributes(resource.resource)["muniment.coverage"]
    assert coverage == f"{len(events)} of {len(events)} events; without a place: none"


def test_otlp_speaks_of_models_as_the_conventions_do(exported: Exported) -> None:
    """Names, units and ids are those of OTLP and the GenAI conventions."""
    (resource,) = trace_of(exported).resource_spans
    root, *spans = resource.scope_spans[0].spans
    (call,) = [one for one in spans if one.name == "chat gpt-x"]
    told = attributes(call)
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.request.model"] == "gpt-x"
    assert told["gen_ai.response.model"] == "gpt-x-1"
    assert told["gen_ai.response.finish_reasons"] == ["stop"]
    assert told["gen_ai.usage.input_tokens"] == 3
    assert told["gen_ai.usage.output_tokens"] == 5
    failed = [one for one in spans if one.status.code == 2]
    assert [attributes(one)["error.type"] for one in failed] == ["ZeroDivisionError"]
    ids = {one.span_id for one in [root, *spans]}
    assert len(ids) == len(spans) + 1
    assert {len(one) for one in ids} == {8}
    assert {one.trace_id for one in spans} == {root.trace_id}
    assert len(root.trace_id) == 16
    assert {one.parent_span_id for one in spans} == {root.span_id}
    for one in [root, *spans]:
        assert 0 < one.start_time_unix_nano <= one.end_time_unix_nano
    assert b"ho" not in [one.value.string_value for one in call.attributes]


def test_prov(exported: Exported) -> None:
    """The package prov reads it, writes it again alike, and every event is in it."""
    text = exported.written("prov").decode()
    document = ProvDocument.deserialize(content=text, format="json")
    again = ProvDocument.deserialize(
        content=document.serialize(format="json"), format="json"
    )
    assert again == document
    told = json.loads(text)
    numbers: Counter[int] = Counter()
    for part in ("activity", "entity"):
        for record in told[part].values():
            for name in ("event", "request", "outcome"):
                if f"muniment:{name}-seq" in record:
                    numbers[int(record[f"muniment:{name}-seq"]["$"])] += 1
    assert numbers == Counter(one.seq for one in events_of(exported))
    assert "without a place: none" in text


def test_ro_crate_has_a_place_for_every_event(exported: Exported) -> None:
    """Each event is described once, by number, type, leaf hash and data."""
    graph = json.loads(exported.written("ro-crate"))["@graph"]
    said = " ".join(one.get("description", "") for one in graph)
    for event in events_of(exported):
        line = f"event {event.seq} {event.type} {event.hash} "
        assert said.count(line) == 1
    (root,) = [one for one in graph if one["@id"] == "./"]
    assert "without a place: none" in root["description"]
    names = {one["@id"] for one in graph}
    assert len(names) == len(graph)
    assert {one["@id"] for one in root["mentions"]} <= names


def judged(crate: dict[str, Any], folder: Path) -> bool:
    """Tell whether roc-validator accepts a crate, offline."""
    folder.mkdir(exist_ok=True)
    (folder / "ro-crate-metadata.json").write_text(json.dumps(crate))
    done = subprocess.run(
        [
            *(ROC / "bin" / "rocrate-validator", "--no-interactive", "--disable-color"),
            *("validate", folder, "--offline", "--cache-path", ROC / "cache"),
            *("-p", "process-run-crate-0.5", "-l", "required"),
        ],
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def graph_of(crate: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the entities of a type."""
    return [one for one in crate["@graph"] if one["@type"] == kind]


CHANGES: dict[str, Change] = {
    "no root": lambda crate: crate["@graph"].remove(graph_of(crate, "Dataset")[0]),
    "no date": lambda crate: graph_of(crate, "Dataset")[0].pop("datePublished"),
    "no name": lambda crate: graph_of(crate, "Dataset")[0].pop("name"),
    "no description": lambda crate: graph_of(crate, "Dataset")[0].pop("description"),
    "no context": lambda crate: crate.pop("@context"),
    "no graph": lambda crate: crate.pop("@graph"),
    "an action without an instrument": lambda crate: graph_of(crate, "CreateAction")[
        0
    ].pop("instrument"),
    "an entity without a type": lambda crate: crate["@graph"][-1].pop("@type"),
}


@pytest.mark.skipif(not ROC.exists(), reason="roc-validator: make outsiders")
@pytest.mark.slow
def test_roc_validator(exported: Exported, tmp_path: Path) -> None:
    """It accepts the crate by all that is REQUIRED, and refuses each broken one."""
    honest = exported.written("ro-crate")
    assert judged(json.loads(honest), tmp_path / "honest")
    refused = {}
    for number, (what, change) in enumerate(CHANGES.items()):
        crate = json.loads(honest)
        change(crate)
        refused[what] = not judged(crate, tmp_path / str(number))
    assert all(refused.values()), refused


@pytest.mark.parametrize("form", ["parquet", "otlp", "prov", "ro-crate"])
def test_a_library_that_is_not_there(
    exported: Exported, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the package and the extra."""
    package = {
        "parquet": "pyarrow",
        "otlp": "opentelemetry.proto.trace.v1.trace_pb2",
        "prov": "prov.model",
        "ro-crate": "rocrate.model",
    }[form]
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(CannotTellError) as raised:
        exported.ledger.export(exported.run, form)
    assert raised.value.rule == "export/package"
    assert f"muniment[{form}]" in raised.value.remedy
