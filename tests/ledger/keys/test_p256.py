"""P-256 keys: the RFC's vectors, one spelling of keys and signatures, whole ledgers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    Prehashed,
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.hashes import SHA256, Hash
from hypothesis import given
from hypothesis import strategies as st

from muniment import key_management
from muniment.errors import KeyRefused, UsageError, WrongError
from muniment.formats.checkpoint import origin, vkey
from muniment.formats.dsse import signer_from_uri
from muniment.keys.ed25519 import (
    PrivateKey,
    PublicKey,
    load_private,
    possession_message,
    save_private,
)
from muniment.keys.p256 import low_s, read_signature
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify
from muniment_plugins.evidence.standalone.formats import keyid, signed, spki

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
PRIME = 2**256 - 2**224 + 2**192 + 2**96 - 1
# RFC 6979, A.2.5: the key, and r and s with SHA-256.
SECRET = 0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721
X = "60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6"
Y = "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299"
VECTORS = {
    b"sample": (
        0xEFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716,
        0xF7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8,
    ),
    b"test": (
        0xF1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367,
        0x019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083,
    ),
}


def private(secret: int = SECRET) -> PrivateKey:
    """Return the private key with this number."""
    key = ec.derive_private_key(secret, ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return PrivateKey.from_pem(pem)


KEY = private()


@pytest.mark.parametrize("message", VECTORS)
def test_the_vectors_of_rfc_6979(message: bytes) -> None:
    """Signatures are the RFC's, with the lower of the two s."""
    r, s = VECTORS[message]

    assert KEY.public.raw.hex().upper() == f"04{X}{Y}"
    assert KEY.sign(message) == encode_dss_signature(r, min(s, ORDER - s))


@given(st.integers(1, ORDER - 1), st.binary(max_size=200))
def test_what_is_signed_verifies_everywhere(secret: int, message: bytes) -> None:
    """Each signature has one spelling, and both verifiers take it for its message."""
    key = private(secret)
    mark = key.sign(message)

    assert mark == key.sign(message) == low_s(mark)
    assert read_signature(mark) == decode_dss_signature(mark)
    for holds in (key.public.verify, lambda *one: signed(key.public.raw, *one)):
        assert holds(mark, message)
        assert not holds(mark, message + b"\0")


def _long_form(mark: bytes) -> bytes:
    return b"\x30\x81" + mark[1:]


def _with(change: Callable[[bytes, bytes], bytes]) -> Callable[[bytes], bytes]:
    def changed(mark: bytes) -> bytes:
        end = 4 + mark[3]
        body = change(mark[4:end], mark[end + 2 :])
        return bytes([0x30, len(body)]) + body

    return changed


def _integer(body: bytes) -> bytes:
    return bytes([2, len(body)]) + body


def _numbers(change: Callable[[int, int], tuple[int, int]]) -> Callable[[bytes], bytes]:
    return lambda mark: encode_dss_signature(*change(*decode_dss_signature(mark)))


MALLEATIONS: dict[str, Callable[[bytes], bytes]] = {
    "the other s": _numbers(lambda r, s: (r, ORDER - s)),
    "r + n": _numbers(lambda r, s: (r + ORDER, s)),
    "s + n": _numbers(lambda r, s: (r, s + ORDER)),
    "r = 0": _numbers(lambda _, s: (0, s)),
    "s = 0": _numbers(lambda r, _: (r, 0)),
    "r = n": _numbers(lambda _, s: (ORDER, s)),
    "s = n": _numbers(lambda r, _: (r, ORDER)),
    "a long length": _long_form,
    "a longer length": lambda mark: b"\x30\x82\0" + mark[1:],
    "no definite length": lambda mark: b"\x30\x80" + mark[2:] + b"\0\0",
    "a byte after it": lambda mark: mark + b"\0",
    "a byte inside, after s": lambda m: bytes([0x30, m[1] + 1]) + m[2:] + b"\0",
    "a zero before r": _with(lambda r, s: _integer(b"\0" + r) + _integer(s)),
    "a zero before s": _with(lambda r, s: _integer(r) + _integer(b"\0" + s)),
    "a negative r": _with(
        lambda r, s: _integer(bytes([r[-32] | 0x80]) + r[-31:]) + _integer(s)
    ),
    "a negative s": _with(
        lambda r, s: _integer(r) + _integer(bytes([s[0] | 0x80]) + s[1:])
    ),
    "an empty r": _with(lambda _, s: _integer(b"") + _integer(s)),
    "an empty s": _with(lambda r, _: _integer(r) + _integer(b"")),
    "a third number": _with(lambda r, s: _integer(r) + _integer(s) + _integer(b"\1")),
    "a long r": _with(lambda r, s: b"\2\x81" + _integer(r)[1:] + _integer(s)),
    "a set": lambda mark: b"\x31" + mark[1:],
    "another type of number": lambda mark: mark[:2] + b"\x03" + mark[3:],
    "raw numbers": lambda mark: b"".join(
        one.to_bytes(32, "big") for one in decode_dss_signature(mark)
    ),
    "nothing": lambda _: b"",
    "a head alone": lambda _: b"\x30\0",
}


@pytest.mark.parametrize("name", MALLEATIONS)
@pytest.mark.parametrize("message", [b"sample", b"test", b"x"])
def test_no_second_spelling_verifies(name: str, message: bytes) -> None:
    """Whatever else could pass for a signature is refused by both verifiers."""
    mark = KEY.sign(message)
    odd = MALLEATIONS[name](mark)

    assert odd != mark
    assert not KEY.public.verify(odd, message)
    assert not signed(KEY.public.raw, odd, message)


@given(st.binary(max_size=80))
def test_any_bytes_are_judged_alike(data: bytes) -> None:
    """What reads as a signature is what it writes; the verifiers agree about all else."""
    numbers = read_signature(data)

    assert numbers is None or encode_dss_signature(*numbers) == data
    assert not KEY.public.verify(data, b"m")
    assert not signed(KEY.public.raw, data, b"m")


@given(st.integers(0, 71), st.integers(0, 255))
def test_no_byte_of_a_signature_can_be_another(at: int, byte: int) -> None:
    """Each byte of a signature counts."""
    mark = bytearray(KEY.sign(b"sample"))
    at %= len(mark)
    same = mark[at] == byte
    mark[at] = byte

    assert KEY.public.verify(bytes(mark), b"sample") is same
    assert signed(KEY.public.raw, bytes(mark), b"sample") is same


def _odd_keys() -> dict[str, tuple[bytes, str]]:
    raw = KEY.public.raw
    x, y = raw[1:33], raw[33:]
    high = (5).to_bytes(32, "big"), (PRIME + 5).to_bytes(32, "big")
    return {
        "compressed": (bytes([2 + y[-1] % 2]) + x, "key/length"),
        "hybrid": (bytes([6 + y[-1] % 2]) + x + y, "key/non-canonical"),
        "infinity": (b"\0", "key/length"),
        "zeros": (b"\4" + bytes(64), "key/off-curve"),
        "off the curve": (raw[:-1] + bytes([raw[-1] ^ 1]), "key/off-curve"),
        "x not below p": (b"\4" + high[1] + y, "key/non-canonical"),
        "y not below p": (b"\4" + x + high[1], "key/non-canonical"),
        "a byte more": (raw + b"\0", "key/length"),
        "raw coordinates": (x + y, "key/length"),
    }


@pytest.mark.parametrize("name", _odd_keys())
def test_odd_keys_are_refused(name: str) -> None:
    """A point has one encoding, and what is no point has none."""
    raw, rule = _odd_keys()[name]
    with pytest.raises(KeyRefused) as refused:
        PublicKey(raw)

    assert refused.value.rule == rule
    assert not signed(raw, KEY.sign(b"m"), b"m")


def test_every_form_of_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SSH, PEM, hex, base64, files with and without passphrase, and the environment."""
    public = KEY.public
    for text in (public.ssh, public.pem, public.raw.hex()):
        assert PublicKey.parse(text) == public
    assert PublicKey.from_spki(public.spki) == public
    assert (public.keyid, public.spki) == (keyid(public.raw), spki(public.raw))
    for name, passphrase in (("plain", None), ("locked", "open")):
        save_private(tmp_path / name, KEY, passphrase)
        assert load_private(tmp_path / name, passphrase).public == public
    monkeypatch.setenv("KEY", KEY.to_pem().decode())
    assert signer_from_uri("env:KEY").public == public


class KeyService:
    """A key service: it signs digests, and with whatever s it likes, here the greater."""

    def __init__(self) -> None:
        self.key = ec.derive_private_key(SECRET, ec.SECP256R1())
        self.public = KEY.public

    def sign(self, message: bytes) -> bytes:
        """Sign the digest of *message*."""
        digest = Hash(SHA256())
        digest.update(message)
        how = ec.ECDSA(Prehashed(SHA256()))
        r, s = decode_dss_signature(self.key.sign(digest.finalize(), how))
        return encode_dss_signature(r, max(s, ORDER - s))


def test_a_key_service_may_give_the_greater_s(tmp_path: Path) -> None:
    """What a service signs is written in the one spelling, its proof of possession too."""
    home = TrustHome(tmp_path / "home")
    place = tmp_path / "ledger.db"
    with Ledger.create(place, home=home, plugins=(), signer=KeyService()) as ledger:
        event = ledger.append("note.added", {"text": "x"})
        ledger.checkpoint()

    assert event.signature == low_s(event.signature)
    assert verify(place, home=home).ok


def test_a_whole_ledger_changes_keys_back_and_forth(tmp_path: Path) -> None:
    """Root and writer on P-256, another writer on Ed25519, and back: all of it holds."""
    home, place = TrustHome(tmp_path / "home"), tmp_path / "ledger.db"
    writer, signers = KEY, [KEY]
    with Ledger.create(
        place, home=home, plugins=(), signer=KEY, algorithm="p256"
    ) as made:
        assert made.born is not None
        recovery, ledger_id = made.born.recovery, made.id
        made.append("note.added", {"text": "0"})
    root = load_private(recovery / "root.pem")
    for turn, algorithm in enumerate(("ed25519", "p256", "ed25519"), 1):
        new = PrivateKey.generate(algorithm)
        with Ledger.open(place, home=home, plugins=(), signer=writer) as ledger:
            old = key_management.find_key(ledger.keys, writer.public.keyid)
            asked = key_management.request(new, ledger_id, ["writer"])
            key_management.rotate(ledger, old, asked, root)
        with Ledger.open(place, home=home, plugins=(), signer=new) as ledger:
            ledger.append("note.added", {"text": str(turn)})
            if algorithm == "p256":
                following = load_private(recovery / "next-root.pem")
                key_management.rotate_root(ledger, following, tmp_path / "after.pem")
                root = following
            ledger.checkpoint()
        writer, signers = new, [*signers, new]

    report = verify(place, home=home)
    assert report.ok, str(report)
    assert load_private(tmp_path / "after.pem").public.algorithm == "p256"
    assert [one.public.algorithm for one in signers] == ["p256", "ed25519"] * 2


@pytest.mark.parametrize("name", MALLEATIONS)
def test_a_signature_in_the_file_is_respelled(name: str, tmp_path: Path) -> None:
    """Another spelling in the file of a ledger is wrong, whoever finds it."""
    home, place = TrustHome(tmp_path / "home"), tmp_path / "ledger.db"
    with Ledger.create(place, home=home, plugins=(), algorithm="p256") as ledger:
        event = ledger.append("note.added", {"text": "x"})
    odd = MALLEATIONS[name](event.signature)
    with closing(sqlite3.connect(place)) as file, file:
        for (trigger,) in file.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            file.execute(f'DROP TRIGGER "{trigger}"')
        file.execute("UPDATE event SET signature = ? WHERE seq = ?", (odd, event.seq))

    report = verify(place, home=home)
    assert not report.ok
    assert any(one.seq == event.seq for one in report.findings)


def test_checkpoints_are_signed_by_ed25519_alone(tmp_path: Path) -> None:
    """A P-256 key is refused for the role checkpoint, and as the key of a log."""
    home = TrustHome(tmp_path / "home")
    place = tmp_path / "ledger.db"
    with Ledger.create(place, home=home, plugins=(), algorithm="p256") as ledger:
        (log,) = ledger.keys.current("checkpoint")
        asked = key_management.request(KEY, ledger.id, ["checkpoint"])
        root = load_private(home.recovery_directory(ledger.id) / "root.pem")
        with pytest.raises((KeyRefused, WrongError)) as refused:
            key_management.enrol(ledger, asked, root)

        assert log.algorithm == "ed25519"
        assert refused.value.rule == "key/checkpoint-algorithm"
        with pytest.raises(UsageError, match="P-256"):
            vkey(origin(ledger.id), KEY.public)


def test_a_proof_for_another_role_is_none() -> None:
    """The message that is signed names key and role, for P-256 as well."""
    proof = KEY.sign(possession_message("sha256:" + "0" * 64, KEY.public, "writer"))
    other = possession_message("sha256:" + "0" * 64, KEY.public, "approver")

    assert not KEY.public.verify(proof, other)
