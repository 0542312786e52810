"""Every event of every sort of run has its place in each export, once."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from pyarrow import parquet

from bundled import evidence_plugins
from every_kind import make
from muniment import Run
from muniment.ledger import Ledger


def flaky(run: Run) -> object:
    """Fail at the first attempt, so that a resume asks again."""
    run.record("note.added", {"text": "begun"})
    return run.effect("tool", {"name": "t"}, _once)


TRIES: list[object] = []


def _once(request: object) -> object:
    TRIES.append(request)
    if len(TRIES) == 1:
        raise OSError("not yet")
    return 3


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give runs that failed, asked, called, were canceled, and one that was resumed."""
    place = tmp_path_factory.mktemp("kinds") / "ledger.db"
    make(place, notes=3).close()
    with Ledger.open(place, plugins=evidence_plugins()) as one:
        TRIES.clear()
        failed = one.execute(flaky)
        assert failed.status == "failed"
        assert one.resume(failed.run_id, flaky).ok
        yield one


def of_csv(data: bytes) -> list[int]:
    """Return the numbers in a table; a content may be longer than csv takes by itself."""
    csv.field_size_limit(1 << 30)
    rows = csv.DictReader(io.StringIO(data.decode(), newline=""))
    return [int(row["seq"]) for row in rows if row["seq"]]


def of_parquet(data: bytes) -> list[int]:
    """Return the numbers in a table."""
    return [row["seq"] for row in parquet.read_table(io.BytesIO(data)).to_pylist()]


def of_otlp(data: bytes) -> list[int]:
    """Return the numbers in a trace."""
    request = ExportTraceServiceRequest()
    request.ParseFromString(data)
    (resource,) = request.resource_spans
    spans = resource.scope_spans[0].spans
    holders: list[Any] = [*spans, *(one for span in spans for one in span.events)]
    names = ("muniment.seq", "muniment.request.seq", "muniment.outcome.seq")
    return [
        one.value.int_value
        for holder in holders
        for one in holder.attributes
        if one.key in names
    ]


def of_prov(data: bytes) -> list[int]:
    """Return the numbers in a document."""
    told = json.loads(data)
    records = [*told.get("activity", {}).values(), *told.get("entity", {}).values()]
    names = [f"muniment:{one}-seq" for one in ("event", "request", "outcome")]
    return [int(one[name]["$"]) for one in records for name in names if name in one]


def of_ro_crate(data: bytes) -> list[int]:
    """Return the numbers in a crate."""
    graph = json.loads(data)["@graph"]
    said = "; ".join(one.get("description", "") for one in graph if one["@id"] != "./")
    parts = [part.split(" ") for part in said.split("event ")[1:]]
    return [int(one[0]) for one in parts if one[0].isdigit() and len(one[2]) == 64]


READERS: dict[str, Callable[[bytes], list[int]]] = {
    "csv": of_csv,
    "parquet": of_parquet,
    "otlp": of_otlp,
    "prov": of_prov,
    "ro-crate": of_ro_crate,
}


@pytest.mark.parametrize("form", READERS)
def test_each_event_once(form: str, ledger: Ledger) -> None:
    """Attempts before the last one, too."""
    runs = dict.fromkeys(one.run for one in ledger.events() if one.run)
    assert len(runs) > 5
    for run in runs:
        events = Counter(one.seq for one in ledger.events(run=run))
        assert Counter(READERS[form](ledger.export(run, form))) == events
    types = Counter(one.type for one in ledger.events(run=run))
    assert (types["tool.requested"], types["tool.failed"]) == (2, 1)
