"""Proofs of single events: two verifiers agree on every one, and on every altered one."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import proofbundle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign_tools import COSIGN, NO_COSIGN
from muniment.errors import MunimentError, WrongError
from muniment.formats.checkpoint import (
    Checkpoint,
    Note,
    TlogProof,
    log_id,
    origin,
    parse_vkey,
    sign_checkpoint,
    vkey,
)
from muniment.formats.dsse import (
    entry_hash,
    log_entry,
    pae,
    sign_payload,
    spki_base64,
)
from muniment.formats.merkle import inclusion_proof, leaf_hash, root
from muniment.keys.ed25519 import PrivateKey, PublicKey

KEY = PrivateKey.from_seed(bytes(range(32)))
OTHER = PrivateKey.from_seed(bytes(32))
ORIGIN = origin("sha256:" + "0123456789abcdef" * 4)
B64 = base64.b64encode(bytes(range(100, 132))).decode()
INDICES = st.integers(0, 2**63 - 1)
HASHES = st.binary(min_size=32, max_size=32)

ENVELOPES = [sign_payload(b'{"seq":%d}' % seq, KEY) for seq in range(21)]
ENTRIES = [
    log_entry(pae(envelope.payload), envelope.signature, spki_base64(KEY.public))
    for envelope in ENVELOPES
]
LEAVES = [leaf_hash(entry) for entry in ENTRIES]


def shared(folder: str) -> Path:
    """Return a folder of public vectors or examples; skip where there is none."""
    named = os.environ.get("MUNIMENT_VECTORS")
    beside = Path(__file__).parents[4] / "shared"
    path = (Path(named).parent if named else beside) / folder
    if not path.is_dir():
        pytest.skip("no public vectors: set MUNIMENT_VECTORS")
    return path


def node(level: int, index: int) -> bytes:
    """Return the root of a complete subtree of `LEAVES`."""
    return root(LEAVES[index << level : (index + 1) << level])


def prove(index: int, size: int, key: PrivateKey = KEY) -> TlogProof:
    """Return a proof for `LEAVES[index]` under a signed checkpoint of *size*."""
    note = sign_checkpoint(Checkpoint(ORIGIN, size, root(LEAVES[:size])), key)
    return TlogProof(index, tuple(inclusion_proof(index, size, node)), note)


def accepts(text: bytes | str, index: int) -> bool:
    """Tell whether *text* proves `LEAVES[index]` to us."""
    try:
        TlogProof.parse(text).verify(LEAVES[index], ORIGIN, [KEY.public])
    except MunimentError:
        return False
    return True


def proofbundle_accepts(text: str, entry: bytes) -> bool:
    """Tell whether *text* proves *entry* to proofbundle."""
    try:
        verdict = proofbundle.verify_tlog_proof(text, entry, vkey(ORIGIN, KEY.public))
    except proofbundle.ProofBundleError:
        return False
    return bool(verdict["ok"])


def test_every_proof_is_accepted_by_us_and_by_proofbundle() -> None:
    """For every event of every tree to 21, two verifiers without common code agree."""
    for size in range(1, len(LEAVES) + 1):
        for index in range(size):
            proof = prove(index, size)
            text = proof.to_text()
            assert TlogProof.parse(text) == TlogProof.parse(text.encode()) == proof
            checkpoint = proof.verify(LEAVES[index], ORIGIN, [KEY.public])
            assert checkpoint == Checkpoint(ORIGIN, size, root(LEAVES[:size]))
            assert proofbundle_accepts(text, ENTRIES[index])


def altered(text: str) -> list[str]:
    """Return *text* with each line dropped, doubled, swapped, and changed."""
    lines = text.splitlines(keepends=True)
    wrong = [text[:-1], text + "\n", text.replace("index 13", "index 12")]
    for place, line in enumerate(lines):
        before, after = lines[:place], lines[place + 1 :]
        middle = len(line) // 2
        letter = "A" if line[middle : middle + 1] != "A" else "B"
        changed = line[:middle] + letter + line[middle + 1 :]
        wrong += ["".join([*before, *after]), "".join([*before, changed, *after])]
        wrong += ["".join([*before, line, line, *after])]
        wrong += ["".join([*before, *after[:1], line, *after[1:]])]
    return [candidate for candidate in wrong if candidate != text]


def test_altered_proofs_are_refused_by_both() -> None:
    """A line dropped, doubled, moved or changed: refused here and by proofbundle.

    A signature line that is doubled still verifies in both: it is counted once.
    """
    text = prove(13, 21).to_text()
    line = text.splitlines(keepends=True)[-1]
    for wrong in altered(text):
        if wrong != text + line:
            assert not accepts(wrong, 13)
            assert not proofbundle_accepts(wrong, ENTRIES[13])
    assert not accepts(text, 12)
    assert not proofbundle_accepts(text, ENTRIES[12])
    assert not proofbundle_accepts(prove(13, 21, OTHER).to_text(), ENTRIES[13])


def test_no_flipped_bit_of_a_proof_survives() -> None:
    """Each bit of a proof counts, and no exception but ours is raised."""
    good = prove(5, 11).to_text().encode()
    assert accepts(good, 5)
    for place in range(len(good) * 8):
        bad = bytearray(good)
        bad[place // 8] ^= 1 << place % 8
        assert not accepts(bytes(bad), 5)


@given(st.data())
def test_no_mutated_proof_verifies(data: st.DataObject) -> None:
    """Any few bytes changed, cut or added before the last line: not accepted."""
    good = prove(5, 11).to_text().encode()
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(good) - 1)] * 2)))
    bad = good[:start] + data.draw(st.binary(max_size=4)) + good[end:]
    assert accepts(bad, 5) == (bad == good)


@given(
    INDICES,
    st.lists(HASHES, max_size=63),
    st.binary(max_size=20).map(lambda text: b"note" + text.hex().encode() + b"\n"),
    st.none() | st.binary(min_size=1, max_size=40),
)
def test_a_proof_reads_back(
    index: int, hashes: list[bytes], note: bytes, extra: bytes | None
) -> None:
    """Any proof that can be constructed has exactly one spelling."""
    proof = TlogProof(index, tuple(hashes), note, extra)
    assert TlogProof.parse(proof.to_text()) == proof


@given(
    st.text(max_size=60)
    | st.binary(max_size=60)
    | st.lists(
        st.sampled_from(
            ["c2sp.org/tlog-proof@v1\n", "index 0\n", "extra AA==\n", "\n", B64, "x"]
        )
    ).map("".join)
)
def test_the_parser_refuses_or_prints_the_same(data: str | bytes) -> None:
    """Arbitrary input is wrong, or is exactly what the printer writes."""
    try:
        proof = TlogProof.parse(data)
    except WrongError as error:
        assert error.rule.startswith("tlog-proof/")  # noqa: PT017 - both ends are fine
    else:
        assert proof.to_text() == (data if isinstance(data, str) else data.decode())


def test_public_proof_syntax() -> None:
    """Every published malformed proof is refused; the published good one is printed."""
    data = json.loads(
        (shared("vectors") / "tlog" / "tlog_proof_syntax.json").read_text()
    )
    for case in data["bad"]:
        with pytest.raises(WrongError, match=r"\[tlog-proof/"):
            TlogProof.parse(case["proof"])
    for case in data["marshal"]:
        hashes = tuple(base64.b64decode(text) for text in case["hashes"])
        proof = TlogProof(case["index"], hashes, case["checkpoint"].encode())
        assert proof.to_text() == case["want"]
        assert TlogProof.parse(case["want"]) == proof


HEAD = "c2sp.org/tlog-proof@v1\n"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "header"),
        ("c2sp.org/tlog-proof@v2\nindex 0\n\nn\n", "header"),
        (HEAD + "\n\nn\n", "no-index"),
        (HEAD + f"{B64}\n\nn\n", "no-index"),
        (HEAD + "index 0\nextra AA==\n\nn\n", "base64"),
        (HEAD + "extra AA\nindex 0\n\nn\n", "extra"),
        (HEAD + "extra \nindex 0\n\nn\n", "extra"),
        (HEAD + "index 00\n\nn\n", "index"),
        (HEAD + "index -1\n\nn\n", "index"),
        (HEAD + f"index {2**63}\n\nn\n", "index"),
        (HEAD + "index 0\n!!\n\nn\n", "base64"),
        (HEAD + "index 0\nAAAA\n\nn\n", "hash-size"),
        (HEAD + "index 0\n" + f"{B64}\n" * 64 + "\nn\n", "too-many"),
        (HEAD + "index 0\n\n", "checkpoint"),
        (HEAD + "index 0\n", "blank-line"),
        (HEAD + "index 0\n\nn", "checkpoint"),
        (HEAD + "index 0\r\n\nn\n", "control"),
        (HEAD + "index 0\n\n\ud800\n", "control"),
        (HEAD.encode() + b"index 0\n\n\xff\n", "encoding"),
        ("x" * 1_000_001, "too-long"),
    ],
)
def test_each_fault_of_a_proof_has_its_own_rule(text: str | bytes, rule: str) -> None:
    """A refusal says which line is off."""
    with pytest.raises(WrongError, match=rf"\[tlog-proof/{rule}\]"):
        TlogProof.parse(text)


@pytest.mark.parametrize(
    ("proof", "rule"),
    [
        ((-1, (), b"n\n"), "index"),
        ((2**63, (), b"n\n"), "index"),
        ((0, (bytes(31),), b"n\n"), "hash-size"),
        ((0, (bytes(32),) * 64, b"n\n"), "too-many"),
        ((0, (), b"n"), "checkpoint"),
        ((0, (), b"\xff\n"), "encoding"),
        ((0, (), b"n\n", b""), "extra"),
    ],
)
def test_what_no_proof_can_carry_is_not_constructed(proof: Any, rule: str) -> None:
    """A proof that could not be read again is refused before it is written."""
    with pytest.raises(WrongError, match=rf"\[tlog-proof/{rule}\]"):
        TlogProof(*proof)


def test_each_lie_of_a_proof_has_its_own_rule() -> None:
    """Well-formed proofs that prove nothing say why."""
    good = prove(5, 11)
    note, other = good.checkpoint_note, prove(5, 12)
    lies = {
        "tlog-proof/beyond": TlogProof(11, good.hashes, note),
        "tlog-proof/inclusion": TlogProof(5, other.hashes, note),
        "note/blank-line": TlogProof(5, good.hashes, b"\n"),
        "note/signature": TlogProof(
            5, good.hashes, note.replace(b"\n11\n", b"\n12\n", 1)
        ),
        "checkpoint/unsigned": prove(5, 11, OTHER),
    }
    for rule, proof in lies.items():
        with pytest.raises(WrongError, match=rf"\[{rule}\]"):
            proof.verify(LEAVES[5], ORIGIN, [KEY.public])


def test_the_example_proof_is_accepted() -> None:
    """The published proof covers the event of the published Sigstore bundle."""
    folder = shared("examples")
    name, public = parse_vkey((folder / "log.vkey").read_text())
    text = (folder / "event7.tlog-proof").read_text()
    bundle = json.loads((folder / "evidence.sigstore.json").read_text())
    entry = bundle["verificationMaterial"]["tlogEntries"][0]
    envelope = bundle["dsseEnvelope"]
    key = PublicKey.from_pem((folder / "event-ed25519.pub").read_text())
    leaf = entry_hash(
        base64.b64decode(envelope["payload"]),
        base64.b64decode(envelope["signatures"][0]["sig"]),
        spki_base64(key),
    )
    proof = TlogProof.parse(text)
    checkpoint = proof.verify(leaf, name, [public])
    assert proof.to_text() == text
    assert vkey(name, public) == (folder / "log.vkey").read_text()
    assert (checkpoint.size, proof.index) == (13, int(entry["logIndex"]))
    assert base64.b64encode(log_id(name, public)).decode() == entry["logId"]["keyId"]
    assert (
        proof.checkpoint_note.decode()
        == (entry["inclusionProof"]["checkpoint"]["envelope"])
    )


def sigstore_bundle(envelope: dict[str, Any], proof: TlogProof, entry: bytes) -> Any:
    """Return the Sigstore bundle of an event, its proof and its log entry."""
    index, checkpoint = str(proof.index), Note.parse(proof.checkpoint_note)
    head = Checkpoint.parse(checkpoint.text)
    return {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {
            "publicKey": {"hint": envelope["signatures"][0]["keyid"]},
            "tlogEntries": [
                {
                    "logIndex": index,
                    "logId": {"keyId": text64(log_id(ORIGIN, KEY.public))},
                    "kindVersion": {"kind": "hashedrekord", "version": "0.0.2"},
                    "integratedTime": "0",
                    "inclusionProof": {
                        "logIndex": index,
                        "rootHash": text64(head.root),
                        "treeSize": str(head.size),
                        "hashes": [text64(value) for value in proof.hashes],
                        "checkpoint": {"envelope": proof.checkpoint_note.decode()},
                    },
                    "canonicalizedBody": text64(entry),
                }
            ],
        },
        "dsseEnvelope": envelope,
    }


def text64(value: bytes) -> str:
    """Return the standard base64 of *value*."""
    return base64.b64encode(value).decode()


@pytest.mark.skipif(not COSIGN.exists(), reason=NO_COSIGN)
def test_cosign_accepts_an_event_of_ours(tmp_path: Path) -> None:
    """An unmodified cosign verifies the published bundle, and one made here."""
    folder = shared("examples")
    command = (
        "verify-blob-attestation --bundle {0}/evidence.sigstore.json "
        "--key {0}/event-ed25519.pub --trusted-root {0}/trusted_root.json --type {1} "
        "{0}/artifact.txt"
    )
    kind = "https://in-toto.io/attestation/test-result/v0.1"
    subprocess.run([COSIGN, *command.format(folder, kind).split()], check=True)
    artifact = (folder / "artifact.txt").read_bytes()
    write_evidence(
        tmp_path, artifact, json.loads((folder / "trusted_root.json").read_text())
    )
    ours = "urn:muniment:event:note.added:v1"
    subprocess.run([COSIGN, *command.format(tmp_path, ours).split()], check=True)


def write_evidence(folder: Path, artifact: bytes, trusted_root: Any) -> None:
    """Write what cosign needs for an event of ours about *artifact*."""
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "predicate": {"data": {"text": "reviewed"}},
        "predicateType": "urn:muniment:event:note.added:v1",
        "subject": [
            {"digest": {"sha256": sha256(artifact).hexdigest()}, "name": "artifact.txt"}
        ],
    }
    envelope = sign_payload(json.dumps(statement).encode(), KEY)
    signed = pae(envelope.payload)
    entry = log_entry(signed, envelope.signature, spki_base64(KEY.public))
    note = sign_checkpoint(Checkpoint(ORIGIN, 1, root([leaf_hash(entry)])), KEY)
    bundle = sigstore_bundle(
        json.loads(envelope.to_json()), TlogProof(0, (), note), entry
    )
    log = trusted_root["tlogs"][0]
    log["baseUrl"] = f"https://{ORIGIN}"
    log["publicKey"]["rawBytes"] = text64(KEY.public.spki)
    log["logId"]["keyId"] = text64(log_id(ORIGIN, KEY.public))
    (folder / "evidence.sigstore.json").write_text(json.dumps(bundle))
    (folder / "trusted_root.json").write_text(json.dumps(trusted_root))
    (folder / "event-ed25519.pub").write_text(KEY.public.pem)
    (folder / "artifact.txt").write_bytes(artifact)
