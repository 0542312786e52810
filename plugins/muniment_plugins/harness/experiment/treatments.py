"""What a condition changes: the parameters of steps, the data, values of the context.

    Treatment("half", {"share": 0.5})
    Treatment("other code", {"code": "def fit_and_eval(data): …"})
    Treatment("drawn", lambda ctx: {"share": ctx["replicate"] / 10})

Rules:

- A change goes to every step that has a parameter of that name, and into the context;
  ``data`` takes the datasource's place.
- A call that gets a replicate's changes is an effect of kind ``data``, asked once.
- A name is a segment of scopes and of paths; ``baseline`` is taken.
- Values are copied when they are given: changing a list later changes nothing.
- Values of the context may have any name that the experiment does not set itself,
  unless it can only be a misspelt parameter of a step: nothing would take it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Self, cast

from muniment.encoding.codec import encode
from muniment.errors import UsageError, ValueRefused
from muniment.formats.statement import is_name
from muniment.programs.references import Function, named, refer
from muniment_plugins.harness.claim import Claim, Spec, as_values
from muniment_plugins.harness.functions.handouts import holds_functions, kept
from muniment_plugins.harness.functions.recorded_functions import NO_SOURCES, Sources
from muniment_plugins.harness.names import mistaken_for

__all__ = [
    "BASELINE",
    "PARAMETERS",
    "Changes",
    "Treatment",
    "described",
    "held",
    "refuse_mistaken",
    "undescribed",
]

BASELINE = "baseline"

PARAMETERS = (
    *("attempts", "claim", "clock", "code", "data", "entrypoint", "llm"),
    *("permutations", "repair", "require", "rtol", "spec", "spec_llm"),
    *("tolerance", "transforms"),
)
"""Parameters of built-in steps that a treatment can change, and the data."""

_SAID = (
    *("attempt", "condition", "feedback", "metrics", "outputs"),
    *("replicate", "seed"),
)
"""Names in ``ctx`` that the experiment sets itself."""

Changes = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Treatment:
    """A name, and its changes: a mapping, or a function that makes one."""

    name: str
    apply: Changes | Function

    def __post_init__(self) -> None:
        foreign = any(mark in str(self.name) for mark in "/\\\0")
        if (
            type(self.name) is not str
            or not is_name(self.name)
            or self.name in _TAKEN
            or foreign
        ):
            raise _refused(f"{self.name!r} is not a name of a treatment")
        if self.name[0] in "$@.":
            raise _refused(f"{self.name!r} is not a name of a treatment")
        given: object = self.apply
        if isinstance(given, Mapping):
            changes = held(cast("Changes", given), f"treatment {self.name}")
            object.__setattr__(self, "apply", changes)
        elif callable(given):
            object.__setattr__(self, "apply", named(given))
        else:
            raise _refused(f"{given!r} changes nothing")

    @property
    def fixed(self) -> Changes | None:
        """What changes in every replicate; None if a function decides."""
        given: object = self.apply
        return cast("Changes", given) if isinstance(given, Mapping) else None

    def describe(self) -> dict[str, object]:
        """Return the treatment as JSON."""
        if self.fixed is not None:
            return {"name": self.name, "changes": described(self.fixed, self.name)}
        return {"name": self.name, "apply": refer(cast("Function", self.apply))}

    @classmethod
    def from_json(
        cls, plan: Mapping[str, object], sources: Sources = NO_SOURCES
    ) -> Self:
        """Return the treatment that a plan describes; *sources* as for `Verifier`."""
        name = cast("str", plan["name"])
        if "apply" in plan:
            apply = cast("Mapping[str, object]", plan["apply"])
            return cls(name, sources.imported.remembered(apply))
        changes = cast("Mapping[str, object]", plan["changes"])
        return cls(name, undescribed(changes, sources))

    def changes(
        self, ask: Callable[[Function, dict[str, object]], object]
    ) -> Mapping[str, object]:
        """Return what changes; *ask* performs the effect for a callable."""
        if self.fixed is not None:
            return self.fixed
        function = cast("Function", self.apply)
        answer = ask(function, {"treatment": self.name, **refer(function)})
        return self.changes_in(answer)

    def changes_in(self, answer: object) -> Changes:
        """Return the *answer* of its function as changes.

        Raises:
            UsageError: it is no mapping.

        """
        if not isinstance(answer, Mapping):
            raise _refused(
                f"the treatment {self.name} returned a value of type "
                f"{type(answer).__name__}"
            )
        return cast("Changes", answer)


_TAKEN = ("", ".", "..", BASELINE, "plugin", "replicate")


def refuse_mistaken(
    names: Iterable[object],
    own: Collection[str],
    given: Collection[str],
    place: str,
) -> None:
    """Refuse context names that the experiment sets itself, or that look misspelt.

    Args:
        names: of what a treatment changes, or of the initial context.
        own: what the user's steps take, and what the context has.
        given: values that the user's steps were given, which may be changed.
        place: where the names come from.

    Raises:
        UsageError: one of them is such a name.

    """
    for name in names:
        if not isinstance(name, str):
            raise _strange(f"{name!r} is not text", "name each value", place)
        if name in _SAID and name not in given:
            remedy = "give the value another name"
            raise _strange(f"{name} is what the experiment says itself", remedy, place)
        if name in PARAMETERS or name in own:
            continue
        near = mistaken_for(name, PARAMETERS, own)
        if near is not None:
            remedy = f"write {near}, or a name for the context that is less like it"
            raise _strange(f"no step takes {name}", remedy, place)


def _strange(message: str, remedy: str, place: str) -> UsageError:
    return UsageError(message, rule="harness/context", place=place, remedy=remedy)


def described(values: Mapping[str, object], place: str) -> dict[str, object]:
    """Return *values*, which may be functions, as a plan carries them.

    Raises:
        UsageError: one is neither a value nor a function.

    """
    return {
        name: _described(value, f"{place}, {name}") for name, value in values.items()
    }


def held(values: Changes, place: str) -> dict[str, object]:
    """Return copies of *values*, which later changes of the originals do not affect.

    Raises:
        UsageError: as `described`.

    """
    described(values, place)
    return {name: _held(value) for name, value in values.items()}


def _held(value: object) -> object:
    """Return a copy of *value*; a function's source is read now and kept."""
    return named(value) if callable(value) else kept(value)


def _described(value: object, place: str) -> dict[str, object]:
    if isinstance(value, Claim | Spec):
        return {"value": as_values(value)}
    if callable(value):
        return {"function": refer(value)}
    if holds_functions(value):
        return {"members": described(cast("Changes", value), place)}
    try:
        encode(value)
    except ValueRefused as refusal:
        raise UsageError(
            f"{place}: {refusal.message}",
            rule="harness/context",
            place=refusal.place,
            remedy="give JSON values, NumPy arrays, Arrow tables or functions",
        ) from refusal
    return {"value": value}


def undescribed(
    values: Mapping[str, object], sources: Sources = NO_SOURCES
) -> dict[str, object]:
    """Return the values that `described` was given; a call looks its function up.

    *sources* are for functions within a mapping, such as transforms. A model or a
    datasource is never made from recorded source.
    """
    return {
        name: _undescribed(cast("Mapping[str, object]", value), sources)
        for name, value in values.items()
    }


def _undescribed(said: Mapping[str, object], sources: Sources) -> object:
    if "function" in said:
        function = cast("Mapping[str, object]", said["function"])
        return sources.imported.remembered(function)
    if "members" in said:
        members = cast("Mapping[str, Mapping[str, object]]", said["members"])
        return {name: _member(one, sources) for name, one in members.items()}
    return said["value"]


def _member(said: Mapping[str, object], sources: Sources) -> object:
    if "function" not in said:
        return _undescribed(said, sources)
    return sources.remembered(cast("Mapping[str, object]", said["function"]))


def _refused(message: str) -> UsageError:
    return UsageError(
        message,
        rule="harness/treatment",
        place="Treatment",
        remedy="write Treatment(name, {…}) or Treatment(name, lambda ctx: {…}); a name "
        "has no slash, and is not `baseline`",
    )
