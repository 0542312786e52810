"""A replayed program takes a part of the memory; honest ones do not notice."""

from __future__ import annotations

import errno
import json
import sys

import pytest

from first_hour import Newcomer
from muniment_cli.replay.memory import half_of_it, named

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="no other system counts what a process maps"
)

PROGRAM = """
import os

def need(size):
    if os.environ.get("MUNIMENT_MORE"):
        return len(bytearray(int(os.environ["MUNIMENT_MORE"]) << 20))
    return size

def plain(run):
    return need(1)

def array(run):
    import numpy
    return numpy.ones(need(1) // 8 + 1).nbytes >= 8
"""
HONEST = """
def main(run):
    import numpy, openai, pandas
    table = pandas.DataFrame({"a": numpy.arange(500_000.0)})
    client = openai.OpenAI(api_key="none")
    return [float(table.a.sum()), float((numpy.eye(300) @ numpy.eye(300)).sum())]
"""


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    """Give a ledger with runs that need little."""
    place = tmp_path_factory.mktemp("n")
    user = Newcomer(place / "desk", place / "home")
    user.folder.mkdir()
    user.home.mkdir()
    (user.folder / "work.py").write_text(PROGRAM)
    (user.folder / "honest.py").write_text(HONEST)
    return user


def run_of(user: Newcomer, program: str) -> str:
    """Run a program; return the run's id."""
    if not (user.folder / ".muniment").exists():
        user.begin()
    done = user.muniment("run", program, "--json")
    assert done.code == 0, done.err
    return str(json.loads(done.out)["run"])


def replayed(user: Newcomer, run: str, *more: str) -> tuple[int, str, str]:
    """Replay a run; return exit code, verdict and what stderr got."""
    done = user.muniment("replay", run, "--no-record", "--json", *more)
    told = json.loads(done.out or "{}")
    return done.code, str(told.get("verdict")), done.err + done.out


@pytest.mark.parametrize("name", ["plain", "array"])
def test_more_than_half_of_the_memory_cannot_be_told(user: Newcomer, name: str) -> None:
    """By itself; the error names limit and option, and less than that is enough."""
    run = run_of(user, f"work.py:{name}")
    code, _, said = replayed(user, run, "--env", f"MUNIMENT_MORE={half_of_it() + 64}")
    assert code == 3, said
    assert "replay/denied" in said
    assert f"memory beyond {half_of_it():,} MiB" in said
    assert "--memory MIB" in said
    assert replayed(user, run)[:2] == (0, "acceptable")


@pytest.mark.slow
def test_a_limit_is_chosen(user: Newcomer) -> None:
    """What is beyond `--memory` is denied, what is below is not; 0 is not a limit."""
    run = run_of(user, "work.py:plain")
    for limit, told in (("64", 3), ("900", 1), ("0", 1)):
        given = ("--memory", limit, "--env", "MUNIMENT_MORE=300")
        code, _, said = replayed(user, run, *given)
        assert code == told, said  # 1: it returns another number


@pytest.mark.parametrize("limit", ["1", "4", "16"])
def test_too_little_to_begin_with_is_said(user: Newcomer, limit: str) -> None:
    """Where not even what replays fits, the error names the option, and no bug."""
    code, _, said = replayed(user, run_of(user, "work.py:plain"), "--memory", limit)
    assert code == 3, said
    assert "replay/starved" in said
    assert "--memory MIB" in said


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory", "keys"),
        ImportError("libx.so: failed to map segment from shared object"),
        ImportError("libx.so: cannot allocate memory in static TLS block"),
        RuntimeError("can't start new thread"),
        SystemError("error return without exception set"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("around", [None, ValueError, KeyError])
def test_every_lack_of_memory_is_named(
    error: Exception, around: type[Exception] | None
) -> None:
    """However Python says it, and whatever another error made of it."""
    if around is not None:
        outer = around("what came of it")
        outer.__context__ = error
        error = outer
    assert "replay/starved" in repr(vars(named(error, 4, "01JD3")))
    assert named(error, 0, "01JD3") is error  # there is no limit that it could lack


def test_no_other_error_is_called_a_lack_of_memory() -> None:
    """A bug of ours is not blamed on the limit."""
    for error in (ValueError("x"), OSError(errno.EACCES, "no"), ImportError("no x")):
        assert named(error, 4, "01JD3") is error


@pytest.mark.slow
def test_each_limit_gives_the_result_or_names_the_option(user: Newcomer) -> None:
    """Whichever allocation is the one that fails."""
    run = run_of(user, "work.py:plain")
    for limit in range(1, 60, 2):
        code, verdict, said = replayed(user, run, "--memory", str(limit))
        assert (code, verdict) == (0, "acceptable") or "--memory" in said, said
        assert "cli/bug" not in said


@pytest.mark.slow
def test_honest_programs_do_not_notice(user: Newcomer) -> None:
    """NumPy, pandas and openai replay under a limit that is far below the default."""
    run = run_of(user, "honest.py:main")
    assert replayed(user, run)[:2] == (0, "acceptable")
    limit = str(min(2048, half_of_it()))
    assert replayed(user, run, "--memory", limit)[:2] == (0, "acceptable")
