"""The lane of a plugin that programs call, as clients of models are called.

    lane_of_plugin(run, "providers").record("recording.unsearched", {…})

Rule: whoever governs a run gets its lane where its hooks are called, and nowhere else.
"""

from __future__ import annotations

from muniment.errors import UsageError
from muniment.runs.run import Run, lanes_of

__all__ = ["lane_of_plugin"]


def lane_of_plugin(run: Run, plugin: str) -> Run:
    """Return the lane of *plugin*, for one that programs call and no hook gives it.

    Raises:
        UsageError: hooks give it to the plugin, and nobody else gets it.

    """
    recording = run._recording  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - what it stands for
    if recording.port.gives_lanes(plugin):
        raise UsageError(
            f"the plugin {plugin} gets its lane where its hooks are called",
            rule="scope/plugin",
            remedy="state facts in a lane of the program's own",
        )
    return lanes_of(recording)(plugin)
