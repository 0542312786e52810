"""The errors of a provider that gives no completion.

    CannotTellError └── CompletionFailed    no answer after all attempts, or a refusal

Rules: the text holds no key; `data`, which the effect records, has the status and the
number of attempts. A fault found before anything is sent is a `UsageError`.
"""

from __future__ import annotations

from muniment.errors import CannotTellError, UsageError

__all__ = ["CompletionFailed", "missing", "no_key"]


class CompletionFailed(CannotTellError):
    """A model gave no completion."""

    def __init__(
        self,
        message: str,
        *,
        rule: str = "provider/failed",
        place: str = "",
        remedy: str = "",
        status: int | None = None,
        attempts: int = 1,
    ) -> None:
        """Keep *status* and *attempts* beside what every error keeps."""
        super().__init__(message, rule=rule, place=place, remedy=remedy)
        self.data = {"status": status, "attempts": attempts}


def missing(package: str, extra: str) -> UsageError:
    """Return the refusal for a *package* that is not installed."""
    return UsageError(
        f"{package} is not installed",
        rule="provider/missing",
        place=f"provider {extra}",
        remedy=f"pip install 'muniment[{extra}]'",
    )


def no_key(provider: str, variable: str) -> UsageError:
    """Return the refusal for a key that nobody set."""
    return UsageError(
        "there is no key",
        rule="provider/no-key",
        place=f"provider {provider}",
        remedy=f"set {variable}; it is sent to the provider and written nowhere",
    )
