"""What a verifier will ask for is said to those who work, before they begin.

python verifier_contracts.py        a contract in the graph, then the same one in a file
"""

from __future__ import annotations

import json
from pathlib import Path

import muniment
from muniment_plugins.workflow import StageInput, workflow_execute

CONTRACT = {
    "command": "python3 check.py",
    "required_identifiers": ["rateLimit"],
    "required_paths": ["src/middleware/rateLimit.ts"],
    "required_text": ["app.use(rateLimit)"],
    "notes": ["Use the verifier-exact symbol names. Do not rename them."],
}


def work(stage: StageInput) -> str:
    """Write what the contract asks for: it names the paths and the texts."""
    (contract,) = stage.contracts
    checks = contract["checks"]
    assert isinstance(checks, list)  # noqa: S101 - contracts are plain JSON
    asked = [one for one in checks if isinstance(one, dict)]
    text = "\n".join(str(one["value"]) for one in asked if one["kind"] == "text")
    names = [str(one["value"]) for one in asked if one["kind"] == "identifier"]
    for one in asked:
        if one["kind"] == "path":
            file = Path(str(one["value"]))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"export const {names[0]} = limit(10)\n{text}\n")
    return f"{len(asked)} checks are known: {contract['notes']}"


def graph(contract: dict[str, object]) -> dict[str, object]:
    """Return a graph that verifies by *contract*."""
    return {
        "name": "rate_limit",
        "nodes": {
            "act": {"handler": work},
            "verify": {"kind": "verify", "verify": contract},
        },
        "edges": [{"from": "act", "to": "verify"}],
    }


if __name__ == "__main__":
    Path("check.py").write_text("print('checked')\n")
    Path("rate_limit.contract.json").write_text(json.dumps(CONTRACT))
    in_a_file = {"contract_path": "rate_limit.contract.json", "expect_status": 0}
    with muniment.open(create=True) as ledger:
        for contract in ({**CONTRACT, "expect_status": 0}, in_a_file):
            run = workflow_execute(ledger, "Limit the rate.", graph(contract))
            print(f"{run.status}: {run.artifacts[0].text}")
            (event,) = ledger.events(run=run.run_id, type="verification.concluded")
            checks = ledger.resolve(event)["checks"]
            kinds = [one["kind"] for one in checks if one["ok"]]  # type: ignore[attr-defined]
            print(f"{event.data['verdict']} by {', '.join(kinds)}")
