"""The child process that a replay runs in: no network, no key, an answer in JSON.

    argv    {"ledger":"…","run":"01JD…","mode":"strict","program":null,"command":[],…}
    stdout  {"report":{…},"network":false}  or  {"refusal":{"kind":"cannot tell",…}}

Rules: the network goes first, before anything is imported that could start a thread.
What the program prints goes to stderr; it reads the stdin of the command. The ledger is
opened read-only.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, TypedDict, cast

from muniment_cli.isolation import leave_network

if TYPE_CHECKING:
    from muniment.replaying import Mode

__all__ = ["Order", "main"]


class Order(TypedDict):
    """What is to be replayed, and how."""

    ledger: str
    run: str
    mode: str
    program: str | None
    command: list[str]
    trust_source: bool


def main() -> None:
    """Read one order, and answer it on what was stdout."""
    order = json.loads(sys.argv[1])
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    isolated = leave_network()
    try:
        document = {**_replayed(order), "network": not isolated}
    except KeyboardInterrupt:
        os._exit(130)  # the parent was interrupted too, and says so
    except Exception as error:  # noqa: BLE001 - the parent says it in one line
        document = {"refusal": _bug(error)}
    answer.write(json.dumps(document, default=str).encode("utf-8", "backslashreplace"))
    answer.close()


def _bug(error: Exception) -> dict[str, object]:
    return {
        "message": f"{type(error).__name__}: {error}",
        "rule": "cli/bug",
        "place": "the process that replays",
        "remedy": "this is a bug in muniment",
        "exit_code": 3,
    }


def _replayed(order: Order) -> dict[str, object]:
    from muniment.errors import MunimentError
    from muniment.ledger import Ledger
    from muniment.replaying import replay
    from muniment_cli.recalling import recalled

    try:
        with Ledger.open(order["ledger"], readonly=True) as ledger:
            run, mode = order["run"], cast("Mode", order["mode"])
            named, command = order["program"], order["command"]
            program = recalled(ledger, run, named, command, order["trust_source"])
            report = replay(ledger, run, program, mode)
    except MunimentError as error:
        names = ("message", "rule", "place", "remedy")
        refusal = {name: getattr(error, name) for name in names}
        return {"refusal": {**refusal, "exit_code": error.exit_code}}
    return {"report": report.to_json()}
