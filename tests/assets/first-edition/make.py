"""Makes the ledgers of the first edition: run by that edition alone, once.

    python make.py OUT [NAME …]

Rules: every kind of event that a rule of later editions may look at is in one of them;
nothing of the machine is, beyond what any ledger says.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import first_programs as programs
import first_refusals as refusals
import muniment
from model_server import ModelServer
from muniment import custody
from muniment.keys import PrivateKey, load_private, save_private
from muniment.ledger import Ledger
from muniment.succession import predecessor

HERE = Path(__file__).parent
AGENT = (HERE / "agent.py").read_text()


def _kernel(place: Path) -> dict[str, str]:
    """Runs of every end, an erasure, keys of every fate, a checkpoint amid all."""
    runs: dict[str, str] = {}
    ledger = Ledger.create(place / "ledger.db")
    root = load_private(ledger.home.recovery_directory(ledger.id) / "root.pem")
    following = load_private(
        ledger.home.recovery_directory(ledger.id) / "next-root.pem"
    )
    ledger.append("note.added", {"text": "ünïcode, and 5000 letters: " + "x" * 5000})
    runs["completed"] = _done(ledger, "T-1")
    programs.BROKEN.append("search")
    runs["failed"] = _done(ledger, "T-2")
    runs["resumed"] = _done(ledger, "T-3")
    runs["failed-twice"] = _done(ledger, "T-4")
    ledger.resume(runs["failed-twice"], programs.triage)
    programs.BROKEN.clear()
    ledger.resume(runs["resumed"], programs.triage)
    programs.BROKEN.append("patience")
    with suppress(KeyboardInterrupt):
        _done(ledger, "T-5")
    runs["interrupted"] = _newest(ledger)
    with suppress(KeyboardInterrupt):
        _done(ledger, "T-6")
    programs.BROKEN.clear()
    runs["interrupted-resumed"] = _newest(ledger)
    ledger.resume(
        runs["interrupted-resumed"], programs.triage, decide=lambda *_: "repeat"
    )
    runs["long"] = ledger.execute(programs.lengthy).run_id
    runs["erased"] = _done(ledger, "T-7")
    ledger.erase(runs["erased"], reason="asked for", legal_basis="GDPR 17")
    muniment.replay(ledger, runs["completed"], program=programs.triage)
    ledger.checkpoint()
    for name in ("ci", "laptop"):
        asked = custody.request(PrivateKey.generate(), ledger.id, ["writer"], name)
        custody.enrol(ledger, asked, root)
    entry = custody.find_key(ledger.store.keyring(), "laptop")
    custody.revoke(ledger, entry, "stolen", root)
    for role in ("writer", "checkpoint"):
        _rotate(ledger, role, root)
    ledger.close()
    with Ledger.open(place / "ledger.db") as again:
        again.append("note.added", {"text": "by the new writer"})
        custody.rotate_root(again, following, place / "after-next.pem")
        again.append("note.added", {"text": "under the new root"})
        (place / "after-next.pem").unlink()
    subprocess.run([sys.executable, __file__, "open", str(place)], check=False)
    with Ledger.open(place / "ledger.db") as again:
        runs["open"] = _newest(again)
        again.append_many(("note.added", {"text": f"n {n}"}) for n in range(190))
        root_now = load_private(again.home.recovery_directory(again.id) / "root.pem")
        runs["root"] = root_now.public.keyid
    return runs


def _rotate(ledger: Ledger, role: str, root: PrivateKey) -> None:
    key = PrivateKey.generate()
    old = custody.find_key(ledger.store.keyring(), role)
    custody.rotate(ledger, old, custody.request(key, ledger.id, [role], role), root)
    kept = ledger.home.keys_directory(ledger.id) / f"{role}.pem"
    kept.unlink()
    save_private(kept, key)


def _done(ledger: Ledger, ticket: str) -> str:
    return ledger.execute(programs.triage, params={"ticket": ticket}).run_id


def _newest(ledger: Ledger) -> str:
    return str(next(ledger.events(type="run.started", order="desc")).run)


def _successor(place: Path, old: Path) -> dict[str, str]:
    quoted = predecessor(str(old), "keys were lost", muniment.trust.TrustHome())
    with Ledger.create(place / "ledger.db", continues=quoted) as ledger:
        return {"completed": _done(ledger, "T-8")}


def _experiment(place: Path) -> dict[str, str]:
    with Ledger.create(place / "ledger.db") as ledger:
        result = programs.robust().run(replicates=3, ledger=ledger)
        result.raise_for_errors()
        return {"completed": str(result.run_id)}


def _refusals(place: Path) -> dict[str, str]:
    with Ledger.create(place / "ledger.db") as ledger:
        runs = {
            "completed": refusals.repaired().run(ledger=ledger),
            "failed": refusals.refused().run(ledger=ledger),
        }
        return {name: str(result.run_id) for name, result in runs.items()}


def _recorded(place: Path) -> dict[str, str]:
    Ledger.create(place / "ledger.db").close()
    (place / "agent.py").write_text(AGENT)
    with ModelServer() as server:
        told = {"PYTHONPATH": os.environ["PYTHONPATH"], "BASE": server.url}
        command = [str(Path(sys.executable).with_name("muniment"))]
        command += ["--ledger", "ledger.db", "record", "--", "python3", "agent.py"]
        environment = {**os.environ, **told}
        subprocess.run(command, cwd=place, check=True, env=environment)
    (place / "agent.py").unlink()
    with Ledger.open(place / "ledger.db", readonly=True) as ledger:
        return {"completed": _newest(ledger), "base": _asked(ledger)}


def _asked(ledger: Ledger) -> str:
    """Return where the program asked: a replay has to be told the same."""
    asked = next(ledger.events(type="llm.requested"))
    request: Any = ledger.resolve(asked)["request"]
    return str(request["url"]).removesuffix("/v1/chat/completions")


ALL = ("kernel", "successor", "experiment", "refusals", "recorded")


def main(out: Path, names: Sequence[str] = ALL) -> None:
    """Make them beneath *out*, each with the keys that go on with it."""
    told: dict[str, dict[str, str]] = {}
    for name in names:
        place = out / name
        place.mkdir(parents=True)
        os.environ["MUNIMENT_HOME"] = str(out.with_name("home") / name)
        if name == "successor":
            os.environ["MUNIMENT_HOME"] = str(out.with_name("home") / "kernel")
            facts = _successor(place, out / "kernel" / "ledger.db")
        else:
            facts = globals()[f"_{name}"](place)
        with Ledger.open(place / "ledger.db") as ledger:
            shutil.copytree(ledger.home.keys_directory(ledger.id), place / "keys")
            facts |= {"id": ledger.id, "size": str(ledger.head.size)}
            entries = ledger.store.keyring().entries
            facts.setdefault("root", entries[0].keyid)
        told[name] = facts
    for left in (*out.rglob("*-shm"), *out.rglob("*-wal"), *out.rglob("cache.db")):
        left.unlink()
    (out / "facts.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "open":
        programs.BROKEN.append("power")
        _done(Ledger.open(Path(sys.argv[2]) / "ledger.db"), "T-9")
    else:
        main(Path(sys.argv[1]).absolute(), sys.argv[2:] or ALL)
