"""Gates of plugins, asked where a recording client of asyncio sends a request."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2

from muniment.errors import EffectFailed
from muniment.events.effect_kinds import EffectKind
from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment_plugins.providers import async_http_client

REQUESTS = 3


class Asked:
    """Lets requests pass, or answers them with an error, after it was waited for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.all_asked = asyncio.Event()

    @hookimpl
    async def before_effect(self, kind: EffectKind, request: Any) -> str | None:
        """Go by the path."""
        self.asked.append(kind.name)
        if len(self.asked) == REQUESTS:
            self.all_asked.set()
        await asyncio.wait_for(self.all_asked.wait(), 60)
        return "over budget" if request["url"].endswith("/dear") else None


def test_a_gate_is_awaited_where_the_client_is(tmp_path: Path) -> None:
    """Requests wait for a gate side by side; one that is refused is not sent."""
    sent: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.url.path)
        return httpx2.Response(200, text=request.url.path)

    async def program(run: Run) -> list[str]:
        async with async_http_client(
            run, transport=httpx2.MockTransport(answer)
        ) as http:

            async def get(path: str) -> str:
                try:
                    return (await http.get(f"http://localhost/{path}")).text
                except EffectFailed as error:
                    return error.message

            return list(await asyncio.gather(*map(get, ("a", "b", "dear"))))

    path, gate = tmp_path / "ledger.db", Asked()
    with Ledger.create(path, plugins=Plugins(extra={"gate": gate})) as ledger:
        done = asyncio.run(ledger.aexecute(program))
        assert done.result[:2] == ["/a", "/b"]  # type: ignore[index]
        assert "over budget" in done.result[2]  # type: ignore[index]
        assert sorted(sent) == ["/a", "/b"]
        assert len(gate.asked) == REQUESTS
    with Ledger.open(path) as ledger:
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
