"""Makes the ledgers with import paths: run by that state alone, once.

    python make.py OUT
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import path_programs as programs
from model_server import ModelServer
from muniment.ledger import Ledger

AGENT = (Path(__file__).parent / "agent.py").read_text()


def _newest(ledger: Ledger) -> str:
    return str(next(ledger.events(type="run.started", order="desc")).run)


def _experiment(place: Path) -> dict[str, str]:
    """A registration apart, a run that completed, one that was cut off."""
    with Ledger.create(place / "ledger.db") as ledger:
        programs.robust().register(replicates=5, ledger=ledger)
        result = programs.robust().run(replicates=5, ledger=ledger)
        result.raise_for_errors()
        programs.BROKEN.append("patience")
        with suppress(KeyboardInterrupt):
            programs.robust("cut").run(replicates=5, ledger=ledger)
        programs.BROKEN.clear()
        return {"completed": str(result.run_id), "interrupted": _newest(ledger)}


def _recorded(place: Path) -> dict[str, str]:
    """A run that completed, one that was killed."""
    Ledger.create(place / "ledger.db").close()
    (place / "agent.py").write_text(AGENT)
    command = [str(Path(sys.executable).with_name("muniment"))]
    command += ["--ledger", "ledger.db", "record", "--", "python3", "agent.py"]
    with ModelServer() as server:
        told = {**os.environ, "BASE": server.url}
        subprocess.run(command, cwd=place, check=True, env=told)
        cut = {**told, "CUT": "1"}
        subprocess.run(command, cwd=place, check=False, env=cut)
    (place / "agent.py").unlink()
    with Ledger.open(place / "ledger.db", readonly=True) as ledger:
        runs = [str(one.run) for one in ledger.events(type="run.started")]
        asked = next(ledger.events(type="llm.requested"))
        request: Any = ledger.resolve(asked)["request"]
    base = str(request["url"]).removesuffix("/v1/chat/completions")
    return {"completed": runs[0], "interrupted": runs[1], "base": base}


def main(out: Path) -> None:
    """Make them beneath *out*, each with the keys that go on with it."""
    told: dict[str, dict[str, str]] = {}
    for name, make in (("experiment", _experiment), ("recorded", _recorded)):
        place = out / name
        place.mkdir(parents=True)
        os.environ["MUNIMENT_HOME"] = str(out.with_name("home") / name)
        facts = make(place)
        with Ledger.open(place / "ledger.db") as ledger:
            shutil.copytree(ledger.home.keys_directory(ledger.id), place / "keys")
            facts |= {"id": ledger.id, "size": str(ledger.head.size)}
            facts["root"] = ledger.store.keyring().entries[0].keyid
        told[name] = facts
    for left in (*out.rglob("*-shm"), *out.rglob("*-wal"), *out.rglob("cache.db")):
        left.unlink()
    (out / "facts.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
