"""Holding a run against what people had to be asked.

Rules: at least one question and at most one, unless the fixture says otherwise; each is one
of those accepted, has the required terms and none of the forbidden ones. Questions are
compared by their letters and digits, in lower case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment_plugins.evals.checks.rows import Held, Rows
from muniment_plugins.evals.views.rows import Row

__all__ = ["PROBE", "asked_as_wanted", "question_probe"]

PROBE = "question"


def question_probe(fixture: Mapping[str, Any]) -> Row:
    """Return the probe for what *fixture* wants people to be asked."""
    said = fixture["clarifying_question"]
    accepted = [*said.get("accepted_questions", [])]
    if "expected_question" in said:
        accepted.append(said["expected_question"])
    return {
        "id": PROBE,
        "kind": "question",
        "accepted": accepted,
        "required": said.get("required_terms", []),
        "forbidden": said.get("forbidden_terms", []),
    }


def asked_as_wanted(view: Row, fixture: Mapping[str, Any]) -> Rows:
    """Return what holds of the questions of the run in *view*."""
    said = fixture["clarifying_question"]
    least, most = said.get("min_questions", 1), said.get("max_questions", 1)
    asked = len(view["questions"])
    rows = [
        Held("questions", asked >= least, f"it asked {asked}, not at least {least}"),
        Held(
            *("questions", asked <= most, f"it asked {asked}, not at most {most}"),
            final=True,
        ),
    ]
    terms = (
        *("expected_question", "accepted_questions"),
        *("required_terms", "forbidden_terms"),
    )
    if asked and any(said.get(one) for one in terms):
        answer = view["probes"][PROBE]
        found = answer["found"]
        if found is None:
            why = answer.get("why")
            says = "a question was erased" if why is None else f"a question: {why}"
        else:
            wrong = asked - answer["fitting"]
            says = f"{wrong} of {asked} questions are not as wanted"
        rows.append(Held("question", found, says, final=True))
    return rows
