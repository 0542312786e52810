"""Tool servers (MCP) whose calls are effects: answered live once, then from the record.

    async with tool_server(connect, run) as tools:
        await tools.call_tool("add", {"a": 1, "b": 2})

    tool.requested  {"name": "add", "arguments": {"a": 1, "b": 2}}
    tool.completed  {"type": "CallToolResult", "result": {"content": […], …}}

Rules:

- ``connect()`` gives an async context manager of a client, such as the ``mcp`` package's
  ``Client``, or a ``ClientSession`` that is initialised. A replay and a dry run do not call
  it: no server is started.
- A server that cannot be reached fails what is asked of it, and that is in the record. So a
  replay comes to the same, and so does a resume while the server is down.
- What the program raises is raised, whatever a connection that is closed makes of it. A
  connection that cannot be closed when all is done is said to be so, on stderr.
- A call of a tool is an effect of kind ``tool``, which a resume repeats only when told
  to. Calls that list or read are of kind ``data``.
- Secrets are taken out of arguments, results and errors before they are written. The
  program gets results as they were recorded, in the classes of the ``mcp`` package.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from muniment.errors import CannotTellError, printable
from muniment.runs.run import current_run
from muniment_plugins.providers.refusals import missing
from muniment_plugins.providers.secrets.redaction import Redaction

if TYPE_CHECKING:
    from muniment.runs.run import Run

__all__ = ["ToolServer", "tool_server"]

_RESULTS = {
    "call_tool": "CallToolResult",
    "list_tools": "ListToolsResult",
    "read_resource": "ReadResourceResult",
}
"""What is asked → the class of its result; no other one is made again from a record."""


class ToolServer:
    """A tool server that is connected, or was when it was recorded."""

    is_recorded = True
    """Its calls are effects: loops of agents take no other server."""

    def __init__(
        self,
        session: Any,
        run: Run | None = None,
        *,
        prefix: str = "",
        only: Iterable[str] | None = None,
    ) -> None:
        self._session = session
        self._run = run
        self.prefix = prefix
        """What a loop writes before the names of its tools."""
        self.only = None if only is None else tuple(only)
        """The tools that a loop offers, by the server's names; None for all."""

    async def call_tool(
        self, name: str, arguments: Mapping[str, object] | None = None
    ) -> Any:
        """Call the tool *name*; return its ``CallToolResult``.

        Raises:
            EffectFailed: there was no result. A result that says error is one.

        """
        given = dict(arguments or {})
        request: dict[str, object] = {"name": name, "arguments": given}
        if self.prefix:
            request["prefix"] = self.prefix
        return await self._ask("tool", request, "call_tool", name, given)

    async def list_tools(self, *, cursor: str | None = None) -> Any:
        """Return the server's ``ListToolsResult``: the first page, or that at *cursor*."""
        request = {"name": "list_tools"}
        if cursor is not None:
            request["cursor"] = cursor
        return await self._ask("data", request, "list_tools", cursor=cursor)

    async def read_resource(self, uri: str) -> Any:
        """Return the ``ReadResourceResult`` of *uri*."""
        request = {"name": "read_resource", "uri": uri}
        return await self._ask("data", request, "read_resource", uri)

    async def _ask(
        self,
        kind: str,
        request: object,
        method: str,
        *given: Any,
        cursor: str | None = None,
    ) -> Any:
        lane = self._run or current_run()
        redaction = Redaction()

        async def perform(_: object) -> object:
            try:
                ask = getattr(self._session, method)
                more = {} if cursor is None else _page(ask, cursor)
                told = _told(await ask(*given, **more), method)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - without secrets
                raise _redacted(error, redaction) from None
            return {"type": _RESULTS[method], "result": redaction.value(told)}

        answer = await lane.aeffect(kind, redaction.value(request), perform)
        return _made(cast("Mapping[str, object]", answer))


@asynccontextmanager
async def tool_server(
    connect: Callable[[], AbstractAsyncContextManager[Any]],
    run: Run | None = None,
    *,
    prefix: str = "",
    only: Iterable[str] | None = None,
) -> AsyncGenerator[ToolServer]:
    """Give the server that *connect* connects to, for calls that are effects of *run*.

    Args:
        connect: makes the connection, an async context manager.
        run: whose effects the calls are; else those of the run or lane that the calling
            code is in.
        prefix: what a loop writes before the names of the server's tools, so that they
            are not those of another server.
        only: the tools that a loop offers, by the server's own names; all by default.

    """
    named: Any = {"prefix": prefix, "only": only}
    lane = run or current_run()
    if not lane.performs:
        yield ToolServer(None, run, **named)
        return
    connection, session = await _connected(connect)
    try:
        yield ToolServer(session, run, **named)
    except Exception as error:
        with suppress(Exception):  # a task group would raise a group of what it got
            await connection.__aexit__(type(error), error, error.__traceback__)
        raise
    except BaseException as error:
        if not await connection.__aexit__(type(error), error, error.__traceback__):
            raise
    else:
        await _close(connection)


class _Unreached:
    """Stands for the session of a server that was not reached."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise self._error


async def _connected(
    connect: Callable[[], Any],
) -> tuple[AbstractAsyncContextManager[Any], Any]:
    """Return a connection that is open, and its session."""
    try:
        made = _connection(connect())
        return made, await made.__aenter__()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - by what is asked of it
        return nullcontext(), _Unreached(error)


def _connection(made: Any) -> AbstractAsyncContextManager[Any]:
    """Return the connection that was *made*, if it is one.

    Raises:
        CannotTellError: it is none.

    """
    if hasattr(made, "__aenter__"):
        return cast("AbstractAsyncContextManager[Any]", made)
    raise CannotTellError(
        f"what connects gave a {type(made).__name__}",
        rule="provider/tool",
        place="tool_server",
        remedy="give a function that returns an async context manager, such as "
        "`lambda: mcp.Client(url)`",
    )


def _page(ask: Callable[..., object], cursor: str) -> dict[str, object]:
    """Return how a session takes a *cursor*: editions of ``mcp`` differ."""
    try:
        known = inspect.signature(ask).parameters
    except (TypeError, ValueError):
        return {"cursor": cursor}
    if "params" not in known or "cursor" in known:
        return {"cursor": cursor}
    return {"params": _types().PaginatedRequestParams(cursor=cursor)}


async def _close(connection: AbstractAsyncContextManager[Any]) -> None:
    """Close a *connection* whose work is done, and say it if that fails."""
    try:
        await connection.__aexit__(None, None, None)
    except Exception as error:  # noqa: BLE001 - nothing that was done depends on it
        told = _redacted(error, Redaction())
        with suppress(Exception):  # nobody is there to hear of it
            sys.stderr.write(
                "muniment: a connection to a tool server was not closed: "
                f"{type(told).__name__}: {printable(told)}\n"
            )


def _told(result: Any, method: str) -> object:
    """Return the JSON value of a *result*, if it is one of what was asked.

    Raises:
        CannotTellError: it is something else.

    """
    name, wanted = type(result).__name__, _RESULTS[method]
    if name != wanted or not hasattr(result, "model_dump"):
        raise CannotTellError(
            f"{method} was answered with a {name}, and not a {wanted}",
            rule="provider/tool",
            place=f"tool_server: {method}",
            remedy="connect to a server by the mcp package, or to what answers like it",
        )
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def _redacted(error: BaseException, redaction: Redaction) -> Exception:
    """Return *error*, reworded if its text holds a secret, or if it is a group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    said = printable(error)
    told = redaction.text(said)
    if told == said and isinstance(error, Exception):
        return error
    return CannotTellError(
        f"{type(error).__name__}: {told}", rule="provider/tool", place="tool_server"
    )


def _types() -> Any:
    try:
        return import_module("mcp.types")
    except ImportError:
        raise missing("mcp", "mcp") from None


def _made(answer: Mapping[str, object]) -> Any:
    name = str(answer["type"])
    types = _types()
    if name not in _RESULTS.values():
        raise CannotTellError(
            f"a {name} is not made again from a record",
            rule="provider/tool",
            place="tool_server",
            remedy=f"known: {', '.join(_RESULTS.values())}",
        )
    return getattr(types, name).model_validate(answer["result"])
