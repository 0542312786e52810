"""A model server for each test, and no way of its own out of the environment.

Fixtures for the ``conftest.py`` of each folder whose tests ask models.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from model_prompts import KEY
from model_server import ModelServer
from recording import Desk, new_desk


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the keys, places and proxies that the shell set."""
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "http_proxy",
        "HTTP_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """Give the test a server that speaks as model servers do."""
    with ModelServer() as running:
        yield running


@pytest.fixture
def places(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the environment name the server on this machine, and a key."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.fixture
def desk(tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Give the test a ledger, a server, and the command line beside them."""
    found = new_desk(tmp_path / "desk", server)
    monkeypatch.chdir(found.place)
    return found
