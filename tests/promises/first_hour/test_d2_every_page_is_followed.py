"""Every page of the documentation can be followed as it is written.

By an ordinary user, in an empty directory, with fresh processes, and with nothing
installed but what the page names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from base_install import Site
from model_server import ModelServer
from pages import FILE, Desk, Situation, blocks, follow

ROOT = Path(__file__).parents[3]
TREE = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PAGES = [
    page
    for page in TREE
    if {"python", "sh"} & {block.language for block in blocks(page)}
]
FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
READ = {
    "docs/reference/api.md": "test_api_page.py",
    "docs/reference/commands.md": "cli/shell/test_completion.py",
    "docs/spec/canonical.md": "ledger/values/test_spec_values.py",
    "docs/spec/checkpoint.md": "ledger/formats/test_spec_checkpoint.py",
    "docs/spec/event.md": "ledger/formats/test_spec_event.py",
    "docs/spec/evidence.md": "plugins/evidence/bundles/test_bundle_forged.py",
    "docs/spec/report.md": "plugins/evidence/pages/test_page_in_bundle.py",
    "docs/spec/trust-home.md": "ledger/keys/test_heads.py",
    "docs/spec/values.md": "ledger/values/test_spec_values.py",
}
"""Pages whose blocks nobody types, and who reads those instead."""
SLOW = {"README.md", "experiments.md", "keys-on-ci.md", "record-programs.md"}
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
AGENT = """
import json, os, sys, urllib.request

with open("times", "a+") as file:
    file.write("x")
    file.seek(0)
    times = len(file.read())
body = {"model": "m", "messages": [{"role": "user", "content": "Summarise T-1."}]}
asked = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(body).encode(),
    {"content-type": "application/json"},
)
print(json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"])
sys.exit(times == 4)  # the line of the page after whose run it is resumed
"""
ASKS = """
def main(run):
    for kind in ["llm"] * 3 + ["tool"] * 9:
        run.effect(kind, {"name": "x"}, lambda _: 1)
"""
SITUATIONS = {
    "README.md": Situation(
        files={"agent.py": AGENT},
        places=("here", "flows"),
        exits={
            "muniment init --example": (0,),
            "muniment init": (4,),  # the first program has made one
            "muniment resume RUN": (4,),  # it is complete
            "muniment doctor": (0, 1),
        },
        unrun={
            "make demo    # in a checkout, with Python 3.11 to 3.13, git and make: the "
            "tour, in seconds": "of the checkout, not of an empty directory",
            "pip install .": "of the checkout: see test_wheel.py",
            "3  Replay": "an excerpt of the tour: see test_docs.py",
        },
    ),
    "CONTRIBUTING.md": Situation(
        unrun={
            "make test            # all but the slow tests; sets itself up (Python 3.11 or newer, "
            "git, make)": "of the checkout: see test_contributing.py",
            "ledger/muniment/            THE KERNEL, from the ground up": (
                "the map: see test_contributing.py"
            ),
        }
    ),
    "tutorial-governance.md": Situation(
        exits={
            "muniment plan broken.json": (2,),
            "muniment run flow.json --policy policy.json 2>&1": (4,),
            "muniment observe last": (1,),
            "python stand_in.py muniment record --policy": (1,),
            "python stand_in.py muniment run": (5,),
        },
    ),
    "govern.md": Situation(
        exits={
            "muniment run asks.py --policy four.json": (1,),
            "muniment run asks.py --policy declared.json": (1,),
            "muniment amend last": (5,),
            "muniment replay last": (1,),
        },
    ),
    "judge-agents.md": Situation(
        exits={
            "muniment run mend.py:graph --task 'Mend it' --policy two.json": (1,),
            "muniment run mend.py:graph --task 'Mend it' --policy asks.json": (5,),
            "muniment resume last": (4,),
            "muniment eval mends.toml model=b": (1,),
        },
    ),
    "write-flows.md": Situation(
        exits={"muniment run flow.json --policy": (1,)},
        unrun={
            '"retrieval_contracts": [{"vector_contract_id": "manuals", "agents": '
            '["route"], "top_k": 3}]': "a part of a manifest",
            '"dataset": {': "a part of a manifest",
        },
    ),
    "flows.md": Situation(before=("muniment init --example flow",)),
    "change-graphs.md": Situation(exits={"muniment workflow commit late.json": (4,)}),
    "signals.md": Situation(
        exits={
            "muniment run talk.json": (5,),
            "muniment workflow signal RUN go": (0, 4),
            "muniment workflow update RUN budget": (4,),
        },
    ),
    "workflows.md": Situation(
        exits={
            "muniment run letter.json": (1,),
            "muniment run asked.json": (5,),
        },
    ),
    "evals.md": Situation(
        exits={
            "muniment eval good.json last~1": (3,),
            "muniment eval good.json last": (0, 1),
            "muniment runs diff last": (1,),
        },
    ),
    "workflow.md": Situation(exits={"muniment resume last": (4,)}),
    "query.md": Situation(
        files={"asks.py": ASKS}, before=("muniment init", "muniment run asks.py")
    ),
    "keys-on-ci.md": Situation(
        places=("owner", "runner", "next"),
        files={"nightly.py": "def main(run): return 1\n"},
        hands=("ci.json", "last.note"),
    ),
    "hand-over-to-an-auditor.md": Situation(
        places=("owner", "auditor"),
        hands=(
            "work.py",
            *("end-of-november.note", "end-of-december.note", "december.zip"),
            "report.html",
            *("november.db", "november.db.blobs", "december.db", "december.db.blobs"),
        ),
    ),
    "operations.md": Situation(
        places=("owner", "spare"),
        hands=("nightly.py", "friday.db", "friday.db.blobs", "friday.note"),
        exits={"muniment doctor": (0, 1)},
        unrun={
            "docker run --rm --user 10001:10001 \\": "containers are not started here"
        },
    ),
    "decisions.md": Situation(
        places=("here", "ann"),
        hands=("ann.json", "yes.json"),
        exits={"muniment run release.py": (5,)},
    ),
    "verify-without-muniment.md": Situation(
        files={"work.py": "def main(run): return run.effect('tool', 1, lambda _: 2)\n"},
        before=(
            "muniment init",
            "muniment run work.py",
            "muniment bundle RUN -o evidence",
        ),
        unrun={
            "cosign verify-blob-attestation --bundle evidence/evidence.sigstore.json \\": (
                "needs cosign 3: see test_bundle_outsiders.py"
            ),
            "node verify_evidence.mjs evidence --key "
            "SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8": (
                "needs node: see test_three_verifiers.py"
            ),
            "cosign verify-blob-attestation --bundle event-1.json --key event.pub \\": (
                "needs cosign 3: see test_foreign_tools.py"
            ),
        },
    ),
    "attest.md": Situation(
        unrun={
            "cosign verify-blob-attestation --key writer.pem --signature line.json \\": (
                "needs cosign 3: see test_attestations.py"
            ),
        },
    ),
    "export.md": Situation(
        unrun={
            "muniment export RUN --format otlp -o run.otlp": (
                "needs a collector: see test_exports.py"
            ),
        },
    ),
    "erase.md": Situation(exits={"muniment replay RUN": (3,)}),
    "resume.md": Situation(exits={"muniment cancel RUN": (4,)}),  # it is complete
    "isolation.md": Situation(
        exits={"muniment doctor": (0, 1)},
        unrun={
            "docker run --rm --cap-drop ALL --security-opt no-new-privileges IMAGE "
            "muniment doctor": "containers are not started here",
            "docker run --rm --security-opt seccomp=profile.json IMAGE muniment "
            "doctor": "containers are not started here",
            "jobs:": "a runner of GitHub is not at hand",
        },
    ),
    "record-programs.md": Situation(
        files={"agent.py": AGENT},
        exits={"muniment record --volatile": (1,)},
        unrun={
            "warning: not recorded: the program connected to 127.0.0.1:11434; started "
            "`curl -s …`": "see test_f1_unrecorded_calls.py",
            "diverged     effect event 2": "see test_f5_differences.py",
            "another program  command[3] was 'T-1', is 'T-2'": (
                "see test_recorder_likeness.py"
            ),
            "warning: not searched for secrets: the answer of GET https://… "
            "(nothing here unpacks br)": "see test_f2_unsearched_bodies.py",
        },
    ),
    "agents.md": Situation(
        files={
            name: (ROOT / "examples" / "agents" / name).read_text()
            for name in ("repair.py", "capsule_cases.py", "repair_report.py")
        },
        unrun={
            "async with tool_server(lambda: mcp.Client(url)) as server:": (
                "a server of somebody else: see test_tool_servers.py"
            )
        },
    ),
    "models.md": Situation(
        unrun={
            "async with tool_server(lambda: mcp.Client(url), run) as tools:": (
                "a server of somebody else: see test_providers_tools.py"
            )
        },
    ),
    "benchmarks.md": Situation(
        unrun={
            "make bench                                # all of it, about ten minutes": (
                "takes the machine for minutes, and a checkout"
            )
        }
    ),
    "hooks.md": Situation(
        unrun={
            "[project.entry-points.muniment]": "see test_third_party.py",
            '[project.entry-points."muniment.commands"]': "see test_commands_of_plugins.py",
        }
    ),
}


@pytest.fixture
def site() -> Iterator[Site]:
    """Give an environment with the package, and no extra of it."""
    made = Site()
    yield made
    made.close()


@pytest.fixture(scope="module")
def bare() -> Iterator[Site]:
    """Give an environment to which nothing is added."""
    made = Site()
    yield made
    made.close()


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=[pytest.mark.slow] * (page.name in SLOW))
        for page, name in zip(PAGES, NAMES, strict=True)
    ],
)
def test_page_is_followed(page: Path, site: Site) -> None:
    """Each block is run or compared, or is listed with the reason why it is not."""
    situation = SITUATIONS.get(page.name, Situation())
    with ModelServer() as server, Desk(site, situation) as desk:
        if "agent.py" in situation.files:
            desk.also["OPENAI_BASE_URL"] = f"{server.url}/v1"
        done = follow(page, desk)

    counted = len(done.ran) + len(done.compared) + len(done.listed)
    assert counted == len(blocks(page))
    assert {block.first for block in done.listed} == set(situation.unrun)


def test_no_block_is_passed_over() -> None:
    """Every page with a block is followed, or a test that there is reads its blocks."""
    with_blocks = {page for page in TREE if FENCE.search(page.read_text())}
    others = {str(page.relative_to(ROOT)) for page in with_blocks - {*PAGES}}
    assert others == READ.keys()
    for page in PAGES:
        assert len(FENCE.findall(page.read_text())) == 2 * len(blocks(page)), page
    tests = ROOT / "tests"
    for name, test in READ.items():
        assert Path(name).stem in (tests / test).read_text()
    told = " ".join(str(situation.unrun) for situation in SITUATIONS.values())
    for name in re.findall(r"see (\w+\.py)", told):
        assert [*tests.rglob(name)], name


DOINGS = {
    *("execute", "aexecute", "resume", "append", "append_many", "erase", "checkpoint"),
    *("run", "arun", "register", "replay"),
}
GUARD = "__name__ == '__main__'"
GUIDES = [
    page
    for page in PAGES
    if page.name in {"README.md", "tutorial.md"} or page.parent.name == "how-to"
]


def doings(source: str) -> set[str]:
    """Return what *source* does when it is imported, of what a replay refuses."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(ast.parse(source).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += getattr(node, "decorator_list", [])
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == GUARD):
            waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Call):
            found.add(ast.unparse(node.func).rpartition(".")[2])
    return found & DOINGS


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_files_are_guarded(page: Path) -> None:
    """Every file that a page shows has a name, and does nothing when it is imported."""
    shown = [block.text for block in blocks(page) if block.language == "python"]

    for number, source in enumerate(shown):
        assert number or FILE.match(source), "the first block names its file"
        assert doings(source) == set(), source


def test_an_unguarded_file_is_seen() -> None:
    """What would run at an import is found, also in blocks and decorators."""
    for source in (
        "ledger.execute(main)",
        "with muniment.open() as ledger:\n    done = ledger.execute(main).result",
        "for one in range(3):\n    ledger.append('note.added', {})",
        "class A:\n    run = experiment.run()",
        "if True:\n    replay(ledger, run)",
    ):
        assert doings(source)
    guarded = 'def main(run): run.execute()\n\nif __name__ == "__main__":\n    '
    assert not doings(guarded + "ledger.execute(main)")


WRONG = {
    "another output": "```python\nprint(1)\n```\n```output\n2\n```\n",
    "output that is not shown": "```python\nprint(1)\n```\n",
    "more output than comes": "```sh\ntrue\n```\n```output\n2\n```\n",
    "another exit code": "```sh\nfalse\n```\n",
    "a command that is none": "```sh\nmuniment nothing\n```\n",
    "a package that it does not name": "```python\nimport numpy\n```\n",
    "an extra that it does not name": "```python\nimport httpx2\n```\n",
    "a file that it does not make": "```sh\npython agent.py\n```\n",
    "a warning": "```python\nimport warnings\nwarnings.warn('old')\n```\n",
    "rights of root": "```sh\ntouch /etc/of-root || exit 1\n```\n",
    "a block of another language": "```yaml\njobs: 1\n```\n",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_page_that_is_wrong_is_seen(wrong: str, bare: Site, tmp_path: Path) -> None:
    """What a page forgets, or says otherwise than it is, fails."""
    page = tmp_path / "page.md"
    page.write_text(WRONG[wrong])

    with Desk(bare, Situation()) as desk, pytest.raises(AssertionError):
        follow(page, desk)
