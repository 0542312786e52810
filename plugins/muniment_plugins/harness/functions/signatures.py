"""Whether the user's functions take what they will be given, seen before they are called.

    lambda ctx: {…}      as a model: it takes 1 of the 3 that it is given, and is refused

Rule: the outermost function counts, since that is what is called: a decorator may take
other arguments than what it wraps. A function without a signature, such as a builtin,
is left to the call, and so is one that only the record has: it was looked at when it ran.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from muniment.programs.references import Function, StandIn, plain
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["require_takes"]


def require_takes(
    function: Function,
    given: str,
    named: Iterable[str] = (),
    *,
    rule: str,
    place: str,
) -> None:
    """Refuse a *function* that cannot be called as it will be.

    Args:
        function: a function of the user.
        given: the names of what it is given, in their order, with commas.
        named: what it is given by name.
        rule: of the refusal.
        place: of the refusal.

    Raises:
        HarnessRefused: a parameter has no value, or a value no parameter.

    """
    found = plain(function)
    if isinstance(found, StandIn):
        return
    try:
        signature = inspect.signature(found, follow_wrapped=False)
    except (TypeError, ValueError):
        return
    positional, by_name = given.split(", "), list(named)
    try:
        signature.bind(*positional, **dict.fromkeys(by_name))
    except TypeError as error:
        takes = ", ".join([*positional, *(f"{one}=" for one in by_name)])
        raise HarnessRefused(
            f"it cannot be called with ({takes}): {error}",
            rule=rule,
            place=place,
            remedy=f"write def function({takes.replace('=', '')})",
        ) from None
