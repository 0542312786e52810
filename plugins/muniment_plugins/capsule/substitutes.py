"""What views offer in place of a module's own: the same work, without the way out.

    operator.attrgetter("__class__")     ->  AttributeError
    functools.wraps(f, updated=(…))      ->  TypeError
    random.Random()                      ->  seeded from the program's seed
    uuid.uuid4()                         ->  drawn from that seed too

Rules:

- A substitute does what the genuine one does for ordinary arguments, and refuses by
  the exception that a missing attribute or a wrong argument gives anyway.
- What would ask the system for randomness asks the seeded generator.
- Text in annotations is looked up, never evaluated.

Runs in the child; imports nothing that the program did not ask for.
"""

from __future__ import annotations

from muniment_plugins.capsule.rules import (
    FORBIDDEN_ATTRIBUTES,
    READABLE,
    is_dunder,
)

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Maker = Callable[[Mapping[str, Any]], dict[str, object]]

__all__ = ["MAKERS", "check_attribute"]


_PROGRAM = "program"  # the __name__ of what runs in here


def _text(name: object) -> str:
    if type(name) is not str:
        raise TypeError("attribute name must be a string")
    return name


def check_attribute(name: object, *, reads: bool = True) -> str:
    """Return *name* if a program may use it as an attribute.

    The method ``format`` of texts walks through attributes of its own; the validator
    lets it pass where the text is written out.
    """
    text = _text(name)
    if (is_dunder(text) and not (reads and text in READABLE)) or (
        text in FORBIDDEN_ATTRIBUTES or (reads and text == "format")
    ):
        raise AttributeError(f"{text} is not available in a capsule")
    return text


def _operator(names: Mapping[str, Any]) -> dict[str, object]:
    attribute = names["attrgetter"]
    method = names["methodcaller"]

    def attrgetter(*paths: str) -> object:
        for path in paths:
            for part in _text(path).split("."):
                check_attribute(part)
        return attribute(*paths)

    def methodcaller(name: str, /, *args: object, **kwargs: object) -> object:
        return method(check_attribute(name), *args, **kwargs)

    return {"attrgetter": attrgetter, "methodcaller": methodcaller}


def _functools(names: Mapping[str, Any]) -> dict[str, object]:
    update, partial = names["update_wrapper"], names["partial"]

    def update_wrapper(wrapper: object, wrapped: object) -> object:
        return update(wrapper, wrapped)

    def wraps(wrapped: object) -> object:
        return partial(update_wrapper, wrapped=wrapped)

    return {
        "singledispatch": _singledispatch(update_wrapper),
        "update_wrapper": update_wrapper,
        "wraps": wraps,
    }


def _singledispatch(update_wrapper: Callable[..., object]) -> Callable[..., object]:
    """Return the decorator; the genuine one evaluates annotations that are text."""
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
        raise TypeError(f"the annotation of {first} is no class")
    return kinds


def _named(func: Any, name: str) -> Any:
    """Return what *name* means in the program, looked up as a name and nothing more."""
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
        """Seeded from the shared generator where no seed is given."""

        def __init__(self, x: object = None) -> None:
            base.__init__(self, drawn(x))

        def seed(self, a: object = None, version: int = 2) -> None:
            """Start again from *a*, or from what the shared generator gives."""
            base.seed(self, drawn(a), version)

    def seed(a: object = None, version: int = 2) -> None:
        reseed(drawn(a), version)

    return {"Random": Random, "seed": seed}


def _uuid(names: Mapping[str, Any]) -> dict[str, object]:
    bits = __import__("random").getrandbits  # seeded, once it is there
    kind = names["UUID"]

    def uuid4() -> object:
        return kind(int=bits(128), version=4)

    return {"uuid4": uuid4}


MAKERS: Mapping[str, Maker] = {
    "functools": _functools,
    "operator": _operator,
    "random": _random,
    "uuid": _uuid,
}
"""What to put in place of a module's own names, by module."""
