"""An eval as a program over a run, live or rebuilt from its ``run.started``.

    ledger.execute(EvalProgram(suite, bound, reader), params=…)

Rules:

- The params are the whole of it: the suite in its normal form, and the runs by their whole
  ids. What it reads of them is an effect, and so is what a judge answers; each verdict is a
  fact. So a replay comes to its verdicts again, from what was read, and needs no judged run.
- It reads at most `AT_ONCE` runs by one effect: an eval of thousands costs few of them.
- A run whose events do not verify has no verdict: the eval fails, and says where.
- Of a run that has no end nobody can tell, unless the case is about how it waits; what does
  not hold of it yet has not failed (`checks.rows`).
- Of a run that is marked *non_certifiable* nobody can tell that it passes (`checks.marks`).
- A judge that cannot be asked judges nothing: nobody can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from muniment import current_run
from muniment.errors import EffectFailed, WrongError
from muniment.formats.lifecycle import UNFINISHED
from muniment.programs.awaiting import settled
from muniment.programs.stable_names import stable_name
from muniment.runs.run import Run
from muniment.runs.waits.stand_ins import AnswerableRequest, completion
from muniment_plugins.evals.checks.assertions import asserted, within_thresholds
from muniment_plugins.evals.checks.differences import as_rows, run_diff
from muniment_plugins.evals.checks.fixtures import held_against
from muniment_plugins.evals.checks.judging import (
    Judgement,
    doubt_of,
    judged,
    judgement_of,
    request_for,
)
from muniment_plugins.evals.checks.marks import held_marks
from muniment_plugins.evals.checks.questions import asked_as_wanted
from muniment_plugins.evals.checks.rows import Held, Rows, of_open_run
from muniment_plugins.evals.checks.verdicts import (
    PASSED,
    case_result,
    suite_result,
    verdict_of_sets,
)
from muniment_plugins.evals.documents.fixture import fixture_of
from muniment_plugins.evals.documents.suite import EvalSuite
from muniment_plugins.evals.regression.comparison import compared_sets
from muniment_plugins.evals.views.fields import stage_of
from muniment_plugins.evals.views.rows import Row, listed, part
from muniment_plugins.evals.vocabulary import EvalFact

__all__ = ["AT_ONCE", "EvalProgram", "Reader", "eval_fault", "rows_of"]

_ASKED = {"clarifying_question", "hitl-question-contains"}
"""What looks at questions, on whose answers a run may wait."""
AT_ONCE = 50
"""How many runs one effect reads."""
Reader = Callable[[EvalSuite, list[Row]], list[Row]]


@stable_name("muniment:eval/1")
@dataclass(frozen=True, slots=True)
class EvalProgram:
    """A suite and the runs that are held against it."""

    suite: EvalSuite
    bound: list[Row]
    """Each case with its run, as `bound_cases` gives them."""
    reader: Reader = field(compare=False)
    pair_by: str = "case"
    """The label that pairs runs of two sets, where they have it."""
    fail_on: str = "worse"
    """Which change of two sets fails: see `exit_of`."""

    is_async = False

    def params(self) -> dict[str, object]:
        """Return the params with which it is run."""
        return {
            "suite": dict(self.suite.document),
            "bound": self.bound,
            "pair_by": self.pair_by,
            "fail_on": self.fail_on,
        }

    def __call__(
        self,
        run: Run,
        suite: object,
        bound: object,
        pair_by: object,
        fail_on: object,
    ) -> object:
        """Hold the runs against the cases, and conclude."""
        if run.has_record:
            given = (suite, bound, pair_by, fail_on)
            for (name, value), known in zip(self.params().items(), given, strict=True):
                run.require_param(name, known, value)
        run.record(
            "eval.started",
            EvalFact(
                suite=self.suite.name,
                digest=self.suite.digest,
                cases=len(self.suite.cases),
                runs=len(self.bound),
                against=sum("against" in one for one in self.bound),
            ),
        )
        results: list[Row] = []
        views: list[Row] = []
        trials: dict[str, str | None] = {}
        for one, view, other in self._read(run):
            case = self.suite.case(one)
            rows = held_marks(view, other) + rows_of(case, view)
            result: Row = {}
            if other is not None:
                result["comparison"] = run_diff(other, view)
                rows += as_rows(result["comparison"])
            for judge in listed(case, "judges"):
                rows.append(self._judged(run, judge, view, trials))
            if view["status"] in UNFINISHED:
                rows = [of_open_run(row) for row in rows]
            result = {**case_result(case, view, rows), **result}
            marks = [*listed(view, "marks"), *listed(other or {}, "marks")]
            if marks:
                result["marks"] = marks
            if "against" in one:
                result["against"] = True
            self._finish(run, result)
            results.append(result)
            views.append(view)
        return self._conclude(run, results, views)

    def _read(self, run: Run) -> Iterator[tuple[Row, Row, Row | None]]:
        """Yield each binding with the view of its run, and of that it is compared to."""
        for first in range(0, len(self.bound), AT_ONCE):
            part = self.bound[first : first + AT_ONCE]
            reads: list[Row] = []
            for one in part:
                reads.append(self._asked(one))
                if "compare_to" in one:
                    other = {**one["compare_to"], "case": one["case"], "other": True}
                    reads.append(other)
            request = {"suite": self.suite.digest, "reads": reads}
            said = run.effect("eval", request, self._perform)
            answer = cast("Mapping[str, Any]", said)
            if "wrong" in answer:
                raise WrongError(**answer["wrong"])
            found = iter(cast("list[Row]", answer["views"]))
            for one in part:
                yield one, next(found), next(found) if "compare_to" in one else None

    def _asked(self, one: Row) -> Row:
        """Return what is read for a binding."""
        names = ("run", "run_path")
        row = {name: one[name] for name in names if name in one}
        judges = listed(self.suite.case(one), "judges")
        return {**row, "case": one["case"], **({"texts": True} if judges else {})}

    def _perform(self, request: object) -> object:
        reads = cast("Mapping[str, Any]", request)["reads"]
        try:
            return {"views": self.reader(self.suite, [dict(one) for one in reads])}
        except WrongError as error:  # an answer, so that it keeps rule and place
            names = ("message", "rule", "place", "remedy", "seq")
            return {"wrong": {name: getattr(error, name) for name in names}}

    @staticmethod
    def _judged(
        run: Run, judge: Mapping[str, Any], view: Row, trials: dict[str, str | None]
    ) -> Held:
        """Return what a judge says, once it proved to judge as people do.

        *trials* holds, for each judge that was tried, why it is not believed.
        """
        work = _work(judge, view)
        if work is None:
            says = f"{judge['id']}: there is no text to judge, or it was erased, or is private"
            return Held("judge", None, says)
        try:
            if judge["id"] not in trials:
                trials[judge["id"]] = _doubt(run, judge)
            task = str(view["texts"]["task"] or "")
            said = trials[judge["id"]] or _ask(run, judge, task, work)
        except EffectFailed as error:
            if error.halts:
                raise
            says = f"{judge['id']}: the judge did not answer: {error.message}"
            return Held("judge", None, says)
        return judged(judge, said)

    @staticmethod
    def _finish(run: Run, result: Row) -> None:
        source = result["source"]
        fact: Row = {
            "case": result["case"],
            "run": result["run_id"],
            "verdict": result["verdict"],
            "severity": result["severity"],
            "compared": sum(result["compared"].values()),
            "proves": result["proves"],
            "self_derived": result.get("self_derived", False),
            "against": result.get("against", False),
            "failures": result["failures"],
            "undecided": result["undecided"],
            "verified": source.get("verified", 0),
        }
        head = source.get("head")
        subject = [] if head is None else [(f"run/{result['run_id']}", head)]
        run.record("eval.case_finished", EvalFact(fact), subject=subject)

    def _conclude(self, run: Run, results: list[Row], views: list[Row]) -> Row:
        mine = [one for one in results if "against" not in one]
        found = suite_result(mine)
        comparison: Row | None = None
        if len(mine) < len(results):
            comparison = compared_sets(results, views, self.pair_by)
            verdict = verdict_of_sets(comparison, self.fail_on)
            found |= {"verdict": verdict, "pass": verdict == PASSED}
        told = {name: value for name, value in found.items() if name != "pass"}
        told["verified"] = _verified(results)
        result: Row = {
            "suite": self.suite.name,
            "digest": self.suite.digest,
            **found,
            "verified": told["verified"],
            "cases": results,
        }
        if comparison is not None:
            result |= {"comparison": comparison, "fail_on": self.fail_on}
            names = ("better", "worse", "unchanged", "undecided", "p_value", "verdict")
            fact = {name: comparison[name] for name in names}
            fact["pairs"] = comparison["pairs"]
            fact["unpaired"] = len(comparison["unpaired"])
            run.record("eval.compared", EvalFact({**fact, "result": comparison}))
        run.record("eval.concluded", EvalFact(told))
        return result


def _verified(results: list[Row]) -> int:
    """Return how many events were verified: those of each judged run, once."""
    sources = (one["source"] for one in results)
    return sum(
        {one["run"]: one["verified"] for one in sources if "run" in one}.values()
    )


def rows_of(case: Mapping[str, Any], view: Row) -> Rows:
    """Return what was compared for *case*, but for other runs and judges."""
    rows = [Held("normaliser", None, one) for one in view.get("slow", [])]
    if view["status"] in UNFINISHED and not _is_about(case, view):
        rows.append(Held("run", None, "the run has no end yet: it may still change"))
    fixture = case.get("fixture")
    if case.get("own_fixture"):
        fixture = fixture_of(
            {"started_at": ""}, view, {}, {"run": view["run"]}, contents=True
        )
    if fixture is not None:
        rows += held_against(view, fixture)
        if fixture["eval_kind"] == "clarifying_question":
            rows += asked_as_wanted(view, fixture)
    for rubric in case.get("rubrics", []):
        rows += asserted(view, rubric)
    return rows + within_thresholds(view, case.get("thresholds", {}))


def _is_about(case: Mapping[str, Any], view: Row) -> bool:
    """Tell whether *case* is about how a run waits: its status, or what it asked."""
    fixture = part(case, "fixture")
    wanted = [fixture.get("expected_status")]
    kinds = [fixture.get("eval_kind")]
    for rubric in listed(case, "rubrics"):
        kinds += [one["kind"] for one in rubric["assertions"]]
        wanted += [
            one["expected"]
            for one in rubric["assertions"]
            if one["kind"] == "run-status"
        ]
    return (
        bool(case.get("own_fixture"))
        or view["status"] in wanted
        or (bool(view["questions"]) and _ASKED & {*kinds} != set())
    )


def _work(judge: Mapping[str, Any], view: Row) -> str | None:
    """Return the text that *judge* sees: of its stage, or of all; None without one."""
    rows: list[Row] = view["texts"]["stages"]
    if "stage" in judge:
        stage = stage_of(view["stages"], judge["stage"])
        known = None if stage is None else stage["id"]
        rows = [one for one in rows if one["id"] == known]
    shown = [text for one in rows for text in one["texts"]]
    if not shown or None in shown:
        return None
    return "\n\n".join(shown)


def _doubt(run: Run, judge: Mapping[str, Any]) -> str | None:
    """Return why *judge* is not believed, once it was asked about its examples."""
    examples: list[Row] = judge["calibration"]
    said = [_ask(run, judge, one.get("task", ""), one["text"]) for one in examples]
    return doubt_of(judge, said)


def _ask(run: Run, judge: Mapping[str, Any], task: str, work: str) -> Judgement:
    """Return the judgement of the model, as an effect."""
    request = AnswerableRequest(request_for(judge, task, work), completion)
    return judgement_of(run.effect("llm", request, _hooked))


def _hooked(request: object) -> object:
    return settled(current_run().hook("complete_prompt", request=request))


def eval_fault(_: object, __: object) -> str | None:
    """Say why nothing is given in place of what the ledger says of the runs."""
    return "it is what the ledger says of runs: fork those, and evaluate the forks"
