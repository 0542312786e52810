"""JSON Patch: the cases of RFC 6902, JSON Pointer's of RFC 6901, and what is refused."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from muniment.documents.places import At
from muniment.documents.reading import MOST, read_document
from muniment.errors import MunimentError, RefusedError, UsageError
from muniment_plugins.workflow.edits.patches import apply_patch
from muniment_plugins.workflow.edits.pointers import pointer_to, tokens_of

WORKS: dict[str, tuple[str, str, str]] = {
    "A.1 adding an object member": (
        '{"foo": "bar"}',
        '[{"op": "add", "path": "/baz", "value": "qux"}]',
        '{"baz": "qux", "foo": "bar"}',
    ),
    "A.2 adding an array element": (
        '{"foo": ["bar", "baz"]}',
        '[{"op": "add", "path": "/foo/1", "value": "qux"}]',
        '{"foo": ["bar", "qux", "baz"]}',
    ),
    "A.3 removing an object member": (
        '{"baz": "qux", "foo": "bar"}',
        '[{"op": "remove", "path": "/baz"}]',
        '{"foo": "bar"}',
    ),
    "A.4 removing an array element": (
        '{"foo": ["bar", "qux", "baz"]}',
        '[{"op": "remove", "path": "/foo/1"}]',
        '{"foo": ["bar", "baz"]}',
    ),
    "A.5 replacing a value": (
        '{"baz": "qux", "foo": "bar"}',
        '[{"op": "replace", "path": "/baz", "value": "boo"}]',
        '{"baz": "boo", "foo": "bar"}',
    ),
    "A.6 moving a value": (
        '{"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}',
        '[{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]',
        '{"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}',
    ),
    "A.7 moving an array element": (
        '{"foo": ["all", "grass", "cows", "eat"]}',
        '[{"op": "move", "from": "/foo/1", "path": "/foo/3"}]',
        '{"foo": ["all", "cows", "eat", "grass"]}',
    ),
    "A.8 testing a value, success": (
        '{"baz": "qux", "foo": ["a", 2, "c"]}',
        (
            '[{"op": "test", "path": "/baz", "value": "qux"},'
            ' {"op": "test", "path": "/foo/1", "value": 2}]'
        ),
        '{"baz": "qux", "foo": ["a", 2, "c"]}',
    ),
    "A.10 adding a nested member object": (
        '{"foo": "bar"}',
        '[{"op": "add", "path": "/child", "value": {"grandchild": {}}}]',
        '{"foo": "bar", "child": {"grandchild": {}}}',
    ),
    "A.11 ignoring unrecognized elements": (
        '{"foo": "bar"}',
        '[{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}]',
        '{"foo": "bar", "baz": "qux"}',
    ),
    "A.14 escape ordering": (
        '{"/": 9, "~1": 10}',
        '[{"op": "test", "path": "/~01", "value": 10}]',
        '{"/": 9, "~1": 10}',
    ),
    "A.16 adding an array value": (
        '{"foo": ["bar"]}',
        '[{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]',
        '{"foo": ["bar", ["abc", "def"]]}',
    ),
    "adding what is there replaces it": (
        '{"a": 1}',
        '[{"op": "add", "path": "/a", "value": null}]',
        '{"a": null}',
    ),
    "the whole document": (
        '{"a": 1}',
        (
            '[{"op": "replace", "path": "", "value": [1]},'
            ' {"op": "add", "path": "/1", "value": 2}]'
        ),
        "[1, 2]",
    ),
    "a copy is another one": (
        '{"a": {"b": 1}}',
        (
            '[{"op": "copy", "from": "/a", "path": "/c"},'
            ' {"op": "replace", "path": "/c/b", "value": 2}]'
        ),
        '{"a": {"b": 1}, "c": {"b": 2}}',
    ),
    "a copy of the document in itself": (
        '{"a": 1}',
        '[{"op": "copy", "from": "", "path": "/b"}]',
        '{"a": 1, "b": {"a": 1}}',
    ),
    "a move to where it is": (
        "[1]",
        '[{"op": "move", "from": "/0", "path": "/0"}]',
        "[1]",
    ),
    "a name without letters": (
        '{"": {"": 1}}',
        '[{"op": "replace", "path": "//", "value": 2}]',
        '{"": {"": 2}}',
    ),
    "an index is a name in an object": (
        '{"0": 1, "-": 2}',
        '[{"op": "remove", "path": "/-"}, {"op": "replace", "path": "/0", "value": 3}]',
        '{"0": 3}',
    ),
    "numbers are compared as numbers": (
        '{"a": 1}',
        '[{"op": "test", "path": "/a", "value": 1.0}]',
        '{"a": 1}',
    ),
    "objects are compared without order": (
        '{"a": {"b": 1, "c": [null]}}',
        '[{"op": "test", "path": "/a", "value": {"c": [null], "b": 1}}]',
        '{"a": {"b": 1, "c": [null]}}',
    ),
}

FAILS: dict[str, tuple[str, str, str]] = {
    "A.9 testing a value, error": (
        '{"baz": "qux"}',
        '[{"op": "test", "path": "/baz", "value": "bar"}]',
        "the patch: [0]",
    ),
    "A.12 adding to a nonexistent target": (
        '{"foo": "bar"}',
        '[{"op": "add", "path": "/baz/bat", "value": "qux"}]',
        "the patch: [0].path",
    ),
    "A.15 comparing strings and numbers": (
        '{"/": 9, "~1": 10}',
        '[{"op": "test", "path": "/~01", "value": "10"}]',
        "the patch: [0]",
    ),
    "truth is no number": (
        "[1]",
        '[{"op": "test", "path": "/0", "value": true}]',
        "the patch: [0]",
    ),
    "the second of two": (
        "[1]",
        '[{"op": "remove", "path": "/0"}, {"op": "remove", "path": "/0"}]',
        "the patch: [1].path",
    ),
    "nothing to replace": (
        "{}",
        '[{"op": "replace", "path": "/a", "value": 1}]',
        "the patch: [0].path",
    ),
    "nothing to remove": (
        "{}",
        '[{"op": "remove", "path": "/a"}]',
        "the patch: [0].path",
    ),
    "nothing left": (
        "{}",
        '[{"op": "remove", "path": ""}]',
        "the patch: [0].path",
    ),
    "the place after the last is empty": (
        "[1]",
        '[{"op": "remove", "path": "/-"}]',
        "the patch: [0].path",
    ),
    "far behind the last": (
        "[1]",
        '[{"op": "add", "path": "/2", "value": 1}]',
        "the patch: [0].path",
    ),
    "an index with zeros": (
        "[1, 2]",
        '[{"op": "remove", "path": "/01"}]',
        "the patch: [0].path",
    ),
    "an index with a sign": (
        "[1, 2]",
        '[{"op": "remove", "path": "/-1"}]',
        "the patch: [0].path",
    ),
    "an index of other digits": (
        "[1, 2]",
        '[{"op": "remove", "path": "/\\u0661"}]',
        "the patch: [0].path",
    ),
    "into itself": (
        '{"a": {"b": 1}}',
        '[{"op": "move", "from": "/a", "path": "/a/b/c"}]',
        "the patch: [0].path",
    ),
    "the document into itself": (
        '{"a": 1}',
        '[{"op": "move", "from": "", "path": "/a"}]',
        "the patch: [0].path",
    ),
    "from nowhere": (
        '{"a": 1}',
        '[{"op": "copy", "from": "/b", "path": "/a"}]',
        "the patch: [0].from",
    ),
    "no from": (
        '{"a": 1}',
        '[{"op": "copy", "path": "/a"}]',
        "the patch: [0].from",
    ),
    "no value": ("{}", '[{"op": "add", "path": "/a"}]', "the patch: [0].value"),
    "no path": ("{}", '[{"op": "add", "value": 1}]', "the patch: [0].path"),
    "a path that is null": (
        "{}",
        '[{"op": "add", "path": null, "value": 1}]',
        "the patch: [0].path",
    ),
    "no slash": (
        '{"a": 1}',
        '[{"op": "remove", "path": "a"}]',
        "the patch: [0].path",
    ),
    "an odd escape": (
        '{"a~b": 1}',
        '[{"op": "remove", "path": "/a~b"}]',
        "the patch: [0].path",
    ),
    "an unknown operation": (
        "{}",
        '[{"op": "spam", "path": "/a"}]',
        "the patch: [0].op",
    ),
    "no operation": ("{}", '[{"path": "/a"}]', "the patch: [0].op"),
    "a number": ("{}", "[1]", "the patch: [0]"),
    "an object": ("{}", '{"op": "remove", "path": "/a"}', "the patch"),
}


@pytest.mark.parametrize("case", WORKS.values(), ids=WORKS)
def test_works(case: tuple[str, str, str]) -> None:
    """Each case leads to its document, and what was given stays as it was."""
    given, patch = json.loads(case[0]), json.loads(case[1])
    assert apply_patch(given, patch) == json.loads(case[2])
    assert (given, patch) == (json.loads(case[0]), json.loads(case[1]))


@pytest.mark.parametrize("case", FAILS.values(), ids=FAILS)
def test_fails(case: tuple[str, str, str]) -> None:
    """Each mistake is refused at its place, and what was given stays as it was."""
    given: Any = json.loads(case[0])
    with pytest.raises(MunimentError) as caught:
        apply_patch(given, json.loads(case[1]))
    assert caught.value.place == case[2]
    tested = '"test"' in case[1]
    assert isinstance(caught.value, RefusedError if tested else UsageError)
    assert given == json.loads(case[0])


def test_twice(tmp_path: Path) -> None:
    """A.13, an invalid patch document: a file that has a member twice is refused."""
    file = tmp_path / "patch.json"
    file.write_text('[{"op": "add", "path": "/baz", "value": "qux", "op": "remove"}]')
    with pytest.raises(UsageError):
        read_document(file, "workflow")


def test_shares_nothing() -> None:
    """The answer can be changed without changing the document, or the patch."""
    given: Any = {"a": [1]}
    value: Any = {"b": [2]}
    made: Any = apply_patch(given, [{"op": "add", "path": "/c", "value": value}])
    made["a"].append(3)
    made["c"]["b"].append(3)
    assert (given, value) == ({"a": [1]}, {"b": [2]})


def test_depth() -> None:
    """What nests too deep is refused, and not run into: by value, by copies, by itself."""
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    cases: list[tuple[Any, Any]] = [
        (deep, []),
        ({}, [{"op": "add", "path": "/a", "value": deep}]),
        ({"a": {}}, [{"op": "copy", "from": "/a", "path": "/a" * 20}] * 3),
    ]
    for document, patch in cases:
        with pytest.raises(UsageError):
            apply_patch(document, patch)
    doubling = [{"op": "copy", "from": "", "path": "/a"}] * 7
    assert apply_patch({}, doubling)


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", ()),
        ("/foo", ("foo",)),
        ("/foo/0", ("foo", "0")),
        ("/", ("",)),
        ("/a~1b", ("a/b",)),
        ("/c%d", ("c%d",)),
        ('/k"l', ('k"l',)),
        ("/ ", (" ",)),
        ("/m~0n", ("m~n",)),
        ("/~01", ("~1",)),
    ],
)
def test_pointers(pointer: str, found: tuple[str, ...]) -> None:
    """RFC 6901, section 5: pointers and what they mean, both ways."""
    assert tokens_of(pointer, At("p", "workflow")) == found
    assert pointer_to(found) == pointer


def _big(depth: int) -> Any:
    """Return a value that is small at first, of so many levels."""
    return ["x"] if depth == 0 else {"a": _big(depth - 1), "b": [1, None]}


AMPLIFIERS: dict[str, list[dict[str, str]]] = {
    "a list in itself": [{"op": "copy", "from": "/a", "path": "/a/-"}],
    "a list at its beginning": [{"op": "copy", "from": "/a", "path": "/a/0"}],
    "two lists in each other": [
        {"op": "copy", "from": "/a", "path": "/b/-"},
        {"op": "copy", "from": "/b", "path": "/a/-"},
    ],
    "an item beside itself": [{"op": "copy", "from": "/a/0", "path": "/a/-"}],
    "the document in itself, and back": [
        {"op": "copy", "from": "", "path": "/a/-"},
        {"op": "move", "from": "/a", "path": "/b/-"},
        {"op": "copy", "from": "/b", "path": "/a"},
    ],
    "a text over itself": [
        {"op": "copy", "from": "/t", "path": "/u"},
        {"op": "remove", "path": "/u"},
    ],
}


@pytest.mark.parametrize("times", [1, 9, 30, 3000])
@pytest.mark.parametrize("recipe", AMPLIFIERS)
def test_a_short_patch_makes_no_long_document(recipe: str, times: int) -> None:
    """What is copied is bounded, before it is built: else it is refused at the operation."""
    document: Any = {"a": ["x"], "b": [_big(3)], "t": "t" * 5000}
    patch = AMPLIFIERS[recipe] * times
    most = len(json.dumps(document)) + len(json.dumps(patch)) + 2 * MOST
    refused = None
    tracemalloc.start()
    try:
        made = apply_patch(document, patch)
    except UsageError as error:
        refused = error
    else:
        assert len(json.dumps(made)) <= most
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 200_000_000
    if refused is not None:
        assert refused.rule in ("workflow/patch-size", "workflow/depth")
        assert refused.place.startswith("the patch: [")
        assert refused.remedy


def test_what_is_moved_deeper_nests_no_deeper_than_json() -> None:
    """A document that ends too deep is refused, whatever it is made by."""
    patch: list[dict[str, Any]] = [{"op": "add", "path": "/a", "value": _big(30)}]
    deeper = "/b" * 30
    patch += [{"op": "add", "path": "/b" * n, "value": {}} for n in range(1, 31)]
    patch += [{"op": "move", "from": "/a", "path": f"{deeper}/x"}]
    assert apply_patch({}, patch)
    patch += [{"op": "move", "from": "/b", "path": "/c"}]
    patch += [{"op": "add", "path": "/b" * n, "value": {}} for n in range(1, 31)]
    patch += [{"op": "move", "from": "/c", "path": f"{deeper}/x"}]
    for more in ([], [{"op": "copy", "from": "", "path": "/z"}]):
        with pytest.raises(UsageError, match="nests deeper than 64"):
            apply_patch({}, [*patch, *more])
