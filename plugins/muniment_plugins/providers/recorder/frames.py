"""Frames of the wire, as the recorder reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from muniment_plugins.providers.recorder.inside.wire import LENGTH, cut

if TYPE_CHECKING:
    from asyncio import StreamReader

__all__ = ["Frame", "received"]

Frame: TypeAlias = "dict[str, Any]"


async def received(reader: StreamReader) -> tuple[Frame, list[bytes]]:
    """Return the next frame of *reader*, and the bytes that follow it.

    Raises:
        EOFError: there are no more frames.
        ValueError: it is not a frame.

    """
    (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    frame = cast("Frame", json.loads(await reader.readexactly(size)))
    sizes = cast("list[int]", frame["parts"])
    return frame, cut(sizes, await reader.readexactly(sum(sizes)))
