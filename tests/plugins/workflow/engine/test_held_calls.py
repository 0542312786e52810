"""No call is performed that anything above its node forbids.

Rules: ceilings, policies, labels, approvals and tools are drawn, over graphs whose
subagents and maps nest up to three deep. Graphs run without their validation, so that
nothing but the check at the call stands between a handler and a tool. What is allowed says
an oracle that knows no intersection: it asks each policy above the call by itself.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceiling_tools import PERFORMED, TRIED, Acme
from muniment import replay
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.workflow import workflow_graph
from muniment_plugins.workflow.engine.assembly import assembled
from muniment_plugins.workflow.engine.options import options_of

Document = dict[str, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

MOST = 1500 if os.environ.get("MUNIMENT_TRIAL") else 200
"""How many graphs are drawn: `make trial` draws more."""
LEVELS = ["none", "read_only", "workspace_write", "process_exec", "network"]
KINDS = {"read": "read_only", "edit": "workspace_write", "execute": "process_exec"}
WRITES = {"workspace": ["write_text"]}
MEMBERS = [
    "tools",
    "side_effect_level",
    "workspace_roots",
    "capabilities",
    "recursion_limit",
    "tool_annotations",
    "tool_arg_constraints",
]
TOOLS = {"read": "read", "edit": "edit", "run": "run_it", "fetch": "fetch"}

labels = st.sampled_from(
    [
        {},
        {"kind": "read"},
        {"side_effect_level": "read_only"},
        *[{"kind": "edit", "path_params": ["path"]}] * 3,
        {"kind": "read", "path_params": ["path"]},
        {"kind": "edit", "capabilities": WRITES},
        {"kind": "execute"},
        {"side_effect_level": "none"},
        {"path_params": ["path"]},
    ]
)
patterns = st.lists(
    st.sampled_from(["*", "read", "edit", "run", "r*", "fetch"]),
    min_size=1,
    unique=True,
)
paths = st.sampled_from(["src/a", "src/../etc", "../x", "src", "lib/b", "/etc/x"])
roots = st.lists(st.sampled_from(["src", ".", "lib", "src/a"]), unique=True, min_size=1)


@st.composite
def policies(draw: Draw) -> Document:
    """Draw a capability policy, which limits nothing, or one or two things.

    Most limit nothing: of a call that each of eight policies limits, little is left.
    """
    made: Document = {}
    most = draw(st.sampled_from([0, 0, 0, 1, 2]))
    said = draw(st.lists(st.sampled_from(MEMBERS), max_size=most, unique=True))
    if "tools" in said:
        made["tools"] = draw(patterns)
    if "side_effect_level" in said:
        made["side_effect_level"] = draw(st.sampled_from(LEVELS[1:]))
    if "workspace_roots" in said:
        made["workspace_roots"] = draw(roots)
    if "capabilities" in said:
        made["capabilities"] = draw(st.sampled_from([{}, WRITES, {"workspace": ["*"]}]))
    if "recursion_limit" in said:
        made["recursion_limit"] = draw(st.integers(0, 3))
    if "tool_annotations" in said:
        made["tool_annotations"] = {name: draw(labels) for name in TOOLS}
    if "tool_arg_constraints" in said:
        made["tool_arg_constraints"] = [
            {
                "tool": draw(st.sampled_from(["*", "run", "r*"])),
                "arg_key": draw(st.sampled_from(["path", "command"])),
                "arg_patterns": draw(
                    st.lists(st.sampled_from(["src/*", "ls*"]), unique=True)
                ),
            }
        ]
    return made


@st.composite
def approvals(draw: Draw) -> Document | None:
    """Draw an approval policy, or none."""
    found: Document | None = draw(
        st.sampled_from(
            [
                *[{"default": "allow"}] * 4,
                None,
                {"auto_approve": ["*"]},
                {"auto_approve": ["r*"], "default": "allow"},
                {"auto_deny": ["run"], "default": "allow"},
                {"auto_approve": ["edit", "run"]},
                {"default": "deny"},
            ]
        )
    )
    return found


calls = st.lists(
    st.tuples(
        st.sampled_from([*TOOLS, *TOOLS, "nothing", "Read", "re" * 5000, ""]),
        st.fixed_dictionaries(
            {},
            optional={
                "path": st.one_of(paths, paths, paths, st.none(), st.integers(0, 1)),
                "command": st.sampled_from(["ls -l", "rm -rf /", "src/x"]),
                "other": st.recursive(
                    st.none() | st.booleans() | st.text(max_size=3),
                    lambda inner: st.lists(inner, max_size=2),
                    max_leaves=3,
                ),
            },
        ),
    ).map(list),
    min_size=1,
    max_size=6,
)


class Drawn:
    """A graph, and for each of its nodes all policies above it."""

    def __init__(self, draw: Draw, later: bool) -> None:
        self.draw = draw
        self.handler = "tries_later" if later else "tries"
        self.above: dict[str, list[Any]] = {}
        self.approvals: dict[str, list[Document | None]] = {}
        self.tools: dict[str, Document] = {}

    def graph(self, policies_above: list[Any], given: list[Any], left: int) -> Document:
        """Draw a graph of one or two nodes, in a row."""
        own, allowed = self.policies_of()
        made: Document = {"nodes": {}, "edges": [], "entry": "n0"}
        self.put(made, own, allowed)
        rows, asked = [*policies_above, own], [*given, allowed]
        for number in range(self.draw(st.integers(1, 2))):
            made["nodes"][f"n{number}"] = self.node(rows, asked, left)
            if number:
                made["edges"].append({"from": "n0", "to": "n1", "branch": "*"})
        return made

    def policies_of(self) -> tuple[Document, Document | None]:
        """Draw what a graph or a node says."""
        return self.draw(policies()), self.draw(approvals())

    @staticmethod
    def put(document: Document, own: Document, allowed: Document | None) -> None:
        """Let *document* say that."""
        document["capability_policy"] = own
        if allowed is not None:
            document["approval_policy"] = allowed

    def node(self, above: list[Any], given: list[Any], left: int) -> Document:
        """Draw a node: one that tries, or one that has others in it."""
        own, allowed = self.policies_of()
        rows, asked = [*above, own], [*given, allowed]
        kind = self.draw(
            st.sampled_from(["stage", "acme.survey", "map", "subagent", "subagent"])
        )
        if left == 0 and kind in ("map", "subagent"):
            kind = "stage"
        made: Document = {"kind": kind}
        self.put(made, own, allowed)
        if kind == "map":
            made["map_policy"] = {"items": [1]}
            made["body"] = self.node(rows, asked, left - 1)
            return made
        if kind == "subagent":
            nested = [*rows, "nested"]
            made["graph"] = self.graph(nested, asked, left - 1)
            return made
        who = f"w{len(self.above)}"
        self.above[who], self.approvals[who] = rows, asked
        tools = {name: self.draw(labels) for name in TOOLS}
        self.tools[who] = tools
        if kind == "stage":
            made["handler"] = f"ceiling_tools:{self.handler}"
        made["tools"] = {
            "_type": "tool_registry",
            "tools": [
                {"name": name, "handler": f"ceiling_tools:{TOOLS[name]}", "policy": one}
                for name, one in tools.items()
            ],
        }
        made["metadata"] = {"who": who, "calls": self.draw(calls)}
        return made


def stated(label: Mapping[str, Any]) -> list[str]:
    """Return the levels that a label states."""
    found = [label[key] for key in ("side_effect_level",) if key in label]
    found += [KINDS[label[key]] for key in ("kind",) if key in label]
    return found + (["workspace_write"] if "capabilities" in label else [])


def rank(level: str) -> int:
    """Return how much a level does."""
    return LEVELS.index(level)


def oracle(
    drawn: Drawn, host: Document, base: str, call: tuple[str, Any]
) -> tuple[str, Any] | None:
    """Return the call as it is performed if every policy above allows it."""
    name, arguments = call
    who = str(arguments["who"])
    own = drawn.tools[who].get(name)
    if own is None:
        return None
    chain = drawn.above[who]
    policies_above = [one for one in chain if one != "nested"]
    by_host = host.get("tool_annotations", {}).get(name, {})
    said = [one.get("tool_annotations", {}).get(name, {}) for one in policies_above]
    least = stated(own) + stated(by_host) or ["network"]
    level = max(
        rank(one) for one in [*least, *(n for one in said for n in stated(one))]
    )
    whole = [own, by_host, *said]
    writes = any("capabilities" in one for one in whole)
    takes_path = any("path_params" in one for one in whole)
    if takes_path and not is_path(arguments.get("path")):
        return None
    called = Called(name, arguments, level, writes, takes_path, base)
    for number, one in enumerate(chain):
        if one != "nested" and not called.is_allowed(one, chain[number:]):
            return None
    asked = [one for one in drawn.approvals[who] if one is not None]
    if not all(approved(one, name, level) for one in asked or [{}]):
        return None
    if takes_path and arguments.get("path") is not None:
        led = os.path.realpath(posixpath.join(base, arguments["path"]))
        return name, {**arguments, "path": led}  # no process here is in the base
    return call


def is_path(value: object) -> bool:
    """Tell whether a value can be meant as a path, or is not there."""
    return value is None or isinstance(value, str)


@dataclass(frozen=True)
class Called:
    """A call, and what everybody together states about its tool."""

    name: str
    arguments: Document
    level: int
    writes: bool
    takes_path: bool
    base: str

    def is_allowed(self, policy: Document, below: list[Any]) -> bool:
        """Tell whether one policy allows the call."""
        known = policy.get("capabilities")
        return (
            any(fnmatchcase(self.name, one) for one in policy.get("tools", ["*"]))
            and self.level <= rank(policy.get("side_effect_level", "network"))
            and not (self.writes and known is not None and not known)
            and policy.get("recursion_limit", 9) >= below.count("nested")
            and (not self.takes_path or self.is_inside(policy))
            and all(map(self.is_fit, policy.get("tool_arg_constraints", [])))
        )

    def is_inside(self, policy: Document) -> bool:
        """Tell whether the path is in a root."""
        if "workspace_roots" not in policy:
            return True
        if self.arguments.get("path") is None:
            return False  # nobody knows where it works then
        path = posixpath.normpath(posixpath.join(self.base, self.arguments["path"]))
        held = [
            posixpath.normpath(f"{self.base}/{r}") for r in policy["workspace_roots"]
        ]
        return any(path == one or path.startswith(f"{one}/") for one in held)

    def is_fit(self, limit: Document) -> bool:
        """Tell whether an argument is as a constraint wants it."""
        value = self.arguments.get(limit["arg_key"])
        return not fnmatchcase(self.name, limit["tool"]) or (
            isinstance(value, str) and fits(value, limit["arg_patterns"])
        )


def fits(value: str, texts: list[str]) -> bool:
    """Tell whether an argument is one of those that are allowed."""
    upwards = ".." in value.split("/")
    return not upwards and any(fnmatchcase(value, one) for one in texts)


def approved(policy: Document, name: str, level: int) -> bool:
    """Tell whether one approval policy lets the call go on."""
    if any(fnmatchcase(name, one) for one in policy.get("auto_deny", [])):
        return False
    if any(fnmatchcase(name, one) for one in policy.get("auto_approve", [])):
        return True
    return bool(policy.get("default", "allow" if level <= 1 else "deny") == "allow")


def frozen(rows: list[tuple[str, Mapping[str, object]]]) -> Counter[str]:
    """Return calls as something that can be counted."""
    return Counter(f"{name} {sorted(given.items())}" for name, given in rows)


@pytest.mark.slow
@given(st.data(), policies(), approvals(), st.booleans())
@settings(max_examples=MOST, deadline=None)
def test_nothing_forbidden_is_performed(
    data: st.DataObject, host: Document, asked: Document | None, later: bool
) -> None:
    """What is performed is what each policy above allows, no more; refusals are facts."""
    drawn = Drawn(data.draw, later)
    document = drawn.graph([host], [asked], 3)
    ran(drawn, document, host, asked)


def ran(
    drawn: Drawn, document: Document, host: Document, asked: Document | None
) -> None:
    """Run a graph, and hold what was performed against the oracle."""
    plugins = Plugins(("workflow",), extra={"acme": Acme()})
    with tempfile.TemporaryDirectory() as folder:
        base = str(Path(folder).resolve())
        where = Path(folder, "ledger.db")
        with Ledger.create(where, home=Path(folder, "home"), plugins=plugins) as book:
            said = {"ceiling": host, "approval_policy": asked, "cwd": base}
            options = options_of({k: v for k, v in said.items() if v is not None}, 9)
            graph = workflow_graph(document)
            program = assembled(graph, "t", [], options, book.plugins, files={})
            PERFORMED.clear()
            TRIED.clear()
            if program.is_async:
                done = asyncio.run(book.aexecute(program, params=program.params()))
            else:
                done = book.execute(program, params=program.params())
            performed = [one for one in PERFORMED if one[0] != "survey"]
            judged = [oracle(drawn, host, base, one) for one in TRIED]
            allowed = [one for one in judged if one is not None]
            assert not frozen(performed) - frozen(allowed)
            assert not frozen(allowed) - frozen(performed)
            denied = list(book.events(type="tool.denied"))
            assert len(denied) == len(TRIED) - len(performed)
            PERFORMED.clear()
            if done.status in ("completed", "failed"):
                assert replay(book, done.run_id, children=True).verdict == "acceptable"
            assert not PERFORMED
