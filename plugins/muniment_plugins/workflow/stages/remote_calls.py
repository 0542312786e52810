"""A handler called in another process: bytes there, bytes back.

    {"handler": {"import": "stages:act", "source": "sha256:…"}, "task": "…", …}
    {"value": "done"}           {"error": {"type": "StageFailed", "message": "…"}}

Rules:

- A handler is sent as its import path and the digest of its source: another source over
  there is refused. Values are canonical JSON, never pickle.
- The handler's error is raised again, under its own name.
- Over there `current_run()` has the id, the scope and the idempotency key, draws what the
  run would draw, and records nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, cast

import orjson

from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import decode, encode
from muniment.errors import UsageError, printable
from muniment.programs.awaiting import settled
from muniment.programs.functions import find
from muniment.programs.references import Function, path_of, refer
from muniment.runs.lanes.elsewhere import lane_elsewhere, told_lane
from muniment_plugins.workflow.runtime.failures import StageFailed
from muniment_plugins.workflow.runtime.stage_input import StageInput
from muniment_plugins.workflow.stages.handlers import called

if TYPE_CHECKING:
    from muniment.runs.executors import Send

__all__ = ["SERVED", "at_first_call", "carried", "require_importable", "served"]

Object = Mapping[str, JsonValue]

SERVED = f"{__name__}:served"
"""The function that an executor calls elsewhere."""


@contextmanager
def at_first_call(
    there: AbstractContextManager[Send | None],
) -> Generator[Send]:
    """Give what carries calls, and enters *there* for the first of them."""
    lock = threading.Lock()
    entered: list[Send] = []
    with ExitStack() as open_until_the_end:

        def send(sent: bytes) -> bytes:
            with lock:
                if not entered:
                    begun = open_until_the_end.enter_context(there)
                    entered.append(cast("Send", begun))
            return entered[0](sent)

        yield send


def require_importable(function: Function, executor: str) -> None:
    """Refuse a handler that other processes cannot find.

    Raises:
        UsageError: it is a lambda or a closure, or is defined in ``__main__``.

    """
    described = refer(function)
    module, _, name = path_of(described).partition(":")
    if "name" in described or ("<" not in name and module != "__main__"):
        return
    raise UsageError(
        f"{name} of {module} cannot be imported by another process",
        rule="workflow/handler",
        place=f'executor="{executor}"',
        remedy="put it into a module as a plain function, or use the threads executor",
    )


def carried(send: Send, function: Function, given: StageInput) -> object:
    """Return what *function* makes of what is *given* where *send* carries it."""
    sent = {
        "handler": refer(function),
        "given": encode(given.to_json()),
        "lane": told_lane(),
    }
    answer = cast("dict[str, JsonValue]", orjson.loads(send(orjson.dumps(sent))))
    if "error" in answer:
        told = cast("Mapping[str, str]", answer["error"])
        name = told["type"]
        raised = (
            StageFailed
            if name == StageFailed.__name__
            else type(name, (Exception,), {})
        )
        raise raised(told["message"])
    return decode(answer["value"])


def served(sent: bytes) -> bytes:
    """Call the handler that *sent* names, in this process; return its value or error."""
    try:
        said = cast("Mapping[str, JsonValue]", orjson.loads(sent))
        handler = find(cast("Object", said["handler"]), "elsewhere", same=True)
        given = StageInput.from_json(cast("Object", decode(said["given"])))
        with lane_elsewhere(cast("Object | None", said.get("lane"))):
            value = settled(called(handler, given))
        return orjson.dumps({"value": encode(value)})
    except Exception as error:  # noqa: BLE001 - it is raised again over there
        told = {"type": type(error).__name__, "message": printable(error)}
        return orjson.dumps({"error": told})
