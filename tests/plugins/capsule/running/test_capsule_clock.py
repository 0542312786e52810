"""A frozen clock shows one instant, and all else of time works as it always does."""

from __future__ import annotations

import copy
import datetime as dt
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from machines import LANDLOCK, strong, without
from muniment_plugins.capsule import Capsule, Policy, execute_code
from muniment_plugins.capsule.child.clocks import INSTANT, stated
from muniment_plugins.capsule.child.guard import build_views

PROGRAM = """
import dataclasses
import datetime
import time
from datetime import date, datetime as moment

@dataclasses.dataclass
class Record:
    label: str
    when: moment = dataclasses.field(default_factory=moment.now)
    day: date = date(2020, 2, 29)

class Own(datetime.datetime):
    pass

def fit_and_eval(data):
    record = Record("a")
    time.sleep(100)
    match record.when:
        case datetime.date():
            matched = True
    return {
        "age": (moment.now() - data).days,
        "given": isinstance(data, moment),
        "matched": matched,
        "own": repr(Own.now()),
        "parsed": time.strptime("1999", "%Y").tm_year,
        "record": repr(record),
        "same": type(record.when) is moment,
        "spent": time.perf_counter() - time.time(),
        "text": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "type": moment.strptime("2001-02-03", "%Y-%m-%d").isoformat(),
    }
"""
VIEWS: Any = build_views(["time", "datetime"], "frozen")
CLOCK, DATES = VIEWS["time"], VIEWS["datetime"]
MOMENT = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


def public(view: Any) -> set[str]:
    """Return the names that a view shows."""
    return set(vars(view))


@pytest.mark.parametrize("name", ["time", "datetime"])
def test_no_name_comes_or_goes(name: str) -> None:
    """A frozen view shows the names of the ordinary one."""
    assert public(VIEWS[name]) == public(build_views([name])[name])


def test_every_clock_shows_the_instant() -> None:
    """Wall clocks and counters stand at the instant, those of CPU time at zero."""
    for name in ("time", "monotonic", "perf_counter"):
        assert getattr(CLOCK, name)() == INSTANT
        assert getattr(CLOCK, f"{name}_ns")() == INSTANT * 10**9
        assert type(getattr(CLOCK, name)()) is float
    for name in ("process_time", "thread_time"):
        assert (getattr(CLOCK, name)(), getattr(CLOCK, f"{name}_ns")()) == (0, 0)
    assert CLOCK.clock_gettime(CLOCK.CLOCK_REALTIME) == INSTANT
    assert CLOCK.clock_gettime_ns(CLOCK.CLOCK_MONOTONIC) == INSTANT * 10**9
    assert CLOCK.clock_gettime(CLOCK.CLOCK_PROCESS_CPUTIME_ID) == 0
    with pytest.raises(OSError, match="Invalid argument"):
        CLOCK.clock_gettime(999)


def test_no_name_of_time_reads_the_real_clock() -> None:
    """Whatever can be called without an argument says the same twice, and not now."""
    now = time.time()
    for name, value in vars(CLOCK).items():
        if callable(value) and name not in ("tzset", "struct_time", "sleep"):
            try:
                shown = value()
            except TypeError:
                continue  # it needs to be told something
            assert shown == value()
            assert str(time.gmtime(now).tm_year) not in str(shown), name


def test_what_takes_a_time_shows_the_instant() -> None:
    """Functions of a time take the instant where none is given, and theirs if one is."""
    assert CLOCK.gmtime() == time.gmtime(INSTANT)
    assert CLOCK.localtime(None) == time.localtime(INSTANT)
    assert CLOCK.ctime() == time.ctime(INSTANT)
    assert CLOCK.asctime() == time.ctime(INSTANT)
    assert CLOCK.strftime("%Y-%m-%d") == time.strftime(
        "%Y-%m-%d", time.localtime(INSTANT)
    )
    assert CLOCK.gmtime(0) == time.gmtime(0)
    assert CLOCK.ctime(0) == time.ctime(0)
    assert CLOCK.asctime(time.gmtime(0)) == time.asctime(time.gmtime(0))
    assert CLOCK.strftime("%Y", time.gmtime(0)) == "1970"
    assert CLOCK.strptime("1984", "%Y").tm_year == 1984


def test_sleep_returns_at_once() -> None:
    """Sleep moves nothing and takes no time, but still looks at its argument."""
    began = time.monotonic()
    assert CLOCK.sleep(3600) is None
    assert time.monotonic() - began < 60
    assert CLOCK.time() == INSTANT
    with pytest.raises(ValueError, match="non-negative"):
        CLOCK.sleep(-1)
    bad: Any
    for bad in ("1", None, []):
        with pytest.raises(TypeError):
            CLOCK.sleep(bad)


def test_now_and_today_are_the_instant() -> None:
    """All ways to ask for now agree, in every zone."""
    local = dt.datetime.fromtimestamp(INSTANT)  # noqa: DTZ006 - local is meant
    east = dt.timezone(dt.timedelta(hours=9))
    assert DATES.datetime.now() == DATES.datetime.today() == local
    assert DATES.datetime.utcnow() == MOMENT.replace(tzinfo=None)
    assert DATES.datetime.now(east) == DATES.datetime.now(tz=dt.UTC) == MOMENT
    assert DATES.datetime.now(east).hour == 9
    assert DATES.date.today() == local.date()
    assert DATES.datetime.now(dt.UTC).timestamp() == CLOCK.time()


def made(dates: Any) -> dict[str, Any]:
    """Return values of all kinds, made by the module *dates*."""
    day, moment = dates.date(2024, 2, 29), dates.datetime(2024, 2, 29, 12, 30, 1, 5)
    later = dates.timedelta(days=1, hours=1)
    aware = moment.replace(tzinfo=dates.timezone.utc)
    return {
        "aware": aware,
        "combined": dates.datetime.combine(day, dates.time(1)),
        "day": day,
        "day of moment": moment.date(),
        "day later": day + later,
        "from ordinal": dates.date.fromordinal(700000),
        "from text": dates.datetime.fromisoformat("2024-02-29T01:02:03"),
        "from time": dates.date.fromtimestamp(0),
        "from week": dates.date.fromisocalendar(2024, 9, 4),
        "greatest": dates.datetime.max,
        "least": dates.date.min,
        "moment": moment,
        "moment later": moment + later,
        "earlier": later.__class__(1) * -1 + moment,
        "parsed": dates.datetime.strptime("29 Feb 2024", "%d %b %Y"),
        "replaced": day.replace(day=1),
        "elsewhere": aware.astimezone(dates.timezone(later / 5)),
    }


FROZEN, ORDINARY = made(DATES), made(dt)


@pytest.mark.parametrize("name", ORDINARY)
def test_values_are_as_they_always_are(name: str) -> None:
    """Value, text, order, hash and difference are those of the genuine classes."""
    value, other = FROZEN[name], ORDINARY[name]
    assert value == other
    assert (repr(value), str(value), hash(value)) == (
        repr(other),
        str(other),
        hash(other),
    )
    assert value.isoformat() == other.isoformat()
    assert value - other == dt.timedelta()
    assert f"{value:%Y}" == f"{other:%Y}"
    assert not value < other
    kind = DATES.datetime if isinstance(other, dt.datetime) else DATES.date
    assert type(value) is kind
    assert type(copy.deepcopy(value)) is kind


def test_classes_answer_for_the_genuine_ones() -> None:
    """Instances and subclasses are told as by the genuine classes."""
    day, moment = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)  # noqa: DTZ001
    assert isinstance(moment, DATES.datetime)
    assert isinstance(moment, DATES.date)
    assert isinstance(DATES.datetime.now(), DATES.date)
    assert isinstance(DATES.datetime.now(), dt.datetime)
    assert not isinstance(day, DATES.datetime)
    assert not isinstance(DATES.date.today(), DATES.datetime)
    assert not isinstance(1, DATES.date)
    assert issubclass(DATES.datetime, DATES.date)
    assert not issubclass(DATES.date, DATES.datetime)
    assert issubclass(dt.datetime, DATES.date)


def test_subclasses_are_classes_of_their_own() -> None:
    """A class that derives from a frozen one has the instant, and its own instances."""

    class Own(DATES.datetime):  # type: ignore[misc, name-defined]
        """A datetime with a method."""

        def half(self) -> int:
            """Return half of the year."""
            return int(self.year // 2)

    now = Own.now()
    assert type(now) is Own
    assert now.half() == 1000
    assert type(Own.strptime("2024", "%Y") + dt.timedelta(1)) is Own
    assert repr(Own(2024, 1, 1)) == "Own(2024, 1, 1, 0, 0)"
    assert isinstance(now, Own)
    assert isinstance(now, DATES.date)
    assert not isinstance(DATES.datetime.now(), Own)
    assert issubclass(Own, DATES.datetime)
    assert not issubclass(DATES.datetime, Own)


@given(st.datetimes())
def test_any_moment_is_as_it_always_is(moment: dt.datetime) -> None:
    """Every datetime is the same, shown the same, in the frozen class."""
    frozen = DATES.datetime(
        *moment.timetuple()[:6], moment.microsecond, fold=moment.fold
    )
    assert frozen == moment
    assert frozen.date() == moment.date()
    assert repr(frozen) == repr(moment)


def test_a_program_sees_the_frozen_clock() -> None:
    """Classes, patterns and arithmetic of a program work, at the instant."""
    policy = Policy(
        allowed_imports=("dataclasses", "datetime", "time"), clock="frozen", time_s=5
    )
    execution = Capsule(policy).run(PROGRAM, dt.datetime(1999, 12, 1))  # noqa: DTZ001
    assert execution.metrics == {
        "age": 31,
        "given": True,
        "matched": True,
        "own": "Own(2000, 1, 1, 0, 0)",
        "parsed": 1999,
        "record": (
            "Record(label='a', when=datetime.datetime(2000, 1, 1, 0, 0), "
            "day=datetime.date(2020, 2, 29))"
        ),
        "same": True,
        "spent": 0.0,
        "text": "2000-01-01T00:00:00Z",
        "type": "2001-02-03T00:00:00",
    }, execution.error
    assert execution.environment["clock"] == "frozen"
    assert execution.environment["now"] == "2000-01-01T00:00:00Z"


@strong
def test_the_clock_stands_where_no_file_opens() -> None:
    """What a frozen clock needs is loaded before the walls, without Landlock too."""
    then = (
        f"policy = Policy(allowed_imports=('dataclasses', 'datetime', 'time'), clock='frozen')\n"
        f"import datetime\n"
        f"execution = Capsule(policy).run({PROGRAM!r}, datetime.datetime(1999, 12, 1))\n"
        "print(json.dumps(execution.to_json()))"
    )
    found = without(LANDLOCK, then)
    assert found["status"] == "ok", found["error"]
    assert found["level"] == "os-partial"
    assert found["metrics"]["text"] == "2000-01-01T00:00:00Z"


def test_the_clock_runs_unless_it_is_frozen() -> None:
    """By default a program reads the time of day; the hook asks for either."""
    code = "import time\ndef fit_and_eval(data): return {'now': time.time()}"
    request = {"code": code, "data": None, "allowed_imports": ["time"]}
    real: Any = execute_code(request)
    frozen: Any = execute_code({**request, "clock": "frozen"})
    assert abs(real["metrics"]["now"] - time.time()) < 60
    assert frozen["metrics"]["now"] == INSTANT
    assert (real["environment"]["clock"], frozen["environment"]["clock"]) == (
        "real",
        "frozen",
    )


def test_an_execution_says_which_clock() -> None:
    """The real clock is named; the frozen one with its instant."""
    assert stated("real") == {"clock": "real"}
    assert stated("frozen") == {"clock": "frozen", "now": "2000-01-01T00:00:00Z"}
