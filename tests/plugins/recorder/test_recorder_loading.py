"""The recorder's own modules are whole for each thread that imports a library."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

import pytest

from muniment_plugins.providers.recorder.inside import hooks

THREADS = 8


def _ours() -> list[str]:
    return [name for name in sys.modules if name.startswith("_muniment_")]


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Load nothing from earlier tests, and let each module take its time."""
    before = {name: sys.modules.pop(name) for name in _ours()}
    execute = SourceFileLoader.exec_module

    def slowly(self: SourceFileLoader, module: ModuleType) -> None:
        time.sleep(0.02)
        execute(self, module)
        time.sleep(0.02)

    monkeypatch.setattr(SourceFileLoader, "exec_module", slowly)
    yield
    for name in _ours():
        del sys.modules[name]
    sys.modules.update(before)


def test_threads_wait_for_what_another_loads() -> None:
    """Threads that import libraries at once are recorded by one client, with all of it."""
    modules: Any = hooks._Modules("token@/nowhere")
    start = threading.Barrier(THREADS)

    def first(_: int) -> tuple[object, object]:
        start.wait()
        return modules.client(), modules.load("over_urllib").patch

    with ThreadPoolExecutor(THREADS) as pool:
        found = set(pool.map(first, range(THREADS)))
    assert len(found) == 1


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_loads_what_was_begun() -> None:
    """A process that is forked while a thread loads a module loads it whole itself."""
    modules: Any = hooks._Modules("token@/nowhere")
    thread = threading.Thread(target=modules.client)
    thread.start()
    while not _ours():
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if modules.client() and modules.load("wire").pack else 2
        finally:
            os._exit(code)
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
