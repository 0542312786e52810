"""Whatever was recorded is read back from a table, and what is missing is mistaken for none."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from pyarrow import parquet

from bundled import Bundles, evidence_plugins
from muniment import Run
from muniment.encoding.canonical import canonical
from muniment.errors import ErasedError
from muniment.formats.statement import BlobRef, Event
from muniment.ledger import Ledger
from muniment_plugins.evidence import open_bundle
from muniment_plugins.evidence.bundle_reader import NotInBundle, WithheldFromBundle
from muniment_plugins.evidence.exports import otlp
from muniment_plugins.evidence.exports.record import ExportedRun, _written
from muniment_plugins.evidence.exports.tables import as_csv, as_parquet, plain_cell

DIGEST = f"sha256:{64 * '0'}"
STATES = {
    "erased": ErasedError("gone", rule="blob/erased"),
    "withheld": WithheldFromBundle("withheld", rule="bundle/withheld"),
    "absent": NotInBundle("not here", rule="bundle/absent"),
}
LOOKALIKES: list[Any] = [
    *({name: DIGEST} for name in STATES),
    *({"state": name, "digest": DIGEST} for name in STATES),
    {"base64": "AP8=", "media": "application/octet-stream"},
    {"encoding": "base64"},
    {"missing": {"request": {"state": "erased", "digest": DIGEST}}},
    "json",
    "'",
    "=1",
    None,
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-1e15, 1e15)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.sampled_from(LOOKALIKES),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*STATES, "base64", "media", "state", "digest", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
CONTENTS = st.one_of(
    JSON.map(lambda one: (canonical(one), "application/json")),
    st.binary().map(lambda one: (one, "application/json")),
    JSON.map(lambda one: (json.dumps(one, indent=1).encode(), "application/json")),
    st.tuples(
        st.binary() | st.text(st.characters(exclude_categories=["Cs"])).map(str.encode),
        st.sampled_from(["text/plain; charset=utf-8", "application/octet-stream"]),
    ),
)
"""What the blobs of an event may hold: also what no muniment writes."""


class Held:
    """A source of one run with one event, whose blobs hold what a test says."""

    plugins = evidence_plugins()

    def __init__(
        self, event: Event, blobs: dict[str, tuple[bytes, str] | Exception]
    ) -> None:
        self.id, self.blobs = "01M842YZYX2TNYV5CM979Y8N90", blobs
        self.event = event
        event.raw.clear()
        for number, (name, one) in enumerate(blobs.items()):
            media = "application/json" if isinstance(one, Exception) else one[1]
            ref = BlobRef(f"sha256:{number:064x}", 1, media)
            event.raw[name] = ref.to_json()

    def events(self, **_: object) -> Iterator[Event]:
        """Yield the one event."""
        yield self.event

    def get_blob(self, ref: BlobRef) -> bytes:
        """Return the bytes, or raise what keeps them away."""
        held = [*self.blobs.values()][int(ref.digest.removeprefix("sha256:"), 16)]
        if isinstance(held, Exception):
            raise held
        return held[0]


def bytes_of(content: Any, encoding: str) -> bytes:
    """Return the bytes of a content, as the documentation says."""
    if encoding == "json":
        return canonical(content)
    return content.encode() if encoding == "text" else base64.b64decode(content)


def first_of_csv(data: bytes) -> dict[str, Any]:
    """Return the first row of a table."""
    csv.field_size_limit(1 << 30)
    row = next(csv.DictReader(io.StringIO(data.decode(), newline="")))
    return {name: plain_cell(one) for name, one in row.items()}


def first_of_parquet(data: bytes) -> dict[str, Any]:
    """Return the first row of a table."""
    row: dict[str, Any] = parquet.read_table(io.BytesIO(data)).to_pylist()[0]
    return row


FORMS: dict[str, tuple[Callable[..., bytes], Callable[[bytes], dict[str, Any]]]] = {
    "csv": (as_csv, first_of_csv),
    "parquet": (as_parquet, first_of_parquet),
}


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> Event:
    """Give an event of a run, whose data a test replaces."""
    place = tmp_path_factory.mktemp("contents") / "ledger.db"
    with Ledger.create(place, plugins=evidence_plugins()) as ledger:
        run = ledger.execute(lambda _: None).run_id
        return next(ledger.events(run=run))


@pytest.mark.parametrize("form", FORMS)
@given(
    st.dictionaries(
        st.sampled_from(["request", "value", "missing", "=x", "é"]),
        CONTENTS | st.sampled_from(sorted(STATES)),
    )
)
def test_a_table_gives_back_what_was_recorded(
    form: str, event: Event, given: dict[str, Any]
) -> None:
    """Bytes for bytes, and each state under its name: whatever a content looks like."""
    held = {
        name: STATES[one] if isinstance(one, str) else one
        for name, one in given.items()
    }
    source = Held(event, held)
    write, read = FORMS[form]
    row = read(write(source, "R"))
    contents, encoding, missing = (
        json.loads(row[name]) for name in ("contents", "encoding", "missing")
    )
    assert {name: bytes_of(one, encoding[name]) for name, one in contents.items()} == {
        name: one[0] for name, one in given.items() if not isinstance(one, str)
    }
    assert missing == {
        name: {"state": one, "digest": source.event.raw[name]["$blob"]}  # type: ignore[index, call-overload]
        for name, one in given.items()
        if isinstance(one, str)
    }
    assert encoding.keys() == contents.keys()


@given(JSON)
def test_json_is_json_and_a_text_a_text(value: Any) -> None:
    """A content that muniment wrote is not wrapped: a cell is queried as it is."""
    assert _written(canonical(value), "application/json") == ("json", value)
    text = json.dumps(value)
    assert _written(text.encode(), "text/plain; charset=utf-8") == ("text", text)


def test_a_content_as_deep_as_one_may_be() -> None:
    """It cannot be one level deeper, inside a cell; then it is there as its text."""
    deep: Any = 1
    for _ in range(64):
        deep = [deep]
    encoding, content = _written(canonical(deep), "application/json")
    assert (encoding, bytes_of(content, encoding)) == ("text", canonical(deep))


def test_a_run_that_recorded_our_marker(tmp_path: Path) -> None:
    """What a program returned is a content, though it says that it was erased."""

    def program(run: Run) -> None:
        run.effect("tool", {"erased": DIGEST}, lambda _: {"erased": DIGEST})

    with Ledger.create(tmp_path / "ledger.db", plugins=evidence_plugins()) as ledger:
        run = ledger.execute(program).run_id
        (asked,) = ledger.events(run=run, type="tool.requested")
        known = ExportedRun.of(ledger, run).contents(asked)
        assert known.held == {"request": {"erased": DIGEST}}
        ledger.erase(str(asked.raw["request"]["$blob"]), reason="asked to")  # type: ignore[index, call-overload]
        known = ExportedRun.of(ledger, run).contents(asked)
        assert known.held == {}
        assert known.missing == {
            "request": {"state": "erased", "digest": asked.raw["request"]["$blob"]}  # type: ignore[index, call-overload]
        }


def test_what_a_redacted_bundle_withholds(bundles: Bundles) -> None:
    """It says so in the same column, and of nothing else."""
    with open_bundle(bundles.redacted, evidence_plugins()) as bundle:
        known = [
            ExportedRun.of(bundle, bundle.run).contents(one)
            for one in bundle.events(run=bundle.run)
        ]
    states = [one["state"] for each in known for one in each.missing.values()]  # type: ignore[index, call-overload]
    assert "withheld" in states
    assert any(each.held for each in known)


@pytest.mark.parametrize("told", [{"a": 1}, "{'a': 1}", '{"a":1}', 1.5, "1.5", 1, "1"])
def test_attributes_of_a_trace_keep_their_types(told: object) -> None:
    """A text that looks like an object or a number is another value."""
    value = AnyValue()
    otlp._set(value, told)
    kind = {dict: "kvlist", str: "string", float: "double", int: "int"}[type(told)]
    assert value.WhichOneof("value") == f"{kind}_value"
