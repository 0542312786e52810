"""DSSE: other people's tools verify our envelopes; only one spelling is read."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib import dsse
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

from muniment.encoding.canonical import canonical
from muniment.errors import (
    CannotTellError,
    KeyRefused,
    MunimentError,
    UsageError,
    WrongError,
)
from muniment.formats.dsse import (
    PAYLOAD_TYPE,
    Envelope,
    Signer,
    decode_base64,
    entry_hash,
    log_entry,
    pae,
    sign_payload,
    signer_from_uri,
    spki_base64,
)
from muniment.formats.merkle import leaf_hash
from muniment.keys.ed25519 import PrivateKey, PublicKey, save_private

KEY = PrivateKey.from_seed(bytes(range(32)))
OTHER = PrivateKey.from_seed(bytes(32))
PAYLOAD = canonical({"_type": "https://in-toto.io/Statement/v1", "text": "é"})
ENVELOPE = sign_payload(PAYLOAD, KEY)


def shared(folder: str) -> Path:
    """Return a folder beside the repository or its vectors; skip where none is."""
    root = Path(__file__).parents[4] / "shared"
    named = os.environ.get("MUNIMENT_VECTORS")
    path = Path(named).parent / folder if named else root / folder
    if not path.is_dir():
        pytest.skip("no public vectors: set MUNIMENT_VECTORS")
    return path


def envelope_dict() -> dict[str, Any]:
    """Return a good envelope as plain JSON, to be damaged."""
    return json.loads(ENVELOPE.to_json())  # type: ignore[no-any-return]


def test_the_bytes_are_those_of_the_specification() -> None:
    """PAE and envelope are spelled out here once, byte for byte."""
    assert pae(b"{}") == b"DSSEv1 28 application/vnd.in-toto+json 2 {}"
    assert Envelope(b"{}", KEY.public.keyid, bytes(64)).to_json() == (
        b'{"payload":"e30=","payloadType":"application/vnd.in-toto+json",'
        b'"signatures":[{"keyid":"%b","sig":"%b"}]}'
        % (KEY.public.keyid.encode(), base64.b64encode(bytes(64)))
    )


def test_pae_counts_bytes_as_the_public_vectors_do() -> None:
    """The published encodings follow from ours by exchanging the type's part."""
    data = json.loads((shared("vectors") / "dsse" / "vectors.json").read_text())
    ours = b"28 " + PAYLOAD_TYPE.encode()
    for case in data["pae_hex"]:
        name = case["type"].encode()
        theirs = b"%d %b" % (len(name), name)
        encoded = pae(bytes.fromhex(case["body_hex"])).replace(ours, theirs, 1)
        assert encoded.hex() == case["pae_hex"]
    for case in data["cases"]:
        theirs = f"{len(case['payloadType'])} {case['payloadType']}".encode()
        encoded = pae(case["payload"].encode()).replace(ours, theirs, 1)
        assert encoded.decode() == case["pae"]


def test_securesystemslib_verifies_our_envelope() -> None:
    """The in-toto world's library accepts it, and refuses another payload."""
    crypto = load_pem_public_key(KEY.public.pem.encode())
    key = SSlibKey.from_crypto(crypto, keyid=KEY.public.keyid)
    accepted = dsse.Envelope.from_dict(envelope_dict()).verify([key], 1)
    assert list(accepted) == [KEY.public.keyid]
    altered = envelope_dict() | {"payload": base64.b64encode(b"{}").decode()}
    with pytest.raises(VerificationError):
        dsse.Envelope.from_dict(altered).verify([key], 1)


@pytest.mark.skipif(which("openssl") is None, reason="no openssl on PATH")
def test_openssl_verifies_the_signature_over_pae(tmp_path: Path) -> None:
    """Nothing but openssl and two files is needed to check an event's signature."""
    (tmp_path / "key.pub").write_text(KEY.public.pem)
    (tmp_path / "sig").write_bytes(ENVELOPE.signature)
    command = (
        "openssl pkeyutl -verify -pubin -inkey key.pub -rawin -in pae -sigfile sig"
    )
    for message, code in ((pae(PAYLOAD), 0), (pae(PAYLOAD + b" "), 1)):
        (tmp_path / "pae").write_bytes(message)
        done = subprocess.run(
            command.split(), cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == code


def test_an_envelope_cosign_accepted_is_accepted_here() -> None:
    """The event of a Sigstore bundle verifies, and its log entry is byte for byte ours."""
    folder = shared("examples")
    bundle = json.loads((folder / "evidence.sigstore.json").read_text())
    public = PublicKey.from_pem((folder / "event-ed25519.pub").read_text())
    envelope = Envelope.from_json(canonical(bundle["dsseEnvelope"]))
    assert envelope.verify(public)
    entry = log_entry(pae(envelope.payload), envelope.signature, spki_base64(public))
    body = bundle["verificationMaterial"]["tlogEntries"][0]["canonicalizedBody"]
    assert base64.b64encode(entry).decode() == body


@given(st.binary(max_size=300), st.binary(min_size=64, max_size=64))
def test_the_entry_is_canonical_and_its_hash_a_leaf(
    payload: bytes, signature: bytes
) -> None:
    """The template writes canonical JSON, and `entry_hash` is its RFC 6962 leaf hash."""
    spki = spki_base64(KEY.public)
    entry = log_entry(pae(payload), signature, spki)
    assert canonical(json.loads(entry)) == entry
    assert entry_hash(payload, signature, spki) == leaf_hash(entry)
    assert len(entry) == 453


@given(st.binary(max_size=300), st.binary(min_size=32, max_size=32))
def test_an_envelope_reads_back_and_verifies(payload: bytes, seed: bytes) -> None:
    """What is signed and written is read again equal, and verifies with its key only."""
    key = PrivateKey.from_seed(seed)
    envelope = sign_payload(payload, key)
    again = Envelope.from_json(envelope.to_json())
    assert again == envelope
    assert again.verify(key.public)
    assert not again.verify(
        PrivateKey.from_seed(bytes([seed[0] ^ 1]) + seed[1:]).public
    )


def test_a_signature_under_another_key_id_does_not_count() -> None:
    """A good signature that names another key is not that key's, nor its maker's."""
    renamed = Envelope(PAYLOAD, OTHER.public.keyid, ENVELOPE.signature)
    assert not renamed.verify(KEY.public)
    assert not renamed.verify(OTHER.public)


def accepts(data: bytes) -> bool:
    """Tell whether *data* is an envelope signed by `KEY`."""
    try:
        return Envelope.from_json(data).verify(KEY.public)
    except MunimentError:
        return False


def test_no_flipped_bit_survives() -> None:
    """Each bit of an envelope counts: refused by name, or the signature fails."""
    good = ENVELOPE.to_json()
    assert accepts(good)
    for place in range(len(good) * 8):
        bad = bytearray(good)
        bad[place // 8] ^= 1 << place % 8
        assert not accepts(bytes(bad))


@given(st.data())
def test_no_mutated_envelope_verifies(data: st.DataObject) -> None:
    """Any few bytes changed, cut or added: refused by name, or the signature fails."""
    good = ENVELOPE.to_json()
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(good))] * 2)))
    bad = good[:start] + data.draw(st.binary(max_size=4)) + good[end:]
    assert accepts(bad) == (bad == good)


@given(st.binary(max_size=80) | st.text(max_size=40).map(lambda text: text.encode()))
def test_the_parser_raises_nothing_of_its_own(data: bytes) -> None:
    """Arbitrary bytes are refused as wrong, never by another exception."""
    with pytest.raises(WrongError):
        Envelope.from_json(data)


SIG = base64.b64encode(bytes(64)).decode()
ONE = {"keyid": KEY.public.keyid, "sig": SIG}

FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "another payload type": ("payload-type", {"payloadType": "application/json"}),
    "no signature": ("one-signature", {"signatures": []}),
    "two signatures": ("one-signature", {"signatures": [ONE, ONE]}),
    "signatures is an object": ("one-signature", {"signatures": ONE}),
    "signature is a string": ("members", {"signatures": ["x"]}),
    "no key id": ("members", {"signatures": [{"sig": SIG}]}),
    "a certificate": ("members", {"signatures": [{**ONE, "cert": ""}]}),
    "a member too many": ("members", {"note": "x"}),
    "an empty key id": ("keyid", {"signatures": [{**ONE, "keyid": ""}]}),
    "a key id in hex": ("keyid", {"signatures": [{**ONE, "keyid": "ab" * 32}]}),
    "a number as key id": ("keyid", {"signatures": [{**ONE, "keyid": 1}]}),
    "a signature in base64url": (
        "signature-base64",
        {"signatures": [{**ONE, "sig": "_" * 86 + "=="}]},
    ),
    "a null signature": ("signature-base64", {"signatures": [{**ONE, "sig": None}]}),
    "a short signature": ("signature-size", {"signatures": [{**ONE, "sig": SIG[4:]}]}),
    "payload without padding": ("payload-base64", {"payload": "e30"}),
    "payload with stray bits": ("payload-base64", {"payload": "e31="}),
    "payload with a line end": ("payload-base64", {"payload": "e30=\n"}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_has_its_own_rule(name: str) -> None:
    """A canonical object that is not an envelope of ours says what is the matter."""
    rule, change = FAULTS[name]
    with pytest.raises(WrongError, match=rf"\[dsse/{rule}\]") as caught:
        Envelope.from_json(canonical(envelope_dict() | change))
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"[]", "dsse/members"),
        (b"", "canonical/json"),
        (b"\xff", "canonical/json"),
        (ENVELOPE.to_json() + b"\n", "canonical/form"),
        (json.dumps(envelope_dict()).encode(), "canonical/form"),
        (ENVELOPE.to_json()[:-1] + b',"payload":""}', "canonical/form"),
        (b"[" * 100_000, "canonical/json"),
    ],
)
def test_only_canonical_json_is_read(data: bytes, rule: str) -> None:
    """Spaces, line ends, duplicate members and nesting are refused before all else."""
    with pytest.raises(WrongError, match=rf"\[{rule}\]"):
        Envelope.from_json(data)


@given(st.text("AZaz09+/=-_ \n\0é", max_size=12) | st.text(max_size=8))
def test_base64_has_one_spelling(text: str) -> None:
    """Whatever is decoded is encoded to the same text again."""
    value = decode_base64(text)
    assert value is None or base64.b64encode(value).decode() == text


def test_signers_are_found_by_uri(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path, ``file:``, PEM and seed in a variable all give the same signer."""
    path = tmp_path / "writer.pem"
    save_private(path, KEY)
    monkeypatch.setenv("A_PEM", KEY.to_pem().decode())
    monkeypatch.setenv("A_SEED", base64.b64encode(bytes(range(32))).decode() + "\n")
    for uri in (str(path), f"file:{path}", "env:A_PEM", "env:A_SEED"):
        signer = signer_from_uri(uri)
        assert signer.public == KEY.public
        assert KEY.public.verify(signer.sign(b"x"), b"x")


def test_other_schemes_come_from_outside() -> None:
    """A scheme that somebody brings gets the whole URI, and nothing shadows ours."""
    seen: list[str] = []

    def from_kms(uri: str) -> Signer:
        seen.append(uri)
        return KEY

    assert signer_from_uri("kms:eu/1?v=2", {"kms": from_kms}) is KEY
    assert seen == ["kms:eu/1?v=2"]
    with pytest.raises(CannotTellError, match="not set"):
        signer_from_uri("env:MUNIMENT_NOT_SET", {"env": from_kms})


def test_an_unknown_scheme_names_the_known_ones() -> None:
    """The refusal is one about usage and lists what could have been meant."""
    with pytest.raises(UsageError, match=r"scheme pkcs11:.*env, file, kms"):
        signer_from_uri("pkcs11:token=x", {"kms": lambda _: KEY})


def test_a_one_letter_scheme_is_a_drive(tmp_path: Path) -> None:
    """``C:/key.pem`` is looked for as a file, not as a scheme."""
    with pytest.raises(CannotTellError, match="C:/no/such"):
        signer_from_uri("C:/no/such/key.pem")
    with pytest.raises(CannotTellError, match="nothing"):
        signer_from_uri(str(tmp_path / "nothing.pem"))


def test_an_empty_variable_is_not_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset and blank variables are missing keys; the variable is named."""
    monkeypatch.setenv("BLANK", " \n")
    with pytest.raises(CannotTellError, match=r"env:BLANK: .*signing/environment"):
        signer_from_uri("env:BLANK")


@pytest.mark.parametrize("text", ["garbage", "AAAA", KEY.public.pem])
def test_what_is_no_key_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Neither PEM nor 32 bytes: refused, and the secret is not repeated."""
    monkeypatch.setenv("BAD", text)
    with pytest.raises(KeyRefused) as caught:
        signer_from_uri("env:BAD")
    assert text not in str(caught.value)
