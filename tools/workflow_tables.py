"""The sentences of docs/reference/workflow.md, and its tables that no code can write."""

from __future__ import annotations

__all__ = ["AFTER", "BEFORE", "CHECKS"]

BEFORE = """# Workflows

A graph of nodes and edges, run as a program over a ledger. [Run workflows](../how-to/workflows.md)
says how, step by step; [examples/workflow](../../examples/workflow/lint_fix_test.py) has whole
programs. What a run is, and a replay, a resume and a fork, is that of every program.

```python
from muniment_plugins.workflow import (
    agent_aloop,
    agent_loop,
    agent_records,
    artifact,
    artifact_context,
    artifact_derive,
    listening_to_models,
    load_graph,
    tool_define,
    tool_registry,
    tool_select,
    workflow_aexecute,
    workflow_execute,
    workflow_graph,
    workflow_validate,
)
```

| function | |
|---|---|
| `workflow_graph(document)`, `load_graph(path)` | the graph in its normal form, with its `digest` |
| `workflow_validate(graph, ceiling)` | a report: `valid`, `errors`, `warnings`, `reachable_nodes` |
| `workflow_execute(ledger, task, graph, artifacts, options, key=…)` | how it ended: `status`, `error`, `run_id`, `result_digest`, `artifacts` |
| `workflow_aexecute(…)` | the same, in a running event loop |
| `agent_loop(run, prompt, model=…, tools=…)` | [a model that calls tools](../how-to/agents.md), in a program: how it ended |
| `agent_aloop(…)` | the same, awaited, also with the tools of MCP servers |
| `agent_records(ledger, run)` | the loops of a run: which turn did what |
| `listening_to_models(tell)` | passes on what models say, as they say it |
| `artifact(fields)`, `artifact_derive(parent, kind, fields)` | a typed piece of context, and one made from it |
| `artifact_context(artifacts, policy)` | what a prompt would show of them, and why |
| `tool_registry()`, `tool_define(…)`, `tool_select(…)` | tools, each with its own policy |
| `run_record(ledger, run)`, `load_run_tree(ledger, run)` | [what a run was](run-record.md), and the runs that it called |
| `recorded_artifacts(ledger, run)` | what a run was given and what it made, as artifacts that another run can be given |

`muniment workflow validate|inspect GRAPH` and `muniment run GRAPH --task TEXT` do the same on the
[command line](commands.md).

## Nodes

"""

AFTER = """
## Started once

A run that is started with a key, by the argument `key` or the option of that name, which are the
same, is the only one of that key. Who starts it again gets that run, whatever its status; nothing
is written or called. Two different keys at once are refused (`workflow/key`).

What is started with one key is one thing: another task, graph, artifacts, options or tenant is
refused (`workflow/other-start`), and the message names what differs. Ids and times that were drawn
for the given artifacts are no difference; nor are the name, the labels and the code of handlers.
Once the contents of the first run were erased, nothing can be compared: it is the answer. Forks
belong to no key, and no run of another program has one. Of processes that start at the same moment
one walks; the runs of the others are recorded as refused (`workflow/started`), with the id of the
first. On the command line it is `muniment run GRAPH -p key=…`.

## What other runtimes have, and where it is here

A workflow here is a run in a ledger, so some of what is an option elsewhere is something that
every run has. Nothing of this list is passed over in silence: what is no option or key here is
refused, with the place and with what does it.

| there | asked for here | instead |
|---|---|---|
| `persist_path` | refused | every run is recorded as it goes; `muniment export RUN` and `muniment bundle RUN` write it to files |
| `resume_path`, `resume_run` | refused | `muniment resume RUN`, `ledger.resume(run)` |
| `replay_path`, `replay_run`, `replay_mode` | refused | `muniment replay RUN`, `muniment.replay(ledger, run)`: no handler, command, model or person is asked |
| `audit` | refused | every fact is signed and in order: `muniment events --run RUN`; edits of a graph are `workflow.edited` |
| `mutation_scope` | refused | a `ceiling`, whose `side_effect_level` says what may be changed at most |
| `mutation_session` | refused | it is derived: the run is the session, its ceiling the scope; `run_record(ledger, run)["metadata"]["mutation_session"]`, in which a child names its parent's |
| `approval_policy` | an option | the same, of a graph and of a node, too |
| `max_steps` | an option | the same; used up, the run pauses, and people decide whether it may take as many more |
| `contract_path` | a key of `verify` | relative to the option `cwd`; read when the run begins, held to its shape, and pinned: a resume goes on under what was pinned |
| `output_visibility` | a key of a node | `public`: what a model thinks beside its answer is not kept; `private`: what the node makes comes to no other node, and to no record, page or export but where it is asked for: [what is private](../how-to/sessions.md#what-is-private) |
| `session_id`, `auto_compact` | keys of a node | the same: [sessions](../how-to/sessions.md) |
| `transcript_policy` | refused | `agent_session_reset`, `_fork`, `_trim`, `_compact`, before the run |
| mode `agent` | the same | [a loop over effects](../how-to/agents.md): each call of the model and of a tool is recorded, resumed and replayed by itself |
| `exit_when_verified` | refused | `require_successful_tools`, and a `verify` node after it: what checks the work is not the one who did it |
| `turn_policy`, `tool_format`, `native_tool_fallback`, `tool_examples` | refused | tools are called as the provider's format has it, and an answer without calls is the last one; a `done_sentinel` wants more |
| `post_turn_callback` | refused | the record: `ledger.follow()`, and `listening_to_models` for what a model says |
| worker lifecycle | kind `subagent` | a child run: listed, resumed and canceled with its parent; artifacts say `delegated` and `worker_name` |
| mailbox | signals, updates, queries, controls | letters are signed events, which a run takes by an effect, at its next node or where a handler waits: [signals](../how-to/signals.md) |
| the record of a run: its path, its stages | a projection | `run_record(ledger, run)`, `muniment runs show RUN --json`: [the record](run-record.md); children by `load_run_tree` |

## What users of other engines look for

Those who come from LangGraph, Temporal, DBOS or Prefect ask for the following.

| | | |
|---|---|---|
| durable timers | in | `backoff_ms`, and `run.sleep` in a handler of two arguments; a resume waits the rest. Nothing wakes a run: somebody resumes it |
| timeouts | in | `timeout_s` of a node, and of a command; a thread cannot be ended; a coroutine is where it awaits, and so is a command |
| retries | in | `retry_policy`, each attempt recorded |
| cancel that reaches children | in | [below](#tried) |
| idempotent start | in | `key`: [below](#tried) |
| people in the loop | in | `escalation`, and approvals of tools; signed answers, a quorum |
| signals, queries, updates, pause, going on as new | in | [signals](../how-to/signals.md): what a run took is in its record, so a replay finds it there |
| fork with changed state | in | `ledger.fork(run, at, changes)`: [below](#tried) |
| versioning | in part | a run pins its graph and its contracts, and goes on under them; a handler that changed is [refused](#a-changed-handler), and nothing is migrated |
| caching across runs | out | each run asks anew, so that its record stands alone; a policy's fallback `cached` answers from the ledger once a budget is used up: [govern](../how-to/govern.md#fallbacks) |
| compensation | in | an edge with the branch `error` or `failed` to a node that undoes it: [below](#tried); no order is derived |
| streaming progress | in | each event can be read as soon as it is written: `muniment events tail -f`, or the hook `after_append`. Not the tokens of a model |
| limits across runs | out | `max_concurrent`, `executor` and budgets hold within a run and its children |
| subgraphs | in | `subagent`, with a record of its own |
| races | in | `first` and `quorum` of a join or a map |
| schedules, queues, workers, a server | out | muniment is a library and a file; start runs by what you have, with a `key` |

### Tried

```sh
muniment init
```

```python
# tried.py
import muniment
from muniment import hookimpl
from muniment.plugins import Plugins
from muniment_plugins.workflow import workflow_execute


def choose(stage):
    return "Rome"


def book(stage):
    town = stage.artifacts[-1].body
    if town == "Oslo":
        raise ValueError("no room in Oslo")
    return f"a room in {town}"


def undo(stage):
    return "nothing is booked"


def wait(run, stage):
    run.sleep(0.01)
    return "waited"


TRIP = {
    "name": "trip",
    "entry": "choose",
    "nodes": {
        "choose": {"handler": choose},
        "book": {"handler": book},
        "wait": {"handler": wait},
        "undo": {"handler": undo},
    },
    "edges": [
        {"from": "choose", "to": "book"},
        {"from": "book", "to": "wait"},
        {"from": "book", "to": "undo", "branch": "error"},
    ],
}
ASKS = {"nodes": {"ask": {"kind": "escalation"}}}
NESTED = {"nodes": {"helper": {"kind": "subagent", "graph": ASKS}}}


class Progress:
    @hookimpl
    def after_append(self, event):
        if event.type == "node.completed":
            print("  now:", event.data["node"], event.data["branch"])


if __name__ == "__main__":
    plugins = Plugins(extra={"progress": Progress()})
    with muniment.open(plugins=plugins) as ledger:
        print("progress, a timer, and a key")
        done = workflow_execute(ledger, "go", TRIP, key="trip-7")
        again = workflow_execute(ledger, "go", TRIP, key="trip-7")
        print(done.status, again.run_id == done.run_id)

        print("another choice, and what undoes it")
        chosen = next(ledger.events(run=done.run_id, type="stage.completed"))
        fork = ledger.fork(done.run_id, at=chosen.seq, changes={chosen.seq: "Oslo"})
        print(fork.status, fork.value["artifacts"][-1]["text"])

        print("a child that waits, canceled with its parent")
        run = workflow_execute(ledger, "ask", NESTED).run_id
        ledger.cancel(run, "nobody is there")
        waiting = ("workflow", "helper")
        print([one.status for one in ledger.runs() if one.name in waiting])
```

```output
progress, a timer, and a key
  now: choose success
  now: book success
  now: wait success
completed True
another choice, and what undoes it
  now: choose success
  now: book error
  now: undo success
completed nothing is booked
a child that waits, canceled with its parent
['canceled', 'canceled']
```

### A changed handler

A run goes on with the code that it began with, or not at all. This one failed, its handler is
mended, and the resume is refused, with exit code 4; a new run takes the new code:

```python
# poll.py
def count(stage):
    raise ValueError("three")
```

```json file=poll.json
{"name": "poll", "nodes": {"count": {"handler": "poll:count"}}}
```

```python
# begin.py
import muniment
from muniment_plugins.workflow import load_graph, workflow_execute


if __name__ == "__main__":
    with muniment.open() as ledger:
        print(workflow_execute(ledger, "count", load_graph("poll.json")).status)
```

```output
failed
```

```sh
sed -i 's/raise ValueError("three")/return "three"/' poll.py
muniment resume last
```

The same holds for a script that calls `ledger.resume`, and for functions that the script
itself defines. What is compared is what the start of the run names, in
`program.functions` ([members](../spec/event.md#runs)):

| what is called | named by | compared by a resume |
|---|---|---|
| a function, a class, a method of either | its import path, which has to lead to that very callable; its text | its file, with the packages above it |
| what wraps another: a decorator, `functools.wraps`, `lru_cache`, a partial, a closure over functions, a generic function with its implementations | the text of the wrapper, and of all that it wraps | the files of all of them |
| an object with `__call__`, or a method of one | the statement that makes it; its class, if that is in the same file | the files of the statement, of the class, and of the classes above it |
| a lambda, a closure | its text; a second one of the same path is `module:<lambda><2>` in the graph | a resume cannot find it, and says so |
| code without a text: `python -c`, a prompt, `exec`, bytecode alone; code whose file was edited since it was loaded | its path, and no text | its instructions, by the same version of Python |
| a builtin, code of an installed package | its path, and its text if it has one | not: its version identifies it |

A callable that says it is another (by `functools.wraps`, `__module__` or
`__qualname__`), so that its path leads elsewhere, is refused with `program/path`. So is one
whose name was given to something else since. A function whose `__code__` is replaced
between the start and the call is not called: that is `program/changed`.

Not compared are

- modules that a function imports while it runs, or looks up by a text (those that it names,
  as functions, classes or modules at the top of its file, are compared, and so on from there);
- values: the arguments of a partial, what a closure or an object holds, variables of a
  module, and what somebody puts in their place while the process runs;
- files in a zip archive, of which only the function's own text counts;
- what an importer makes of a file, as pytest does of tests: it is taken at its word.

A notebook's cell is known by its text, or by its instructions if the kernel keeps no
text.
"""

CHECKS = """
### `checks`

| kind | value | holds if |
|---|---|---|
| `expect_status` | 0 to 255 | the command ended with it; needs a command |
| `visible_text_contains` | text | standard output has it; without a command and files, an artifact |
| `combined_output_contains` | text | standard output or standard error has it; needs a command |
| `identifier` | text | output, an artifact or a file that is asked for has it as a whole word |
| `path` | a path | the file is there, below the folder of the run and within `workspace_roots` |
| `text` | text | output, an artifact or a file that is asked for has it |

The first word with which a model answers to a rubric is `PASS` or `FAIL`, in capitals; marks around
it are none of it. An answer whose first line has both words, or begins with neither, is no verdict,
and fails.

### What an empty list means

| where | an empty list |
|---|---|
| `tools`, `workspace_roots`, the operations of a capability, `write_path_allowlist`, `arg_patterns` | nothing is allowed; left out, nothing is limited |
| `auto_approve`, `auto_deny`, `require_approval`, `tool_arg_constraints`, `notes`, `required_…`, `checks` | says nothing, as if left out |
| `input_kinds`, `output_kinds`, `include_kinds`, `include_stages` | all, as if left out |
| `exclude_kinds`, `prioritize_kinds`, `pinned_ids` | none, as if left out |
| `items` of a map | no item: the map completes, and makes nothing |
| `of` of an escalation, a `command` | refused |

### Edges

An edge with the label of the branch takes it, or with the node's own name for that; else one with
another word for it, such as `retry`; else one with `*`; else, if the branch means success, one
without a label. Some branch takes each edge, or the edge is an error.
"""
"""What the checks of a verifier are, what empty lists mean, and which edge is taken."""
