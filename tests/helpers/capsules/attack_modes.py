"""The modes in which every attack is tried, and which effects show in each.

    python attack_modes.py                 {"all layers": {"pivots/numpy_loadtxt": [], …}, …}

Rules:

- ``no capsule`` is the control: an attempt without effect there proves nothing.
- ``all layers`` is a capsule as it is; ``OS only`` has neither validator nor guard,
  plain built-in names and the genuine import; ``language only`` has none of the system's
  layers, only the limits of a process.
- Nothing of this needs a hole in the capsule: without a guard is a worker of its own,
  without the system's layers a request that asks for none.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Self

from attack_stage import BOUND, Seen, Theatre, Trial
from corpus import Attack, attacks
from machines import patched_worker
from muniment.errors import RefusedError
from muniment_plugins.capsule import Capsule, Execution, Policy
from muniment_plugins.capsule.parent import start, supervisor
from muniment_plugins.capsule.parent.start import ChildSurroundings
from muniment_plugins.capsule.validation import Validated

__all__ = [
    "BEHIND_WALLS",
    "MODES",
    "Tries",
    "Unguarded",
    "Unwalled",
    "guardless",
    "report",
]

MODES = ("no capsule", "all layers", "OS only", "language only")
BEHIND_WALLS = MODES[1:3]

_SHORT_S = 0.15
_GRACE_S = 0.2
_PATIENCE_S = 30.0
_MEM_MB = 64


class Unguarded(Capsule):
    """Runs what nobody has read; the worker takes the guard away too."""

    def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
        """Accept anything; load what the policy lists."""
        allowed = self.policy.allowed_imports
        # What brings NumPy may as well share a worker with what asks for it.
        brings = any(
            name.startswith(("pandas", "scipy", "sklearn")) for name in allowed
        )
        return Validated(code, entrypoint, allowed + ("numpy",) * brings)


class Unwalled(Capsule):
    """Reads and guards, without any layer of the system around it."""

    def _surroundings(self, program: Validated) -> ChildSurroundings:
        genuine = super()._surroundings(program)
        around = {**json.loads(genuine.text), "walls": {}}
        return replace(genuine, text=json.dumps(around))


_GUARDLESS = (
    "import builtins, functools",
    "import muniment_plugins.capsule.child.program as program",
    "shown = functools.partial(print, flush=True)",
    "program.safe_builtins = lambda *_: {**vars(builtins), 'print': shown}",
    "program.build_views = lambda *_: {}",
    "program.tighten = lambda: None",
    "program.compiled = lambda code: compile(code, program.PROGRAM, 'exec')",
)
"""What makes a worker give programs plain names and the genuine import."""


@contextlib.contextmanager
def guardless() -> Iterator[None]:
    """Give programs plain names and the genuine import, whoever has read them."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        with started_by(patched_worker(Path(place), *_GUARDLESS)):
            yield


@contextlib.contextmanager
def started_by(worker: Path) -> Iterator[None]:
    """Have *worker* started where a child is asked for."""
    genuine, start.WORKER = start.WORKER, worker
    try:
        yield
    finally:
        start.WORKER = genuine


class Tries:
    """A theatre, and a host without a capsule beside it, which starts when asked."""

    def __enter__(self) -> Self:
        """Open the theatre."""
        self.stack = contextlib.ExitStack()
        self.theatre = self.stack.enter_context(Theatre())
        place = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        place.chmod(0o755)
        self.guardless = patched_worker(place, *_GUARDLESS)
        self.naive: subprocess.Popen[str] | None = None
        self.stack.callback(setattr, supervisor, "GRACE_S", supervisor.GRACE_S)
        supervisor.GRACE_S = _GRACE_S
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        if self.naive is not None and self.naive.stdin and self.naive.stdout:
            self.naive.stdin.close()
            self.naive.wait()
            self.naive.stdout.close()
        self.stack.close()

    def effects(self, attack: Attack, mode: str) -> set[str]:
        """Return which effects of *attack* show in *mode*."""
        with self.theatre.trial() as trial:
            seen = self._seen(attack, mode, trial)
            if mode == "no capsule":  # where it has to come, there is time for it
                return _await(trial, seen, attack.wants)
            time.sleep(attack.waits)
            return trial.effects(seen, attack.wants)

    def _seen(self, attack: Attack, mode: str, trial: Trial) -> Seen:
        if mode == "no capsule":
            return self._uncontained(attack, trial)
        kinds = {"OS only": Unguarded, "language only": Unwalled}
        try:
            policy = self.policy(attack, mode)
        except RefusedError as error:
            return Seen("rejected", str(error), "None", "")
        capsule = kinds.get(mode, Capsule)(policy)
        worker = self.guardless if mode == "OS only" else start.WORKER
        with started_by(worker):
            execution = capsule.run(attack.code, trial.data)
            if attack.wants == "leak":
                execution = capsule.run(attack.code, trial.data, "check")
        return _seen(execution)

    def policy(self, attack: Attack, mode: str) -> Policy:
        """Return the bounds in which *attack* is tried.

        Raises:
            RefusedError: it wants what no spec may list.

        """
        return Policy(
            allow_dangerous=mode == "OS only",
            allowed_imports=attack.allows,
            env={"STAGE_INNER": self.theatre.inner},
            max_output=BOUND,
            mem_mb=_MEM_MB,
            time_s=_SHORT_S if attack.wants == "time" else attack.takes,
        )

    def _uncontained(self, attack: Attack, trial: Trial) -> Seen:
        inner, outer = self.theatre.inner, self.theatre.outer
        job = {
            "after": attack.wants == "leak",
            "code": attack.code,
            "data": trial.data,
            "env": {"STAGE_INNER": inner, "STAGE_SECRET": outer},
            "time_s": _SHORT_S if attack.wants == "time" else _PATIENCE_S,
        }
        naive = self._host()
        if naive.stdin is None or naive.stdout is None:
            raise AssertionError("both are pipes")
        naive.stdin.write(json.dumps(job) + "\n")
        naive.stdin.flush()
        found = json.loads(naive.stdout.readline())
        return Seen(
            contained=False,
            max_rss_kb=found["max_rss_kb"],
            metrics=found["metrics"],
            signal=found["signal"],
            status=found["status"],
            stdout=found["stdout"],
            text=f"{found['metrics']}\n{found['stdout']}",
        )

    def _host(self) -> subprocess.Popen[str]:
        if self.naive is None:
            self.naive = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("host_without_capsule.py")],
                close_fds=False,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self.naive


def _seen(execution: Execution) -> Seen:
    metrics = repr(execution.metrics)
    message = (execution.error or {}).get("message")
    return Seen(
        metrics=metrics,
        status=execution.status,
        stdout=execution.stdout,
        text=f"{metrics}\n{execution.stdout}\n{message}",
    )


def _await(trial: Trial, seen: Seen, wants: str) -> set[str]:
    """Return the effects that show, once the one that was wanted does."""
    deadline = time.monotonic() + _PATIENCE_S
    found = trial.effects(seen, wants)
    while wants not in found and time.monotonic() < deadline:
        time.sleep(0.02)
        found |= trial.effects(seen, wants)
    return found


def report(
    modes: tuple[str, ...] = BEHIND_WALLS, guarded: Collection[str] | None = None
) -> dict[str, dict[str, list[str]]]:
    """Try every attack in *modes*; return the effects that show.

    With *guarded*, only attacks of these names meet all layers: validator and guard are
    the same on any machine, so that another one can change only what the system holds.
    """
    with Tries() as tries:
        return {
            mode: {
                name: sorted(tries.effects(attack, mode))
                for name, attack in attacks().items()
                if guarded is None or mode != "all layers" or name in guarded
            }
            for mode in modes
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(report(tuple(sys.argv[1:]) or BEHIND_WALLS)))
