"""A small coding agent: it reads, edits, runs the tests, and is verified and reviewed.

python repair.py FOLDER                      mends the modules there, until its cases hold
python repair.py FOLDER                      goes on, if it was killed before it was done
python repair.py FOLDER --fork 25            another run, from where event 25 stands
python repair.py FOLDER --fork 25 --model openai:gpt-4o    another model, from that turn on
python repair.py                             mends a module that is brought along, here

The folder is the workspace, and has the ledger. Its `cases.json` says what its modules are
to return or to raise:

[{"call": "prices:total", "given": [[3, 4], 2], "wanted": 5},
 {"call": "prices:total", "given": [null], "raises": "TypeError"}]

MODEL=openai:gpt-4o names who is asked; without it the scripts mend.json and review.json of
the folder answer. The agent reads what is in the folder, and edits modules. What it says
about its work counts for nothing: the cases with which the run began are run once more, in
the capsule, and another model reads the change.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import muniment
from capsule_cases import judged, read_cases
from muniment_plugins.workflow import (
    StageInput,
    ToolRegistry,
    listening_to_models,
    tool_define,
    tool_registry,
    tool_select,
    workflow_execute,
)
from repair_report import one_line, repair_report

LEDGER, CASES = ".muniment/ledger.db", "cases.json"
BROUGHT = Path(__file__).parent / "repositories" / "prices"


def modules() -> dict[str, str]:
    """Return the modules of the folder, without those that are hidden, and without links."""
    found = sorted(one for one in Path().rglob("*.py") if one.is_file())
    hidden = [one for one in found if any(part[0] == "." for part in one.parts)]
    own = [one for one in found if one not in hidden and not one.is_symlink()]
    return {one.as_posix(): one.read_bytes().decode() for one in own}


def difference(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return what *new* changes, as a unified diff."""
    lines: list[str] = []
    for path in sorted({*old, *new}):
        texts = (old.get(path, "").splitlines(), new.get(path, "").splitlines())
        lines += difflib.unified_diff(*texts, path, path, lineterm="", n=0)
    return "\n".join(lines)


def read(path: str) -> str:
    """Return the text of a file."""
    if Path(path).exists() and not Path(path).is_file():  # a pipe would wait for ever
        raise ValueError(f"{path} is no file")
    return Path(path).read_text()


def module(path: str) -> str:
    """Return the name of a module here: a tool gets the whole path that was judged."""
    return Path(os.path.relpath(os.path.realpath(path))).as_posix()


def edit(path: str, old: str, new: str) -> str:
    """Replace *old*, which is in the module once, by *new*; not if that was done before."""
    own, path = modules(), module(path)
    if path not in own:
        found = f"{path} is none of the modules {', '.join(own)}"
        raise ValueError(found)
    text = own[path]
    if text.count(old) != 1:
        found = f"{old!r:.80} is there {text.count(old)} times, and not once"
        raise ValueError(found)
    if old in new and new in text:
        found = f"{new!r:.80} is there before"
        raise ValueError(found)
    changed = text.replace(old, new)
    spare = Path(LEDGER).with_name("edited")
    spare.write_bytes(changed.encode())
    spare.replace(path)  # at once, whenever it is killed
    return difference({path: text}, {path: changed})


def run_tests() -> dict[str, Any]:
    """Run the cases in the capsule, and say which of them come out wrong."""
    return judged(read_cases(Path(CASES)), modules())


def change(stage: StageInput) -> str:
    """Return how the modules differ from those with which the run began."""
    began: Any = stage.metadata["modules"]
    return difference(began, modules())


def cases_hold(stage: StageInput) -> dict[str, Any]:
    """Run the cases with which the run began: the verdict is not the agent's."""
    cases: Any = stage.metadata["cases"]
    found = judged(cases, modules())
    return {"ok": found["ok"], "reason": json.dumps(found)}


def tools() -> ToolRegistry:
    """Return the three tools, each with what it does at most."""
    path = {"path": {"type": "string"}}
    texts = {name: {"type": "string"} for name in ("old", "new")}
    made = tool_registry()
    for name, what, handler, parameters, level in (
        ("read", "Read a file", read, path, "read_only"),
        ("edit", "Replace a text in a module", edit, path | texts, "workspace_write"),
        ("run_tests", "Run the cases", run_tests, {}, "process_exec"),
    ):
        held = {"path_params": ["path"]} if parameters else {}
        policy = {"side_effect_level": level, **held}
        options = {"parameters": parameters, "handler": handler, "policy": policy}
        made = tool_define(made, name, what, options)
    return made


def model(script: str) -> dict[str, Any]:
    """Return who is asked."""
    if os.environ.get("MODEL"):
        return {"model": os.environ["MODEL"], "stream": True}
    return {"provider": "scripted", "model": script}


def graph() -> dict[str, Any]:
    """Return the graph: mend, say what changed, verify, review."""
    began, cases = modules(), read_cases(Path(CASES))
    own_files = {"tool": "edit", "arg_key": "path", "arg_patterns": ["*.py"]}
    return {
        "name": "repair",
        "entry": "mend",
        "nodes": {
            "mend": {
                "mode": "agent",
                "tools": tools(),
                "system": "You mend Python modules. Change as little as you can.",
                "prompt": f"Mend {', '.join(began)}, so that the cases in {CASES} hold.",
                "model_policy": {
                    **model("mend.json"),
                    "max_iterations": 12,
                    "max_tool_calls": 30,
                    "max_concurrent_tools": 1,  # two edits of one module
                    "require_successful_tools": ["run_tests"],
                },
                "capability_policy": {
                    "workspace_roots": ["."],
                    "tool_arg_constraints": [own_files],
                },
                "approval_policy": {"auto_approve": ["edit", "run_tests"]},
                "max_visits": 3,
            },
            "change": {"handler": change, "metadata": {"modules": began}},
            "verify": {
                "kind": "verify",
                "verify": {"handler": cases_hold},
                "metadata": {"cases": cases},
            },
            "review": {
                "kind": "verify",
                "mode": "agent",
                "tools": tool_select(tools(), ["read"]),
                "model_policy": {**model("review.json"), "max_iterations": 6},
                "capability_policy": {"workspace_roots": ["."]},
                "verify": {
                    "rubric": "Does the change mend the cause, for all values and not for "
                    "the cases alone, and change nothing else?"
                },
            },
        },
        "edges": [
            {"from": "mend", "to": "change"},
            {"from": "change", "to": "verify"},
            {"from": "verify", "to": "mend", "branch": "failed"},
            {"from": "verify", "to": "review"},
            {"from": "review", "to": "mend", "branch": "failed"},
        ],
    }


def unfinished(ledger: muniment.Ledger) -> str | None:
    """Return the repair that was cut off, if there is one."""
    left = ledger.runs(status="open,interrupted", order="desc")
    return next((one.id for one in left if one.name == "repair"), None)


def began_with(ledger: muniment.Ledger, run: str) -> dict[str, str]:
    """Return the modules as they were when the run began."""
    params: Any = ledger.resolve(next(ledger.events(run=run)))["params"]
    return dict(params["graph"]["nodes"]["change"]["metadata"]["modules"])


def is_as_verified(ledger: muniment.Ledger, run: str) -> bool:
    """Tell whether the modules are those that the run verified, and nobody changed them."""
    events = ledger.events(run=run, type="stage.completed")
    *_, last = (
        ledger.resolve(one) for one in events if f"{one.scope}".startswith("change.")
    )
    return difference(began_with(ledger, run), modules()) == last["value"]


def put_back(ledger: muniment.Ledger, run: str, at: int) -> None:
    """Write the modules as they were at an event: as the run began, and each edit since."""
    events = [one for one in ledger.events(run=run) if one.seq <= at]
    texts = began_with(ledger, run)
    asked: dict[str | None, Any] = {}
    for event in events:
        if event.type == "tool.requested":
            asked[event.scope] = ledger.resolve(event)["request"]
        elif event.type == "tool.completed" and asked[event.scope]["name"] == "edit":
            path, old, new = (
                asked[event.scope]["arguments"][one] for one in ("path", "old", "new")
            )
            name = module(path)
            texts[name] = texts[name].replace(old, new)
    for path, text in texts.items():
        Path(path).write_bytes(text.encode())


def forked(ledger: muniment.Ledger, at: int, model: str | None) -> str:
    """Fork the repair of event *at* there, or at the turn that it is in; return the fork."""
    run, changes = ledger.event(at).run, {}
    if run not in [one.id for one in ledger.runs() if one.name == "repair"]:
        found = f"event {at} is of no repair"
        raise ValueError(found)
    if model:
        turns = ledger.events(run=run, type="agent.turn.completed")
        at = max((one.seq for one in turns if one.seq <= at), default=-1)
        if at < 0:
            found = "no model has had a turn by then"
            raise ValueError(found)
        changes = {at: model}
    put_back(ledger, run, at)
    return ledger.fork(run, at=at, changes=changes).run_id


def went(ledger: muniment.Ledger, at: int | None, model: str | None) -> str:
    """Mend, or go on with what was cut off, or fork; return the run."""
    left = unfinished(ledger)
    if left is not None:
        print(f"going on with run {left}")
        # An edit that was cut off may have been made: then making it again fails, and the
        # model is told so.
        return ledger.resume(left, repeat=["tool"]).run_id
    if at is not None:
        return forked(ledger, at, model)
    return workflow_execute(ledger, "Mend the modules", graph()).run_id


def main() -> int:
    """Mend the modules of a folder; return 0 if they are repaired, and 1 if not."""
    asked = argparse.ArgumentParser(description="Mend the Python modules of a folder.")
    asked.add_argument("folder", nargs="?", help="with modules and cases.json")
    asked.add_argument("--fork", type=int, metavar="SEQ", help="go on from that event")
    asked.add_argument(
        "--model", help="which answers the turn of that event, and later ones"
    )
    given = asked.parse_args()
    if given.model and given.fork is None:
        asked.error("--model goes along with --fork")
    if given.folder is None:
        for one in BROUGHT.iterdir():
            if not Path(one.name).exists():
                shutil.copy(one, one.name)
    try:
        os.chdir(given.folder or ".")
        with muniment.open(LEDGER, create=True) as ledger:
            with listening_to_models(
                lambda scope, text: print(f"  {scope}: {one_line(text)}")
            ):
                run = went(ledger, given.fork, given.model)
            lines = repair_report(ledger, run)
            print(*lines, sep="\n")
            verdict = muniment.replay(ledger, run).verdict
            print(f"replayed, with nothing asked or run: {verdict}")
            good = lines[-1].text == "repaired"
            if good and not is_as_verified(ledger, run):
                sys.exit("error: somebody changed the modules after they were verified")
    except (muniment.MunimentError, OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted: run it again to go on")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
