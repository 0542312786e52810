"""Code by a model, from the first refusal to a verdict with a p-value and its replay."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.replays.replay import replay
from muniment.verification.verify import verify
from servers import HttpServer

EXAMPLE = Path(__file__).parents[4] / "examples" / "code_by_a_model.py"

PRINTED = (
    "8 programs were refused, by capsule/import\n"
    "better: True, p = 0.0039\n"
    "integrity: valid\n"
    "replay: acceptable, True\n"
)


class Author(HttpServer):
    """Speaks chat completions: a program out of bounds first, then a corrected one."""

    def __init__(self, answers: list[dict[str, str]]) -> None:
        super().__init__(_Handler)
        self.answers = answers
        self.asked: list[Any] = []


class _Handler(BaseHTTPRequestHandler):
    server: Author

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer with the first text that fits the last message."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        last = body["messages"][-1]["content"]
        text = next(one["text"] for one in self.server.answers if one["when"] in last)
        message = {"role": "assistant", "content": text}
        answer = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13},
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def author() -> Iterator[Author]:
    """Give the test a model server on this machine."""
    text = EXAMPLE.read_text()
    names: dict[str, Any] = {}
    exec(text[text.index("FORBIDDEN =") : text.index("def measurements")], names)  # noqa: S102 - its own constants
    with Author(names["SCRIPT"]) as server:
        yield server


def run(work: Path, **environment: str) -> str:
    """Run the example in *work*, with no key but what is given; what it prints."""
    work.mkdir(exist_ok=True)
    kept = {n: v for n, v in os.environ.items() if not n.startswith("OPENAI_")}
    ran = subprocess.run(
        [sys.executable, EXAMPLE],
        cwd=work,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_with_a_script(tmp_path: Path) -> None:
    """Without a key the example answers itself, and every fact of it verifies."""
    work = tmp_path / "work"
    assert run(work) == PRINTED
    assert verify(work / ".muniment" / "ledger.db").ok


def test_with_a_model_server(tmp_path: Path, author: Author) -> None:
    """Over HTTP the same; each call is recorded once, with its tokens, and no key."""
    work, key = tmp_path / "work", "sk-proj-" + "4f" * 20
    place = f"{author.url}/v1"
    said = run(work, OPENAI_API_KEY=key, OPENAI_BASE_URL=place, MODEL="m-1")
    assert said == PRINTED
    assert len(author.asked) == 16
    path = work / ".muniment" / "ledger.db"
    with muniment.open(path, readonly=True) as ledger:
        calls = list(ledger.events(type="llm.completed"))
        assert len(calls) == 16
        usage = {"input_tokens": 9, "output_tokens": 4}
        for event in calls:
            about = event.data["about"]
            assert isinstance(about, dict)
            assert about["model"] == "m-1"
            assert usage.items() <= about["usage"].items()
    assert not any(
        key.encode() in file.read_bytes() for file in work.rglob("*") if file.is_file()
    )


def test_the_verdict_is_derived_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, author: Author
) -> None:
    """Another process imports the step and the verifier, and asks no provider."""
    work = tmp_path / "work"
    place = f"{author.url}/v1"
    run(work, OPENAI_API_KEY="sk-none", OPENAI_BASE_URL=place, MODEL="m-1")
    asked = len(author.asked)
    with muniment.open(work / ".muniment" / "ledger.db", readonly=True) as ledger:
        (started,) = ledger.events(type="run.started")
        assert started.run is not None
        monkeypatch.chdir(work)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        monkeypatch.setenv("MODEL", "m-1")
        program = _program(monkeypatch)
        report = replay(ledger, started.run, program=program)
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert len(author.asked) == asked


def _program(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the example's program, made in this process as its script makes it."""
    spec = importlib.util.spec_from_file_location("__main__", EXAMPLE)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "__main__", module)
    text = EXAMPLE.read_text()
    code = compile(text[: text.index("with muniment.open")], EXAMPLE, "exec")
    exec(code, module.__dict__)  # noqa: S102 - the example itself
    return module.experiment.program


@pytest.mark.slow
@pytest.mark.skipif("OPENAI_API_KEY" not in os.environ, reason="needs OPENAI_API_KEY")
def test_with_a_real_model(tmp_path: Path) -> None:
    """With a key of one's own, a real model is asked, and its code is judged."""
    kept = {n: v for n, v in os.environ.items() if n.startswith("OPENAI_")}
    assert "replay: acceptable, True" in run(tmp_path / "work", **kept)
