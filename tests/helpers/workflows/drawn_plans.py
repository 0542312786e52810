"""Plans as planners write them, with the mistakes that they make; and any JSON at all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from hypothesis import strategies as st

__all__ = ["any_json", "planner_plans", "plans_of_marks"]

_WORDS = st.sampled_from(
    ["inspect", "patch", "docs", "Run the tests", "verify", "", "  ", "1", "Fix it"]
)
_ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 9), st.text(max_size=5), st.just([{}])
)
_REFERENCES: st.SearchStrategy[Any] = st.one_of(
    _WORDS,
    st.integers(-1, 9),
    st.sampled_from(["action-1", "action-2", "step 3", "#2", "inspect, patch"]),
    st.fixed_dictionaries({"id": _WORDS}),
    _ODD,
)
_TOOLS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["read", "edit", "run", "browser"]),
    st.fixed_dictionaries({"name": st.sampled_from(["read", "edit"])}),
)
_MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "id": _WORDS,
    "title": st.one_of(_WORDS, _ODD),
    "name": _WORDS,
    "instruction": st.one_of(_WORDS, _ODD),
    "kind": st.sampled_from(["research", "execute", "verify", "qa", "odd", 3]),
    "phase": st.sampled_from(["Research", "EDIT", "check", None]),
    "tools": st.one_of(st.lists(_TOOLS, max_size=3), _TOOLS, _ODD),
    "tool_class": st.sampled_from(["read", "mixed", "none of these"]),
    "depends_on": st.one_of(st.lists(_REFERENCES, max_size=4), _REFERENCES),
    "needs": st.lists(_REFERENCES, max_size=2),
    "target_paths": st.one_of(st.just("src/a.py"), st.lists(_WORDS, max_size=2)),
    "metadata": st.one_of(st.just({"cost": 1}), st.just("none")),
    "estimate": _ODD,
}
_ITEM: st.SearchStrategy[Any] = st.fixed_dictionaries({}, optional=_MEMBERS)
_ROW: st.SearchStrategy[Any] = st.one_of(_ITEM, _ITEM, _ITEM, _WORDS, _ODD)
_ROWS: st.SearchStrategy[Any] = st.recursive(
    st.lists(_ROW, max_size=6),
    lambda rows: st.lists(
        st.one_of(_ROW, st.builds(lambda one, r: {**one, "steps": r}, _ITEM, rows)),
        max_size=4,
    ),
    max_leaves=4,
)
planner_plans: st.SearchStrategy[Any] = st.one_of(
    _ROWS,
    st.builds(
        lambda key, rows: {key: rows, "task": "t"},
        st.sampled_from(["actions", "plan", "steps", "batches", "items"]),
        _ROWS,
    ),
    st.builds(lambda rows: {"plan": {"tasks": rows}}, _ROWS),
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("research", "execute", "verify"), _ROWS)
    ),
    _ITEM,
    st.text(max_size=30),
)
"""What planners write."""

_MARK = st.just("?")
_LEAF: st.SearchStrategy[Any] = st.one_of(_MARK, _MARK, st.just(0))
_INSIDE: st.SearchStrategy[Any] = st.one_of(
    _LEAF, st.lists(_LEAF, max_size=2), st.fixed_dictionaries({"deep": _LEAF})
)
_SAID: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(
        ("id", "name", "title", "instruction", "description", "prompt", "summary"),
        _LEAF,
    ),
    **dict.fromkeys(("task", "action", "label", "estimate", "why"), _INSIDE),
    **dict.fromkeys(
        ("kind", "phase", "category"), st.sampled_from(["odd ?", "QA ?", 0, "Fix"])
    ),
    **dict.fromkeys(
        ("tools", "capabilities"),
        st.one_of(
            _MARK,
            st.just("read?, edit?"),
            st.lists(
                st.one_of(
                    st.just("run?"),
                    st.fixed_dictionaries({"name": _MARK, "why": _LEAF}),
                ),
                max_size=2,
            ),
        ),
    ),
    **dict.fromkeys(
        ("needs", "after"),
        st.lists(
            st.one_of(_LEAF, st.fixed_dictionaries({"id": _LEAF, "why": _LEAF})),
            max_size=2,
        ),
    ),
    "target_paths": st.one_of(_MARK, st.lists(_MARK, max_size=2)),
    "metadata": st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("cost", "source_id", "source_phase", "given"), _INSIDE),
            "target_paths": st.lists(_MARK, max_size=1),
        },
    ),
}
_STEP: st.SearchStrategy[Any] = st.one_of(
    _MARK, st.fixed_dictionaries({"goal": _MARK}, optional=_SAID)
)
_STEPS = st.lists(_STEP, max_size=3)
_NEST: st.SearchStrategy[Any] = st.one_of(
    _STEP,
    st.fixed_dictionaries(
        {},
        optional={**_SAID, "steps": _STEPS, "substeps": _STEPS, "children": _STEPS},
    ),
)
_NESTS = st.lists(_NEST, max_size=3)
_ABOUT = dict.fromkeys(("task", "goal", "summary", "owner", "text"), _INSIDE)


def _filled(value: Any, numbers: Iterator[int]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, numbers) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, numbers) for one in value]
    if isinstance(value, str):
        return "".join(f"w{next(numbers)}w" if one == "?" else one for one in value)
    return next(numbers) if type(value) is int else value


plans_of_marks: st.SearchStrategy[Any] = st.one_of(
    _NESTS,
    st.fixed_dictionaries(
        {},
        optional={
            **_ABOUT,
            **dict.fromkeys(("actions", "steps", "tasks"), _NESTS),
            "verify": _STEPS,
            "plan": st.fixed_dictionaries({"items": _NESTS}, optional=_ABOUT),
        },
    ),
    st.builds(
        lambda key, rows, more: {**more, key: rows},
        st.sampled_from(["batches", "phases"]),
        st.lists(st.one_of(_NEST, _STEPS), max_size=3),
        st.fixed_dictionaries({}, optional=_ABOUT),
    ),
    _NEST,
).map(lambda plan: _filled(plan, count(7_000_001)))
"""Plans each text and number of which is there once: ``w7000001w``, ``7000002``, …."""
any_json: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(
                st.text(max_size=4), st.sampled_from([*_MEMBERS, "steps", "_type"])
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)
"""Anything."""
