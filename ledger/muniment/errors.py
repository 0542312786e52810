"""Every refusal muniment can utter.

    MunimentError                 rule, place, remedy; one line when printed
    ├── UsageError                the call itself is off                      exit 2
    ├── RefusedError              a rule said no                              exit 4
    │   ├── ValueRefused          a value has no canonical form
    │   ├── KeyRefused            a key is weak, readable by others, or not enrolled
    │   ├── AppendRefused         a plugin or the ledger's own state forbids writing
    │   └── RunFenced             a run was taken over by a newer generation
    ├── WrongError                evidence contradicts itself; `seq` says where  exit 1
    │   └── ReplayDiverged        the program did something else this time
    ├── CannotTellError           something needed is missing or unreadable   exit 3
    │   ├── StoreError            the database is locked, full, corrupt, read-only
    │   ├── ErasedError           the content was erased, by an event that says so
    │   └── WorkerDied            a process that checks signatures ended too early
    └── EffectFailed              an effect's performer failed, live or recorded  exit 1
    RunEnded                      no error: somebody ended the run from outside

Rules this module keeps: *refused*, *wrong* and *cannot tell* are never confused; a
message says what is the matter, `place` says where, `remedy` says what to do, and
`rule` is a stable name that programs and the documentation can rely on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from muniment.canonical import JsonValue

__all__ = [
    "AppendRefused",
    "CannotTellError",
    "EffectFailed",
    "ErasedError",
    "KeyRefused",
    "MunimentError",
    "RefusedError",
    "ReplayDiverged",
    "RunEnded",
    "RunFenced",
    "StoreError",
    "UsageError",
    "ValueRefused",
    "WorkerDied",
    "WrongError",
    "origins",
    "printable",
]


class MunimentError(Exception):
    """The base of all errors that muniment raises on purpose."""

    exit_code: ClassVar[int] = 3

    def __init__(
        self, message: str, *, rule: str, place: str = "", remedy: str = ""
    ) -> None:
        """Keep *message*, the stable *rule* name, the *place* and the *remedy*."""
        super().__init__(message)
        self.message = message
        self.rule = rule
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        """One line: ``place: message [rule]; remedy``."""
        where = f"{self.place}: " if self.place else ""
        what_to_do = f"; {self.remedy}" if self.remedy else ""
        return f"{where}{self.message} [{self.rule}]{what_to_do}".replace("\n", " ")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by attributes, so that errors cross process pools whole."""
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(
    cls: type[MunimentError], args: tuple[object, ...], state: dict[str, object]
) -> MunimentError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def printable(error: BaseException) -> str:
    """Return the text of *error*, whatever it is, in a form that can be written."""
    try:
        text = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # noqa: BLE001 - a foreign ``__str__``, and said so
        text = f"it has no text: {type(fault).__name__} in __str__"
    return text.encode("utf-8", "backslashreplace").decode()


def origins(error: BaseException | None) -> Iterator[BaseException]:
    """Yield *error* and what it comes from, each once: ``raise e from e`` is a ring."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


class UsageError(MunimentError):
    """The call or the command line is off: an unknown name, a bad option."""

    exit_code = 2


class RefusedError(MunimentError):
    """A rule said no; nothing was written."""

    exit_code = 4


class ValueRefused(RefusedError):
    """A value has no canonical form (NaN, a lone surrogate, a foreign type, …)."""


class KeyRefused(RefusedError):
    """A key is weak, readable by others, or not enrolled for what it should sign."""


class AppendRefused(RefusedError):
    """A plugin's ``before_append`` or the ledger's own state forbids the append."""


class RunFenced(RefusedError):
    """The run was resumed elsewhere; this older generation may not write any more."""


class WrongError(MunimentError):
    """Evidence contradicts itself. ``seq`` is the first bad event, where known."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        seq: int | None = None,
        place: str = "",
        remedy: str = "",
    ) -> None:
        """Keep *seq* beside what every error keeps."""
        super().__init__(message, rule=rule, place=place, remedy=remedy)
        self.seq = seq


class ReplayDiverged(WrongError):
    """The program asked for, or stated, something that the record does not hold."""


class RunEnded(BaseException):
    """Somebody ended a run from outside; *reason* says how, and is recorded."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class CannotTellError(MunimentError):
    """Something that is needed to judge is missing or unreadable."""

    exit_code = 3


class StoreError(CannotTellError):
    """The database is locked, full, corrupt, read-only or not a ledger."""


class ErasedError(CannotTellError):
    """The content is gone by an erasure; the chain still proves that it existed."""


class WorkerDied(CannotTellError):
    """A process that checks signatures ended before it had checked them all."""


class EffectFailed(MunimentError):
    """An effect's performer failed; live and replay raise the same."""

    exit_code = 1

    def __init__(
        self, kind: str, error_type: str, message: str, data: JsonValue = None
    ) -> None:
        """Keep the effect's *kind*, the performer's *error_type*, *message*, *data*."""
        super().__init__(
            message or error_type, rule=f"effect/{kind}", place=f"{kind} ({error_type})"
        )
        self.kind = kind
        self.error_type = error_type
        self.data = data
        self.effect: tuple[str, int] | None = None
        """Scope and ordinal of the effect in its run."""
