"""The frozen clock: views of ``time`` and ``datetime`` that show one instant.

    clock="frozen"
    time.time()                 ->  946684800.0
    datetime.datetime.now()     ->  datetime.datetime(2000, 1, 1, 0, 0)

Rules:

- Every clock shows the same instant, wall clocks and counters alike; the clocks of CPU
  time show zero. Nothing moves it: ``sleep`` checks its argument and returns at once.
- Functions that take a time use the instant if none is given (``localtime``,
  ``strftime``); everything else is the module's own, including ``strptime``.
- ``date`` and ``datetime`` are subclasses that answer for the genuine classes too: a
  datetime that came in as data is an instance of them.
- Code that reads the clock in C is not covered: ``numpy.datetime64("now")``,
  ``pandas.Timestamp.now()``, ``uuid.uuid1()``.

Runs in the child, for programs that ask for it; imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["FROZEN", "INSTANT", "stated"]

INSTANT = 946_684_800
"""2000-01-01T00:00:00Z in seconds of the Unix epoch."""

_SHOWN = "2000-01-01T00:00:00Z"
_NS = 1_000_000_000
_OF_CPU = ("CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID")


def stated(clock: str) -> dict[str, str]:
    """Return what an execution says about its clock."""
    return {"clock": clock, "now": _SHOWN} if clock == "frozen" else {"clock": clock}


def _time(names: Mapping[str, Any]) -> dict[str, object]:
    functions: dict[str, object] = {}
    for name in ("time", "monotonic", "perf_counter"):
        functions |= {name: lambda: float(INSTANT), f"{name}_ns": lambda: INSTANT * _NS}
    for name in ("process_time", "thread_time"):
        functions |= {name: lambda: 0.0, f"{name}_ns": lambda: 0}
    functions |= {**_of_clocks(names), **_of_time(names)}
    # Not every system has every clock.
    return {name: function for name, function in functions.items() if name in names}


def _of_clocks(names: Mapping[str, Any]) -> dict[str, object]:
    cpu = {names[name] for name in _OF_CPU if name in names}

    def clock_gettime_ns(clk_id: int, /) -> int:
        names["clock_gettime_ns"](clk_id)  # raises if it is not a clock
        return 0 if clk_id in cpu else INSTANT * _NS

    def clock_gettime(clk_id: int, /) -> float:
        return clock_gettime_ns(clk_id) / _NS

    return {"clock_gettime": clock_gettime, "clock_gettime_ns": clock_gettime_ns}


def _of_time(names: Mapping[str, Any]) -> dict[str, object]:
    genuine: Mapping[str, Callable[..., Any]] = names

    def of_seconds(name: str) -> Callable[..., object]:
        def shown(seconds: float | None = None, /) -> object:
            return genuine[name](INSTANT if seconds is None else seconds)

        return shown

    localtime = of_seconds("localtime")

    def asctime(t: object = None, /) -> object:
        return genuine["asctime"](localtime() if t is None else t)

    def strftime(format: str, t: object = None, /) -> object:  # noqa: A002 - its name
        return genuine["strftime"](format, localtime() if t is None else t)

    def sleep(seconds: float, /) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        genuine["sleep"](0 * seconds)

    return {
        "asctime": asctime,
        "ctime": of_seconds("ctime"),
        "gmtime": of_seconds("gmtime"),
        "localtime": localtime,
        "sleep": sleep,
        "strftime": strftime,
    }


def _datetime(names: Mapping[str, Any]) -> dict[str, object]:
    genuine: dict[type, type] = {}
    kind = _kind(genuine)
    date = _date(kind, names["date"], genuine)
    datetime = _frozen(kind, names, genuine, date)
    return {"date": date, "datetime": datetime}


def _kind(genuine: Mapping[type, type]) -> Any:
    """Return the metaclass of classes that answer for the genuine ones."""

    class Kind(type):
        """Recognises instances and subclasses as the genuine class does."""

        def __instancecheck__(cls, instance: object) -> bool:
            """Tell whether *instance* is one of this class."""
            if cls in genuine:
                return isinstance(instance, genuine[cls])
            return type.__instancecheck__(cls, instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            """Tell whether *subclass* derives from this class."""
            if cls in genuine:
                return issubclass(subclass, genuine[cls])
            return type.__subclasscheck__(cls, subclass)

    return Kind


def _date(kind: Any, base: Any, genuine: dict[type, type]) -> Any:
    class date(base, metaclass=kind):  # type: ignore[metaclass, misc]  # noqa: N801
        """The module's ``date``, by the frozen clock."""

        __slots__ = ()

        @classmethod
        def today(cls) -> object:
            """Return the day of the instant."""
            return cls.fromtimestamp(INSTANT)

        def __repr__(self) -> str:
            """Show it as the module does."""
            return _repr(self, base, genuine)

    return _settled(date, base, genuine)


def _frozen(
    kind: Any, names: Mapping[str, Any], genuine: dict[type, type], day: Any
) -> Any:
    base: Any = names["datetime"]
    utc = names["timezone"].utc

    class datetime(base, metaclass=kind):  # type: ignore[metaclass, misc]  # noqa: N801
        """The module's ``datetime``, by the frozen clock."""

        __slots__ = ()

        @classmethod
        def now(cls, tz: object = None) -> object:
            """Return the instant, in local time or in that of *tz*."""
            return cls.fromtimestamp(INSTANT, tz)

        @classmethod
        def today(cls) -> object:
            """Return the instant in local time."""
            return cls.fromtimestamp(INSTANT)

        @classmethod
        def utcnow(cls) -> object:
            """Return the instant in UTC, without saying so."""
            return cls.fromtimestamp(INSTANT, utc).replace(tzinfo=None)

        def date(self) -> object:
            """Return the day."""
            return day(self.year, self.month, self.day)

        def __repr__(self) -> str:
            """Show it as the module does."""
            return _repr(self, base, genuine)

    return _settled(datetime, base, genuine)


def _repr(self: Any, base: Any, genuine: Mapping[type, type]) -> str:
    module = "datetime." if type(self) in genuine else ""
    return f"{module}{base.__repr__(self)}"


def _settled(cls: Any, base: Any, genuine: dict[type, type]) -> Any:
    """Let *cls* replace *base*, with the same name and bounds."""
    cls.__module__, cls.__qualname__ = base.__module__, base.__qualname__
    for name in ("max", "min"):
        bound = getattr(base, name)
        setattr(cls, name, cls.fromisoformat(bound.isoformat()))
    genuine[cls] = base
    return cls


FROZEN: dict[str, Callable[[Mapping[str, Any]], dict[str, object]]] = {
    "datetime": _datetime,
    "time": _time,
}
"""Module → function that makes its view's replacements from its genuine members."""
