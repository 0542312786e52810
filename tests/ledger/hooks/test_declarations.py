"""What plugins declare is looked at where it is declared, and missed where it is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest

from muniment.errors import CannotTellError, RefusedError, UsageError
from muniment.events.effect_kinds import EffectKind
from muniment.events.types import TEXT, EventData, EventType
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment.verification.verify import verify


class ReviewFinished(EventData):
    """A review came to its end."""

    score: int


class Words:
    """Adds an event type and an effect kind."""

    @hookimpl
    def event_types(self) -> list[EventType]:
        """Add ``review.finished``."""
        return [EventType("review.finished", ReviewFinished)]

    @hookimpl
    def effect_kinds(self) -> list[EffectKind]:
        """Add ``review``."""
        return [EffectKind("review", source="human_input")]


class Clashing:
    """Adds an event type that `Words` has."""

    @hookimpl
    def event_types(self) -> list[EventType]:
        """Add ``review.finished`` once more."""
        return [EventType("review.finished", ReviewFinished)]


class Early:
    """Adds an event type that the kernel has."""

    @hookimpl
    def event_types(self) -> list[EventType]:
        """Add ``note.added`` once more."""
        return [EventType("note.added", ReviewFinished)]


class Misspelt:
    """Adds an event type whose name no type may have."""

    @hookimpl
    def event_types(self) -> list[EventType]:
        """Add ``Review``."""
        return [EventType("Review", ReviewFinished)]


class Raising:
    """Does not say what it adds."""

    @hookimpl
    def effect_kinds(self) -> list[EffectKind]:
        """Fail."""
        raise ValueError("boom")


class Mistaken:
    """Says something else."""

    @hookimpl
    def effect_kinds(self) -> EffectKind:
        """Return a kind where kinds are asked for."""
        return EffectKind("review")


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (
            Clashing(),
            (
                "plugin second: event_types: .*review.finished is registered already, by "
                r"plugin first \[event/type-twice\]"
            ),
        ),
        (
            Early(),
            (
                "plugin second: event_types: .*note.added is registered already, by "
                r"muniment itself \[event/type-twice\]"
            ),
        ),
        (Raising(), "plugin second: effect_kinds: ValueError: boom .*plugin/load"),
        (
            Mistaken(),
            (
                r"plugin second: effect_kinds: it returned one EffectKind, "
                r"not a list of EffectKind \[plugin/load\]"
            ),
        ),
        (
            Misspelt(),
            r"plugin second: event_types: 'Review' is not .*\[event/type-name\]",
        ),
    ],
    ids=["clashing", "early", "raising", "mistaken", "misspelt"],
)
def test_who_declares_what_cannot_be_is_named(
    tmp_path: Path, plugin: object, said: str
) -> None:
    """The plugin is named, as often as it is asked, and nothing is written."""
    plugins = Plugins([], extra={"second": plugin, "first": Words()})
    with Ledger.create(tmp_path / "ledger.db", plugins=plugins) as ledger:
        size = ledger.head.size
        for _ in range(2):
            with pytest.raises((CannotTellError, UsageError), match=said):
                ledger.append("review.finished", {"score": 1})
        assert ledger.head.size == size


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("dose", {"on_doubt": "aks"}),
        ("dose", {"source": "nope"}),
        ("dose", {"magnitude": "huge"}),
        ("Dose Kind", {}),
        ("", {}),
    ],
)
def test_a_kind_is_refused_where_it_is_declared(
    name: str, fields: dict[str, str]
) -> None:
    """A misspelt policy would be found in doubt only, when it matters."""
    with pytest.raises(UsageError, match=r"\[effect/kind\]"):
        EffectKind(name, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["Review", "review", "lab.Done", "lab.is-done", "a.1"])
def test_a_refused_name_says_what_a_name_has(name: str) -> None:
    """Which characters are allowed need not be guessed."""
    letters = "joined by dots, each of a-z, 0-9 and _, with a letter first"
    with pytest.raises(
        UsageError, match=rf"two words or more, {letters} \[event/type-n"
    ):
        EventType(name, ReviewFinished)
    if name != "review":
        with pytest.raises(UsageError, match=rf"has words, {letters} \[effect/kind\]"):
            EffectKind(name)


def test_a_kind_or_type_of_a_plugin_that_may_not_load_is_told(tmp_path: Path) -> None:
    """The remedy speaks of plugins, not only of what the program could declare."""

    def program(run: Run) -> None:
        with pytest.raises(UsageError, match="the effect_kinds hook, if they may load"):
            run.effect("review", {}, lambda _: 2)

    with Ledger.create(tmp_path / "ledger.db", plugins=[]) as ledger:
        with pytest.raises(UsageError, match="the event_types hook, if they may load"):
            ledger.append("review.finished", {"score": 1})
        assert ledger.execute(program).status == "completed"


class Odd(EventData):
    """Marks as text what is none."""

    what: Annotated[Any, TEXT]


@pytest.mark.parametrize("model", [object, dict, "ReviewFinished", None])
def test_a_type_is_refused_where_its_data_is_not_declared(model: Any) -> None:
    """Else each of its events would fail, with an error of Python's."""
    with pytest.raises(UsageError, match=r"lab\.b: .*\[event/type-model\]"):
        EventType("lab.b", model)


@pytest.mark.parametrize("value", [b"bytes", 1, ["a"], {"a": 1}])
def test_a_text_is_a_string(value: object) -> None:
    """What a field marked TEXT is given is named, with the field."""
    declared = EventType("lab.odd", Odd)
    assert declared.prepare({"what": "text"}).inline == {"what": "text"}
    with pytest.raises(RefusedError, match=r"lab\.odd what: .*\[event/data\]"):
        declared.prepare({"what": value})


def test_a_resume_without_the_plugin_writes_nothing(tmp_path: Path) -> None:
    """Else the run would fail of what nobody here declares, and be given up for it."""

    def program(run: Run) -> None:
        run.effect("review", {"of": 1}, lambda _: 2)
        raise KeyboardInterrupt

    place = tmp_path / "ledger.db"
    with (
        Ledger.create(place, plugins=Plugins([], extra={"words": Words()})) as ledger,
        pytest.raises(KeyboardInterrupt),
    ):
        ledger.execute(program)
    with Ledger.open(place, plugins=[]) as ledger:
        run = next(ledger.events(type="run.started")).run or ""
        size = ledger.head.size
        with pytest.raises(
            CannotTellError, match=r"review.requested.*resume/plugin.*missing: words"
        ):
            ledger.resume(run, program)
        assert ledger.head.size == size
    with Ledger.open(place, plugins=Plugins([], extra={"words": Words()})) as ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.resume(run, program)
        assert verify(place).ok


def test_a_refusal_names_every_fault_and_every_field(ledger: Ledger) -> None:
    """Who misspells a field reads which one is missing, which is unknown, which exist."""
    with pytest.raises(RefusedError) as caught:
        ledger.append("note.added", {"txt": "x"})
    told = str(caught.value)
    assert told.startswith("note.added data.text: field required; txt: extra inputs")
    assert told.endswith("; its fields are text, details, visibility")
    with pytest.raises(RefusedError, match="and 21 more"):
        ledger.append("note.added", dict.fromkeys(map(str, range(30)), 1))
