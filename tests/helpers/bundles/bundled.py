"""A small run with blobs, and bundles that were made of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import muniment_plugins.evidence
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment_plugins.evidence import write_bundle

__all__ = ["Bundles", "bundle_on_p256", "evidence_plugins", "program"]


@dataclass(frozen=True)
class Bundles:
    """A ledger with two runs, their bundles, and its root."""

    ledger: Ledger
    run: str
    other_run: str
    folder: Path
    """The bundle of `run`."""
    raw: Path
    other: Path
    """The bundle of `other_run`."""
    redacted: Path
    """Of `run`, too: payloads and blobs of `llm` are disclosed, but for its request."""
    home: Path
    root: str


def program(run: Run, name: str = "a") -> str:
    """State a claim, ask twice, in a scope too."""
    run.record("claim.stated", {"id": "c1", "text": "it holds"})
    run.record("synthesis.attempted", {"code": "def f(): ...", "accepted": True})
    run.effect("llm", {"prompt": name}, lambda request: {"said": request})
    with run.scope("map/0") as lane:
        lane.effect("tool", {"name": name}, lambda request: [request, 1.5])
    return name


def evidence_plugins() -> Plugins:
    """Return the evidence plugin alone."""
    return Plugins([], {"evidence": muniment_plugins.evidence})


def bundle_on_p256(base: Path) -> str:
    """Write ``bundle`` below *base*, of a ledger on P-256; return the id of its root."""
    with Ledger.create(
        base / "ledger.db",
        home=base / "home",
        plugins=evidence_plugins(),
        algorithm="p256",
    ) as ledger:
        run = ledger.execute(program).run_id
        ledger.checkpoint()
        write_bundle(ledger, run, base / "bundle")
        (root,) = ledger.keys.current("root")
        assert root.algorithm == "p256"
        return root.keyid
