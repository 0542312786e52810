"""Functions called on a cluster: Dask or Ray, where installed.

    experiment.run(replicates=200, executor="dask")
    experiment.run(replicates=200, executor=Dask(client=Client("tcp://scheduler:8786")))

Rules:

- The run stays here: each call goes out as bytes and comes back as bytes.
- Without a client, the current one is used; if there is none, Dask works in threads of
  this process, and Ray starts on this machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, cast

from muniment.errors import CannotTellError
from muniment.runs.executors import Reach, Send
from muniment_plugins.executors.worker import called

__all__ = ["Dask", "Ray"]

_ANYWHERE = "127.0.0.1:0"
"""Any free port, open to this machine alone."""


@dataclass(frozen=True, slots=True)
class Dask:
    """Functions on the workers of a `distributed.Client`."""

    name: ClassVar[str] = "dask"
    reach: ClassVar[Reach] = "machine"
    client: Any = None
    replicates_at_once: int | None = None

    @property
    def lanes(self) -> int:
        """How many parts of the run wait at once; twice the processors without a number."""
        return self.replicates_at_once or 2 * (os.cpu_count() or 1)

    def require(self) -> None:
        """Need Dask.

        Raises:
            CannotTellError: it is not installed.

        """
        _required("distributed", self.name)

    @contextmanager
    def host(self, serve: str) -> Generator[Send]:
        """Use the given client, the current one, or one of our own."""
        distributed = _required("distributed", "dask")
        own = None
        client = self.client or _current(distributed)
        if client is None:
            own = client = distributed.Client(
                processes=False,
                # Otherwise both listen to the network, one of them on another port.
                dashboard_address=_ANYWHERE,
                worker_dashboard_address=_ANYWHERE,
            )
        try:
            # Equal calls are separate calls: each has its own effect.
            submit = partial(client.submit, called, serve, pure=False)
            yield lambda sent: cast("bytes", submit(sent).result())
        finally:
            if own is not None:
                own.close()


@dataclass(frozen=True, slots=True)
class Ray:
    """Functions on the workers of Ray."""

    name: ClassVar[str] = "ray"
    reach: ClassVar[Reach] = "machine"
    replicates_at_once: int | None = None

    @property
    def lanes(self) -> int:
        """How many parts of the run wait at once; twice the processors without a number."""
        return self.replicates_at_once or 2 * (os.cpu_count() or 1)

    def require(self) -> None:
        """Need Ray.

        Raises:
            CannotTellError: it is not installed.

        """
        _required("ray", self.name)

    @contextmanager
    def host(self, serve: str) -> Generator[Send]:
        """Use the running Ray, or start it here."""
        ray = _required("ray", "ray")
        own = not ray.is_initialized()
        if own:
            path = os.pathsep.join(one or str(Path.cwd()) for one in sys.path)
            ray.init(
                include_dashboard=False,
                logging_level="ERROR",
                runtime_env={"env_vars": {"PYTHONPATH": path}},
            )
        remote = ray.remote(called).remote
        try:
            yield lambda sent: cast("bytes", ray.get(remote(serve, sent)))
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
        raise CannotTellError(
            f"{module} is not installed",
            rule="executor/package",
            place=f'executor="{extra}"',
            remedy=f"pip install 'muniment[{extra}]', or use the threads executor",
        ) from error
