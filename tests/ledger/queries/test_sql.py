"""SQL over a ledger: the views say what is there, and nothing else can be reached."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from muniment.errors import MunimentError, RefusedError, UsageError
from muniment.formats.lifecycle import STATUSES
from muniment.ledger import Ledger
from muniment.queries import sql
from muniment.queries.sql import FUNCTIONS, SqlResult, columns_of_views, run_sql
from muniment.queries.views import VIEWS

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "query.md"

FORBIDDEN = (
    "SELECT * FROM event",
    "SELECT payload FROM main.event",
    "SELECT count(*) FROM event",
    "SELECT count(*) FROM 'event'",
    'SELECT count(*) FROM main."event"',
    "SELECT count(*) FROM [Event]",
    "SELECT 1 FROM blob",
    "SELECT data FROM blob",
    "SELECT * FROM subject",
    "SELECT count(*) FROM tile",
    "SELECT * FROM tile",
    "SELECT note FROM checkpoint",
    "SELECT sql FROM sqlite_master",
    "SELECT sql FROM sqlite_schema",
    "SELECT * FROM temp.sqlite_temp_master",
    "SELECT count(*) FROM sqlite_schema",
    "SELECT * FROM pragma_table_info('event')",
    "SELECT count(*) FROM pragma_database_list",
    "SELECT * FROM dbstat",
    "SELECT (SELECT payload FROM event LIMIT 1)",
    "SELECT seq FROM events WHERE EXISTS (SELECT 1 FROM blob)",
    "SELECT seq FROM events UNION SELECT data FROM blob",
    "SELECT e.payload FROM (SELECT payload FROM event) AS events, events AS e",
    # Table expressions that are called like the views that may read.
    "WITH events AS (SELECT payload FROM event) SELECT * FROM events",
    "WITH runs AS (SELECT data FROM blob) SELECT * FROM runs",
    "WITH events AS (SELECT count(*) AS n FROM event) SELECT n FROM events",
    "WITH json_each AS (SELECT data FROM blob) SELECT * FROM json_each",
    "WITH RECURSIVE effects(x) AS (SELECT note FROM checkpoint) SELECT x FROM effects",
    "SELECT load_extension('x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('x', 'y')",
    "SELECT zeroblob(1000000000)",
    "SELECT hex(randomblob(9))",
    "SELECT sqlite_version()",
    "SELECT sqlite_compileoption_get(1)",
    "SELECT fts3_tokenizer('simple')",
)
OTHER_STATEMENTS = (
    "ATTACH DATABASE 'x.db' AS x",
    "DETACH DATABASE main",
    "PRAGMA writable_schema=ON",
    "PRAGMA table_info(event)",
    "INSERT INTO event VALUES (1)",
    "DELETE FROM event",
    "UPDATE event SET type = 'x'",
    "DROP TABLE event",
    "CREATE TABLE x (y)",
    "CREATE TEMP VIEW x AS SELECT 1",
    "VACUUM INTO 'x.db'",
    "BEGIN IMMEDIATE",
    "SAVEPOINT x",
    "REINDEX",
    "ANALYZE",
    "EXPLAIN SELECT * FROM events",
    "EXPLAIN QUERY PLAN SELECT * FROM events",
    "",
    "  -- nothing",
    "/* SELECT */ DROP TABLE event",
)
SMUGGLED = (
    "SELECT 1; DROP TABLE event",
    "SELECT 1; SELECT * FROM event",
    "WITH x AS (SELECT 1) INSERT INTO event SELECT * FROM x",
    "WITH x AS (SELECT 1) DELETE FROM event",
    "WITH x AS (SELECT 1) UPDATE event SET type = 'x' RETURNING *",
)
WRONG_SQL = (
    "SELECT",
    "SELECT nope FROM events",
    "SELECT * FROM nope",
    "SELECT 'open",
    "SELECT ?",
    "SELECT :name",
    "SELECT 1\0",
    "SELECT '\ud800'",
    "SELECT json_extract('{', '$')",
)
_NUMBERS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
BOMBS = (
    f"{_NUMBERS} SELECT count(*) FROM n",
    f"{_NUMBERS} SELECT count(*) FROM n AS a, n AS b",
    f"{_NUMBERS} SELECT max(a.x + b.x) FROM n AS a, n AS b",
)


def _tool(request: object) -> object:
    if request == {"name": "bad"}:
        raise ValueError("no such thing")
    return {"hits": [1.0]}


def _llm(_: object) -> object:
    usage = {"prompt_tokens": 12, "completion_tokens": 5}
    return {"text": "yes", "model": "m-1", "finish_reason": "stop", "usage": usage}


def _program(run: object, what: str) -> int:
    run.effect("llm", {"model": "m", "prompt": "p"}, _llm)  # type: ignore[attr-defined]
    with run.scope("map/0") as lane:  # type: ignore[attr-defined]
        lane.effect("tool", {"name": what}, _tool)
    return 3


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    """Give the ledger a note, a run that completed and one that failed."""
    ledger.append("note.added", {"text": "reviewed", "details": {"secret": 1}})
    ledger.execute(_program, params={"what": "good"}, labels={"team": "x"})
    ledger.execute(_program, params={"what": "bad"})
    return ledger


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give the tests that change nothing one ledger together."""
    place = tmp_path_factory.mktemp("shared")
    with Ledger.create(place / "ledger.db", home=place / "home") as made:
        made.append("note.added", {"text": "x"})
        yield made


def ask(ledger: Ledger, statement: str, **limits: float) -> SqlResult:
    """Return the answer to *statement*."""
    return run_sql(ledger.path, statement, **limits)  # type: ignore[arg-type]


def one(ledger: Ledger, statement: str) -> dict[str, object]:
    """Return the one row that *statement* selects."""
    found = ask(ledger, statement)
    assert len(found.rows) == 1
    return dict(zip(found.columns, found.rows[0], strict=True))


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_nothing_but_the_views_can_be_read(shared: Ledger, statement: str) -> None:
    """No table, no schema, no pragma and no dangerous function is in reach."""
    with pytest.raises(MunimentError) as refused:
        ask(shared, statement)
    absent = refused.value.rule == "query/sql" and "no such" in refused.value.message
    assert refused.value.rule == "query/forbidden" or absent


@pytest.mark.parametrize("statement", OTHER_STATEMENTS)
def test_other_statements_are_usage_errors(shared: Ledger, statement: str) -> None:
    """What does not begin with SELECT, WITH or VALUES is told so."""
    with pytest.raises(UsageError, match="begins with SELECT"):
        ask(shared, statement)


@pytest.mark.parametrize("statement", SMUGGLED)
def test_nothing_can_be_smuggled_behind_a_select(
    shared: Ledger, statement: str
) -> None:
    """A second statement, and a change behind WITH, are refused and change nothing."""
    before = shared.head
    with pytest.raises(MunimentError, match=r"query/(sql|forbidden)"):
        ask(shared, statement)
    assert shared.head == before


@pytest.mark.parametrize("statement", WRONG_SQL)
def test_wrong_sql_is_a_usage_error(shared: Ledger, statement: str) -> None:
    """What SQLite cannot compile is said in one line, as a usage error."""
    with pytest.raises(UsageError, match="query/sql"):
        ask(shared, statement)


@pytest.mark.parametrize("statement", BOMBS)
def test_time_is_limited(shared: Ledger, statement: str) -> None:
    """A statement that would never end is stopped when its time is over."""
    begun = time.monotonic()
    with pytest.raises(RefusedError, match="query/time"):
        ask(shared, statement, timeout=0.2)
    assert time.monotonic() - begun < 60


def test_rows_are_limited(filled: Ledger) -> None:
    """More rows than the limit are cut off, and that is said."""
    assert ask(filled, "SELECT seq FROM events ORDER BY seq", limit=2) == SqlResult(
        ("seq",), [(0,), (1,)], truncated=True
    )
    size = filled.head.size
    assert not ask(filled, "SELECT seq FROM events", limit=size).truncated


def test_bytes_are_limited(shared: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer, and a value in it, may not fill the memory."""
    monkeypatch.setattr(sql, "BYTES", 1000)
    with pytest.raises(RefusedError, match="query/size"):
        ask(shared, f"{_NUMBERS} SELECT printf('%100d', x) FROM n LIMIT 100")
    few = "(SELECT x FROM n LIMIT 20)"
    with pytest.raises(RefusedError, match="query/size"):
        ask(shared, f"{_NUMBERS} SELECT group_concat(printf('%999999d', x)) FROM {few}")


def test_functions_are_named(shared: Ledger) -> None:
    """Every function that SQLite has and the list has not is refused."""
    with closing(sqlite3.connect(":memory:")) as connection:
        rows = connection.execute("SELECT DISTINCT name FROM pragma_function_list")
        known = {str(row[0]) for row in rows}
    others = {name for name in known if name.isidentifier()} - FUNCTIONS
    assert {"load_extension", "randomblob", "zeroblob"} <= others
    for name in others:
        with pytest.raises(MunimentError, match="query/"):
            ask(shared, f"SELECT {name}()")


def test_the_views_can_be_read_in_every_way(filled: Ledger) -> None:
    """Counting, joining, nesting, table expressions and json_each all work."""
    size = filled.head.size
    statements = (
        "SELECT count(*) FROM events",
        "SELECT count(*) FROM (SELECT 1 FROM events)",
        "WITH mine AS (SELECT * FROM events) SELECT count(*) FROM mine",
        "WITH mine AS (SELECT seq FROM events) SELECT count(seq) FROM mine",
        "SELECT count(*) FROM events AS a LEFT JOIN runs AS b ON a.run = b.id",
        "SELECT sum(1) FROM events, json_each(events.subjects) WHERE json_each.key = 0",
        "/* how many */ SELECT count(*) -- there are\nFROM events",
        "SELECT max(seq) + 1 FROM events",
        "SELECT count(*) OVER () FROM events LIMIT 1",
    )
    for statement in statements:
        assert ask(filled, statement).rows == [(size,)]
    for view in VIEWS:
        assert ask(filled, f"SELECT count(*) FROM {view}").rows


def test_events_say_what_the_events_say(filled: Ledger) -> None:
    """Every column of ``events`` is what the event says of itself."""
    rows = ask(filled, "SELECT * FROM events ORDER BY seq")
    assert len(rows.rows) == filled.head.size
    for row, event in zip(rows.rows, filled.events(), strict=True):
        said = dict(zip(rows.columns, row, strict=True))
        for name in ("seq", "type", "version", "time", "run", "scope", "ordinal"):
            assert said[name] == getattr(event, name)
        for name in ("actor", "tenant", "prev", "hash"):
            assert said[name] == getattr(event, name)
        assert said["key"] == event.key.hex()


def test_contents_are_not_shown(filled: Ledger) -> None:
    """A view shows the commitment to a content, never its bytes."""
    note = one(filled, "SELECT data FROM events WHERE type = 'note.added'")
    assert "$blob" in str(note["data"])
    assert "secret" not in str(ask(filled, "SELECT * FROM events").rows)


def test_runs_say_how_they_ended(filled: Ledger) -> None:
    """One row for each run, with its status, counts and labels."""
    good = one(filled, "SELECT * FROM runs WHERE status = 'completed'")
    assert good["labels"] == '{"team":"x"}'
    assert (good["events"], good["effects"]) == (6, 2)
    bad = one(filled, "SELECT * FROM runs WHERE id <> (SELECT min(id) FROM runs)")
    assert (bad["status"], bad["error_type"]) == ("failed", "EffectFailed")


def test_the_page_names_every_status() -> None:
    """The row of the column lists what it may say, in the order in which runs come to it."""
    (row,) = re.findall(
        r"^\| `status` \| (.*`paused`.*) \|$", REFERENCE.read_text(), re.MULTILINE
    )
    assert re.findall(r"`(\w+)`", row) == [*STATUSES]


def test_an_unfinished_run_is_open_or_interrupted(ledger: Ledger) -> None:
    """A run without an end is open; one that its user stopped is interrupted."""

    def stopped(_: object) -> None:
        assert one(ledger, "SELECT status, ended FROM runs") == {
            "status": "open",
            "ended": None,
        }
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.execute(stopped)
    assert one(ledger, "SELECT status FROM runs") == {"status": "interrupted"}


def test_effects_have_their_outcomes(filled: Ledger) -> None:
    """A request stands beside its own outcome, and an attempt beside its."""
    bad = one(filled, "SELECT * FROM effects WHERE status = 'failed'")
    assert (bad["kind"], bad["error_type"], bad["attempt"]) == ("tool", "ValueError", 1)
    filled.resume(str(bad["run"]), _program)
    again = ask(
        filled,
        "SELECT attempt, status, outcome - seq FROM effects WHERE kind = 'tool' "
        f"AND run = '{bad['run']}' ORDER BY seq",
    )
    assert again.rows == [(1, "failed", 1), (2, "failed", 1)]


def test_an_effect_without_outcome_is_open(ledger: Ledger) -> None:
    """While an effect is performed its row says so."""

    def look(_: object) -> object:
        return one(ledger, "SELECT status, outcome FROM effects")["status"]

    def program(run: object) -> object:
        return run.effect("tool", {"name": "x"}, look)  # type: ignore[attr-defined]

    assert ledger.execute(program).result == "open"


def test_llm_calls_have_models_and_tokens(filled: Ledger) -> None:
    """Model, finish reason and token counts come from what the outcome says inline."""
    found = ask(
        filled,
        "SELECT DISTINCT model, finish_reason, input_tokens, output_tokens "
        "FROM llm_calls",
    )
    assert found.rows == [("m-1", "stop", 12, 5)]


def test_artifacts_are_what_events_are_about(filled: Ledger) -> None:
    """Contents are artifacts under their commitments, until they are erased."""
    query = "SELECT digest, stored FROM artifacts WHERE type = 'note.added'"
    before = one(filled, query)
    assert before["stored"] == len('{"secret":1}')
    filled.erase(str(before["digest"]), reason="asked for")
    assert one(filled, query) == {**before, "stored": None}


def test_checkpoints_are_read_from_their_notes(filled: Ledger) -> None:
    """Size, origin and root are those of the signed note."""
    for size, origin, root, note in ask(filled, "SELECT * FROM checkpoints").rows:
        assert str(note).split("\n")[:3] == [origin, str(size), root]


def test_a_query_writes_nothing(filled: Ledger) -> None:
    """Neither the file nor what lies beside it changes by a query."""
    filled.close()
    before = {path.name: path.read_bytes() for path in filled.path.parent.iterdir()}
    ask(filled, "SELECT * FROM effects")
    after = {path.name: path.read_bytes() for path in filled.path.parent.iterdir()}
    new = {name for name in after if not name.endswith(("-wal", "-shm"))}
    assert {name: after[name] for name in new} == {
        name: before[name] for name in before if not name.endswith(("-wal", "-shm"))
    }


def test_every_view_and_column_is_documented(shared: Ledger) -> None:
    """The reference lists exactly the views, their columns in order, the functions."""
    text = REFERENCE.read_text()
    for name, columns in columns_of_views(shared.path).items():
        section = re.search(rf"^## {name}\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
        assert section is not None, name
        documented = re.findall(r"^\| `(\w+)` \|", section[1], re.MULTILINE)
        assert tuple(documented) == columns
    functions = text.split("## Functions\n")[1].split("\n\n")[0]
    assert set(re.findall(r"`([^`]+)`", functions)) == FUNCTIONS
