"""Evals in Python, in the chapter's words.

    fixture = run_record_fixture(ledger, good)
    run_record_eval(ledger, other, fixture)["failures"]
    ["verify.1: the branch is failed, not passed"]

Rules:

- Every eval is a run of the ledger, whose id its result has: ``eval_run_id``. A fixture and
  a difference are read, and leave nothing.
- A run is named by its id, by a prefix of it, or given as its record: then nobody signed
  for it, and the result says ``unsigned``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from muniment.documents.places import At, near
from muniment.documents.reading import plain_document
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import RefusedError, UsageError
from muniment_plugins.evals.checks.differences import run_diff
from muniment_plugins.evals.checks.marks import held_marks
from muniment_plugins.evals.checks.verdicts import FAIL_ON, exit_of
from muniment_plugins.evals.documents.fixture import read_fixture
from muniment_plugins.evals.documents.parts import sound_record
from muniment_plugins.evals.documents.suite import (
    FAMILY,
    EvalSuite,
    SuiteLike,
    suite_of,
)
from muniment_plugins.evals.engine.assembly import assembled
from muniment_plugins.evals.engine.binding import graph_run, require_label
from muniment_plugins.evals.engine.reading import own_fixture, recorded_view, seen
from muniment_plugins.evals.views.normaliser import NORMALISER, Normaliser
from muniment_plugins.evals.views.sealed import sealed

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "RunLike",
    "eval_suite_manifest",
    "eval_suite_run",
    "run_record_diff",
    "run_record_eval",
    "run_record_eval_suite",
    "run_record_fixture",
]

RunLike: TypeAlias = "str | Mapping[str, Any]"


def run_record_fixture(
    ledger: Ledger,
    run: str,
    *,
    contents: bool = True,
    normaliser: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Return the fixture that *run* passes, and another run only if it went the same way.

    Args:
        ledger: where the run is.
        run: its id, or a unique prefix of it.
        contents: whether what stages made and worked on is part of it, by digest; without,
            it holds how they ended only.
        normaliser: what is taken out of contents first.

    Raises:
        RefusedError: it is marked non_certifiable, or a run below it is: nothing is held to
            what nobody can certify.
        UsageError: there is no such run, it walks no graph, or the normaliser is wrong.

    """
    made = _normaliser(normaliser)
    record, view = recorded_view(
        ledger, graph_run(ledger, run), made, {}, token_bytes(32)
    )
    for one in held_marks(view):
        raise RefusedError(
            f"{one.says}: no fixture is made of it",
            rule="evals/marked",
            place=f"run {view['run']}",
            remedy="make it of a run that has no such mark",
        )
    source = {name: view["source"][name] for name in ("run", "head")}
    return own_fixture(record, view, source, made, contents=contents)


def run_record_eval(
    ledger: Ledger, run: RunLike, fixture: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """Return whether *run* is as *fixture* says, by an eval that is recorded.

    Without a fixture the run is held against its own, which proves nothing: the verdict is
    ``cannot_tell``, and ``self_derived`` says why.

    Raises:
        UsageError: there is no such run, or the fixture has a mistake.

    """
    row: dict[str, Any] = {"run": run}
    if fixture is not None:
        row["fixture"] = fixture
    found = run_record_eval_suite(ledger, [row])
    (case,) = found["cases"]
    return {
        **case,
        "eval_run_id": found["eval_run_id"],
        "exit_code": found["exit_code"],
    }


def run_record_eval_suite(
    ledger: Ledger, cases: Iterable[Mapping[str, Any]], *, name: str = "suite"
) -> dict[str, Any]:
    """Return the result of a suite whose cases are ``{"run": …, "fixture"?, "label"?}``.

    Raises:
        UsageError: there is no such run, or a fixture has a mistake.

    """
    records: dict[str, Mapping[str, JsonValue]] = {}
    rows: list[JsonValue] = []
    for number, one in enumerate(cases):
        at = At("the suite", FAMILY).key("cases").item(number)
        row: dict[str, Any] = {
            "id": one.get("label") or f"case-{number + 1}",
            "severity": "blocking",
        }
        if isinstance(one["run"], str):
            row["run"] = one["run"]
        else:
            row |= _given(one["run"], at, records)
        if one.get("fixture") is None:
            row["own_fixture"] = True
        else:
            plain = plain_document(dict(one["fixture"]), FAMILY, "the fixture")
            row["fixture"] = read_fixture(plain, At("the fixture", FAMILY))
        rows.append(row)
    document: dict[str, JsonValue] = {
        "_type": "eval_suite",
        "id": name,
        "normaliser": Normaliser().document(),
        "cases": rows,
    }
    return eval_suite_run(ledger, EvalSuite(document, records=records))


def _given(
    record: Mapping[str, Any], at: At, records: dict[str, Mapping[str, JsonValue]]
) -> dict[str, JsonValue]:
    """Return the case of a record that is given as such."""
    plain = plain_document(dict(record), FAMILY, "the record")
    found = sound_record(cast("dict[str, JsonValue]", plain), at.key("run"))
    digest = sha256_tag(canonical(found))
    path = f"record/{digest[7:23]}"
    records[path] = found
    return {"run_path": path, "sha256": digest}


def run_record_diff(
    ledger: Ledger,
    left: RunLike,
    right: RunLike,
    *,
    normaliser: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Return how two runs differ, stage by stage; it leaves nothing in the ledger.

    Raises:
        UsageError: there is no such run, or it walks no graph.

    """
    made, key = _normaliser(normaliser), token_bytes(32)
    views: list[dict[str, Any]] = []
    for one in (left, right):
        if isinstance(one, str):
            run = graph_run(ledger, one)
            views.append(recorded_view(ledger, run, made, {}, key)[1])
        else:
            plain = plain_document(dict(one), FAMILY, "the record")
            record = sound_record(
                cast("dict[str, JsonValue]", plain), At("the record", FAMILY)
            )
            views.append(seen(sealed(record), made, {}))
    return run_diff(views[0], views[1])


def eval_suite_manifest(config: SuiteLike, folder: str = ".") -> EvalSuite:
    """Return the suite in *config*: a manifest, a pack or a fixture.

    Raises:
        UsageError: it has a mistake; one line, with the key path.

    """
    return suite_of(config, folder)


def eval_suite_run(  # noqa: PLR0913 - keyword-only, each with a default
    ledger: Ledger,
    suite: SuiteLike,
    runs: Sequence[str] = (),
    against: Sequence[str] = (),
    *,
    pair_by: str | None = None,
    fail_on: str | None = None,
    folder: str = ".",
    labels: Mapping[str, str] | None = None,
    tenant: str = "default",
) -> dict[str, Any]:
    """Return the result of *suite*, by an eval that is recorded.

    Args:
        ledger: where the runs are, and where the eval is recorded.
        suite: a suite, or the document of one.
        runs: what cases that name no run are about: ids, or ``LABEL=VALUE``.
        against: the same, of the runs that these are compared with, case by case.
        pair_by: with *against*, the label that says which runs are of one case: ``case``
            where they have it, else their input pairs them.
        fail_on: with *against*, ``worse`` or ``shown``: which change makes the exit code 1.
        folder: what paths of a document are relative to.
        labels: those of the eval's own run.
        tenant: that of the eval's own run.

    Raises:
        UsageError: the suite has a mistake, or there is no such run.
        EffectFailed: a run could not be read.

    """
    typed = suite_of(suite, folder)
    _require_sets(against, pair_by, fail_on)
    program = assembled(
        ledger, typed, runs, against, pair_by or "case", fail_on or "worse"
    )
    if pair_by is not None:
        require_label(ledger, program.bound, pair_by)
    done = ledger.execute(
        program,
        params=program.params(),
        name=f"eval {typed.name}",
        labels=labels,
        tenant=tenant,
    )
    done.raise_failure()
    result = cast("dict[str, Any]", done.value)
    return {**result, "eval_run_id": done.run_id, "exit_code": exit_of(result)}


def _require_sets(
    against: Sequence[str], pair_by: str | None, fail_on: str | None
) -> None:
    """Refuse what only two sets of runs have, and a change that nobody knows.

    Raises:
        UsageError: there is one set, or the change is none.

    """
    for place, said in (("--pair-by", pair_by), ("--fail-on", fail_on)):
        if said is not None and not against:
            raise UsageError(
                "there is one set of runs: nothing is paired",
                rule="evals/one-side",
                place=place,
                remedy="name the other set with --against, or leave it out",
            )
    if fail_on is not None and fail_on not in FAIL_ON:
        raise UsageError(
            f"{fail_on!r:.60} is no change",
            rule="evals/enum",
            place="--fail-on",
            remedy=near(fail_on, FAIL_ON),
        )


def _normaliser(said: Mapping[str, object] | None) -> Normaliser:
    at = At("the normaliser", FAMILY)
    plain = plain_document(dict(said or {}), FAMILY, "the normaliser")
    NORMALISER.check(plain, at)
    return Normaliser.read(cast("Mapping[str, JsonValue]", plain), at)
