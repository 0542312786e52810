"""The views that SQL may read, and the source of each column.

    SELECT kind, count(*), sum(duration_us) FROM effects GROUP BY kind

Rules:

- Columns come from the signed payload; a position, a type or a run comes from the
  column that repeats it, so that the indexes are used.
- A content is outside its event: a view shows its commitment, never its bytes.
- A float without fraction, which canonical JSON cannot tell from an integer, is signed as
  ``{"$float": "1.0"}``. A view shows the number: whoever adds columns up adds up all.
- No view and no column has the name of a table of the ledger.
- A published name keeps its meaning; views and columns are only added.

In the text below ``chain(e.time)`` is the member *time* of the chain's own fields of
the event *e*, ``data(e.name)`` a member of its data, ``number(e.size)`` one that may be a
float, and ``content(e.params)`` the commitment to a content. ``docs/reference/query.md``
says what every column is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from muniment.events.token_counts import TokenCount, tokens_taken
from muniment.formats.lifecycle import (
    BEGINNINGS,
    CANCELED,
    COMPLETED,
    ENDS,
    FAILED,
    MARKED,
    OPEN,
    STARTED,
)

__all__ = ["FUNCTIONS_OF_VIEWS", "VIEWS"]

_MACRO = re.compile(r"\b(chain|data|number|content)\((\w+)\.([\w.]+)\)")
_SAID = re.compile(r"\b(said|plain)\((\w+)\)")
_TEXTS = {
    "said": "CAST({0}.payload AS TEXT)",
    "plain": "CAST(plain_numbers(CAST({0}.payload AS BLOB)) AS TEXT)",
}
"""The payload as it was signed, and with its numbers as SQL adds them up."""
_FLOAT = re.compile(rb'\{"\$float":"(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?)"\}')
"""A number as JSON spells it. Within a string of JSON, the quotes would be escaped."""
_PATHS = {
    "chain": "$.predicate.muniment.{}",
    "data": "$.predicate.data.{}",
    "number": "$.predicate.data.{}",
    "content": '$.predicate.data.{}."$blob"',
}


def plain_numbers(text: bytes) -> bytes:
    """Return the JSON *text* with floats as numbers; the views call it.

    Infinities and what is no number have no spelling in JSON, and stay as they are. The
    text need not be UTF-8: SQLite does not look, and one bad row hides no other.
    """
    return _FLOAT.sub(rb"\1", text)


def tokens_read(usage: object) -> int | None:
    """Return the tokens that a model read, by the *usage* of its answer as JSON."""
    return _taken(usage).read


def tokens_written(usage: object) -> int | None:
    """Return the tokens that it wrote."""
    return _taken(usage).written


def _taken(usage: object) -> TokenCount:
    try:
        told: object = json.loads(usage) if isinstance(usage, str) else None
    except (ValueError, RecursionError):
        told = None
    return tokens_taken(told)


FUNCTIONS_OF_VIEWS: Mapping[str, Callable[..., bytes | int | None]] = {
    one.__name__: one for one in (plain_numbers, tokens_read, tokens_written)
}
"""The functions of ours, each of one argument, which only the views may call."""


def _sql(text: str) -> str:
    """Return *text* with its macros written out."""

    def member(found: re.Match[str]) -> str:
        path = _PATHS[found[1]].format(found[3])
        form = "plain" if found[1] == "number" else "said"
        return f"json_extract({form}({found[2]}), '{path}')"

    def readable(found: re.Match[str]) -> str:
        """Return the payload, or nothing if it is no JSON: one bad row hides no other."""
        told, as_signed = _TEXTS[found[1]], _TEXTS["said"].format(found[2])
        return (
            f"CASE WHEN json_valid({as_signed}) "
            f"THEN {told.format(found[2])} ELSE '{{}}' END"
        )

    return _SAID.sub(readable, _MACRO.sub(member, text))


_EVENTS = """
SELECT e.seq AS seq, e.type AS type, chain(e.version) AS version,
  chain(e.time) AS time, e.run AS run, chain(e.scope) AS scope,
  chain(e.ordinal) AS ordinal, chain(e.actor) AS actor, chain(e.tenant) AS tenant,
  chain(e.prev) AS prev, lower(hex(e.hash)) AS hash, lower(hex(e.key)) AS key,
  json_extract(plain(e), '$.predicate.data') AS data,
  json_extract(said(e), '$.subject') AS subjects,
  json_extract(said(e), '$.predicate.muniment.series') AS series
FROM main.event AS e
"""

# The unary plus keeps SQLite from choosing the index on the type.
_STATUS = " ".join(
    f"WHEN '{kind}' THEN "
    + (f"coalesce(data(z.status), '{status}')" if kind == FAILED else f"'{status}'")
    for kind, status in ENDS.items()
)
_FINAL = (CANCELED, COMPLETED)
_RUNS = f"""
SELECT s.run AS id, data(s.name) AS name,
  CASE z.type {_STATUS} ELSE '{OPEN}' END AS status,
  chain(s.time) AS started,
  CASE WHEN z.type IN {BEGINNINGS} THEN NULL
    ELSE chain(z.time) END AS ended,
  data(z.duration_us) AS duration_us, s.seq AS first,
  (SELECT max(x.seq) FROM main.event AS x WHERE x.run = s.run) AS last,
  (SELECT count(*) FROM main.event AS x WHERE x.run = s.run) AS events,
  (SELECT count(*) FROM main.event AS x
    WHERE x.run = s.run AND +x.type GLOB '*.requested') AS effects,
  chain(s.tenant) AS tenant, chain(s.actor) AS actor, data(s.labels) AS labels,
  coalesce(data(s.program.name), data(s.program.import)) AS program,
  data(z.error_type) AS error_type, data(s.replay_of) AS replay_of, content(s.params) AS params,
  content(z.result) AS result,
  (SELECT json_group_array(m.mark) FROM (SELECT data(x.mark) AS mark
    FROM main.event AS x WHERE x.run = s.run AND +x.type = '{MARKED}'
    GROUP BY 1 ORDER BY min(x.seq)) AS m WHERE m.mark IS NOT NULL) AS marks
FROM main.event AS s JOIN main.event AS z ON z.seq = (
  SELECT x.seq FROM main.event AS x WHERE x.run = s.run AND +x.type IN
    {(*BEGINNINGS, *ENDS)}
  ORDER BY x.type NOT IN {_FINAL},
    CASE WHEN x.type IN {_FINAL} THEN x.seq ELSE -x.seq END LIMIT 1)
WHERE s.type = '{STARTED}' AND s.run IS NOT NULL
"""  # noqa: S608 - names of ours

# The inner SELECT finds the next event of the same effect: its outcome, or another
# attempt.
_EFFECTS = """
SELECT r.seq AS seq, r.run AS run, chain(r.scope) AS scope,
  chain(r.ordinal) AS ordinal,
  substr(r.type, 1, length(r.type) - length('.requested')) AS kind,
  coalesce(data(r.attempt), 1) AS attempt, chain(r.time) AS time,
  CASE WHEN o.type GLOB '*.completed' THEN 'completed'
    WHEN o.type GLOB '*.failed' THEN 'failed' ELSE 'open' END AS status,
  o.seq AS outcome, data(o.duration_us) AS duration_us,
  data(o.answered_by.who) AS answered_by, data(o.error_type) AS error_type,
  data(r.about) AS about_request, data(o.about) AS about_response,
  content(r.request) AS request, content(o.value) AS value
FROM main.event AS r
LEFT JOIN main.event AS o ON o.type <> r.type AND o.seq = (
  SELECT x.seq FROM main.event AS x WHERE x.run = r.run AND x.seq > r.seq
    AND chain(x.scope) = chain(r.scope) AND chain(x.ordinal) = chain(r.ordinal)
    AND +x.type NOT GLOB '*.streamed'
  ORDER BY x.seq LIMIT 1)
WHERE r.run IS NOT NULL AND r.type GLOB '*.requested'
"""

_LLM_CALLS = _EFFECTS.replace(
    "\nFROM main.event AS r\n",
    """,
  coalesce(data(o.about.model), data(r.about.model)) AS model,
  data(r.about.provider) AS provider, data(o.about.finish_reason) AS finish_reason,
  tokens_read(data(o.about.usage)) AS input_tokens,
  tokens_written(data(o.about.usage)) AS output_tokens
FROM main.event AS r
""",
).replace("r.type GLOB '*.requested'", "r.type = 'llm.requested'")

_ARTIFACTS = """
SELECT e.seq AS seq, e.type AS type, e.run AS run,
  json_extract(j.value, '$.name') AS name,
  'sha256:' || json_extract(j.value, '$.digest.sha256') AS digest,
  (SELECT length(b.data) - 32 FROM main.blob AS b WHERE b.digest = s.digest) AS stored
FROM main.subject AS s JOIN main.event AS e ON e.seq = s.seq
JOIN json_each(said(e), '$.subject') AS j
  ON json_extract(j.value, '$.digest.sha256') = lower(hex(s.digest))
"""

# The note begins with origin, size and root, a line each.
_CHECKPOINTS = """
SELECT n.size AS size, substr(n.note, 1, instr(n.note, char(10)) - 1) AS origin,
  substr(n.rest, 1, instr(n.rest, char(10)) - 1) AS root, n.note AS note
FROM (SELECT c.size AS size, CAST(c.note AS TEXT) AS note,
    substr(CAST(c.note AS TEXT), instr(CAST(c.note AS TEXT), char(10)) + 2
      + length(c.size)) AS rest
  FROM main.checkpoint AS c) AS n
"""

VIEWS: dict[str, str] = {
    "artifacts": _sql(_ARTIFACTS),
    "checkpoints": _sql(_CHECKPOINTS),
    "effects": _sql(_EFFECTS),
    "events": _sql(_EVENTS),
    "llm_calls": _sql(_LLM_CALLS),
    "runs": _sql(_RUNS),
}
"""Name → the SELECT behind it, over the tables of ``muniment.formats.tables``."""
