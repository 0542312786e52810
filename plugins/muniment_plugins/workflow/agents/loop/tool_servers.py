"""The tools of servers that speak MCP, called like others and recorded by their client.

    async with tool_server(connect) as server:
        await agent_aloop(run, "…", model="…", servers=[server], …)

Rules:

- A server is what `muniment_plugins.providers.tool_server` gives, or what is like it: it
  records its own calls, and a replay connects to nothing. A bare session is refused.
- All pages of what a server lists are offered. Tools of several servers, and one's own,
  have different names: a server's ``prefix`` goes before those of its tools, and ``only``
  says which of them are offered.
- What a server says about its tools is its own word. They count as ``network`` unless the
  caller states something else (``tool_annotations``), so somebody must allow them.
- A result that says error is told to the model as one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from muniment.documents.places import At, near
from muniment.encoding.canonical import JsonValue
from muniment.errors import UsageError
from muniment.runs.run import Run
from muniment_plugins.workflow.runtime.failures import WorkflowFailed
from muniment_plugins.workflow.tools.registry import ToolRegistry, tool_define

__all__ = ["RecordedServer", "ServerTool", "not_recorded", "served_tools"]

_DIALECT = "$schema"
_PAGES = 1000
"""A server that lists more has no end."""


class RecordedServer(Protocol):
    """A server of tools whose calls record themselves in the current lane.

    It may have a ``prefix``, which goes before the names of its tools, and ``only``, the
    tools that are offered, by its own names.
    """

    is_recorded: bool

    async def list_tools(self, *, cursor: str | None = None) -> Any:
        """Return what has ``tools``, each with name, description and ``inputSchema``.

        The next page is at ``nextCursor``, if there is one.
        """
        ...

    async def call_tool(
        self, name: str, arguments: Mapping[str, object] | None = None
    ) -> Any:
        """Call a tool; return what has ``content`` and ``isError``."""
        ...


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of a server."""

    server: RecordedServer
    name: str

    async def called(
        self, lane: Run, arguments: Mapping[str, object]
    ) -> tuple[bool, str]:
        """Call it in *lane*; return whether that was good, and what it returned.

        Raises:
            EffectFailed: there was no result.

        """
        with lane:
            result = await self.server.call_tool(self.name, dict(arguments))
        return not _member(result, "isError", "is_error"), _text(result)


async def served_tools(
    lane: Run, registry: ToolRegistry, servers: Iterable[RecordedServer]
) -> tuple[ToolRegistry, dict[str, ServerTool]]:
    """Return *registry* with the tools of *servers*, and which server has which.

    Raises:
        UsageError: a server does not record its calls, or two tools share a name.
        EffectFailed: a server does not say which tools it has.
        WorkflowFailed: what it says is no list of tools.

    """
    found: dict[str, ServerTool] = {}
    for number, server in enumerate(servers):
        place = f"servers[{number}]"
        if getattr(server, "is_recorded", False) is not True:
            raise not_recorded(server, place)
        with lane.scope(f"server.{number}"):
            listed = await _listed(server, place)
        for one in _offered(server, listed, place):
            schema = dict(_member(one, "inputSchema", "input_schema") or {})
            schema.pop(_DIALECT, None)
            name = f"{getattr(server, 'prefix', '')}{one.name}"
            options: dict[str, JsonValue] = {"parameters": schema}
            try:
                registry = tool_define(registry, name, one.description or "", options)
            except UsageError as error:
                raise _unusable(error, place, one.name) from error
            found[name] = ServerTool(server, one.name)
    return registry, found


async def _listed(server: RecordedServer, place: str) -> list[Any]:
    """Return the tools on all pages of what *server* lists."""
    tools: list[Any] = []
    seen: set[str | None] = set()
    cursor: str | None = None
    while cursor not in seen and len(seen) < _PAGES:
        seen.add(cursor)
        page = await (
            server.list_tools() if cursor is None else server.list_tools(cursor=cursor)
        )
        rows: Any = _member(page, "tools")
        if not isinstance(rows, list) or not all(map(_is_named, cast("Any", rows))):
            raise _unlisted(place, f"a {type(page).__name__} is no list of tools")
        tools += rows
        cursor = _member(page, "nextCursor", "next_cursor")
        if not cursor:
            return tools
    raise _unlisted(place, f"its list of tools has no end: {cursor!r:.60} comes again")


def _offered(server: RecordedServer, listed: list[Any], place: str) -> list[Any]:
    """Return those of the tools that a server *listed* that are offered."""
    only = getattr(server, "only", None)
    if only is None:
        return listed
    known = [str(one.name) for one in listed]
    for name in only:
        if name not in known:
            raise (
                At(place, "workflow")
                .key("only")
                .wrong(
                    f"the server has no tool {name!r:.60}",
                    "unknown-tool",
                    near(name, known),
                )
            )
    return [one for one in listed if one.name in {*only}]


def _unlisted(place: str, why: str) -> WorkflowFailed:
    return WorkflowFailed(
        why,
        rule="workflow/tool-server",
        place=place,
        remedy="connect to another server",
    )


def _unusable(error: UsageError, place: str, name: object) -> UsageError:
    """Return the *error* of a tool of a server, with what somebody can do about it."""
    return UsageError(
        f"its tool {name!r:.60} cannot be offered: {error.message}",
        rule=error.rule,
        place=place,
        remedy='connect by tool_server(…, prefix="shop_") to name its tools otherwise, '
        'or by tool_server(…, only=["search"]) to leave others out',
    )


def not_recorded(server: object, place: str) -> UsageError:
    """Return the error for a server whose calls nobody would find in the record."""
    return UsageError(
        f"nothing records the calls of a {type(server).__name__}",
        rule="workflow/tool-server",
        place=place,
        remedy="give what `muniment_plugins.providers.tool_server` gives",
    )


def _is_named(tool: object) -> bool:
    return isinstance(getattr(tool, "name", None), str)


def _member(value: Any, *names: str) -> Any:
    """Return the first member of *value* that is there: editions spell them differently."""
    found = [getattr(value, name) for name in names if hasattr(value, name)]
    return found[0] if found else None


def _text(result: Any) -> str:
    """Return what a result says, as a model reads it."""
    structured = _member(result, "structuredContent", "structured_content")
    if structured is not None:
        return json.dumps(structured, ensure_ascii=False, default=str)
    parts = [
        one.text if hasattr(one, "text") else f"[{getattr(one, 'type', 'content')}]"
        for one in result.content
    ]
    return "\n".join(parts)
