"""What every test stands on: a trust home of its own, a ledger in it, and time.

Rules: how fast the machine is, and who else uses it, is not an affair of a test. What a
test waits for has a limit that only a fault reaches.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from math import inf
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from muniment.ledger import Ledger
from muniment.storage import append
from muniment_plugins.capsule.parent import supervisor

# A shell starts background jobs deaf to Ctrl-C, and `nohup` starts what it is given deaf to
# a closed terminal. What they start inherits that: tests that interrupt a program would
# wait for ever.
for _name, _usual in (
    ("SIGINT", signal.default_int_handler),
    ("SIGHUP", signal.SIG_DFL),
    ("SIGTERM", signal.SIG_DFL),
):
    _number = getattr(signal, _name, None)
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

MEMORY = Path("/dev/shm")  # noqa: S108 - nothing of it is trusted
ROOM = 4 << 30


def pytest_configure() -> None:
    """Have files of tests in memory, where there is room for them and programs may run.

    A disk is waited for at each commit, and no test is about what a power cut loses.
    """
    with suppress(OSError, AttributeError):
        found = os.statvfs(MEMORY)
        if found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose name has an address in it: each process names it differently."""
    for one in items:
        if re.search(r" at 0x[0-9a-f]+", one.nodeid):
            raise pytest.UsageError(f"{one.nodeid}: give its parameters ids")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with one table of what was not tried, and what it takes to try it."""
    skipped = terminalreporter.stats.get("skipped", [])
    wants = Counter(str(report.longrepr[2]) for report in skipped)
    if wants:
        terminalreporter.section("not tried for want of", sep="-")
    for want, count in sorted(wants.items(), key=lambda pair: (-pair[1], pair[0])):
        terminalreporter.line(f"{count:5}  {want.removeprefix('Skipped: ')}")


# A test fails for a change, and not for what was drawn today: whoever searches for more
# has other examples drawn, as CONTRIBUTING.md says.
settings.register_profile(
    "patient",
    deadline=None,
    derandomize="MUNIMENT_FUZZ" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def patience() -> None:
    """Let nothing come early or late because others use the processor.

    Programs in capsules wait for theirs; a test of the wall clock itself sets that to
    what it wants. A checkpoint comes when it is due by the number of events.
    """
    supervisor.GRACE_S = 60.0
    append.CHECKPOINT_SECONDS = inf


@pytest.fixture(autouse=True)
def own_path() -> Iterator[None]:
    """Take from ``sys.path`` what a command put there: the next test has other files."""
    before = [*sys.path]
    yield
    sys.path[:] = before


@pytest.fixture(scope="session", autouse=True)
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give fixtures that many tests share a trust home: never that of who runs them.

    It remembers where ledgers were. Another session has its files at the same places.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUNIMENT_HOME", str(tmp_path_factory.mktemp("shared-home")))
        yield


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a trust home of its own, and take away what the shell set."""
    place = tmp_path / "home"
    monkeypatch.setenv("MUNIMENT_HOME", str(place))
    for name in ("MUNIMENT_LEDGER", "MUNIMENT_KEY", "MUNIMENT_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def home(own_home: Path) -> Path:
    """Return the trust home of the test; a file of tests may have another."""
    return own_home


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give the test a fresh ledger, and close it."""
    with Ledger.create(tmp_path / "work" / ".muniment" / "ledger.db") as made:
        yield made
