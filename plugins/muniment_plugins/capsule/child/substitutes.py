"""Substitutes for members of modules: the same work, without the way out.

    operator.attrgetter("__class__")     ->  AttributeError
    functools.wraps(f, updated=(…))      ->  TypeError
    random.Random()                      ->  seeded from the program's seed
    uuid.uuid4()                         ->  drawn from that seed too

Rules:

- A substitute does what the genuine one does for ordinary arguments, and refuses with
  the exception that a missing attribute or a wrong argument raises anyway.
- Functions that would ask the system for randomness ask the seeded generator.
- Text in annotations is looked up, never evaluated.

Runs in the child; imports nothing that the program did not ask for.
"""

from __future__ import annotations

import sys

from muniment_plugins.capsule.child.ownership import (
    adopt,
    check_attribute,
    is_buffer,
    is_own,
    looked_up,
)
from muniment_plugins.capsule.child.runtime_refusal import refused
from muniment_plugins.capsule.language.rules import is_guarded

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Maker = Callable[[Mapping[str, Any]], dict[str, object]]

__all__ = ["MAKERS", "attrgetter_of"]


_PROGRAM = "program"  # the __name__ of the program's module


def attrgetter_of(genuine: Callable[..., object]) -> Callable[..., Any]:
    """Return an ``attrgetter`` with the same checks as ``getattr``."""

    def attrgetter(*paths: Any) -> object:
        parts = [part for path in paths for part in str(path).split(".")]
        for part in parts:
            check_attribute(part, guarded=False)
        if not any(part[:1] == "_" or is_guarded(part) for part in parts):
            return genuine(*paths)

        def getter(target: object) -> object:
            found = [_walked(target, path) for path in paths]
            return found[0] if len(paths) == 1 else tuple(found)

        return getter

    return attrgetter


def _walked(target: object, path: str) -> object:
    for part in path.split("."):
        target = looked_up(target, part)
    return target


def _operator(names: Mapping[str, Any]) -> dict[str, object]:
    def methodcaller(name: str, /, *args: object, **kwargs: object) -> object:
        check_attribute(name, guarded=False)

        def call(target: object) -> object:
            return looked_up(target, name)(*args, **kwargs)

        return call

    return {
        "attrgetter": attrgetter_of(names["attrgetter"]),
        "methodcaller": methodcaller,
    }


def _functools(names: Mapping[str, Any]) -> dict[str, object]:
    update, partial = names["update_wrapper"], names["partial"]
    some: object = names["lru_cache"](lambda: None)
    cached = type(some)

    def update_wrapper(wrapper: object, wrapped: object) -> object:
        if not (is_own(wrapper) or type(wrapper) in (partial, cached)):
            refused(TypeError("update_wrapper() is for functions of your own"))
        if is_own(wrapped):
            return update(wrapper, wrapped)
        return update(wrapper, wrapped, updated=())

    def wraps(wrapped: object) -> object:
        return partial(update_wrapper, wrapped=wrapped)

    return {
        "singledispatch": _singledispatch(update),
        "update_wrapper": update_wrapper,
        "wraps": wraps,
    }


def _dataclasses(names: Mapping[str, Any]) -> dict[str, object]:
    genuine: Callable[..., Any] = names["dataclass"]

    def dataclass(cls: Any = None, /, **options: Any) -> object:
        def made(kind: Any) -> object:
            done = genuine(**options)(kind)
            return adopt(done) if is_own(kind) else done

        return made if cls is None else made(cls)

    return {"dataclass": dataclass}


def _pandas(_names: Mapping[str, Any]) -> dict[str, object]:
    def reader(name: str) -> Callable[..., object]:
        genuine: Callable[..., object] = vars(sys.modules["pandas"])[name]

        def read(source: object, *args: object, **kwargs: object) -> object:
            if not is_buffer(source):
                refused(
                    PermissionError(
                        f"{name}: files are not available in a capsule; give it an "
                        "io.StringIO"
                    )
                )
            return genuine(source, *args, **kwargs)

        return read

    return {name: reader(name) for name in ("read_csv", "read_json")}


def _warnings(names: Mapping[str, Any]) -> dict[str, object]:
    genuine: Any = names["catch_warnings"]

    class catch_warnings(genuine):  # type: ignore[misc]  # noqa: N801 - the module's
        """The genuine class without its option ``module``."""

        def __init__(self, **options: Any) -> None:
            if options.get("module") is not None:
                refused(TypeError("catch_warnings() takes no module in a capsule"))
            genuine.__init__(self, **options)

    return {"catch_warnings": catch_warnings}


def _singledispatch(update_wrapper: Callable[..., object]) -> Callable[..., object]:
    """Return the decorator; the genuine one evaluates textual annotations."""
    functools: Any = __import__("functools")

    def singledispatch(func: Any) -> object:
        genuine = functools.singledispatch(func)

        def dispatched(*args: Any, **kwargs: Any) -> object:
            if not args:
                raise TypeError("the function takes at least 1 positional argument")
            return genuine.dispatch(type(args[0]))(*args, **kwargs)

        def register(kind: Any, func: Any = None) -> object:
            if func is not None:
                return genuine.register(kind, func)
            if any(_classes(kind)):

                def decorate(func: Any) -> object:
                    return genuine.register(kind, func)

                return decorate
            for annotated in _annotated(kind):
                genuine.register(annotated, kind)
            return kind

        made: Any = dispatched
        made.register = register
        made.dispatch = genuine.dispatch
        made.registry = genuine.registry
        update_wrapper(made, func)
        return made

    return singledispatch


def _classes(kind: Any) -> Iterator[type]:
    """Yield *kind* if it is a class, or the classes of a union."""
    if isinstance(kind, type):
        yield kind
        return
    for part in getattr(kind, "__args__", ()):
        if isinstance(part, type):
            yield part


def _annotated(func: Any) -> list[type]:
    """Return the classes in the annotation of the first parameter."""
    annotations: dict[str, object] = getattr(func, "__annotations__", {})
    first = next((key for key in annotations if key != "return"), None)
    if first is None:
        raise TypeError("register() takes a class, or a function with an annotation")
    said = annotations[first]
    if isinstance(said, str):
        kinds = [_named(func, name.strip()) for name in said.split("|")]
    else:
        kinds = list(_classes(said))
    if not kinds or not all(isinstance(kind, type) for kind in kinds):
        raise TypeError(f"the annotation of {first} is not a class")
    return kinds


def _named(func: Any, name: str) -> Any:
    """Return what *name* means in the program; it is looked up, never evaluated."""
    names: dict[str, Any] = func.__globals__
    if names["__name__"] != _PROGRAM:
        return None
    return names.get(name, names["__builtins__"].get(name))


def _random(names: Mapping[str, Any]) -> dict[str, object]:
    base: Any = names["Random"]
    shared, reseed = names["getrandbits"], names["seed"]

    def drawn(number: object) -> object:
        return shared(64) if number is None else number

    class Random(base):  # type: ignore[misc]
        """Seeded from the shared generator if no seed is given."""

        def __init__(self, x: object = None) -> None:
            base.__init__(self, drawn(x))

        def seed(self, a: object = None, version: int = 2) -> None:
            """Start again from *a*, or from a number of the shared generator."""
            base.seed(self, drawn(a), version)

    def seed(a: object = None, version: int = 2) -> None:
        reseed(drawn(a), version)

    return {"Random": Random, "seed": seed}


def _uuid(names: Mapping[str, Any]) -> dict[str, object]:
    bits = __import__("random").getrandbits  # seeded before the program runs
    kind = names["UUID"]

    by_clock: Callable[..., object] = names["uuid1"]

    def uuid1(node: int | None = None, clock_seq: int | None = None) -> object:
        if (
            node is None and clock_seq is not None
        ):  # uuid1 would start programs to find the node
            node = bits(48) | 1 << 40
        return by_clock(node, clock_seq)

    def uuid4() -> object:
        return kind(int=bits(128), version=4)

    return {"uuid1": uuid1, "uuid4": uuid4}


MAKERS: Mapping[str, Maker] = {
    "dataclasses": _dataclasses,
    "functools": _functools,
    "operator": _operator,
    "pandas": _pandas,
    "random": _random,
    "uuid": _uuid,
    "warnings": _warnings,
}
"""Module → function that makes its substitutes, by name."""
