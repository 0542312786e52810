"""The data of a replicate: asked for once, and kept whole or only as its digest.

    .datasource(load)                   data.completed holds the data
    .datasource(load, pin="digest")     data.completed holds {"pinned": "sha256:…", …}

Rules:

- Data is a value: JSON, NumPy, Arrow. If only its digest is kept, it stays out of the
  ledger; a replay or a resume then asks the datasource again, and refuses other data.
- A treatment may give the data instead of the datasource; then the plan holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from muniment.encoding.canonical import canonical, sha256_tag
from muniment.encoding.codec import encode
from muniment.errors import CannotTellError
from muniment.programs.references import refer
from muniment_plugins.harness.functions.handouts import kept
from muniment_plugins.harness.refusals import telling

if TYPE_CHECKING:
    from muniment_plugins.harness.case import Case
    from muniment_plugins.harness.experiment.plan import ExperimentPlan
    from muniment_plugins.harness.surroundings import Surroundings

__all__ = ["PINS", "with_data"]

PINS = ("content", "digest")


def with_data(
    program: ExperimentPlan,
    case: Case,
    about: Mapping[str, object],
    lane: Surroundings,
) -> Case:
    """Return *case* with its data, from the treatment, the source or the record.

    Raises:
        CannotTellError: the source gives other data than the pinned one.

    """
    if "data" in case.context:
        given = case.context["data"]
        return replace(case, data=given, origin={"treatment": "data"})
    fetched: list[object] = []

    def fetch(_: object) -> object:
        data = case.host.call(program.datasource, case.told)
        if program.pin == "content":
            return data
        fetched.append(kept(data, lane.values))
        return _pinned(fetched[0])

    request = {"datasource": refer(program.datasource), **about}
    answer = lane.effect("data", request, perform=telling(fetch))
    if program.pin == "digest":
        if not fetched:
            again = case.host.call(program.datasource, case.told)
            fetched.append(kept(again, lane.values))
            _refuse_other(cast("Mapping[str, object]", answer), fetched[0])
        answer = fetched[0]
    return replace(case, data=answer, origin={"event": "data"})


def _pinned(data: object) -> dict[str, object]:
    content = canonical(encode(data))
    return {"pinned": sha256_tag(content), "size": len(content)}


def _refuse_other(pinned: Mapping[str, object], data: object) -> None:
    again = _pinned(data)
    if again != pinned:
        raise CannotTellError(
            f"the datasource gives other data than was pinned: {again['pinned']}, was "
            f"{pinned['pinned']}",
            rule="harness/data",
            place="datasource",
            remedy="supply the data of the run that was recorded",
        )
