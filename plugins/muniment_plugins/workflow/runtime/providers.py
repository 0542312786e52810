"""Asking a provider, by the hook ``complete_prompt``, in the performer of an effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from muniment import current_run
from muniment.errors import CannotTellError
from muniment.programs.awaiting import settled

__all__ = ["asked_provider"]


def asked_provider(request: object, asker: str = "") -> object:
    """Return what a provider answers to *request*, for the *asker* that an error names.

    Raises:
        CannotTellError: no provider answers for the model.

    """
    try:
        return settled(current_run().hook("complete_prompt", request=request))
    except CannotTellError as error:
        if error.rule != "plugin/unanswered":
            raise
        model = str(cast("Mapping[str, object]", request)["model"])
        raise CannotTellError(
            "no provider answers for this model",
            rule="workflow/model",
            place=f"{asker}: {model}" if asker else model,
            remedy="see the part before the colon, and `muniment plugins`",
        ) from error
