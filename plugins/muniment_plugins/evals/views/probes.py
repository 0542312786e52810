"""Looking into the contents of a run, so that an eval keeps the answer and no content.

    {"id": "r1#0", "kind": "text", "stage": "verify", "contains": "2 passed"}
    → {"found": true, "looked_at": 1}

Rules:

- A text is looked at as it is, and normalised.
- A probe answers true or false, and with how many contents it looked at; if one of them was
  erased, or is private, it answers null, unless another one answers already: what a private
  text has in it would be public in the answer.
- ``stage`` is the id of a stage, or the name of a node: then its last visit is meant.
- Fields of the record: `views.fields`.
- Questions are compared by their letters and digits, in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from muniment_plugins.evals.views.fields import field_answer, stage_of
from muniment_plugins.evals.views.normaliser import Names
from muniment_plugins.evals.views.patterns import TookTooLong
from muniment_plugins.evals.views.rows import Row, listed
from muniment_plugins.evals.views.sealed import IS_PRIVATE, has_erased, has_private
from muniment_plugins.evals.views.view import VisitedArtifacts

__all__ = ["answer_of", "texts_of", "worded"]

_WORD = re.compile(r"[^\W_]+")


def texts_of(record: Mapping[str, Any], stage: Row) -> list[Any]:
    """Return the texts that *stage* made visible; erased ones as the record has them."""
    made = VisitedArtifacts(record["artifacts"]).made_by(stage)
    return [one["text"] for one in made if "text" in one]


def answer_of(record: Mapping[str, Any], probe: Mapping[str, Any], names: Names) -> Row:
    """Return what *probe* finds in *record*, whose *names* are normalised."""
    if probe["kind"] == "text":
        return _text(record, probe, names)
    return _PROBES[probe["kind"]](record, probe)


def _text(record: Mapping[str, Any], probe: Mapping[str, Any], names: Names) -> Row:
    rows = record["stages"]
    if "stage" in probe:
        stage = stage_of(rows, probe["stage"])
        rows = [] if stage is None else [stage]
    texts = [one for row in rows for one in texts_of(record, row)]
    wanted = probe["contains"]
    try:
        found = _found(texts, lambda text: wanted in text or wanted in names.text(text))
    except TookTooLong as error:
        return {"found": None, "looked_at": len(texts), "why": str(error)}
    if not texts and listed(record, "erased"):  # the list of what was made may be gone
        found["found"] = None
    return found


def _found(texts: list[Any], holds: Callable[[str], bool]) -> Row:
    """Return whether one of *texts* passes; null if only an erased one might."""
    there = [one for one in texts if not (has_erased(one) or has_private(one))]
    found: bool | None = any(holds(str(one)) for one in there)
    if found or len(there) == len(texts):
        return {"found": found, "looked_at": len(texts)}
    answer: Row = {"found": None, "looked_at": len(texts)}
    return {**answer, "why": IS_PRIVATE} if any(map(has_private, texts)) else answer


def worded(text: str) -> str:
    """Return the words of *text*, in lower case, with one space between them."""
    return " ".join(_WORD.findall(text.lower()))


def _question(record: Mapping[str, Any], probe: Mapping[str, Any]) -> Row:
    """Answer how many questions are as the probe wants them."""
    prompts = [_prompt(one) for one in record["hitl_questions"]]
    private, erased = (any(map(one, prompts)) for one in (has_private, has_erased))
    asked = [str(one) for one in prompts]
    accepted = [worded(one) for one in probe.get("accepted", [])]
    required = [worded(one) for one in probe.get("required", [])]
    forbidden = [worded(one) for one in probe.get("forbidden", [])]

    def fits(text: str) -> bool:
        said = worded(text)
        return (
            (not accepted or said in accepted)
            and all(one in said for one in required)
            and not any(one in said for one in forbidden)
        )

    good = sum(map(fits, asked))
    found: bool | None = bool(asked) and good == len(asked)
    answer: Row = {"found": found, "looked_at": len(asked), "fitting": good}
    if private:
        return {"found": None, "looked_at": len(asked), "why": IS_PRIVATE}
    return {**answer, "found": None} if erased else answer


def _prompt(row: Row) -> Any:
    prompt = row.get("prompt", "")
    if isinstance(prompt, dict) and not has_erased(cast("object", prompt)):
        return cast("Row", prompt).get("reason", cast("object", prompt))
    return cast("object", prompt)


def _asked(record: Mapping[str, Any], probe: Mapping[str, Any]) -> Row:
    wanted = worded(probe["contains"])
    prompts = [_prompt(one) for one in record["hitl_questions"]]
    return _found(prompts, lambda text: wanted in worded(text))


_PROBES: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Row]] = {
    "question": _question,
    "asked": _asked,
    "field": field_answer,
}
