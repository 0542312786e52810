"""A rule of the policy: who wrote the parts of the postmortem."""

from __future__ import annotations

from typing import Any

__all__ = ["written_by_the_model"]


def written_by_the_model(
    subject: dict[str, Any], parameters: dict[str, Any]
) -> list[str]:
    """Return what is wrong with the step that *subject* is: one text for each part."""
    return [
        f"the part {one['artifact_id']} was not written by the model"
        for one in subject["artifacts"]
        if one["content"] == parameters["instead"]
    ]
