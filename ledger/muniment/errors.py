"""Every error that muniment raises on purpose.

    MunimentError                 rule, place, remedy; one line when printed
    ├── UsageError                the call itself is wrong                    exit 2
    ├── RefusedError              a rule said no                              exit 4
    │   ├── ValueRefused          a value has no canonical form
    │   ├── KeyRefused            a key is weak, readable by others, or not enrolled
    │   ├── AppendRefused         a plugin or the ledger's own state forbids writing
    │   ├── RunFenced             a run was taken over by a newer generation
    │   └── EffectInDoubt         an effect may have happened, and is not repeated
    ├── WrongError                evidence contradicts itself; `seq` says where  exit 1
    │   └── ReplayDiverged        the program did something else this time
    ├── CannotTellError           something needed is missing or unreadable   exit 3
    │   ├── StoreError            the database is locked, full, corrupt, read-only
    │   ├── ErasedError           the blob was erased, and an event says so
    │   └── WorkerDied            a process that checks signatures ended too early
    └── EffectFailed              an effect's performer failed, live or recorded  exit 1
    RunEnded                      no error: somebody ended the run from outside
    RunPaused                     no error: the run waits until it is resumed
    RunUnneeded                   no error: nobody needs the run, which is canceled

Rules: *refused*, *wrong* and *cannot tell* are never confused; a message says what is
wrong, `place` says where, `remedy` says what to do, and `rule` is a stable name that
programs and the documentation can rely on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    from muniment.json_values import JsonValue

__all__ = [
    "AppendRefused",
    "CannotTellError",
    "EffectFailed",
    "EffectInDoubt",
    "ErasedError",
    "ImportElsewhere",
    "KeyRefused",
    "LaneWaits",
    "MunimentError",
    "RefusedError",
    "ReplayDiverged",
    "RunEnded",
    "RunFenced",
    "RunPaused",
    "RunUnneeded",
    "StoreError",
    "UsageError",
    "ValueRefused",
    "WorkerDied",
    "WrongError",
    "of_machine",
    "origins",
    "printable",
]


_Error = TypeVar("_Error", bound="MunimentError")


class MunimentError(Exception):
    """The base of all errors that muniment raises on purpose."""

    exit_code: ClassVar[int] = 3
    is_discreet: bool = False
    """Whether it was worded without what is private of its causes."""
    is_of_machine: bool = False
    """Whether it says what this machine lacks or is set to, not what was asked of it: what
    a replay comes to by it says nothing about the record."""

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
        """Return one line: ``place: message [rule]; remedy``."""
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


class ImportElsewhere(ImportError):
    """An import that failed in another Python than this, which says so."""


def of_machine(error: _Error) -> _Error:
    """Return *error*, which is about this machine."""
    error.is_of_machine = True
    return error


def printable(error: BaseException) -> str:
    """Return the text of *error*, whatever it is, in a form that can be encoded."""
    try:
        text = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # noqa: BLE001 - a foreign ``__str__``, and said so
        text = f"it has no text: {type(fault).__name__} in __str__"
    return text.encode("utf-8", "backslashreplace").decode()


def origins(error: BaseException | None) -> Iterator[BaseException]:
    """Yield *error* and its causes, each once: ``raise e from e`` is a ring."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


class UsageError(MunimentError):
    """The call or the command line is wrong: an unknown name, a bad option."""

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

    by: Mapping[str, str] = MappingProxyType({})
    """Which plugin refused, as an outcome states it; empty if none did."""

    @staticmethod
    def by_plugin(plugin: str, reason: str, version: str = "") -> AppendRefused:
        """Return the error with which a plugin refuses an event."""
        error = AppendRefused(
            reason,
            rule="append/plugin",
            place=f"plugin {plugin}",
            remedy="change what is recorded, or the plugin's policy",
        )
        error.by = {"who": "plugin", "name": plugin, "version": version}
        return error


class RunFenced(RefusedError):
    """The run was resumed elsewhere; this older generation may no longer write."""


class EffectInDoubt(RefusedError):
    """A resume cannot answer an effect, and nobody said to repeat it."""

    doubt: dict[str, str] | None = None
    """The decision, and who made it, as the record states it."""


class WrongError(MunimentError):
    """Evidence contradicts itself. ``seq`` is the first bad event, if known."""

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
        """Keep *seq* beside the attributes of every error."""
        super().__init__(message, rule=rule, place=place, remedy=remedy)
        self.seq = seq


class ReplayDiverged(WrongError):
    """The program asked for, or stated, something that the record does not hold."""


class RunEnded(BaseException):
    """Somebody ended a run from outside; *reason* says how, and is recorded."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class RunUnneeded(Exception):
    """Nobody needs what the run would find: a program that raises it is canceled."""


class RunPaused(BaseException):
    """The run waits, and this process is done with it. `except Exception` misses it.

    *waits_for* are the leaf hashes of the events that need an answer.
    """

    def __init__(self, reason: str, waits_for: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.reasons: tuple[str, ...] = (reason,)
        """What each lane waits for, if several do."""
        self.waits_for = tuple(waits_for)
        self.is_private = False
        """Whether the reason is shown only where it is asked for."""


class LaneWaits(RunPaused):
    """A lane of a run waits, and others of it may go on: the run pauses after them."""


class CannotTellError(MunimentError):
    """Something that a verdict needs is missing or unreadable."""

    exit_code = 3
    is_of_machine = True


class StoreError(CannotTellError):
    """The database is locked, full, corrupt, read-only or not a ledger."""


class ErasedError(CannotTellError):
    """The blob was erased; the chain still proves that it existed."""


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
        self.halts = False
        """Whether the run ends by it, whatever its program makes of it: stop then."""
