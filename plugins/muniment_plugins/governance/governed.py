"""Under which policy runs start here.

    with governed(ledger, policy):
        ledger.execute(program)          run.started  {"labels": {"policy": "sha256:…"}}

Rules:

- What starts meanwhile is governed, whatever starts it: the context itself, other threads
  of the process, and processes that start meanwhile, which a variable tells. Runs that
  were called belong to their caller. A run that is resumed is governed by its record.
- All these runs are of one group, which the record names, and share the policy's budgets.
- Nobody is held to another policy meanwhile.
- The label names the policy by its digest, in the event that starts the run. So a run
  that was cut off before anything else of it was written cannot go on without its policy.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from muniment.errors import CannotTellError, MunimentError, RefusedError, UsageError
from muniment.runs.owner import ulid
from muniment_plugins.governance.documents.manifest import FlowManifest
from muniment_plugins.governance.documents.policy import GovernancePolicy
from muniment_plugins.governance.documents.signed_policy import refuse_forged

if TYPE_CHECKING:
    from muniment.hookspecs import ReadableLedger
    from muniment.ledger import Ledger

__all__ = [
    "LABEL",
    "MEMORY",
    "PLUGIN",
    "VARIABLE",
    "Governing",
    "governed",
    "governing",
    "require_plugin",
]

PLUGIN = "governance"
LABEL = "policy"
"""The label of governed runs: the digest of their policy."""


VARIABLE = "MUNIMENT_GOVERNED"
"""The variable that tells processes which policy governs the ledger's runs."""

MEMORY = "governance"
"""Under which name the memory of a run has what governs it."""


@dataclass(frozen=True, slots=True)
class Governing:
    """The documents that runs here are held to."""

    policy: GovernancePolicy
    flow: FlowManifest | None = None
    group: str | None = None
    """The runs that share the policy's budgets: ``SEQ-ULID``, those of one `governed`.
    All of them start after the event SEQ."""


_GOVERNING: ContextVar[Governing | None] = ContextVar(
    "muniment_governing", default=None
)
_HELD: list[tuple[str, Governing]] = []
"""The ledgers whose runs are governed in this process, whatever the context."""
_LOCK = threading.Lock()
_INHERITED = os.environ.get(VARIABLE)
"""What the process that started this one has said."""
_MOST = 96 * 1024
"""How long the value of a variable may be; systems refuse a process with longer ones."""


@contextmanager
def governed(
    ledger: Ledger, policy: GovernancePolicy, flow: FlowManifest | None = None
) -> Generator[None]:
    """Let all runs of *ledger* that start meanwhile be governed by *policy*.

    So are those of threads, and of processes that start meanwhile. They share its budgets.
    The budgets of *flow*, to which runs that start in this context belong, count beside it.

    Raises:
        CannotTellError: the plugin may not load, so that nothing would govern them.
        RefusedError: the policy is signed, and by no approver of the ledger; or another
            policy governs the ledger's runs here already.
        UsageError: the policy is too long to be handed on to processes.

    """
    require_plugin(ledger)
    if policy.envelope is not None:
        refuse_forged(ledger, policy.document, policy.envelope, policy.place)
    with _LOCK:
        above = governing(ledger)
        if above is not None and above.policy.digest != policy.digest:
            raise RefusedError(
                f"runs here are held to the policy {above.policy.digest} already",
                rule="policy/held",
                place=policy.place,
                remedy="leave --policy out; whoever answers for these runs chose one",
            )
        alone = f"{ledger.head.size}-{ulid()}"
        here = Governing(policy, flow, alone if above is None else above.group)
        held = ledger.id, here
        told = _told(*held)
        _HELD.append(held)
        os.environ[VARIABLE] = told
    token = _GOVERNING.set(here)
    try:
        yield
    finally:
        _GOVERNING.reset(token)
        with _LOCK:
            _HELD.remove(held)
            if _HELD:
                os.environ[VARIABLE] = _told(*_HELD[-1])
            elif _INHERITED is not None:
                os.environ[VARIABLE] = _INHERITED
            else:
                os.environ.pop(VARIABLE, None)


def _told(ledger: str, here: Governing) -> str:
    """Return what processes are told that start meanwhile.

    Raises:
        UsageError: it is too long.

    """
    policy, flow = here.policy, here.flow
    told: dict[str, object] = {
        "ledger": ledger,
        "group": here.group,
        "policy": dict(policy.document),
        "envelope": None if policy.envelope is None else dict(policy.envelope),
        "place": str(Path(policy.place).absolute()),
    }
    if flow is not None:
        place = str(Path(flow.place).absolute())
        told |= {"flow": dict(flow.document), "flow_place": place}
    text = json.dumps(told)
    if len(text) > _MOST:
        raise UsageError(
            f"the policy is too long to be handed on to processes: {len(text)} bytes",
            rule="policy/size",
            place=policy.place,
            remedy=f"it may have {_MOST}, with the flow and the signature",
        )
    return text


def governing(ledger: ReadableLedger) -> Governing | None:
    """Return what governs the runs of *ledger* that start here, if anything does.

    Raises:
        RefusedError: what the process was told cannot be read.

    """
    if (here := _GOVERNING.get()) is not None:
        return here
    for held, known in reversed(_HELD):
        if held == ledger.id:
            return known
    return None if _INHERITED is None else _handed_on(_INHERITED, ledger.id)


@lru_cache(maxsize=8)
def _handed_on(text: str, ledger: str) -> Governing | None:
    try:
        told = cast("dict[str, Any]", json.loads(text))
        if told["ledger"] != ledger:
            return None
        policy = GovernancePolicy.from_document(told["policy"], told["place"])
        policy = replace(policy, envelope=told["envelope"])
        flow: FlowManifest | None = None
        if "flow" in told:
            flow = FlowManifest.from_document(told["flow"], told["flow_place"])
        return Governing(policy, flow, str(told["group"]))
    except (ValueError, KeyError, TypeError, MunimentError) as error:
        raise RefusedError(
            "what this process was told of its policy cannot be read",
            rule="policy/told",
            place=VARIABLE,
            remedy="start it as it was, or without that variable outside of a policy",
        ) from error


def require_plugin(ledger: Ledger) -> None:
    """Refuse what needs this plugin where it is not active.

    Raises:
        CannotTellError: it is not.

    """
    if PLUGIN not in ledger.plugins.versions:
        raise CannotTellError(
            "the plugin that governs runs may not load",
            rule="policy/plugin",
            place=f"plugin {PLUGIN}",
            remedy="allow it in MUNIMENT_PLUGINS",
        )
