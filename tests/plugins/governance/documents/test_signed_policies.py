"""Signed policies: adopted if an approver signed them, refused if anybody else did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deciding import approver
from governed_programs import Provider, asking, opened, policy
from muniment.encoding.canonical import canonical
from muniment.errors import RefusedError, UsageError
from muniment.keys.ed25519 import PrivateKey
from muniment_plugins.governance import load_policy
from muniment_plugins.governance.documents.signed_policy import sealed
from muniment_plugins.governance.governed import governed

TERMS = policy(execution_budget={"effect_limit": 5})


def written(tmp_path: Path, key: PrivateKey) -> Path:
    """Write the policy, signed by *key*, to a file."""
    file = tmp_path / "signed.json"
    file.write_bytes(canonical(dict(sealed(TERMS.document, key))))
    return file


def test_a_policy_that_an_approver_signed_is_adopted(tmp_path: Path) -> None:
    """The run has the envelope in its record, and the digest is that of the document."""
    with opened(tmp_path) as ledger:
        key = approver(ledger, "ann")
        terms = load_policy(written(tmp_path, key))
        assert (terms.digest, terms.document) == (TERMS.digest, TERMS.document)
        with governed(ledger, terms):
            done = ledger.execute(asking(Provider()))
        (adopted,) = ledger.events(run=done.run_id, type="policy.adopted")
        assert ledger.resolve(adopted)["envelope"] == terms.envelope
        with governed(ledger, TERMS):  # the same policy, unsigned
            assert ledger.execute(asking(Provider())).ok


def test_a_stranger_signs_nothing(tmp_path: Path) -> None:
    """A signature by a key that is no approver's is refused, and nothing is written."""
    with opened(tmp_path) as ledger:
        approver(ledger, "ann")
        terms = load_policy(written(tmp_path, PrivateKey.generate()))
        size = ledger.head.size
        with (
            pytest.raises(RefusedError, match="is no approver's key of this ledger"),
            governed(ledger, terms),
        ):
            raise AssertionError("nothing runs")
        assert ledger.head.size == size


def test_a_changed_policy_is_not_what_was_signed(tmp_path: Path) -> None:
    """Every change of the payload, or of the signature, is refused."""
    with opened(tmp_path) as ledger:
        key = approver(ledger, "ann")
        file = written(tmp_path, key)
        honest = json.loads(file.read_bytes())
        wider = policy(execution_budget={"effect_limit": 99})
        other = sealed(wider.document, key)
        stitched = {**honest, "payload": other["payload"]}
        file.write_bytes(canonical(stitched))
        with (
            pytest.raises(RefusedError, match="the signature is not good"),
            governed(ledger, load_policy(file)),
        ):
            raise AssertionError("nothing runs")


@pytest.mark.parametrize(
    "change",
    [
        {"payloadType": "application/vnd.muniment.decision+json"},
        {"payload": "e30"},
        {"payload": "bm90IGpzb24="},
        {"signatures": []},
        {"signatures": [{"keyid": "ann", "sig": "AA=="}]},
    ],
)
def test_an_envelope_of_something_else_is_no_policy(
    tmp_path: Path, change: dict[str, object]
) -> None:
    """It is refused as a mistake in the file, which is named."""
    file = written(tmp_path, PrivateKey.generate())
    file.write_text(json.dumps({**json.loads(file.read_bytes()), **change}))
    with pytest.raises(UsageError, match=r"signed\.json") as refused:
        load_policy(file)
    assert refused.value.rule == "policy/envelope"
