"""What is to be shown, and what synthesised code may do for it.

    Claim(id="sum", text="The sum ignores the order", acceptance={})
    Spec(allowed_imports=["math"],
         properties=[{"name": "perm", "transform": "permute_rows", "metric": "total"}],
         resources={"time_s": 5, "mem_mb": 256})

Rules:

- Both are frozen to the ground, compared and hashed by content.
- A bound that nobody knows is refused by name: a misspelt limit would be no limit, and
  a text in the place of a list of modules would allow its letters.
- A property has a name and a transform, and only members that mean something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Self, TypeVar, cast

from muniment.canonical import canonical, sha256_tag
from muniment.values import encode
from muniment_plugins.harness.freezing import (
    freeze,
    freeze_members,
    thaw,
    thaw_members,
)
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["Claim", "Property", "Spec"]

DEFAULT_RESOURCES: dict[str, object] = {"time_s": 10, "mem_mb": 1024}
_T = TypeVar("_T", "Claim", "Spec")
_PROPERTY = ("metric", "name", "tolerance", "transform")


@dataclass(frozen=True, slots=True)
class Claim:
    """What is to be shown; ``acceptance`` says what would show it."""

    id: str
    text: str
    acceptance: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        _require_text(self.id, "Claim.id")
        _require_text(self.text, "Claim.text")
        _require_mapping(self.acceptance, "Claim.acceptance")
        object.__setattr__(self, "acceptance", freeze_members(self.acceptance))

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return _digest(self.to_json())

    def to_json(self) -> dict[str, object]:
        """Return the claim as ``claim.stated`` carries it."""
        acceptance = thaw_members(self.acceptance)
        return {"id": self.id, "text": self.text, "acceptance": acceptance}

    @staticmethod
    def of(value: Claim | Mapping[str, object]) -> Claim:
        """Return *value* as a claim; its members may be given as a mapping."""
        return value if isinstance(value, Claim) else _made(Claim, value)


@dataclass(frozen=True, slots=True)
class Property:
    """A metamorphic relation: what must not change when the data is transformed."""

    name: str
    transform: str
    metric: str | None = None
    tolerance: float | None = None

    @classmethod
    def of(cls, value: object, place: str) -> Self:
        """Return the property that *value* describes, or refuse it at *place*."""
        _require_mapping(value, place)
        members = cast("Mapping[str, object]", value)
        _refuse_unknown(members, _PROPERTY, place)
        _require_text(members.get("name"), f"{place}.name")
        _require_text(members.get("transform"), f"{place}.transform")
        metric, tolerance = members.get("metric"), members.get("tolerance")
        if metric is not None:
            _require_text(metric, f"{place}.metric")
        if tolerance is not None and not _is_number(tolerance):
            _refuse(f"{tolerance!r} is no tolerance", f"{place}.tolerance", "give >= 0")
        return cls(
            cast("str", members["name"]),
            cast("str", members["transform"]),
            cast("str | None", metric),
            cast("float | None", tolerance),
        )


@dataclass(frozen=True, slots=True)
class Spec:
    """What code may import, how long it may run, and what must hold of it."""

    allowed_imports: Sequence[str] = ()
    properties: Sequence[Mapping[str, object]] = ()
    contracts: Sequence[Mapping[str, object]] = ()
    resources: Mapping[str, object] = field(default_factory=DEFAULT_RESOURCES.copy)

    def __post_init__(self) -> None:
        for name in ("allowed_imports", "properties", "contracts"):
            _require_list(getattr(self, name), f"Spec.{name}")
            object.__setattr__(self, name, freeze(list(getattr(self, name))))
        for module in self.allowed_imports:
            _require_text(module, "Spec.allowed_imports")
        _require_mapping(self.resources, "Spec.resources")
        _refuse_unknown(self.resources, tuple(DEFAULT_RESOURCES), "Spec.resources")
        for name, amount in self.resources.items():
            if not _is_number(amount) or not amount:
                _refuse(f"{amount!r} bounds nothing", f"Spec.resources.{name}", "")
        object.__setattr__(self, "resources", freeze_members(self.resources))
        names = [one.name for one in self.relations]
        if len(set(names)) != len(names):
            _refuse("a name stands twice", "Spec.properties", "name each property")

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return _digest(self.to_json())

    @property
    def relations(self) -> tuple[Property, ...]:
        """The properties, read."""
        return tuple(
            Property.of(one, f"Spec.properties[{position}]")
            for position, one in enumerate(self.properties)
        )

    @property
    def bounds(self) -> dict[str, object]:
        """What the capsule is told: imports, and resources with nothing left open."""
        resources = {**DEFAULT_RESOURCES, **self.resources}
        return {"allowed_imports": list(self.allowed_imports), "resources": resources}

    def to_json(self) -> dict[str, object]:
        """Return the spec as ``spec.issued`` carries it."""
        return {
            "allowed_imports": list(self.allowed_imports),
            "properties": thaw(self.properties),
            "contracts": thaw(self.contracts),
            "resources": thaw_members(self.resources),
        }

    @staticmethod
    def of(value: Spec | Mapping[str, object]) -> Spec:
        """Return *value* as a spec; its members may be given as a mapping."""
        return value if isinstance(value, Spec) else _made(Spec, value)


def _made(cls: type[_T], value: object) -> _T:
    _require_mapping(value, cls.__name__)
    members = dict(cast("Mapping[str, object]", value))
    _refuse_unknown(members, tuple(cls.__dataclass_fields__), cls.__name__)
    try:
        return cls(**members)  # type: ignore[arg-type] # checked by the class itself
    except TypeError as error:
        _refuse(str(error), cls.__name__, "give every member that has no default")


def _digest(value: dict[str, object]) -> str:
    return sha256_tag(canonical(encode(value)))


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and 0 <= cast("float", value) < float("inf")


def _require_text(value: object, place: str) -> None:
    if not isinstance(value, str) or not value:
        _refuse(f"{value!r} is no text", place, "give a text that is not empty")


def _require_list(value: object, place: str) -> None:
    if not isinstance(value, list | tuple):
        _refuse(f"{value!r} is no list", place, f"write [{value!r}]")


def _require_mapping(value: object, place: str) -> None:
    if not isinstance(value, Mapping):
        _refuse(f"{value!r} is no mapping", place, "give a dict")


def _refuse_unknown(
    members: Mapping[str, object], known: tuple[str, ...], place: str
) -> None:
    unknown = sorted(str(name) for name in members.keys() - set(known))
    if unknown:
        names = ", ".join(unknown)
        _refuse(f"{names} means nothing here", place, f"known: {', '.join(known)}")


def _refuse(message: str, place: str, remedy: str) -> NoReturn:
    raise HarnessRefused(message, rule="harness/spec", place=place, remedy=remedy)
