"""What a worker process does with a run: import this by its plain name there, too."""

from __future__ import annotations

from collections.abc import Callable

from muniment.errors import MunimentError, RefusedError
from muniment.runs.decorator import effect
from muniment.runs.run import current_run


def refused(act: Callable[[], object]) -> str:
    """Return the rule and the message of the refusal that *act* meets."""
    try:
        act()
    except RefusedError as error:
        return f"{error.rule} {error}"
    return "went on"


def work(number: int) -> str:
    """Try to use the inherited run, where there is one."""
    try:
        lane = current_run()
    except MunimentError as error:
        return f"{number} {error.rule}"
    return f"{number} {refused(lambda: lane.effect('asked', number, lambda _: 1))}"


@effect("asked")
def asked(number: int) -> int:
    """Perform an effect by decoration."""
    return number


def decorated(number: int) -> str:
    """Try a decorated effect."""
    return refused(lambda: asked(number))
