"""Whether any code could run within the bounds of a spec and a step.

Rules:

- The plugin that reads the code judges: it is given a program that does nothing, and
  the bounds. What it answers of that program does not matter; bounds that it cannot
  hold it refuses.
- Where no plugin reads code, nothing is known before the run.
"""

from __future__ import annotations

from collections.abc import Mapping

from muniment.errors import CannotTellError, RefusedError, UsageError
from muniment_plugins.harness.refusals import HarnessRefused
from muniment_plugins.harness.surroundings import Surroundings

__all__ = ["refuse_bounds"]


def refuse_bounds(
    around: Surroundings, entrypoint: str, bounds: Mapping[str, object], place: str
) -> None:
    """Refuse *bounds* within which no code could run.

    Raises:
        HarnessRefused: what the plugin that reads the code says of them, at *place*.

    """
    nothing = f"def {entrypoint}(data):\n    return {{}}\n"
    request = {"code": nothing, "entrypoint": entrypoint, **bounds}
    try:
        around.hook("check_code", request=request)
    except CannotTellError as error:
        if error.rule != "plugin/unanswered":
            raise
    except (RefusedError, UsageError) as refusal:
        raise HarnessRefused(
            refusal.message, rule=refusal.rule, place=place, remedy=refusal.remedy
        ) from refusal
