"""Executors: spread the parts of a run over threads, processes, clusters.

    experiment.run(replicates=20, executor="threads")
    experiment.run(replicates=20, executor=Processes(workers=8))

The plugin manager loads this module: it offers the hook and knows the other modules by
name only. Plugins that use an executor ask for it by name, and import none of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from muniment.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from muniment.runs.executors import Executor, Serial
    from muniment_plugins.executors.clusters import Dask, Ray
    from muniment_plugins.executors.processes import Processes, WorkerLost
    from muniment_plugins.executors.threads import Threads

__all__ = ["Dask", "Processes", "Ray", "Serial", "Threads", "WorkerLost", "executors"]

# The kernel's own marker is equal, but importing it would load the kernel's store.
hookimpl = pluggy.HookimplMarker("muniment")

__getattr__ = lazy(
    __name__,
    {
        "Dask": ".clusters",
        "Processes": ".processes",
        "Ray": ".clusters",
        "Serial": "muniment.runs.executors",
        "Threads": ".threads",
        "WorkerLost": ".processes",
    },
)


@hookimpl
def executors() -> Mapping[str, Callable[[], Executor]]:
    """Name the executors that need no settings."""
    from muniment_plugins.executors.clusters import Dask, Ray  # noqa: PLC0415 - lazy
    from muniment_plugins.executors.processes import Processes  # noqa: PLC0415 - lazy
    from muniment_plugins.executors.threads import Threads  # noqa: PLC0415 - lazy

    return {one.name: one for one in (Threads, Processes, Dask, Ray)}
