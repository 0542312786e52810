"""The registered classes whose instances may be values, and their names.

    >>> types = ValueTypes().with_type(Ticket, "acme.Ticket")
    >>> values.encode(Ticket(7), types)
    {'$object': ['acme.Ticket', {'number': 7}]}

Rules:

- A class is known by a registered name, never by an import path found in a record:
  reading a value imports nothing and calls nothing that was not registered.
- Dataclasses, pydantic models, enumerations and named tuples need only a name; any
  other class says how to take it apart (``parts``) and put it together (``build``).
- A set of types never changes: `ValueTypes.with_type` returns a larger one.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn, cast

from muniment.encoding.scalars import SCALARS_BY_CLASS
from muniment.errors import UsageError
from muniment.lazy import loaded

__all__ = ["UNBUILT", "ValueType", "ValueTypes"]

_BUILT_IN = (bool, dict, frozenset, list, set, str, tuple, type(None))
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,199}")


@dataclass(frozen=True, slots=True)
class ValueType:
    """A registered class: ``build(parts(instance))`` is an equal instance."""

    cls: type
    name: str
    parts: Callable[[Any], object]
    build: Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class ValueTypes:
    """The registered classes; without arguments, none."""

    _by_class: Mapping[type, ValueType] = field(
        default_factory=lambda: MappingProxyType({})
    )
    _by_name: Mapping[str, ValueType] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def with_type(
        self,
        cls: type,
        name: str | None = None,
        *,
        parts: Callable[[Any], object] | None = None,
        build: Callable[[Any], object] | None = None,
    ) -> ValueTypes:
        """Return these types and *cls* under *name*.

        Args:
            cls: the class itself; its subclasses stay unknown.
            name: what records say; by default module and qualified name.
            parts: takes an instance apart, into a value that can be encoded.
            build: makes an equal instance of what *parts* gave.

        Raises:
            UsageError: the name is taken, or *cls* needs *parts* and *build*.

        """
        entry = _described(
            cls, name or f"{cls.__module__}.{cls.__qualname__}", parts, build
        )
        known = self._by_name.get(entry.name)
        if known is not None and known.cls is not cls:
            _refuse(f"the name {entry.name} belongs to {known.cls.__qualname__}", cls)
        other = self._by_class.get(cls)
        if other is not None and other.name != entry.name:
            _refuse(f"the class is registered as {other.name}", cls)
        return ValueTypes(
            MappingProxyType({**self._by_class, cls: entry}),
            MappingProxyType({**self._by_name, entry.name: entry}),
        )

    def of(self, cls: type) -> ValueType | None:
        """Return the registration of exactly *cls*."""
        return self._by_class.get(cls)

    def named(self, name: str) -> ValueType | None:
        """Return the registration under *name*."""
        return self._by_name.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """All registered names, sorted."""
        return tuple(sorted(self._by_name))


class _Unbuilt(ValueTypes):
    """Every name is known, and what stands under it stays apart."""

    __slots__ = ()

    def named(self, name: str) -> ValueType:
        """Return what builds nothing."""
        return ValueType(object, name, parts=_apart, build=_apart)


def _apart(_: object) -> object:
    return object()


UNBUILT = _Unbuilt()
"""For telling whether a form is well made: that needs no class, and runs no code of one."""


def _described(
    cls: Any,
    name: str,
    parts: Callable[[Any], object] | None,
    build: Callable[[Any], object] | None,
) -> ValueType:
    if not _NAME.fullmatch(name):
        _refuse(f"{name!r} is not a name for a type; give one of letters and dots", cls)
    if cls in SCALARS_BY_CLASS or cls in _BUILT_IN:
        _refuse("it has a form of its own", cls)
    if parts is not None and build is not None:
        return ValueType(cls, name, parts, build)
    if parts is not None or build is not None:
        _refuse("parts and build belong together", cls)
    for applies, describe in (
        (_is_enumeration, _enumeration),
        (dataclasses.is_dataclass, _dataclass),
        (_is_named_tuple, _named_tuple),
        (_is_model, _model),
    ):
        if applies(cls):
            return describe(cls, name)
    return _refuse("it is neither dataclass, model, enumeration nor named tuple", cls)


def _is_enumeration(cls: type) -> bool:
    return issubclass(cls, enum.Enum)


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")  # pyright: ignore[reportUnknownArgumentType] - any tuple


def _is_model(cls: type) -> bool:
    model = loaded("pydantic", "BaseModel")
    return model is not None and issubclass(cls, model)


def _enumeration(cls: Any, name: str) -> ValueType:
    if issubclass(cls, enum.Flag):
        return ValueType(cls, name, lambda member: member.value, cls)
    return ValueType(cls, name, lambda member: member.name, lambda key: cls[key])


def _named_tuple(cls: Any, name: str) -> ValueType:
    def parts(value: Any) -> object:
        _only(value, {})
        return value._asdict()

    return ValueType(cls, name, parts, lambda items: cls(**items))


def _dataclass(cls: Any, name: str) -> ValueType:
    fields = {item.name: item.init for item in dataclasses.fields(cls)}
    known = set(inspect.signature(cls).parameters)
    if known != {key for key, init in fields.items() if init}:
        _refuse("its constructor takes other names than its fields", cls)
    if _hidden_state(cls, fields):
        _refuse("it inherits state that is not in its fields", cls)

    def parts(instance: object) -> object:
        _only(instance, fields)
        return {key: getattr(instance, key) for key in fields}

    def build(items: dict[str, object]) -> object:
        given = {key: item for key, item in items.items() if fields.get(key, True)}
        instance: object = cls(**given)
        for key in items.keys() - given.keys():
            object.__setattr__(instance, key, items[key])
        return instance

    return ValueType(cls, name, parts, build)


def _hidden_state(cls: type, fields: Mapping[str, object]) -> bool:
    """Tell whether instances hold more than fields and an attribute dictionary."""
    for base in cls.__mro__[:-1]:
        slots: str | tuple[str, ...] = base.__dict__.get("__slots__", ())
        names = {slots} if isinstance(slots, str) else set(slots)
        foreign = base.__module__ == "builtins"
        if foreign or names - fields.keys() - {"__dict__", "__weakref__"}:
            return True
    return False


def _model(cls: Any, name: str) -> ValueType:
    """Take pydantic models apart and rebuild them as copying does: without validation.

    A model that was valid when it was recorded comes back as it was; fields that were
    added since take their defaults.
    """
    fields: Mapping[str, Any] = cls.model_fields
    open_ended = cls.model_config.get("extra") == "allow"
    if cls.__private_attributes__:
        _refuse("it has private attributes", cls)

    def parts(instance: Any) -> object:
        _only(instance, fields)
        return dict(instance)

    def build(items: dict[str, object]) -> object:
        extra = {key: item for key, item in items.items() if key not in fields}
        missing = fields.keys() - items.keys()
        if (extra and not open_ended) or any(fields[k].is_required() for k in missing):
            raise ValueError("the fields are not those of the model")
        own = {
            key: items[key] if key in items else _default(field)
            for key, field in fields.items()
        }
        instance = cls.__new__(cls)
        instance.__setstate__(
            {
                "__dict__": own,
                "__pydantic_fields_set__": set(items),
                "__pydantic_extra__": extra if open_ended else None,
                "__pydantic_private__": None,
            }
        )
        return cast("object", instance)

    return ValueType(cls, name, parts, build)


def _default(field: Any) -> object:
    return cast("object", field.get_default(call_default_factory=True))


def _only(instance: object, fields: Mapping[str, object]) -> None:
    """Refuse attributes beyond the fields, which would be lost silently."""
    for key in getattr(instance, "__dict__", ()):
        stray = key not in fields
        if stray and not isinstance(
            inspect.getattr_static(type(instance), key, None), functools.cached_property
        ):
            raise ValueError(f"the attribute {key} is not a field")


def _refuse(message: str, cls: type) -> NoReturn:
    raise UsageError(
        message,
        rule="value/register",
        place=cls.__qualname__,
        remedy='with_type(cls, "name", parts=…, build=…) registers any class',
    )
