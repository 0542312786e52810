"""Functions and code of an experiment on a cluster: Dask or Ray, where installed.

    experiment.run(replicates=200, executor="dask")
    experiment.run(replicates=200, executor=Dask(client=Client("tcp://scheduler:8786")))

Rules:

- The run stays here: each call goes as bytes and comes back as bytes, and code runs in
  the capsule of the machine that it went to, whose walls are recorded.
- Without a client the one that is current is used; without that, Dask works in threads
  of this process, and Ray starts on this machine.
- Only what can be imported goes there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Never, cast

from muniment.errors import CannotTellError
from muniment_plugins.harness.processes import admit_importable
from muniment_plugins.harness.remote import hook_task, serve, task, unpacked

if TYPE_CHECKING:
    from muniment_plugins.harness.hosts import Caller, Host
    from muniment_plugins.harness.programs import ExperimentProgram
    from muniment_plugins.harness.references import Function
    from muniment_plugins.harness.surroundings import Surroundings

__all__ = ["Dask", "Ray"]

_ANYWHERE = "127.0.0.1:0"
"""Any free port, for this machine alone."""


@dataclass(frozen=True, slots=True)
class _Away:
    """A host that sends bytes somewhere and waits for bytes."""

    send: Callable[[bytes], bytes]

    def call(self, function: Function, *arguments: object, **named: object) -> object:
        """Call *function* over there."""
        return unpacked(self.send(task(function, arguments, named)))

    def execute(self, around: Surroundings, request: Mapping[str, object]) -> object:
        """Run code in the capsule over there."""
        del around
        return unpacked(self.send(hook_task("execute_code", request)))


@dataclass(frozen=True, slots=True)
class Dask:
    """Replicates over the workers of a `distributed.Client`."""

    name: ClassVar[str] = "dask"
    client: Any = None
    replicates_at_once: int | None = None

    @property
    def lanes(self) -> int:
        """How many replicates wait at once; twice the processors without a number."""
        return self.replicates_at_once or 2 * (os.cpu_count() or 1)

    def admit(self, program: ExperimentProgram) -> None:
        """Refuse a program that cannot be imported, or a machine without Dask."""
        _required("distributed", "dask")
        admit_importable(program, self.name)

    @contextmanager
    def host(self, caller: Caller | None) -> Generator[Host]:
        """Use the client that is given, or current, or one of our own."""
        del caller
        distributed = _required("distributed", "dask")
        own = None
        client = self.client or _current(distributed)
        if client is None:
            own = client = distributed.Client(
                processes=False,
                # Else both are open to the network, and one at a port of its own.
                dashboard_address=_ANYWHERE,
                worker_dashboard_address=_ANYWHERE,
            )
        try:
            # Equal calls are not one call: each has its own effect.
            yield _Away(lambda sent: client.submit(serve, sent, pure=False).result())
        finally:
            if own is not None:
                own.close()


@dataclass(frozen=True, slots=True)
class Ray:
    """Replicates over the workers of Ray."""

    name: ClassVar[str] = "ray"
    replicates_at_once: int | None = None

    @property
    def lanes(self) -> int:
        """How many replicates wait at once; twice the processors without a number."""
        return self.replicates_at_once or 2 * (os.cpu_count() or 1)

    def admit(self, program: ExperimentProgram) -> None:
        """Refuse a program that cannot be imported, or a machine without Ray."""
        _required("ray", "ray")
        admit_importable(program, self.name)

    @contextmanager
    def host(self, caller: Caller | None) -> Generator[Host]:
        """Use Ray as it was started, or start it here."""
        del caller
        ray = _required("ray", "ray")
        own = not ray.is_initialized()
        if own:
            path = os.pathsep.join(one or str(Path.cwd()) for one in sys.path)
            ray.init(
                include_dashboard=False,
                logging_level="ERROR",
                runtime_env={"env_vars": {"PYTHONPATH": path}},
            )
        remote = ray.remote(serve)
        try:
            yield _Away(lambda sent: cast("bytes", ray.get(remote.remote(sent))))
        finally:
            if own:
                ray.shutdown()


def _current(distributed: Any) -> Any:
    try:
        return distributed.default_client()
    except ValueError:  # there is none
        return None


def _required(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        _refuse(module, extra, error)


def _refuse(module: str, extra: str, error: Exception) -> Never:
    raise CannotTellError(
        f"{module} is not installed",
        rule="harness/executor",
        place=f'executor="{extra}"',
        remedy=f"pip install 'muniment[{extra}]', or use the threads executor",
    ) from error
