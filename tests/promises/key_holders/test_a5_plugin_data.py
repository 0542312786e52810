"""An event of a plugin's type has the fields of its type, or every reader says that it has not.

Rules: over all types that plugins declare. Who has a key may have signed anything under their
names: with a field missing, or of another kind. Readers say which event and which field is
malformed, and hand nothing of its run on. No command takes it for a fault of muniment.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from misshapen import TYPES, sound, unsaid, variants
from muniment import LARGE, TEXT, Event, EventData, EventType, PlainData, Run, hookimpl
from muniment.encoding.codec import decode
from muniment.errors import WrongError
from muniment.events.readable import as_signed
from muniment.events.types import Prepared
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_cli import main

FAST = {"execution.measured", "reasoning.recorded", "verification.judged"}
PARTS = 4
"""Each command meets every fourth type, and all of those that are `FAST`."""
BROKEN = ("cli/bug", "Traceback", "leads nowhere")
POLICY = {
    "spec_version": "v1",
    "policy_id": "four",
    "execution_budget": {"effect_limit": 4},
}
EACH = [
    pytest.param(one, marks=[] if one in FAST else pytest.mark.slow)
    for one in sorted(TYPES)
]


BLOB = {"$blob": "sha256:" + "0" * 64, "size": 3}


class Anything(EventData):
    """Data of a type that only has the name of a plugin's."""


def signs_anything(patch: pytest.MonkeyPatch) -> None:
    """Let events with data of `Anything` be signed as they are given."""
    prepare = EventType.prepare

    def prepared(self: EventType, data: Mapping[str, Any], *more: Any) -> Prepared:
        if self.model is Anything:
            return Prepared(self, dict(data), {}, ())
        return prepare(self, data, *more)

    patch.setattr(EventType, "prepare", prepared)


def stated(ledger: Ledger, kind: str, rows: list[dict[str, Any]]) -> str:
    """Return a run that states the *rows* of one type."""

    def program(run: Run) -> None:
        for data in rows:
            run.record(kind, data)

    return ledger.execute(program).run_id


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the folder of a ledger whose writer had none of the plugins, and its types."""
    base = tmp_path_factory.mktemp("shapes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUNIMENT_HOME", str(base / "home"))
        signs_anything(patch)
        with Ledger.create(base / "ledger.db", plugins=[]) as ledger:
            runs: dict[str, dict[str, str]] = {}
            for kind in TYPES:
                ledger.register(EventType(kind, Anything))
            for kind, one in TYPES.items():
                drawn = [data for _, data in variants(one)]
                fit = [data for data in drawn if fits(one, data)]
                told = [data for said, data in variants(one) if "blob" not in said]
                odd = [data for data in told if not fits(one, data)]
                runs[kind] = {"all": stated(ledger, kind, drawn)}
                runs[kind]["fit"] = stated(ledger, kind, [sound(one), *fit])
                runs[kind]["odd"] = stated(ledger, kind, odd[-1:])
        (base / "runs.json").write_text(json.dumps(runs))
        (base / "policy.json").write_text(json.dumps(POLICY))
        yield base


@pytest.fixture(autouse=True)
def at_home(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the keys of the ledger, and the policy, at hand."""
    monkeypatch.setenv("MUNIMENT_HOME", str(place / "home"))
    monkeypatch.chdir(place)


def fits(one: EventType, data: Mapping[str, Any]) -> bool:
    """Tell whether whoever has the plugin could have stated *data*, as pydantic says."""
    model = one.full_model
    known = {name: one for name, one in data.items() if name in model.model_fields}
    if any(isinstance(said, dict) and "$blob" in said for said in known.values()):
        return False
    told: dict[str, Any] = dict.fromkeys(unsaid(one))  # nothing is left out as none
    told |= {name: decode(said) for name, said in known.items()}
    try:
        model.model_validate(told)
    except ValidationError:
        return False
    return True


def read(place: Path, kind: str, part: str) -> list[Event]:
    """Return what a ledger with the plugins reads of the events of one run."""
    runs = json.loads((place / "runs.json").read_text())
    with Ledger.open(place / "ledger.db", readonly=True) as ledger:
        return [*ledger.events(run=runs[kind][part], type=kind)]


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_what_does_not_fit_is_malformed(kind: str, place: Path) -> None:
    """Just what no holder of the plugin could state is malformed, and a field is named."""
    events = read(place, kind, "all")
    drawn = [*variants(TYPES[kind])]
    assert len(events) == len(drawn)
    for (said, data), event in zip(drawn, events, strict=True):
        blob = said.endswith("is a blob")
        assert json.loads(event.payload)["predicate"]["data"] == data
        if not blob:
            assert bool(event.fault) is not fits(TYPES[kind], data), (said, event.fault)
        if not event.fault:
            assert event.raw == data
            continue
        assert event.fault.startswith("data."), said
        with pytest.raises(WrongError, match="malformed: data") as refused:
            as_signed(event)
        assert (refused.value.rule, refused.value.seq) == ("event/malformed", event.seq)


def lines(kind: str, run: str, folder: Path) -> dict[str, tuple[str, ...]]:
    """Return what is asked of a *run* with events of that *kind*: of most, a part of it."""
    found = every_line(run, folder)
    if kind in FAST:
        return found
    turn = sorted(TYPES).index(kind) % PARTS
    return {name: found[name] for name in [*found][turn::PARTS]}


def every_line(run: str, folder: Path) -> dict[str, tuple[str, ...]]:
    """Return all that is asked of a *run*."""
    exports = {
        form: ("export", run, "--format", form, "-o", str(folder / form))
        for form in ("csv", "otlp", "prov", "ro-crate")
    }
    return exports | {
        "bundle": ("bundle", run, "-o", str(folder / "bundle")),
        "redacted": ("bundle", run, "--redact", "-o", str(folder / "redacted")),
        "page": ("report", run, "-o", str(folder / "page.html")),
        "observe": ("observe", run, "--policy", "policy.json"),
        "show": ("runs", "show", run),
        "show --json": ("runs", "show", run, "--json"),
        "explain": ("runs", "explain", run),
        "tree": ("runs", "tree", run),
        "inspect": ("inspect", "run", run),
        "events": ("events", "list", "--run", run),
        "attest": ("attest", run, "--predicate", "svr"),
        "fixture": ("runs", "fixture", run, "-o", str(folder / "fixture.json")),
        "diff": ("runs", "diff", run, run),
    }


REFUSING = ("csv", "otlp", "prov", "ro-crate", "bundle", "page", "observe", "attest")
"""A bundle that is redacted refuses what it shows, and withholds the others."""


@pytest.mark.parametrize("kind", EACH)
def test_no_command_breaks(
    kind: str, place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Readers go on, and what hands on or judges refuses, and names event and field."""
    runs = json.loads((place / "runs.json").read_text())[kind]
    events = {part: read(place, kind, part) for part in runs}
    for part, run in runs.items():
        folder = tmp_path / part
        folder.mkdir()
        faulty = [one for one in events[part] if one.fault]
        assert bool(faulty) is (part != "fit") or not TYPES[kind].marks
        for name, line in lines(kind, run, folder).items():
            code = main(["--ledger", str(place / "ledger.db"), *line])
            said = "".join(capfd.readouterr())
            assert not any(word in said for word in BROKEN), (part, name, said)
            assert code in (0, 1, 2, 3, 4), (part, name, code, said)
            if faulty and name in REFUSING:
                assert "event/malformed" in said, (part, name, said)
                assert f"event {faulty[0].seq} {kind}" in said, (part, name)
                assert faulty[0].fault in said, (part, name)
                assert code == 1, (part, name)
        if faulty:
            assert {one.name for one in folder.iterdir()} <= {
                "redacted",
                "fixture.json",
            }


@pytest.mark.parametrize(
    "line",
    [
        ("verify",),
        ("runs", "stats"),
        ("runs", "list"),
        ("sessions", "list"),
        ("status",),
        ("claims",),
        ("query", "SELECT * FROM effects"),
        ("query", "SELECT * FROM runs"),
    ],
    ids=" ".join,
)
def test_no_command_about_all_runs_breaks(
    line: tuple[str, ...], place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What looks at the whole ledger reads past all of them."""
    code = main(["--ledger", str(place / "ledger.db"), *line])
    said = "".join(capfd.readouterr())
    assert not any(word in said for word in BROKEN), said
    assert code == 0 or line == ("verify",), said


class Graded(EventData):
    """Data of another plugin, declared for pydantic."""

    name: str
    grade: Annotated[int, Field(ge=1)]
    notes: list[str] = Field(default=[])
    link: Annotated[str | None, LARGE] = None


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({"name": "x", "grade": 1}, ""),
        ({"name": "x", "grade": 1, "more": 2}, ""),
        ({"name": 5, "grade": 1}, "data.name is of another kind"),
        ({"grade": 1}, "data.name is missing"),
        ({"name": "x"}, "data.grade is missing"),
        ({"name": "x", "grade": 1, "notes": [5]}, "data.notes is of another kind"),
        ({"name": BLOB, "grade": 1}, "data.name is a reference to a blob"),
        ({"name": "x", "grade": 1, "link": BLOB}, ""),
    ],
)
@pytest.mark.parametrize("reader", ["with the plugin", "with its own type", "without"])
def test_types_that_any_plugin_declares(
    data: dict[str, Any],
    fault: str,
    reader: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They count where the plugin is active: what a program registers is its own matter."""
    signs_anything(monkeypatch)
    with Ledger.create(tmp_path / "l.db", plugins=[]) as ledger:
        ledger.register(EventType("school.graded", Anything))
        ledger.append("school.graded", data)
    graded = EventType("school.graded", Graded)
    hooks = type("Hooks", (), {"event_types": hookimpl(lambda: [graded])})
    known = Plugins([], {"school": hooks} if reader == "with the plugin" else {})
    with Ledger.open(tmp_path / "l.db", plugins=known) as ledger:
        if reader == "with its own type":
            ledger.register(graded)
        (event,) = ledger.events(type="school.graded")
        assert event.fault == (fault if reader == "with the plugin" else "")
        assert event.fault or event.raw == data


class Within(EventData):
    """A part of another."""

    number: float


HONEST: dict[str, tuple[Any, Any]] = {
    "time": (dt.datetime, dt.datetime(2026, 1, 2, tzinfo=dt.UTC)),
    "day": (dt.date, dt.date(2026, 1, 2)),
    "span": (dt.timedelta, dt.timedelta(seconds=3)),
    "id": (uuid.UUID, uuid.UUID(int=5)),
    "exact": (decimal.Decimal, decimal.Decimal("1.50")),
    "bytes": (bytes, b"\x00\xff"),
    "literal": (Literal["a", 2], 2),
    "a whole float": (float, 3),
    "a large integer": (int, 2**70),
    "union": (int | str | None, None),
    "pair": (tuple[int, str], (1, "a")),
    "set": (frozenset[str], frozenset({"a"})),
    "object": (object, {"any": [1, None]}),
    "at least": (Annotated[int, Field(ge=1)], 1),
    "pattern": (Annotated[str, Field(pattern="a+")], "aa"),
    "large": (Annotated[str, LARGE], "x" * 9_000),
    "text": (Annotated[str, TEXT], "x"),
}


PLAIN = ("a whole float", "a large integer", "object", "large", "text")


@pytest.mark.parametrize(
    ("base", "how"),
    [*((EventData, one) for one in HONEST), *((PlainData, one) for one in PLAIN)],
)
def test_what_a_model_takes_is_not_malformed(
    base: type, how: str, tmp_path: Path
) -> None:
    """Whatever may be stated by a model can be read by it: nothing honest is refused."""
    annotation, value = HONEST[how]
    space = {"__annotations__": {"it": annotation}, "__module__": __name__}
    held = EventType("school.held", type("Held", (base,), space))
    hooks = type("Hooks", (), {"event_types": hookimpl(lambda: [held])})
    known = Plugins([], {"school": hooks})
    with Ledger.create(tmp_path / "l.db", plugins=known) as ledger:
        ledger.append("school.held", {"it": value})
        (event,) = ledger.events(type="school.held")
        assert event.fault == ""


@pytest.mark.parametrize("version", [1, 3])
def test_another_version_is_read_as_it_is(version: int, tmp_path: Path) -> None:
    """Of a newer version, and of an older one, nothing is known but that."""
    other, own = (
        type("Hooks", (), {"event_types": hookimpl(lambda one=one: [one])})
        for one in (
            EventType("school.graded", Within, version=version),
            EventType("school.graded", Graded, version=2),
        )
    )
    made = Plugins([], {"school": other})
    with Ledger.create(tmp_path / "l.db", plugins=made) as ledger:
        ledger.append("school.graded", {"number": 0.5})
    with Ledger.open(tmp_path / "l.db", plugins=Plugins([], {"school": own})) as ledger:
        (event,) = ledger.events(type="school.graded")
        assert (event.fault, event.raw) == ("", {"number": 0.5})


def test_a_plugin_that_cannot_load_declares_nothing(tmp_path: Path) -> None:
    """What is recorded is read all the same."""
    with Ledger.create(tmp_path / "l.db", plugins=[]) as ledger:
        ledger.register(EventType("school.graded", Graded))
        ledger.append("school.graded", {"name": "x", "grade": 1})
    hooks = type("Hooks", (), {"event_types": hookimpl(lambda: [1 / 0])})
    with Ledger.open(tmp_path / "l.db", plugins=Plugins([], {"bad": hooks})) as ledger:
        (event,) = ledger.events(type="school.graded")
        assert not event.fault
