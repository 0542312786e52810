"""What is handed on of a run is what was signed, or it is refused: never a repaired value."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundled import evidence_plugins
from forge import RUN, Forge
from malformed import TYPES, ledger_with
from muniment import EventData, EventType, Run
from muniment.encoding.canonical import canonical, parse
from muniment.encoding.codec import decode
from muniment.errors import CannotTellError, MunimentError, WrongError
from muniment.events import types
from muniment.ledger import Ledger
from muniment_plugins.evidence import open_bundle, write_bundle, write_report

MALFORMED = "event/malformed"
FORMS = ("csv", "otlp", "parquet", "prov", "ro-crate")
SCALARS = ("bytes", "complex", "date", "datetime", "decimal", "float", "int", "uuid")
TAGS = [f"${one}" for one in (*SCALARS, "tuple", "set", "map", "nothing", "ndarray")]
TEXTS = ["3", "3.0", "x", "inf", "1e400", "0x10", "007", "7", "9" * 17, "", "1_0.0"]

contents: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(TEXTS), st.integers(-3, 3), st.lists(st.integers(0, 2), max_size=2)
)
leaves = st.one_of(
    st.builds(lambda tag, told: {tag: told}, st.sampled_from(TAGS), contents),
    st.builds(lambda told: {"$float": told, "more": 2}, contents),
    st.builds(lambda told: {"$$float": told}, contents),
    st.just({"$object": ["acme.Ticket", {"number": 7}]}),
)
values: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2),
        st.builds(lambda one, two: {"a": one, "b": two}, inner, inner),
        st.builds(lambda one: {"$tuple": [1, one]}, inner),
        st.builds(lambda one: {"$object": ["acme.Ticket", one]}, inner),
        st.builds(lambda one: {"$map": [[1, one]]}, inner),
    ),
    max_leaves=3,
)


class Said(EventData):
    """Data of any kind."""

    v: object
    w: object = None


def as_it_is(value: Any, _: object) -> Any:
    """Return the encoded form that a holder of the key would have signed."""
    return value


def is_value(form: Any) -> bool:
    """Tell whether *form* is of the specification, whatever its classes are."""
    try:
        decode(json.loads(json.dumps(form).replace('"$object"', '"$tuple"')))
    except WrongError:
        return False
    except CannotTellError:
        return True
    return True


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give a ledger whose writer signs data as it is given."""
    base = tmp_path_factory.mktemp("signed")
    with (
        pytest.MonkeyPatch.context() as patch,
        Ledger.create(
            base / "ledger.db", home=base / "home", plugins=evidence_plugins()
        ) as made,
    ):
        made.register(EventType("x.said", Said))
        patch.setattr(types, "encode", as_it_is)
        patch.setattr(types, "written", lambda one, _: (one, canonical(one)))
        yield made


def signed(payload: bytes) -> Any:
    """Return the data in a signed payload."""
    return json.loads(payload)["predicate"]["data"]


def table_of(data: bytes) -> dict[int, Any]:
    """Return number → data of each event in a table."""
    rows = csv.DictReader(io.StringIO(data.decode(), newline=""))
    return {int(one["seq"]): json.loads(one["data"]) for one in rows if one["seq"]}


@given(form=values)
@settings(max_examples=60, deadline=None)
def test_every_export_has_what_was_signed_or_is_refused(
    form: Any, ledger: Ledger
) -> None:
    """Bundle, page and exports alike: a form that is no value is refused, named, by all."""

    def program(run: Run) -> None:
        run.record("x.said", {"v": form})

    run = ledger.execute(program).run_id
    ledger.checkpoint()
    (said,) = ledger.events(run=run, type="x.said")
    assert signed(said.payload) == {"v": form}
    assert said.raw == {"v": form}
    assert bool(said.fault) is not is_value(form)
    with TemporaryDirectory() as folder:
        base = Path(folder)
        ways: dict[str, Callable[[], Any]] = {
            name: partial(ledger.export, run, name) for name in FORMS
        }
        ways |= {
            "page": lambda: write_report(ledger, run, base / "page.html"),
            "raw": lambda: write_bundle(ledger, run, base / "raw", raw=True),
            "bundle": lambda: write_bundle(ledger, run, base / "bundle"),
        }
        if said.fault:
            for way in ways.values():
                with pytest.raises(WrongError) as refused:
                    way()
                assert refused.value.rule == MALFORMED
                assert refused.value.seq == said.seq
                assert "data.v" in refused.value.message
            assert not list(base.iterdir())
            return
        told = {name: way() for name, way in ways.items()}
        events = {one.seq: signed(one.payload) for one in ledger.events(run=run)}
        assert table_of(told["csv"]) == events
        with open_bundle(base / "bundle", evidence_plugins()) as bundle:
            for name in FORMS:
                assert bundle.plugins.exporter(name)(bundle, run) == told[name]
            write_report(bundle, run, base / "again.html")


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_no_table_has_a_repaired_field(kind: str, tmp_path: Path) -> None:
    """Whatever is odd in a kernel type's data: the table has it as signed, or there is none."""
    forge = ledger_with(TYPES[kind])
    place = forge.write(tmp_path / "ledger.db")
    with Ledger.open(place, plugins=evidence_plugins()) as ledger:
        for run in sorted({row.run for row in forge.rows if row.run}):
            events = {one.seq: one for one in ledger.events(run=run)}
            odd = [seq for seq, one in events.items() if one.fault]
            if odd:
                with pytest.raises(WrongError) as refused:
                    ledger.export(run, "csv")
                assert (refused.value.rule, refused.value.seq) == (MALFORMED, odd[0])
                continue
            table = table_of(ledger.export(run, "csv"))
            assert table == {seq: signed(one.payload) for seq, one in events.items()}


@pytest.mark.parametrize("told", [*TEXTS, 3, None, ["x"]])
@pytest.mark.parametrize("member", ["duration_us", "about"])
def test_a_page_shows_no_default(member: str, told: Any, tmp_path: Path) -> None:
    """A field of an effect that is of another kind is nowhere taken for its default."""
    forge = Forge("one").open()
    forge.append("run.started", {"name": "x", "seed": "0" * 64}, run=RUN)
    forge.append("llm.requested", {"attempt": 1}, run=RUN, ordinal=1)
    forge.append("llm.completed", {member: {"$float": told}}, run=RUN, ordinal=1)
    forge.end_run(RUN)
    forge.checkpoint()
    place = forge.write(tmp_path / "ledger.db")
    with Ledger.open(place, plugins=evidence_plugins()) as ledger:
        (odd,) = ledger.events(type="llm.completed")
        if not odd.fault:
            assert odd.raw == signed(odd.payload)
            return
        ways: list[Callable[[], Any]] = [
            lambda: write_report(ledger, RUN, tmp_path / "page.html"),
            lambda: write_bundle(ledger, RUN, tmp_path / "raw", raw=True),
            lambda: ledger.export(RUN, "csv"),
        ]
        for way in ways:
            with pytest.raises(WrongError) as refused:
                way()
            assert refused.value.rule == MALFORMED


def test_readers_show_the_form_that_was_signed(ledger: Ledger) -> None:
    """Python gets the form of what is no value, and the word that it is none; not None."""

    def program(run: Run) -> None:
        run.record("x.said", {"v": {"a": {"$float": "3"}}, "w": {"$float": "3.0"}})

    run = ledger.execute(program).run_id
    (said,) = ledger.events(run=run, type="x.said")
    assert said.data == {"v": {"a": {"$float": "3"}}, "w": 3.0}
    assert said.fault == "data.v is not a value"
    assert parse(canonical(said.raw)) == signed(said.payload)
    with pytest.raises(MunimentError):
        ledger.resolve(said)
