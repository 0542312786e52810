"""Writes docs/reference/evals.md: fixtures, manifests, packs, verdicts, events.

Rules: the tables come from the shapes and the vocabulary, the lines beside them and the
sentences stand here. A key without a line, and a line without a key, are mistakes.
"""

from __future__ import annotations

from collections.abc import Callable

from fixture_keys import (
    BELOW_LINES,
    CALL_LINES,
    EFFECT_LINES,
    FIXTURE_LINES,
    OPTIONS_LINES,
    STAGE_LINES,
)
from workflow_keys import KeySection, Lines
from workflow_page import key_section

from muniment.documents.shapes import Items, ObjectShape
from muniment.events.types import EventType
from muniment_plugins.evals.documents.shapes import (
    CALL,
    CASE,
    EFFECT,
    FIXTURE,
    LACKING,
    MANIFEST,
    OPTIONS,
    PACK,
    PACK_CASE,
    QUESTION,
    RUBRIC,
    RUN_BELOW,
    STAGE,
    THRESHOLDS,
)
from muniment_plugins.evals.views.normaliser import NORMALISER
from muniment_plugins.evals.vocabulary import KINDS, TYPES

__all__ = ["evals"]

ShowEvent = Callable[[str, EventType], str]


def _items(shape: ObjectShape, key: str) -> ObjectShape:
    found = shape.optional[key]
    inner = found.shape if isinstance(found, Items) else found
    assert isinstance(inner, ObjectShape), key  # noqa: S101 - of the code
    return inner


_QUESTION: Lines = {
    "min_questions": ("1", "at least so many are asked"),
    "max_questions": ("1", "at most so many are asked"),
    "expected_question": ("none", "each is this one, by letters and digits"),
    "accepted_questions": ("none", "or one of these"),
    "required_terms": ("none", "each has all of these in it"),
    "forbidden_terms": ("none", "none has one of these in it"),
}
_MANIFEST: Lines = {
    "cases": ("", "the cases"),
    "_type": ("none", "says that it is a manifest"),
    "id": ("`name`, else the file's", "the name of the suite"),
    "name": ("none", "what people call it"),
    "base_dir": ("the file's folder", "what paths are relative to"),
    "normaliser": ("none", "what is taken out of contents"),
}
_CASE: Lines = {
    "label": ("`case-<n>`", "the name of the case"),
    "run": ("those given", "a run of the ledger, by its id or a prefix of it"),
    "run_path": ("none", "or a file with the record of one, which nobody signed"),
    "fixture_path": ("none", "the fixture that it is held to"),
    "compare_to": ("none", "the run that it has to be like: an id, or a file"),
}
_PACK: Lines = {
    "version": ("", "1"),
    "cases": ("", "the cases"),
    "id": ("`name`, else the file's", "the name of the suite"),
    "name": ("none", "what people call it"),
    "description": ("none", "kept in the record of the eval"),
    "base_dir": ("the file's folder", "what paths are relative to"),
    "baseline": ("none", "`compare_to` of cases that have none"),
    "package": ("none", "`name`, `version`, `source`, `templates`: kept in the record"),
    "defaults": ("none", "`severity`, `thresholds`, `judge`; `fixture_root` of paths"),
    "fixtures": ("none", "fixtures by `id`: a `path`, or `inline`; with their `kind`"),
    "rubrics": ("none", "what runs are held to, by `id`"),
    "judge": ("that of the defaults", "the model of rubrics that name none"),
    "normaliser": ("none", "what is taken out of contents"),
    "metadata": ("none", "kept in the record of the eval"),
}
_PACK_CASE: Lines = {
    "id": ("", "the name of the case"),
    "name": ("none", "what people call it"),
    "run": ("those given", "a run of the ledger"),
    "run_path": ("none", "or a file with the record of one, which nobody signed"),
    "fixture": ("none", "a fixture of the pack, by its id"),
    "fixture_path": ("none", "or a file with one"),
    "compare_to": ("`baseline`", "the run that it has to be like"),
    "rubrics": ("none", "rubrics of the pack, by their ids"),
    "severity": (
        "that of its thresholds, else the gravest of its rubrics, else the default",
        "whether it decides the verdict",
    ),
    "thresholds": (
        "those of its rubrics, else of the defaults",
        "what it may take: see below",
    ),
    "metadata": ("none", "kept in the record of the eval"),
}
_RUBRIC: Lines = {
    "id": ("", "by which cases name it"),
    "kind": ("`deterministic`", "what it has to have; `llm-judge` asks a model"),
    "description": ("none", "kept in the record of the eval"),
    "prompt": ("none", "what a judge judges by"),
    "stage": ("all", "the stage whose texts a judge sees"),
    "assertions": ("none", "what is held, whatever the kind"),
    "judge": (
        "that of the pack",
        "`provider`, `model`, `temperature`, `max_tokens`, `system`",
    ),
    "calibration": (
        "none",
        "`text` (with its `task`) and `pass`: judged by people already",
    ),
    "thresholds": ("none", "for the cases that use it; scores for its own judge"),
}
_ASSERTION: Lines = {
    "kind": ("", "what is looked at: see below"),
    "stage": ("none", "a stage by its id, or the last visit of a node"),
    "path": ("none", "of a `field`: where in the record"),
    "op": ("`equals`", "of a `field`: how it compares"),
    "expected": ("none", "what it compares with"),
    "contains": ("none", "the text that has to be in there"),
}
_THRESHOLDS: Lines = {
    "severity": ("none", "as that of the case"),
    "min_score": ("none", "the least score of a judge"),
    "min_confidence": ("none", "below it nobody can tell"),
    "max_cost_usd": ("none", "the cost of calls of models"),
    "max_latency_ms": ("none", "from the start of the run to its end"),
    "max_tokens": ("none", "in and out together, of all calls of models"),
    "max_stage_count": ("none", "visits of nodes"),
}
_NORMALISER: Lines = {
    "name": ("`muniment:run-view/1`", "what is always done; see below"),
    "ignore": ("none", "parts of contents that are not compared"),
    "replace": ("none", "`pattern` and `with`: regular expressions, in their order"),
}
_SECTIONS: tuple[KeySection, ...] = (
    ("A fixture", FIXTURE, FIXTURE_LINES),
    ("A stage of a fixture", STAGE, STAGE_LINES),
    ("A call of a stage of a fixture", CALL, CALL_LINES),
    ("An effect of a stage of a fixture", EFFECT, EFFECT_LINES),
    ("A run below of a fixture", RUN_BELOW, BELOW_LINES),
    ("Options of a fixture", OPTIONS, OPTIONS_LINES),
    ("A clarifying question", QUESTION, _QUESTION),
    ("A manifest", MANIFEST, _MANIFEST),
    ("A case of a manifest", CASE, _CASE),
    ("A pack", PACK, _PACK),
    ("A case of a pack", PACK_CASE, _PACK_CASE),
    ("A rubric", RUBRIC, _RUBRIC),
    ("An assertion", _items(RUBRIC, "assertions"), _ASSERTION),
    ("Thresholds", THRESHOLDS, _THRESHOLDS),
    ("A normaliser", NORMALISER, _NORMALISER),
)
_BEFORE = """# Evals: reference

Recorded runs of graphs, held against fixtures, rubrics, thresholds, a judge and each other.
[Evals](../how-to/evals.md) says how. Documents are JSON, YAML or TOML; an unknown key is
refused with what may have been meant, and what holds a run to nothing is refused, too.

Before a run is read, its events are verified, as a replay does: bytes, hash, signature and key
of each, and the root that its end states; so are those of the runs below it, which it called. One
that does not verify is refused with its place, exit code 1. `verified` counts the events.

| function | returns |
|---|---|
| `run_record_fixture(ledger, run, contents=True, normaliser=None)` | the fixture that the run passes |
| `run_record_eval(ledger, run, fixture=None)` | the result of one case |
| `run_record_eval_suite(ledger, cases)` | the result of cases `{"run", "fixture"?, "label"?}` |
| `run_record_diff(ledger, left, right, normaliser=None)` | how two runs differ, stage by stage |
| `eval_suite_manifest(document, folder)`, `load_suite(path)` | the suite: of a manifest, a pack or a fixture |
| `eval_suite_run(ledger, suite, runs, against, …)` | the result of the suite, or of two sets of runs |
| `junit_xml(result)` | the result as JUnit XML |

All are in `muniment_plugins.evals`; `load_run_tree` and `run_record` are in
`muniment_plugins.workflow`. A run is an id, a prefix of one, `last`, or its record.

## Verdicts

| verdict | exit | when |
|---|---|---|
| `passed` | 0 | everything that was compared is as it should be, and that proves something |
| `failed` | 1 | something is not as it should be |
| `cannot_tell` | 3 | nothing was compared, something is missing, private or was erased, or it proves nothing |

A suite is as bad as the worst of its cases that are `blocking`; the others are counted as
warnings. Each result has `compared`: how many comparisons were made, by their kind. `pass`
of a case says that everything compared was as expected; a fixture that is held against the
run that it was made of has that, is marked `self_derived`, and its verdict is `cannot_tell`.
A fork of that run is marked `fork_derived`: its beginning was answered by it, and what models
took for that is counted for the fork, too.
`changed_stages` names the stages that are not as expected: `act.1`, and `act.1/inner.1` in the run
that `act.1` called. `not_compared` counts what a fixture does not have, and the requests of models
and for letters, which are never compared. A run that was read from a file
is marked `unsigned`, in JUnit, too. Of a run that is open, interrupted or paused nobody can
tell, unless the case is about that status (`run-status`, `expected_status`), or about what people
were asked; what does not hold of it yet has not failed, but a limit that was exceeded has, and so
has a question that should not have been asked. Of a run that is
[marked](../how-to/evidence-bundles.md#a-run-that-is-marked) `non_certifiable` nobody can tell, either,
nor of one that called such a run, or is compared to one: it never passes, and `undecided` has the
mark and its reason. What does not hold of it has failed. Each result, and JUnit, has its `marks`;
other marks decide nothing. No fixture is made of such a run (`evals/marked`). `blocking` counts the cases that block: without
one nothing can fail.

With `against`, the result has a `comparison`: pairs of runs with the same input, which pass
if they pass every blocking case; how many got `better`, `worse`, stayed `unchanged`, or are
`undecided`, as one of a run that is `non_certifiable` is unless it got worse; the same `by_case`, with p-values adjusted by Holm; the exact two-sided p-value of
the sign test (McNemar's, with one run on each side), the interval of the difference of both rates (Bonett and Price, 2012), and means,
p-values and Fieller's intervals of tokens, cost, time and stages. Its `verdict` is `better` or
`worse` only where the test shows it at 5 %; else it is `undecided`, and `because` says why.
The verdict of the eval is `failed` if a blocking case got worse, with `--fail-on shown` if the
test shows it; `cannot_tell` if there is nothing to tell it by. Result, event, exit code and
JUnit say the same. `pair_by` and `fail_on` are refused without `against`.

## Keys
"""
_AFTER = """
### What is looked at

| kind of assertion | needs | holds if |
|---|---|---|
| `run-status` | `expected` | the run ended so |
| `stage-status` | `stage`, `expected` | the stage ended so |
| `visible-text-contains` | `contains` | a text of the `stage`, or of any, has it in it |
| `hitl-question-contains` | `contains` | a question that people were asked has its words |
| `field` | `path`, `op` | the value at that path of the record compares so |

A path is dotted: `usage.total_cost`, `stages.check.verification.ok` for the last visit of a
node, `stages.check.1.outcome` for a stage by its id, `artifacts.0.kind`. One that no
[record](run-record.md) has is refused. An `op` is `equals`, `not-equals`, `contains`,
`not-contains`, `matches` (a regular expression of Python), `less`, `at-most`, `more`, `at-least`,
`exists` or `absent`.

- Values compare as JSON does: 1 is 1.0, and neither `true` nor `"1"`. Whether `not-equals` or
  `not-contains` holds of a value of another type nobody can tell. Numbers and durations are exact.
- At or below what was erased nobody can tell, by any `op`; nor whether something is missing in a
  record of which something was erased.
- At or below what is private nobody is told anything, by any `op`, nor by the other kinds: whoever
  reads the eval would be told, too.
- `usage.input_tokens`, `output_tokens` and `total_cost` are at least what they are where calls lack
  the number (`uncounted_calls`, `unpriced_calls`); whether they are below a limit nobody can tell.
- A stage is `absent` if its graph has the node. Of a node that the graph has not, and of a field
  of a stage or an item that is not there, nobody can tell whether it is absent.
- A pattern that has not come to its end after 2 seconds decides nothing, here and in a normaliser.

A rubric of the kind `replay` is held by the fixture of its case; `budget` has thresholds, `hitl`
an assertion about questions, `side-effect` one of the kind `field`: `stages.act.denials`,
`child_runs`, `policy`. Whatever else a rubric says is held, too, or refused.

### Several rubrics

The order in which a case names its rubrics is nothing, and each holds as it does alone. Of a
`max_*` that several state, the least holds. `min_score` and `min_confidence` are about the judge
of their rubric, and those of the defaults about a judge whose rubric states none. The severity is
the gravest, where a rubric that states none has that of the defaults, which is `blocking` unless
they say otherwise. A `max_*` of the defaults holds if no rubric of the case states it. What the
case states itself goes before all of these, looser or stricter.

### What a run took

Thresholds count what the run took with all runs below it: subagents, and runs that handlers and
programs call; tokens, costs and stages. So do the means of two sets. The `usage` of a record has
the run's own. An answer of a model that does not state both kinds of tokens, or states one that is
no whole number from 0, leaves them unknown, as does a price that is not known, and a called run
that has no end, or is not here: then nobody can tell, unless what is known exceeds the limit
already. Of a record in a file nobody knows what the runs below took.

### What a judge answers

One JSON object, alone or in one block of Markdown:

| member | type | |
|---|---|---|
| `pass` | true or false | **required** |
| `score` | number from 0 to 1 | none: then `min_score` cannot be told |
| `confidence` | number from 0 to 1 | none: then `min_confidence` cannot be told |
| `reason` | text | the first 400 characters are kept |

Other members are passed over. An answer with text around the object, with a member twice, or
with a score out of its range judges nothing: nobody can tell. Nor does one that was cut off or
filtered (a `finish_reason` of `length` or `content_filter`), whatever its text says, or a refusal.
A judge that answers so of an example is not believed. The texts of several stages come in the
order of the visits.

### What makes two runs equal

A normaliser takes out what only one run has: the folder where it ran becomes `$CWD`, as a whole
path or the beginning of one; its id `$RUN`, the ids of runs that it called `$CHILD0`, …, the ids
of artifacts that it was given `$GIVEN0`, …. A `$` before such a word in a text is doubled, so
that no text looks like another. In a run that was called, what stands for a name of its caller
begins with `$ABOVE`: `$ABOVERUN`, `$ABOVEGIVEN0`. Times, durations, positions and commitments are not looked at.
The rest is compared by the SHA-256 of its canonical JSON, and with it the graph, the task, what
the graph says of each node, and what the run published. `ignore` leaves parts out: `graph` where
a changed one may pass (`muniment runs fixture RUN --ignore graph`). A content that was erased
equals nothing. What a run was held to is compared as well: its ceiling, its approval policy, and
how many steps it had. With the graph goes the function of a verifier, by the digest of its source, where
both sides have it.

The calls of tools in a stage are compared one by one: the tool, how the call ended, why it was
denied, and the digest of its arguments. Another one, a further one or a denial changes the stage.
One that waits for people is a call; of a run without an end another call, or one more, has failed,
and one that lacks may come yet. The other effects that a handler asks for are compared so, too: the
kind, how it ended, and the digest of its request; so are decisions of people. What the engine asks
for itself is compared by what came of it, and the requests of its models are counted. Of a timer
it is not compared how long it waits. What a fixture does not have of that is not compared; a record
in a file lacks the arguments.

What the runs below did is compared as the run itself is, and what those below them did: subagents,
and runs that handlers and programs call. A run below is known by the scope of its call,
never by its id; `act.1#2` is the second one there, and `run` stands for the scope of a program that
calls. A run of a program has one stage with the name of the run, whose one artifact is its result.
A fixture that is `complete` and has no `runs_below`, as those from before, cannot tell whether a
run that called others went the same way: make it again. One that is not complete counts them as not
compared.

What is [private](../how-to/sessions.md#what-is-private) is compared, and not shown: by digests
under a key that is made for each reading and kept nowhere, so that nobody can try guesses on what
an eval recorded. A fixture has no digest of it, but `private`; it is read again in the run that
the fixture was made of. Where that run is not there, or was erased, nobody can tell; nor by a
fixture that has a digest from before, nor by records in files. No judge sees it.

### What other formats have

| key | here |
|---|---|
"""
_EVENTS = """
## Events

An eval is a run of the program `muniment:eval/1`. The effect `eval` reads runs: its answer has
digests, and what was found in texts; contents are in it only where a judge sees them, never
private ones, and the judge's answer is an effect of the kind `llm`. A replay comes to the verdict from these, and
needs neither the judged runs nor the judge.

| effect kind | entropy | magnitude | in doubt |
|---|---|---|---|
"""


def evals(show: ShowEvent) -> str:
    """Return the page; *show* writes the section of an event type."""
    parts = [_BEFORE, *(key_section(one) for one in _SECTIONS), _AFTER]
    parts += [f"| `{name}` | {text} |\n" for name, text in sorted(LACKING.items())]
    parts.append(_EVENTS)
    parts += [
        f"| `{one.name}` | {one.source} | {one.magnitude} | {one.on_doubt} |\n"
        for one in KINDS
    ]
    parts += [show("###", one) for one in TYPES]
    return "".join(parts)
