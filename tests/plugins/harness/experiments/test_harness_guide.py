"""The guide that users know, run as it is printed: blocks, errors, files, troubles.

``MUNIMENT_GUIDE`` names its text; without it these tests are skipped, and the same
promises are kept by `test_harness_promises`.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from muniment_plugins.harness import (
    BoundedExecutionError,
    Case,
    Claim,
    Spec,
    bounded_synthesis,
    execute_capsule,
    generate_spec,
    run_metamorphic_tests,
    specify_claim,
)
from muniment_plugins.harness.metamorphic_tests.built_in_transforms import BUILT_IN
from muniment_plugins.harness.metamorphic_tests.step import TestProperties
from muniment_plugins.harness.metamorphic_tests.transforms import Permute
from refused_programs import BLOCKED, TROUBLE

ROOT = Path(__file__).parents[4]
SIBLING = ROOT.parent / "shared" / "reference" / "guide.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORT = re.compile(r"^from [\w.]+ import", re.MULTILINE)
BULLET = re.compile(r"^- (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)

Begun = Callable[..., Case]


@pytest.fixture(scope="module")
def guide() -> str:
    """Return the guide's text; skip where there is none."""
    named = os.environ.get("MUNIMENT_GUIDE")
    path = Path(named) if named else SIBLING
    if not named and not path.is_file():
        pytest.skip("no guide: set MUNIMENT_GUIDE")
    return path.read_text()


def section(guide: str, title: str) -> str:
    """Return the section *title* of *guide*, of whatever level."""
    found: list[str] = []
    level, fenced = 0, False
    for line in guide.splitlines(keepends=True):
        fenced ^= line.startswith("```")
        head = None if fenced else re.match(r"(#+) (.+)\n", line)
        if head is not None and level and len(head[1]) <= level:
            break
        if level:
            found.append(line)
        elif head is not None and head[2].endswith(title):
            level = len(head[1])
    assert found, f"the guide has no section {title}"
    return "".join(found)


def blocks(text: str, language: str = "python") -> list[str]:
    """Return the fenced blocks of *text*, imports from this package."""
    found = [block for name, block in BLOCK.findall(text) if name == language]
    here = "from muniment_plugins.harness import"
    return [IMPORT.sub(here, block) for block in found]


def complete(guide: str) -> str:
    """Return the guide's complete example."""
    (block,) = blocks(section(guide, "Complete Example"))
    return block


def test_every_block_runs(guide: str, begun: Begun) -> None:
    """All blocks but the complete one run one after the other, in one namespace."""
    names: dict[str, Any] = {}
    every = [block for block in blocks(guide) if block != complete(guide)]
    assert len(every) >= 13
    for block in every:
        exec(compile(block, "guide.md", "exec"), names)  # noqa: S102 - the guide's own
    assert names["claim"].acceptance == {"min_improvement_pct": 15.0}
    assert names["spec"].properties[0]["tolerance"] == 1e-6
    assert isinstance(names["step"], TestProperties)
    (first,) = blocks(section(guide, "Static Code"))
    exec(compile(first, "guide.md", "exec"), names)  # noqa: S102 - see above
    case = execute_capsule()(names["step"](begun([1, 3])))
    assert case.metrics == {"total": 4, "rmse": 2.0}


def test_the_model_of_the_guide_is_asked(guide: str, begun: Begun) -> None:
    """``my_llm`` brings code and metadata, with what the guide leaves to its reader."""
    (block,) = blocks(section(guide, "LLM-Generated Code"))
    asked: list[str] = []

    def call_openai(prompt: str) -> SimpleNamespace:
        asked.append(prompt)
        return SimpleNamespace(content="def fit_and_eval(data): return {'n': 1}")

    import hashlib  # noqa: PLC0415 - a name that the block uses and does not import

    names: dict[str, Any] = {
        "bounded_synthesis": bounded_synthesis,
        "call_openai": call_openai,
        "hashlib": hashlib,
    }
    exec(compile(block, "guide.md", "exec"), names)  # noqa: S102 - see above
    assert execute_capsule()(names["step"](begun())).metrics == {"n": 1}
    assert asked == ["Generate code for: A claim\nAllowed imports: ('math',)"]


def test_the_complete_example_prints_what_it_says(guide: str, tmp_path: Path) -> None:
    """Run as a plain script, it prints the two outputs that stand in its comments."""
    block = complete(guide)
    said = re.findall(r"^# (\{.*|\w+: \{.*)$", block, re.MULTILINE)
    script = tmp_path / "guide.py"
    script.write_text(block)
    ran = subprocess.run(
        [sys.executable, "-W", "error", script.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (ran.stdout.splitlines(), ran.stderr) == (said, "")
    assert len(said) == 2
    (bundle,) = (tmp_path / "artifacts").glob("*/v0/baseline/evidence/bundle.json")
    (shown,) = blocks(section(guide, "EvidenceBundlePlugin"), "json")
    keys = re.findall(r'^  "(\w+)":', shown, re.MULTILINE)
    assert [key for key in json.loads(bundle.read_text()) if key in keys] == keys


def test_the_example_in_the_box_is_the_guides(guide: str) -> None:
    """The example that is run from the box is the guide's, line by line."""
    text = (ROOT / "examples" / "guide_example.py").read_text()
    assert text.rstrip().endswith(complete(guide).rstrip())


@pytest.mark.parametrize("name", ["PromptProvenancePlugin", "EvidenceBundlePlugin"])
def test_files_are_where_the_guide_says(guide: str, name: str, tmp_path: Path) -> None:
    """``Saves to`` names the path, below the directory of the artifacts."""
    (path,) = re.findall(r"^Saves to: `(.+)`$", section(guide, name), re.MULTILINE)
    script = tmp_path / "guide.py"
    script.write_text(complete(guide))
    subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, capture_output=True, check=True
    )
    free = re.sub(r"\{\w+\}", "*", path.replace("{artifact_dir}", "artifacts"))
    assert len(list(tmp_path.glob(free))) == 1


def test_imports_are_allowed_as_the_comments_say(guide: str) -> None:
    """Each line of *Allowed Imports* lets through what its comment says."""
    (block,) = blocks(section(guide, "Allowed Imports"))
    lines = [line.partition("#") for line in block.splitlines() if "=" in line]
    assert len(lines) == 3
    for source, _, comment in lines:
        allowed = ast.literal_eval(source.partition("=")[2].strip())
        statement = comment.partition(": ")[2]
        if "import" not in statement:
            statement = "\n".join(f"import {name}" for name in allowed)
        spec = Spec(allowed_imports=allowed, resources={"time_s": 30, "mem_mb": 2048})
        case = generate_spec(spec=spec)(specify_claim(claim=Claim("c", "t"))(Case([1])))
        code = f"{statement}\ndef fit_and_eval(data): return {{'n': 1}}"
        ran = execute_capsule()(bounded_synthesis(code=code)(case))
        assert ran.metrics == {"n": 1}


def test_tables_name_what_there_is(guide: str) -> None:
    """Members of properties, and transforms, are those that the tables list."""
    for name in ROW.findall(section(guide, "Built-in Transforms")):
        assert name in BUILT_IN
    members = ROW.findall(section(guide, "Metamorphic Properties"))
    assert members == ["name", "transform", "metric", "tolerance"]
    values = {"name": "p", "transform": "identity", "metric": "m", "tolerance": 1e-3}
    assert Spec(properties=[values]).relations[0].tolerance == 1e-3


def test_the_reversal_is_what_the_table_says(guide: str) -> None:
    """``permute_rows`` reverses the rows, first of all."""
    assert "| `permute_rows` | Reverses row order |" in guide
    (first, *_) = Permute().variants([1, 2, 3], lambda: 0, 2)
    assert first.data == [3, 2, 1]


def test_what_is_blocked_is_blocked(guide: str, begun: Begun) -> None:
    """Every entry of *What Gets Blocked* is refused, and so is every sample there."""
    text = section(guide, "What Gets Blocked")
    assert BULLET.findall(text) == list(BLOCKED)
    (block,) = blocks(text)
    codes = [
        ast.literal_eval(node.value)
        for node in ast.parse(block).body
        if isinstance(node, ast.Assign)
    ]
    assert len(codes) == 4
    for code in codes:
        with pytest.raises(BoundedExecutionError):
            bounded_synthesis(code=code)(begun())


def test_every_trouble_is_one_that_there_is(guide: str) -> None:
    """*Troubleshooting* lists the errors whose words and remedies are tested."""
    heads = re.findall(r"^### (.+)$", section(guide, "Troubleshooting"), re.MULTILINE)
    assert heads == [*TROUBLE, "Metamorphic test failing"]


def test_resources_are_those_of_the_guide(guide: str, begun: Begun) -> None:
    """``time_s`` and ``mem_mb`` are the limits, and both hold."""
    (block,) = blocks(section(guide, "Resource Limits"))
    names: dict[str, Any] = {}
    exec(compile(block, "guide.md", "exec"), names)  # noqa: S102 - see above
    assert Spec(resources=names["resources"]).bounds["resources"] == names["resources"]
    greedy = "def fit_and_eval(data): return {'n': len([0] * 10 ** 9)}"
    case = begun(resources={"time_s": 10, "mem_mb": 256})
    with pytest.raises(BoundedExecutionError, match="MemoryError"):
        execute_capsule()(bounded_synthesis(code=greedy)(case))


def test_a_custom_transform_is_given_as_the_guide_gives_it(
    guide: str, begun: Begun
) -> None:
    """``transforms={name: function}``, and a property that names it."""
    (block,) = blocks(section(guide, "Custom Transforms"))
    assert 'transforms={"shuffle_columns": shuffle_columns}' in block
    case = begun([1, 2], properties=[{"name": "p", "transform": "shuffle_columns"}])
    code = "def fit_and_eval(data): return {'total': sum(data)}"
    ran = execute_capsule()(bounded_synthesis(code=code)(case))
    step = run_metamorphic_tests(transforms={"shuffle_columns": lambda d: d[::-1]})
    assert step(ran).metrics["p_pass"] is True
