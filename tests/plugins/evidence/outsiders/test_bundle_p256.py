"""Bundles of ledgers whose keys are on P-256: the verifiers take and refuse alike."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from bundled import bundle_on_p256
from muniment.encoding.canonical import canonical
from muniment.trust.home import TrustHome
from muniment.verification.bundle.verify import verify_bundle
from spoiled_bundles import copy, read, sealed, write
from standalone_program import exit_code_of
from three_verifiers import NODE, PROGRAM

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
EVENTS = "events.intoto.jsonl"


@dataclass(frozen=True)
class Made:
    """A bundle, and its ledger's root."""

    folder: Path
    home: Path
    root: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Make a ledger with P-256 keys, a run, and its bundle."""
    base = tmp_path_factory.mktemp("p256")
    root = bundle_on_p256(base)
    return Made(base / "bundle", base / "none", root)


def verdicts(folder: Path, made: Made) -> set[int]:
    """Return the exit codes of muniment, the standalone verifier, and that in Node."""
    report = verify_bundle(folder, home=TrustHome(made.home), keys=[made.root])
    codes = {report.exit_code, exit_code_of(folder, made.root)[0]}
    if NODE is not None:
        line: list[str | Path] = [NODE, PROGRAM, folder, "--key", made.root]
        done = subprocess.run(line, capture_output=True, check=False)
        codes.add(done.returncode)
    return codes


def test_the_verifiers_accept_it(made: Made) -> None:
    """A bundle whose root and writer are on P-256 is as good as any."""
    assert verdicts(made.folder, made) == {0}


def other_s(mark: bytes) -> bytes:
    """Return the twin of a signature."""
    r, s = decode_dss_signature(mark)
    return encode_dss_signature(r, ORDER - s)


def of_others(mark: bytes) -> bytes:
    """Return a signature by nobody."""
    r, s = decode_dss_signature(mark)
    return encode_dss_signature(r ^ 1, s)


TAMPERS: dict[str, Callable[[bytes], bytes]] = {
    "the other s": other_s,
    "another r": of_others,
    "a byte after it": lambda mark: mark + b"\0",
    "a long length": lambda mark: b"\x30\x81" + mark[1:],
    "a zero more": lambda mark: (
        bytes([0x30, mark[1] + 1, 2, mark[3] + 1, 0]) + mark[4:]
    ),
    "64 raw bytes": lambda mark: b"".join(
        one.to_bytes(32, "big") for one in decode_dss_signature(mark)
    ),
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("name", TAMPERS)
def test_the_verifiers_refuse_another_signature(
    made: Made, tmp_path: Path, name: str, at: int
) -> None:
    """Whoever spells a signature anew is refused, with a manifest that agrees, too."""
    files = dict(read(made.folder))
    lines = files[EVENTS].splitlines(keepends=True)
    envelope = json.loads(lines[at])
    (one,) = envelope["signatures"]
    mark = TAMPERS[name](base64.b64decode(one["sig"]))
    one["sig"] = base64.b64encode(mark).decode()
    lines[at] = canonical(envelope) + b"\n"
    files[EVENTS] = b"".join(lines)
    folder = write(copy(made.folder, tmp_path / "bundle"), sealed(files))

    assert verdicts(folder, made) == {1}
