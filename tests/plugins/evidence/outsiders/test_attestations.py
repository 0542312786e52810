"""Other people's tools take the statements that are exported, and refuse altered ones."""

from __future__ import annotations

import json
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf.json_format import ParseDict, ParseError
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.predicates.vsa.v1 import vsa_pb2
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as Parsed
from securesystemslib import dsse
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

from attested import CODE, lines
from bundled import evidence_plugins
from deciding import answer, approver
from foreign_tools import COSIGN, NO_COSIGN
from muniment import Run
from muniment.ledger import Ledger
from muniment_plugins.evidence import attest

Told = dict[str, Any]
Change = Callable[[Told], object]
KINDS = ("test-result", "svr", "slsa", "vsa")
SCHEMAS: dict[str, Any] = {
    "https://in-toto.io/attestation/test-result/v0.1": test_result_pb2.TestResult,
    "https://slsa.dev/provenance/v1": provenance_pb2.Provenance,
    "https://slsa.dev/verification_summary/v1": vsa_pb2.VerificationSummary,
}
"""What the package has; it has no message for SVR."""


def program(run: Run) -> None:
    """Accept a program, reach a verdict, and ask people."""
    told = {"code": CODE, "accepted": True, "origin": "llm"}
    run.record("synthesis.attempted", told)
    run.record("verdict.reached", {"hypothesis": "h", "verifier": "v", "passed": True})
    run.decide("1.2", "ship it?")


@pytest.fixture(scope="module", params=["ed25519", "p256"])
def written(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, Told], str, str]]:
    """Give the envelopes by predicate, the key as PEM, and its id."""
    base = tmp_path_factory.mktemp("attested")
    with Ledger.create(
        base / "ledger.db",
        home=base / "home",
        plugins=evidence_plugins(),
        algorithm=request.param,
    ) as ledger:
        ann = approver(ledger, "ann")
        run = ledger.execute(program).run_id
        answer(ledger, ann)
        assert ledger.resume(run, program).ok
        attest(ledger, run, KINDS)
        (key,) = ledger.keys.current("writer")
        yield (
            dict(zip(KINDS, lines(ledger, run), strict=True)),
            key.pem,
            key.keyid,
        )


def statement_of(envelope: Told) -> Told:
    """Return the payload."""
    return dict(json.loads(b64decode(envelope["payload"])))


def by_securesystemslib(envelope: Told, pem: str, keyid: str) -> bool:
    """Tell whether it takes the signature."""
    key = SSlibKey.from_crypto(load_pem_public_key(pem.encode()), keyid=keyid)
    try:
        dsse.Envelope.from_dict(json.loads(json.dumps(envelope))).verify([key], 1)
    except (VerificationError, ValueError, KeyError):
        return False
    return True


def by_in_toto(told: Told) -> bool:
    """Tell whether it takes the statement, and the predicate where it has its schema."""
    try:
        Statement.copy_from_pb(ParseDict(told, Parsed())).validate()
        schema = SCHEMAS.get(told["predicateType"])
        if schema is not None:
            said = {n: one for n, one in told["predicate"].items() if n != "muniment"}
            if schema is vsa_pb2.VerificationSummary:
                # The schema of the package has one text where the standard has a list.
                said["verifiedLevels"] = said["verifiedLevels"][0]
            ParseDict(said, schema())
    except (ParseError, ValueError, KeyError, TypeError):
        return False
    return True


def _payload(change: Change) -> Change:
    def changed(envelope: Told) -> None:
        told = statement_of(envelope)
        change(told)
        envelope["payload"] = b64encode(json.dumps(told).encode()).decode()

    return changed


def _signature(change: Callable[[bytes], bytes]) -> Change:
    def changed(envelope: Told) -> None:
        (one,) = envelope["signatures"]
        one["sig"] = b64encode(change(b64decode(one["sig"]))).decode()

    return changed


TAMPERS: dict[str, Change] = {
    "another result": _payload(lambda told: told["predicate"].update(result="X")),
    "another file": _payload(
        lambda told: told["subject"][0]["digest"].update(sha256="0" * 64)
    ),
    "another name": _payload(lambda told: told["subject"][0].update(name="x")),
    "another predicate": _payload(lambda told: told.update(predicateType="urn:x")),
    "another ledger": _payload(
        lambda told: told["predicate"]["muniment"].update(ledger="sha256:" + "0" * 64)
    ),
    "more coverage": _payload(
        lambda told: told["predicate"]["muniment"].update(coverage="9 of 9 events")
    ),
    "the same, spelled otherwise": _payload(dict),
    "another payload type": lambda envelope: envelope.update(payloadType="text/plain"),
    "a bit of the signature": _signature(lambda sig: sig[:-1] + bytes([sig[-1] ^ 1])),
    "half a signature": _signature(lambda sig: sig[: len(sig) // 2]),
    "no signature": lambda envelope: envelope.update(signatures=[]),
    "another key id": lambda envelope: envelope["signatures"][0].update(keyid="x"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_securesystemslib(written: tuple[dict[str, Told], str, str], kind: str) -> None:
    """It takes every envelope with the ledger's key, and refuses each change."""
    envelopes, pem, keyid = written
    assert by_securesystemslib(envelopes[kind], pem, keyid)
    taken = []
    for what, change in TAMPERS.items():
        envelope = json.loads(json.dumps(envelopes[kind]))
        change(envelope)
        assert envelope != envelopes[kind], what
        if by_securesystemslib(envelope, pem, keyid):
            taken.append(what)
    assert taken == []


FORMS: dict[str, Change] = {
    "no subject": lambda told: told.update(subject=[]),
    "a subject without a digest": lambda told: told["subject"][0].pop("digest"),
    "another type": lambda told: told.update(_type="https://in-toto.io/Statement/v0.1"),
    "no predicate type": lambda told: told.update(predicateType=""),
    "no predicate": lambda told: told.update(predicate={}),
    "a member of its own": lambda told: told.update(extra=1),
    "a digest that is a number": lambda told: told["subject"][0].update(
        digest={"sha256": 7}
    ),
}
OF_PREDICATES: dict[str, Change] = {
    "a result that is a list": lambda said: said.update(
        {
            name: [1]
            for name in ("result", "verificationResult", "runDetails")
            if name in said
        }
    ),
    "a member that the standard lacks": lambda said: said.update(certified=True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_in_toto_attestation(
    written: tuple[dict[str, Told], str, str], kind: str
) -> None:
    """It takes every statement, and refuses what is none."""
    honest = statement_of(written[0][kind])
    assert by_in_toto(honest)
    taken = []
    for what, change in FORMS.items():
        told = json.loads(json.dumps(honest))
        change(told)
        taken += [what] if by_in_toto(told) else []
    for what, change in OF_PREDICATES.items() if kind != "svr" else ():
        told = json.loads(json.dumps(honest))
        change(told["predicate"])
        taken += [what] if by_in_toto(told) else []
    assert taken == []


def accepts(envelope: Told, pem: str, file: bytes, kind: str, folder: Path) -> bool:
    """Tell whether cosign takes the envelope as a statement of a type about a file."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "key.pem").write_text(pem)
    (folder / "file").write_bytes(file)
    (folder / "envelope").write_text(json.dumps(envelope))
    line: list[str | Path] = [
        COSIGN,
        "verify-blob-attestation",
        "--key",
        "key.pem",
        "--signature",
    ]
    line += ["envelope", "--type", kind, "--insecure-ignore-tlog", "file"]
    done = subprocess.run(line, cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.skipif(not COSIGN.exists(), reason=NO_COSIGN)
def test_cosign(written: tuple[dict[str, Told], str, str], tmp_path: Path) -> None:
    """It takes the test result of the program as a file, and refuses each change."""
    envelopes, pem, _ = written
    kind, file = "https://in-toto.io/attestation/test-result/v0.1", CODE.encode()
    honest = envelopes["test-result"]
    assert accepts(honest, pem, file, kind, tmp_path / "x")
    assert not accepts(honest, pem, file + b" ", kind, tmp_path / "x")
    assert not accepts(
        honest, pem, file, "https://slsa.dev/provenance/v1", tmp_path / "x"
    )
    for name in (
        "another result",
        "another file",
        "a bit of the signature",
        "no signature",
    ):
        envelope = json.loads(json.dumps(honest))
        TAMPERS[name](envelope)
        assert not accepts(envelope, pem, file, kind, tmp_path / "x"), name
