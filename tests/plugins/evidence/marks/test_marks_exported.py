"""Every export says what its run is marked with, of a bundle as of the ledger."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from prov.model import ProvDocument
from pyarrow import parquet

from attested import predicates
from bundled import evidence_plugins
from marked_runs import MARK, WAYS, Marked
from muniment_plugins.evidence import attest, open_bundle, write_bundle
from muniment_plugins.evidence.exports.formats import FORMATS

BUNDLES: dict[str, list[str] | None] = {"whole": None, "redacted": []}


def csv_says(data: bytes) -> list[str]:
    """Return the marks in the last row of a table."""
    *rows, last = csv.DictReader(io.StringIO(data.decode(), newline=""))
    assert last["type"] == "export.coverage"
    marked = [
        json.loads(one["data"])["mark"] for one in rows if "run.marked" in one["type"]
    ]
    told: list[str] = json.loads(last["data"])["marks"]
    assert told == marked
    return told


def parquet_says(data: bytes) -> list[str]:
    """Return the marks in the metadata of a table."""
    table = parquet.read_table(io.BytesIO(data))
    told: list[str] = json.loads(table.schema.metadata[b"muniment"])["marks"]
    return told


def prov_says(data: bytes) -> list[str]:
    """Return the marks of the activity that is the run."""
    ProvDocument.deserialize(content=data.decode(), format="json")
    found = json.loads(data)["activity"]
    (run,) = [one for name, one in found.items() if name.startswith("muniment:run-")]
    told = run.get("muniment:mark", [])
    return told if isinstance(told, list) else [told]


def crate_says(data: bytes) -> list[str]:
    """Return the mark, if the run and the crate name it."""
    graph = {one["@id"]: one for one in json.loads(data)["@graph"]}
    (run,) = [one for name, one in graph.items() if name.startswith("#run-")]
    root = graph["./"]["description"]
    said = f"The run is marked: {MARK}."
    assert (said in root) is (run.get("description") == said)
    return [MARK] if said in root else []


def otlp_says(data: bytes) -> list[str]:
    """Return the marks of the root span."""
    request: Any = ExportTraceServiceRequest.FromString(data)
    spans = request.resource_spans[0].scope_spans[0].spans
    (root,) = [one for one in spans if not one.parent_span_id]
    found = [one.value for one in root.attributes if one.key == "muniment.marks"]
    return [one.string_value for value in found for one in value.array_value.values]


SAYS: dict[str, Callable[[bytes], list[str]]] = {
    "csv": csv_says,
    "otlp": otlp_says,
    "parquet": parquet_says,
    "prov": prov_says,
    "ro-crate": crate_says,
}


@pytest.mark.parametrize("way", [*WAYS, "none"])
@pytest.mark.parametrize("form", SAYS)
def test_each_format(marked: Marked, tmp_path: Path, form: str, way: str) -> None:
    """It says the mark of a marked run beside its events, and none of another run."""
    run = marked.runs[way]
    wanted = [] if way == "none" else [MARK]
    assert SAYS[form](marked.ledger.export(run, form)) == wanted
    for name, how in BUNDLES.items():
        place = tmp_path / name
        write_bundle(marked.ledger, run, place, disclose=how)
        with open_bundle(place, evidence_plugins()) as bundle:
            assert SAYS[form](bundle.plugins.exporter(form)(bundle, run)) == wanted


@pytest.mark.parametrize("way", [*WAYS, "none"])
def test_in_toto(marked: Marked, way: str) -> None:
    """Each statement that was signed about a marked run has the mark, and its event."""
    run = marked.runs[way]
    attest(marked.ledger, run, ["test-result", "svr"])
    found = [event.seq for event in marked.ledger.events(run=run, type="run.marked")]
    statements = predicates(marked.ledger, run)
    assert len(statements) == 2
    for one in statements.values():
        told = one["predicate"]["muniment"]
        assert told.get("marks") == ([MARK] if found else None)
        assert {*found} <= {*told["events"]}


def test_every_format_is_tried() -> None:
    """A further format has to say marks, too."""
    assert {*SAYS, "in-toto"} == {*FORMATS}
