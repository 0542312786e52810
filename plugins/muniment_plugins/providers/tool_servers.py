"""Tool servers (MCP) whose calls are effects: answered live once, then from the record.

    async with tool_server(connect, run) as tools:
        await tools.call_tool("add", {"a": 1, "b": 2})

    tool.requested  {"name": "add", "arguments": {"a": 1, "b": 2}}
    tool.completed  {"type": "CallToolResult", "result": {"content": […], …}}

Rules:

- ``connect()`` gives an async context manager of a client, such as the ``mcp`` package's
  ``Client``, or a ``ClientSession`` that is initialised. A replay does not call it: no
  server is started.
- A call of a tool is an effect of kind ``tool``, which a resume repeats only when told
  to. Calls that list or read are of kind ``data``.
- Secrets are taken out of arguments and results before they are written. The program
  gets results as they were recorded, in the classes of the ``mcp`` package.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from muniment.errors import CannotTellError
from muniment.runs.run import current_run
from muniment_plugins.providers.refusals import missing
from muniment_plugins.providers.secrets.redaction import Redaction

if TYPE_CHECKING:
    from muniment.runs.run import Run

__all__ = ["ToolServer", "tool_server"]

_RESULTS = ("CallToolResult", "ListToolsResult", "ReadResourceResult")
"""The classes of results; others are not made again from a record."""


class ToolServer:
    """A tool server that is connected, or was when it was recorded."""

    def __init__(self, session: Any, run: Run | None = None) -> None:
        self._session = session
        self._run = run

    async def call_tool(
        self, name: str, arguments: Mapping[str, object] | None = None
    ) -> Any:
        """Call the tool *name*; return its ``CallToolResult``.

        Raises:
            EffectFailed: there was no result. A result that says error is one.

        """
        given = dict(arguments or {})
        request = {"name": name, "arguments": given}
        return await self._ask("tool", request, "call_tool", name, given)

    async def list_tools(self) -> Any:
        """Return the server's ``ListToolsResult``, its first page."""
        return await self._ask("data", {"name": "list_tools"}, "list_tools")

    async def read_resource(self, uri: str) -> Any:
        """Return the ``ReadResourceResult`` of *uri*."""
        request = {"name": "read_resource", "uri": uri}
        return await self._ask("data", request, "read_resource", uri)

    async def _ask(self, kind: str, request: object, method: str, *given: Any) -> Any:
        lane = self._run or current_run()
        redaction = Redaction()

        async def perform(_: object) -> object:
            try:
                result = await getattr(self._session, method)(*given)
            except Exception as error:  # noqa: BLE001 - raised again, without secrets
                raise _redacted(error, redaction) from None
            told = result.model_dump(mode="json", by_alias=True, exclude_none=True)
            name = type(result).__name__
            return {"type": name, "result": redaction.value(told)}

        answer = await lane.aeffect(kind, redaction.value(request), perform)
        return _made(cast("Mapping[str, object]", answer))


@asynccontextmanager
async def tool_server(
    connect: Callable[[], AbstractAsyncContextManager[Any]], run: Run | None = None
) -> AsyncGenerator[ToolServer]:
    """Give the server that *connect* connects to, for calls that are effects of *run*.

    Without *run*, a call belongs to the run or lane that the calling code is in.
    """
    if (run or current_run()).replays:
        yield ToolServer(None, run)
        return
    async with connect() as session:
        yield ToolServer(session, run)


def _redacted(error: Exception, redaction: Redaction) -> Exception:
    """Return *error*, reworded if its text holds a secret."""
    told = redaction.text(str(error))
    if told == str(error):
        return error
    return CannotTellError(
        f"{type(error).__name__}: {told}", rule="provider/tool", place="tool_server"
    )


def _made(answer: Mapping[str, object]) -> Any:
    name = answer["type"]
    try:
        types: Any = import_module("mcp.types")
    except ImportError:
        raise missing("mcp", "mcp") from None
    if name not in _RESULTS:
        raise CannotTellError(
            f"a {name} is not made again from a record",
            rule="provider/tool",
            place="tool_server",
            remedy=f"known: {', '.join(_RESULTS)}",
        )
    return getattr(types, str(name)).model_validate(answer["result"])
