"""What a flow was started with, and whether it still is so.

    {"environment": {…}, "dataset": {"sha256": "sha256:…", …}, "folder": "flows",
     "parts": {"agent-a": {"agent": {"import": "agents:read", "source": "sha256:…"}}},
     "rules": {}, "engines": {}, "fallbacks": {}, "children": {}}

Rules:

- A resume goes on with the same manifest, policy, functions, environment and data, or it
  is refused before anything is written. A policy may allow another environment.
- A replay compares environment and data, where a difference is a finding.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import RefusedError
from muniment.programs.references import named, plain
from muniment.runs.run import Run
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.flows.edition import edition_of
from muniment_plugins.governance.flows.parts import FlowFunction
from muniment_plugins.governance.flows.pins.datasets import (
    pinned,
    refuse_declared,
)
from muniment_plugins.governance.flows.pins.environment import (
    differences,
    environment_of,
)
from muniment_plugins.governance.flows.pins.loose_modules import modules_beside

__all__ = [
    "compare_pins",
    "described",
    "folder_from_here",
    "refuse_other_params",
    "refuse_other_pins",
]

Pins = Mapping[str, JsonValue]
_NAMED = ("parts", "rules", "engines", "fallbacks")
_SHOWN = 3


def folder_from_here(folder: Path) -> str:
    """Return the folder of a manifest as a record has it: from the working directory."""
    return Path(os.path.relpath(folder)).as_posix()


def described(functions: Iterable[FlowFunction]) -> list[Mapping[str, object]]:
    """Return the functions as the start of a run describes them."""
    return [one.described for one in functions]


def refuse_other_params(
    ours: Mapping[str, object], recorded: Mapping[str, object], place: str
) -> None:
    """Refuse another manifest or policy than the recorded one.

    Raises:
        RefusedError: it is another.

    """
    for name, rule in (("flow", "flow/manifest"), ("policy", "flow/policy")):
        was, now = recorded.get(name), ours[name]
        if canonical(cast("JsonValue", was)) != canonical(cast("JsonValue", now)):
            raise RefusedError(
                f"the run began with another {'manifest' if name == 'flow' else name}",
                rule=rule,
                place=place,
                remedy="resume it with what it began with, or start a new run",
            )


def refuse_other_pins(
    flow: FlowManifest,
    policy: GovernancePolicy,
    functions: list[FlowFunction],
    recorded: Pins,
    ours: Pins,
) -> None:
    """Refuse other functions, another environment, or other data than at the start.

    Raises:
        RefusedError: they are.
        CannotTellError: a function or the data is not here.

    """
    present = [named(plain(one)) for one in functions]
    for name in _NAMED:
        if recorded.get(name) != ours.get(name):
            raise RefusedError(
                f"the {name} of the flow are others than when it began",
                rule="flow/functions",
                place=flow.place,
                remedy="restore them, or start a new run",
            )
    _refuse_environment(flow, policy, present, recorded)
    data = recorded.get("dataset")
    if flow.dataset is None or not isinstance(data, dict):
        return
    now = pinned(flow.dataset, Path(str(recorded["folder"])), edition_of(recorded))
    refuse_declared(flow.dataset, now, flow.place)
    if now.sha256 != data["sha256"]:
        raise RefusedError(
            f"the data is {now.sha256}; the run began with {data['sha256']}",
            rule="dataset/changed",
            place=f"{flow.place}: dataset",
            remedy="restore the data, or start a new run",
        )


def _refuse_environment(
    flow: FlowManifest,
    policy: GovernancePolicy,
    present: list[FlowFunction],
    recorded: Pins,
) -> None:
    if policy.allow_environment_change:
        return
    level = flow.determinism_level
    was = cast("Pins", recorded["environment"])
    beside = modules_beside(present, flow.folder)
    now = environment_of(level, described(present), beside)
    changed = [*differences(was, now, level)]
    if not changed:
        return
    told = "; ".join(f"{path} was {a}, is {b}" for path, a, b in changed[:_SHOWN])
    more = f"; and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    raise RefusedError(
        f"the environment changed: {told}{more}",
        rule="flow/environment",
        place=flow.place,
        remedy="restore it, start a new run, or have a policy with "
        "allow_environment_change",
    )


def compare_pins(
    run: Run,
    flow: FlowManifest,
    policy: GovernancePolicy,
    functions: list[FlowFunction],
    recorded: Pins,
) -> None:
    """Compare environment and data of a replay with those of the record.

    What is answered from the record is not called, so nobody has to have it: the sources
    of functions are compared as these are loaded.

    Raises:
        ReplayDiverged: they differ.
        CannotTellError: the data is not here.

    """
    level = flow.determinism_level
    was = cast("Pins", recorded["environment"])
    now = environment_of(level, described(functions))
    changed = {path: (a, b) for path, a, b in differences(was, now, level)}
    sources = {one for one in changed if one.startswith("modules.")}
    before = {one: pair[0] for one, pair in changed.items() if one not in sources}
    after = {one: pair[1] for one, pair in changed.items() if one not in sources}
    run.require_param(
        "environment", before, after, warns=policy.allow_environment_change
    )
    data = recorded.get("dataset")
    if flow.dataset is not None and isinstance(data, dict):
        present = pinned(
            flow.dataset, Path(str(recorded["folder"])), edition_of(recorded)
        )
        run.require_param(
            "dataset", {"sha256": data["sha256"]}, {"sha256": present.sha256}
        )
