"""Keys: every spelling reads back, every weak or exposed key is refused by name."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import CannotTellError, KeyRefused
from muniment.keys.ed25519 import (
    ROLES,
    KeyWarning,
    PrivateKey,
    PublicKey,
    load_private,
    possession_message,
    save_private,
)

P = 2**255 - 19
SEEDS = st.binary(min_size=32, max_size=32)

# RFC 8032 §7.1, test 1.
SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex(
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
)
SIGNATURE = bytes.fromhex(
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
    "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
)
KEYID = "SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8"


def vectors() -> Path:
    """Return the directory of public vectors, or skip."""
    root = os.environ.get("MUNIMENT_VECTORS")
    if root is None:
        pytest.skip("MUNIMENT_VECTORS names no directory")
    return Path(root) / "ed25519"


def p384_pem(*, private: bool) -> bytes:
    """Return a PEM block of a key of neither algorithm."""
    key = generate_private_key(SECP384R1())
    if private:
        return key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def test_the_rfc_8032_pair() -> None:
    """The first test of RFC 8032 gives its public key and its signature."""
    key = PrivateKey.from_seed(SEED)
    assert key.public.raw == PUBLIC
    assert key.sign(b"") == SIGNATURE
    assert key.public.verify(SIGNATURE, b"")
    assert not key.public.verify(SIGNATURE, b"x")


def test_the_name_of_a_known_key() -> None:
    """A fixed key has the name that ``ssh-keygen -lf`` gave it."""
    assert PublicKey(PUBLIC).keyid == KEYID


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")
def test_ssh_keygen_prints_the_same_name(tmp_path: Path) -> None:
    """``ssh-keygen -lf`` reads our SSH line and prints our key id."""
    for number in range(5):
        public = PrivateKey.generate().public
        path = tmp_path / f"{number}.pub"
        path.write_text(public.ssh + " someone@somewhere\n")
        run = subprocess.run(
            ["ssh-keygen", "-lf", str(path)], capture_output=True, text=True, check=True
        )
        assert run.stdout.split()[1] == public.keyid


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
def test_openssl_reads_the_files(tmp_path: Path) -> None:
    """Openssl reads both halves and accepts a signature."""
    key = PrivateKey.generate()
    save_private(tmp_path / "key.pem", key)
    (tmp_path / "key.pub").write_text(key.public.pem)
    (tmp_path / "message").write_bytes(b"message")
    (tmp_path / "signature").write_bytes(key.sign(b"message"))
    public = subprocess.run(
        ["openssl", "pkey", "-in", "key.pem", "-pubout"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert public.stdout == key.public.pem
    command = "openssl pkeyutl -verify -pubin -inkey key.pub -rawin -in message"
    subprocess.run(
        [*command.split(), "-sigfile", "signature"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )


@given(SEEDS)
def test_every_spelling_reads_back(seed: bytes) -> None:
    """PEM, SPKI, SSH line, hex, base64 and pickle all give the same key."""
    public = PrivateKey.from_seed(seed).public
    assert PublicKey.from_spki(public.spki) == public
    assert PublicKey.from_pem(public.pem.encode()) == public
    assert pickle.loads(pickle.dumps(public)) == public  # noqa: S301 - our own bytes
    ssh, padded = public.ssh, public.pem.split("\n")[1]
    for text in (public.pem, ssh, f"{ssh} name@host", public.raw.hex(), f"\n{ssh}\n"):
        assert PublicKey.parse(text) == public
    assert PublicKey.from_pem(public.pem.replace("\n", "\r\n")).spki == public.spki
    assert padded.startswith("MCowBQYDK2VwAyEA")


@given(SEEDS)
def test_base64_of_the_raw_key_reads_back(seed: bytes) -> None:
    """The 44 characters of base64 read back, with and without padding."""
    import base64  # noqa: PLC0415 - only here

    public = PrivateKey.from_seed(seed).public
    text = base64.b64encode(public.raw).decode()
    assert PublicKey.parse(text) == PublicKey.parse(text.rstrip("=")) == public


def test_the_public_list_of_low_order_points() -> None:
    """Each of the 14 encodings of low-order points is refused as one."""
    listed = json.loads((vectors() / "low_order_public_keys.json").read_text())
    assert len(set(listed)) == 14
    for encoding in listed:
        with pytest.raises(KeyRefused, match="low order") as caught:
            PublicKey(bytes.fromhex(encoding))
        assert caught.value.rule == "key/low-order"


@pytest.mark.parametrize("sign", [0, 1 << 255])
def test_non_canonical_encodings(sign: int) -> None:
    """Every encoding with y ≥ p is refused; there are 19 for each sign."""
    for y in range(P, 2**255):
        raw = (y | sign).to_bytes(32, "little")
        expected = "low order" if y in (P, P + 1) else "canonical"
        with pytest.raises(KeyRefused, match=expected):
            PublicKey(raw)
    assert PublicKey((P - 2 | sign).to_bytes(32, "little")).raw[0] == 0xEB


def test_wycheproof_signatures() -> None:
    """Every signature of the Wycheproof set is judged as the set says."""
    data = json.loads((vectors() / "wycheproof_ed25519_test.json").read_text())
    judged = 0
    for group in data["testGroups"]:
        public = PublicKey(bytes.fromhex(group["publicKey"]["pk"]))
        assert PublicKey.from_spki(bytes.fromhex(group["publicKeyDer"])) == public
        for test in group["tests"]:
            signature, message = bytes.fromhex(test["sig"]), bytes.fromhex(test["msg"])
            expected = test["result"] == "valid"
            assert public.verify(signature, message) is expected, test["tcId"]
            judged += 1
    assert judged == data["numberOfTests"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "key/length"),
        ("00" * 31, "key/length"),
        ("AAAA", "key/length"),
        ("not base64!", "key/format"),
        ("-----BEGIN PUBLIC KEY-----\n", "key/format"),
        ("-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----", "key/format"),
        ("ssh-rsa AAAAB3NzaC1yc2E=", "key/algorithm"),
        ("ssh-ed25519", "key/algorithm"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA==", "key/length"),
        ("-----BEGIN PRIVATE KEY-----\n", "key/private"),
    ],
)
def test_what_is_no_public_key(text: str, rule: str) -> None:
    """Each way of not being a public key has a name of its own."""
    with pytest.raises(KeyRefused) as caught:
        PublicKey.parse(text)
    assert caught.value.rule == rule


def test_another_algorithm() -> None:
    """A key of another algorithm is refused as that, in both halves."""
    with pytest.raises(KeyRefused, match="not Ed25519 or P-256"):
        PublicKey.from_pem(p384_pem(private=False))
    with pytest.raises(KeyRefused, match="not Ed25519 or P-256"):
        PrivateKey.from_pem(p384_pem(private=True))


def test_a_trailing_byte_in_the_spki() -> None:
    """An SPKI with a byte too many is refused."""
    with pytest.raises(KeyRefused, match="not 33"):
        PublicKey.from_spki(PublicKey(PUBLIC).spki + b"\0")


@given(SEEDS, st.one_of(st.none(), st.just("open sesame"), st.just(b"\xff")))
def test_private_pem_reads_back(seed: bytes, passphrase: str | bytes | None) -> None:
    """A private key reads back from its PEM; a needless passphrase does no harm."""
    key = PrivateKey.from_seed(seed)
    plain = key.to_pem()
    assert PrivateKey.from_pem(plain, passphrase).public == key.public
    assert PrivateKey.from_pem(plain.decode()).sign(b"m") == key.sign(b"m")


@given(SEEDS)
def test_private_pem_is_that_of_the_library(seed: bytes) -> None:
    """A key file holds what the library writes, which reads it, and in any layout."""
    key = Ed25519PrivateKey.from_private_bytes(seed)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )

    assert PrivateKey.from_seed(seed).to_pem() == pem
    for spelt in (pem, pem.replace(b"\n", b"\r\n"), b"# a comment\n" + pem):
        assert (
            PrivateKey.from_pem(spelt).public.raw == key.public_key().public_bytes_raw()
        )


def test_a_pem_block_as_long_as_a_key() -> None:
    """What is not a key is damaged, though it is as long as one and spelt like one."""
    pem = PrivateKey.from_seed(SEED).to_pem()

    with pytest.raises(KeyRefused, match=r"damaged \[key/pem\]"):
        PrivateKey.from_pem(pem.replace(b"MC4CAQAw", b"MC4CAQAx"))


def test_an_encrypted_key_needs_its_passphrase() -> None:
    """An encrypted key opens with its passphrase, and says what it lacks without."""
    key = PrivateKey.generate()
    pem = key.to_pem("open sesame")
    assert b"ENCRYPTED" in pem
    assert PrivateKey.from_pem(pem, b"open sesame").public == key.public
    with pytest.raises(CannotTellError, match=r"is encrypted.*give the passphrase"):
        PrivateKey.from_pem(pem)
    with pytest.raises(CannotTellError, match="passphrase is wrong"):
        PrivateKey.from_pem(pem, "open barley")


@pytest.mark.parametrize(
    ("pem", "match"),
    [
        (b"", "no PKCS#8"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\n", "no PKCS#8"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "damaged"),
        (b"-----BEGIN PRIVATE KEY-----\n", "damaged"),
    ],
)
def test_what_is_no_private_key(pem: bytes, match: str) -> None:
    """What is not PKCS#8 PEM is refused with the command that makes it."""
    with pytest.raises(KeyRefused, match=f"{match}.*genpkey") as caught:
        PrivateKey.from_pem(pem)
    assert caught.value.rule == "key/pem"
    with pytest.raises(KeyRefused, match="a seed is 32 bytes"):
        PrivateKey.from_seed(b"short")


def test_a_private_key_is_not_printed() -> None:
    """The text of a private key shows its public name, and nothing else."""
    key = PrivateKey.from_seed(SEED)
    assert repr(key) == str(key) == f"PrivateKey({KEYID})"


def test_a_saved_key_is_private_and_never_overwritten(tmp_path: Path) -> None:
    """A key file has mode 0600 whatever the umask, and a second save is refused."""
    path, key = tmp_path / "key.pem", PrivateKey.generate()
    before = os.umask(0)
    try:
        save_private(path, key)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(KeyRefused, match="never overwritten"):
        save_private(path, PrivateKey.generate())
    assert load_private(path).public == key.public
    with pytest.raises(CannotTellError, match="cannot be written"):
        save_private(tmp_path / "none" / "key.pem", key)


@pytest.mark.parametrize("mode", range(0o400, 0o1000))
def test_permissions_of_a_key_file(tmp_path: Path, mode: int) -> None:
    """Any bit for group or other refuses the file, but for 0440, which warns."""
    path = tmp_path / "key.pem"
    save_private(path, PrivateKey.generate())
    path.chmod(mode)
    if mode == 0o440:
        with pytest.warns(KeyWarning, match="0400"):
            load_private(path)
    elif mode & 0o077:
        with pytest.raises(KeyRefused, match=f"chmod 600 {path}") as caught:
            load_private(path)
        assert caught.value.rule == "key/permissions"
    else:
        load_private(path)


def test_a_key_file_through_a_symbolic_link(tmp_path: Path) -> None:
    """A link to a private key is followed; the mode of its target counts."""
    path, link = tmp_path / "key.pem", tmp_path / "link.pem"
    save_private(path, PrivateKey.generate())
    link.symlink_to(path)
    load_private(link)
    path.chmod(0o644)
    with pytest.raises(KeyRefused, match="open to other users"):
        load_private(str(link))


def test_a_key_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing or unreadable key file cannot tell; errors inside name the file."""
    with pytest.raises(CannotTellError, match="does not exist") as caught:
        load_private(tmp_path / "key.pem")
    assert caught.value.rule == "key/missing"
    with pytest.raises(CannotTellError, match="cannot be read"):
        load_private(tmp_path)
    path = tmp_path / "key.pem"
    path.touch(mode=0o600)
    with pytest.raises(KeyRefused, match=f"{path}: no PKCS#8"):
        load_private(path)


def test_possession_messages_are_apart() -> None:
    """The message names context, key and role, so that no proof serves twice."""
    public = PublicKey(PUBLIC)
    message = possession_message("sha256:00", public, "writer")
    expected = f"muniment/key-possession/v1\nsha256:00\n{KEYID}\nwriter\n"
    assert message == expected.encode()
    assert len({possession_message("c", public, role) for role in ROLES}) == 4
