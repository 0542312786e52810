"""What is to be shown, and what synthesised code may do for it.

    Claim(id="sum", text="The sum ignores the order", acceptance={})
    Spec(allowed_imports=["math"],
         properties=[{"name": "perm", "transform": "permute_rows", "metric": "total"}],
         resources={"time_s": 5, "mem_mb": 256})

Rules:

- Both are deeply frozen, and compared and hashed by content.
- An unknown bound is refused by name: a misspelt limit would be no limit, and a text in
  place of a list of modules would allow its letters.
- The properties are read when the spec is made: a meaningless one is refused.
- A spec that names no syntax is wide when a user gives it, and narrow when it was
  recorded: a replay refuses what was refused before there was a choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, cast, get_args

from muniment.encoding.canonical import canonical, sha256_tag
from muniment.encoding.codec import encode
from muniment_plugins.harness.frozen import (
    freeze,
    freeze_members,
    thaw,
    thaw_members,
)
from muniment_plugins.harness.property import Property
from muniment_plugins.harness.requirements import (
    is_amount,
    refuse,
    refuse_unknown,
    require_list,
    require_mapping,
    require_one_of,
    require_text,
)

__all__ = ["Claim", "Spec", "Syntax", "as_values"]

Syntax = Literal["narrow", "wide"]

DEFAULT_RESOURCES: dict[str, object] = {"time_s": 10, "mem_mb": 1024}
_T = TypeVar("_T", "Claim", "Spec")


@dataclass(frozen=True, slots=True)
class Claim:
    """What is to be shown; ``acceptance`` says what would show it."""

    id: str
    text: str
    acceptance: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        require_text(self.id, "Claim.id")
        require_text(self.text, "Claim.text")
        require_mapping(self.acceptance, "Claim.acceptance")
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
class Spec:
    """What code may import, how long it may run, and which properties must hold."""

    allowed_imports: Sequence[str] = ()
    properties: Sequence[Mapping[str, object]] = ()
    contracts: Sequence[Mapping[str, object]] = ()
    resources: Mapping[str, object] = field(default_factory=DEFAULT_RESOURCES.copy)
    allow_non_finite: bool = False
    """Whether NaN and infinities are valid metrics rather than errors."""
    syntax: Syntax = "wide"
    """``narrow`` refuses ``try``, ``with``, ``global`` and ``nonlocal``."""

    def __post_init__(self) -> None:
        for name in ("allowed_imports", "properties", "contracts"):
            require_list(getattr(self, name), f"Spec.{name}")
            object.__setattr__(self, name, freeze(list(getattr(self, name))))
        for module in self.allowed_imports:
            require_text(module, "Spec.allowed_imports")
        require_mapping(self.resources, "Spec.resources")
        refuse_unknown(self.resources, tuple(DEFAULT_RESOURCES), "Spec.resources")
        for name, amount in self.resources.items():
            if not is_amount(amount) or not amount:
                refuse(f"{amount!r} bounds nothing", f"Spec.resources.{name}", "")
        object.__setattr__(self, "resources", freeze_members(self.resources))
        if type(self.allow_non_finite) is not bool:
            refuse("it is neither True nor False", "Spec.allow_non_finite", "")
        require_one_of(self.syntax, get_args(Syntax), "Spec.syntax")
        names = [one.name for one in self.relations]
        if len(set(names)) != len(names):
            refuse("a name stands twice", "Spec.properties", "name each property")

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
        """What the capsule is told: imports, and every resource, defaults included."""
        resources = {**DEFAULT_RESOURCES, **self.resources}
        imports = list(self.allowed_imports)
        return {"allowed_imports": imports, "resources": resources, **self._allowed}

    def to_json(self) -> dict[str, object]:
        """Return the spec as ``spec.issued`` carries it; a narrow one names no syntax."""
        return {
            "allowed_imports": list(self.allowed_imports),
            "properties": thaw(self.properties),
            "contracts": thaw(self.contracts),
            "resources": thaw_members(self.resources),
            **self._allowed,
        }

    @property
    def _allowed(self) -> dict[str, object]:
        allowed: dict[str, object] = {}
        if self.allow_non_finite:
            allowed["allow_non_finite"] = True
        if self.syntax == "wide":
            allowed["syntax"] = self.syntax
        return allowed

    def said(self) -> dict[str, object]:
        """Return the spec in the form in which a user gives one: see `of`."""
        return {**self.to_json(), "syntax": self.syntax}

    @staticmethod
    def of(value: Spec | Mapping[str, object], syntax: Syntax = "wide") -> Spec:
        """Return *value* as a spec; its members may be given as a mapping.

        *syntax* applies to a mapping that names none.
        """
        if isinstance(value, Spec):
            return value
        require_mapping(value, "Spec")
        return _made(Spec, {"syntax": syntax, **value})

    @staticmethod
    def recorded(members: Mapping[str, object]) -> Spec:
        """Return the spec that `to_json` gave, in this version or an earlier one."""
        return Spec.of(members, "narrow")


def as_values(answer: object) -> object:
    """Return a function's *answer*, with each claim or spec as a mapping."""
    if isinstance(answer, Claim | Spec):
        return answer.said() if isinstance(answer, Spec) else answer.to_json()
    if type(answer) is tuple:  # not a named tuple, which has no exact form
        return tuple(map(as_values, cast("tuple[object, ...]", answer)))
    if type(answer) is dict:
        members = cast("dict[object, object]", answer)
        return {name: as_values(member) for name, member in members.items()}
    return answer


def _made(cls: type[_T], value: object) -> _T:
    require_mapping(value, cls.__name__)
    members = dict(cast("Mapping[str, object]", value))
    refuse_unknown(members, tuple(cls.__dataclass_fields__), cls.__name__)
    try:
        return cls(**members)  # type: ignore[arg-type] # checked by the class itself
    except TypeError as error:
        refuse(str(error), cls.__name__, "give every member that has no default")


def _digest(value: dict[str, object]) -> str:
    return sha256_tag(canonical(encode(value)))
