"""Modules beside a flow's functions: a change of what they import is a change of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow_files import sum_document
from muniment.encoding.canonical import sha256_tag
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.programs.references import Named
from muniment_plugins.governance import GovernancePolicy, load_flow, start_flow
from muniment_plugins.governance.flows.pins.loose_modules import modules_beside
from muniment_plugins.governance.flows.start import ready_flow

PATHS = (
    *("a.py", "b.py", "c.py", "d.py", "pack/__init__.py", "pack/e.py", "pack/f.py"),
    *("pack/deep/__init__.py", "pack/deep/g.py", "loose/h.py"),
)


def name_of(path: str) -> str:
    """Return the name by which a module is imported."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def lines(target: str) -> st.SearchStrategy[str]:
    """Return the ways to import a module in a text."""
    name = name_of(target)
    above, _, last = name.rpartition(".")
    ways = [
        f"import {name}",
        f"import {name} as other",
        f"from {name} import *",
        f"def f():\n    import {name}",
        f"try:\n    import {name}\nexcept ImportError:\n    pass",
        f"import json, {name}",
    ]
    if above:
        ways.append(f"from {above} import {last}")
    return st.sampled_from(ways)


def above(path: str) -> set[str]:
    """Return the packages that an import of *path* runs before it."""
    parents = Path(path).parents
    return {f"{one.as_posix()}/__init__.py" for one in parents} & {*PATHS}


def reached(start: str, imports: dict[str, set[str]]) -> set[str]:
    """Return all modules that *start* leads to, itself among them."""
    found, waiting = set[str](), {start}
    while waiting:
        one = waiting.pop()
        found.add(one)
        waiting |= ({*imports[one]} | above(one)) - found
    return found


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_exactly_what_the_text_imports(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The modules are those that imports lead to, at any distance, in any circle."""
    place = tmp_path_factory.mktemp("modules")
    imports: dict[str, set[str]] = {}
    digests: dict[str, str] = {}
    for path in PATHS:
        imports[path] = data.draw(st.sets(st.sampled_from(PATHS), max_size=2))
        written = [data.draw(lines(one)) for one in sorted(imports[path])]
        text = "\n".join([f"# {path}", '"""import c"""', *written, ""]).encode()
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
        digests[path] = sha256_tag(text)
    space: dict[str, Any] = {"__name__": "a"}
    source = compile("def act(run, task):\n    pass\n", str(place / "a.py"), "exec")
    exec(source, space)  # noqa: S102 - a function of that file, without its imports
    function = Named(
        space["act"], {"import": "a:act", "files": {"a.py": digests["a.py"]}}
    )
    found = modules_beside([function], place)
    assert found == {one: digests[one] for one in sorted(reached("a.py", imports))}


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("pack.e", "from . import f"),
        ("pack.e", "from .f import act"),
        ("pack.deep.g", "from ..f import act"),
        ("pack.deep.g", "from .. import f"),
    ],
)
def test_relative_imports(tmp_path: Path, module: str, line: str) -> None:
    """Dots lead up from the package of the module."""
    for path in PATHS:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    here = f"{module.replace('.', '/')}.py"
    (tmp_path / here).write_text(f"{line}\nfrom ....... import a\n")
    space: dict[str, Any] = {"__name__": module}
    exec(compile("def act(): pass", str(tmp_path / here), "exec"), space)  # noqa: S102
    known = Named(space["act"], {"import": f"{module}:act", "files": {}})
    assert modules_beside([known], tmp_path).keys() == {
        *("pack/f.py", here, "pack/__init__.py"),
        *above(here),
    }


# -- flows -----------------------------------------------------------------------

FILES = {
    "agents.py": "import helper\n\n\ndef say(run, task):\n    return helper.word()\n",
    "helper.py": "import deeper\n\n\ndef word():\n    return deeper.WORD.lower()\n",
    "deeper.py": 'WORD = "v1"\n',
    "stranger.py": "",
}
RUN = """
import sys
from pathlib import Path
from muniment.ledger import Ledger
from muniment.errors import MunimentError
from muniment.replays.replay import replay
from muniment_plugins.governance import load_flow, start_flow

act, run = sys.argv[1:]
with Ledger.open(Path("../ledger.db"), home=Path("../home"), plugins=("governance",)) as book:
    try:
        if act == "start":
            print(start_flow(book, load_flow(Path("desk/flow.json"))).status)
        elif act == "resume":
            print(book.resume(run).status)
        else:
            print(replay(book, run).verdict)
    except MunimentError as error:
        print(error.rule, error.place)
"""


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand above the folder of a flow whose agents import a helper."""
    folder = tmp_path / "work" / "desk"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder.parent)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    document = sum_document(agents=["a"], dependencies=[], parts={"a": "agents:say"})
    (folder / "flow.json").write_text(json.dumps(document))
    yield folder / "flow.json"
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def modules_of(book: Ledger, run: str) -> set[str]:
    """Return the modules in the fingerprint of *run*."""
    (told,) = book.events(run=run, type="environment.fingerprinted")
    return {*book.resolve(told)["modules"]}  # type: ignore[misc]  # plain JSON


def elsewhere(act: str, run: str = "") -> str:
    """Return what another process says that does *act*."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, act, run],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert not done.returncode, done.stderr
    return done.stdout.strip()


def test_helpers_are_in_the_fingerprint(book: Ledger, flow: Path) -> None:
    """What the agents import is in it, near and far; what lies beside it is not."""
    first = start_flow(book, load_flow(flow))
    assert first.ok, first.error
    assert modules_of(book, first.run_id) == {"agents.py", "deeper.py", "helper.py"}
    terms = GovernancePolicy.DEFAULT
    before = ready_flow(book, load_flow(flow), terms).pins["environment"]
    (flow.parent / "stranger.py").write_text("changed = 1\n")
    now = ready_flow(book, load_flow(flow), terms).pins["environment"]
    assert now == before
    (flow.parent / "deeper.py").write_text('WORD = "v2"\n')
    now = ready_flow(book, load_flow(flow), terms).pins["environment"]
    assert now != before


@pytest.mark.parametrize("name", ["agents.py", "helper.py", "deeper.py"])
@pytest.mark.parametrize("is_broken", [True, False])
def test_a_changed_helper(book: Ledger, flow: Path, name: str, is_broken: bool) -> None:
    """A replay finds it as it finds a changed function, and a resume is refused."""
    deeper = flow.parent / "deeper.py"
    if is_broken:
        deeper.write_text("WORD = None\n")
    del book
    assert elsewhere("start") == ("failed" if is_broken else "completed")
    with Ledger.open(
        Path("../ledger.db"), home=Path("../home"), plugins=("governance",)
    ) as again:
        run = next(iter(again.runs())).id
    assert elsewhere("replay", run) == "acceptable"
    file = flow.parent / name
    file.write_text(file.read_text() + "\nchanged = 1\n")
    assert elsewhere("replay", run).startswith("program/changed")
    if is_broken:
        assert elsewhere("resume", run).startswith("program/changed")


def test_a_changed_helper_at_a_resume(book: Ledger, flow: Path) -> None:
    """In the very process that ran it, where it is imported, a resume is refused."""
    (flow.parent / "helper.py").write_text("def word():\n    raise ValueError('no')\n")
    done = start_flow(book, load_flow(flow))
    assert done.status == "failed"
    (flow.parent / "helper.py").write_text("def word():\n    return 'yes'\n")
    before = book.head
    with pytest.raises(RefusedError, match=r"modules\.helper\.py was sha256") as caught:
        book.resume(done.run_id)
    assert caught.value.rule == "flow/environment"
    assert book.head == before


LATE = {
    "in the function": "    import helper\n    return helper.word()\n",
    "after another": "    import stranger, helper\n    return helper.word()\n",
    "by its name": (
        "    if False:\n        import helper\n"
        "    from importlib import import_module\n"
        "    return import_module('helper').word()\n"
    ),
    "in a thread": (
        "    from concurrent.futures import ThreadPoolExecutor\n"
        "    def late():\n        import helper\n        return helper.word()\n"
        "    with ThreadPoolExecutor(1) as pool:\n"
        "        return pool.submit(late).result()\n"
    ),
    "swallowing what it raises": (
        "    try:\n        import helper\n    except Exception:\n        pass\n"
        "    return 'v1'\n"
    ),
}


@pytest.mark.parametrize("how", LATE)
def test_a_helper_that_is_imported_late(book: Ledger, flow: Path, how: str) -> None:
    """Wherever a module of the fingerprint is imported, a replay finds its change.

    Also one with which the flow comes to the same.
    """
    (flow.parent / "agents.py").write_text(f"def say(run, task):\n{LATE[how]}")
    assert elsewhere("start") == "completed"
    (run,) = [one.id for one in book.runs()]
    assert {"helper.py", "deeper.py"} <= modules_of(book, run)
    assert elsewhere("replay", run) == "acceptable"
    for name in ("helper.py", "deeper.py"):
        file = flow.parent / name
        before = file.read_text()
        file.write_text(f"{before}\nchanged = 1\n")
        assert elsewhere("replay", run).startswith(f"program/changed {file}")
        file.write_text(before)
    assert elsewhere("replay", run) == "acceptable"
