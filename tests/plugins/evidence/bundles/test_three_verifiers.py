"""Three verifiers that share no code say the same of every change of a bundle."""

from __future__ import annotations

import os
import subprocess
import zipfile
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from bundled import Bundles, bundle_on_p256, evidence_plugins
from every_kind import make
from muniment.ledger import Ledger
from muniment_plugins.evidence import write_bundle
from mutations import mutations
from spoiled_bundles import copy, read, spoiled
from three_verifiers import NEEDS_NODE, NODE, PROGRAM, verifiers

pytestmark = NEEDS_NODE
NUMBER = int(os.environ.get("MUNIMENT_FUZZ", "400"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "raw", "redacted", "p256"])
def test_each_change(kind: str, bundles: Bundles, tmp_path: Path) -> None:
    """Files, lines, bytes, JSON leaves, payloads: refused by all, or by none."""
    root, made = bundles.root, getattr(bundles, kind, tmp_path / "bundle")
    if kind == "p256":
        root = bundle_on_p256(tmp_path)
    folder = copy(made, tmp_path / "copy")
    files = read(folder)
    refused = 0
    with verifiers(root, bundles.home) as three:
        codes, said = three.codes(folder)
        assert codes == (0, 0, 0), said
        for what, changed in islice(mutations(files, Random(7)), NUMBER):  # noqa: S311 - no secret
            with spoiled(folder, files, changed):
                codes, said = three.codes(folder)
            assert codes == (1, 1, 1), (what, codes, said)
            refused += 1
    assert refused == NUMBER


def test_every_run_of_every_kind(tmp_path: Path) -> None:
    """It takes honest bundles, as directories and as zip files, whole and redacted."""
    make(tmp_path / "ledger.db", notes=3).close()
    with Ledger.open(tmp_path / "ledger.db", plugins=evidence_plugins()) as ledger:
        runs = list(dict.fromkeys(one.run for one in ledger.events() if one.run))
        root = next(one.keyid for one in ledger.keys.entries if "root" in one.roles)
        with verifiers(root, tmp_path / "nobody") as three:
            for number, run in enumerate(runs):
                for name, shown in ((f"{number}", None), (f"{number}.zip", [])):
                    path = write_bundle(
                        ledger, run, tmp_path / name, disclose=shown
                    ).path
                    codes, said = three.codes(path)
                    assert codes == (0, 0, 0), said
                    assert run in said


def test_a_zip_byte_by_byte(bundles: Bundles, tmp_path: Path) -> None:
    """A zip file has one form for it, too."""
    path = write_bundle(bundles.ledger, bundles.run, tmp_path / "bundle.zip").path
    data = path.read_bytes()
    places = [*range(0, len(data), 997), *range(len(data) - 300, len(data), 31)]
    odd = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in places]
    with verifiers(bundles.root, bundles.home) as three:
        assert three.codes(path)[0] == (0, 0, 0)
        for one in [*odd, data + b"\0", b"\0" + data, data[:-1], data[:200], b""]:
            path.write_bytes(one)
            codes, said = three.codes(path)
            assert codes == (1, 1, 1), said
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in read(bundles.folder).items():
                file.writestr(name, content)
        assert three.codes(path)[0] == (1, 1, 1)


def test_keys_and_the_command_line(bundles: Bundles, tmp_path: Path) -> None:
    """A root holds, another key does not, none is cannot tell; one line, no stack."""
    own = bundles.ledger.signer
    assert own is not None
    lines = {
        (str(bundles.folder), "--key", bundles.root): 0,
        (str(bundles.folder),): 3,
        (str(bundles.folder), "--key", own.keyid): 3,
        (str(bundles.folder), "--key", "SHA256:" + "A" * 43): 1,
        (str(tmp_path / "nothing"),): 3,
        (str(bundles.folder), "--keys", "x"): 2,
        (): 2,
    }
    for line, code in lines.items():
        done = subprocess.run(
            [str(NODE), str(PROGRAM), *line],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (line, done)
        assert len((done.stdout + done.stderr).splitlines()) == 1


def test_it_depends_on_nothing() -> None:
    """It imports modules of Node alone, and only for the command line."""
    text = PROGRAM.read_text()
    found = [part.split('"')[1] for part in text.split("import(")[1:]]
    assert set(found) <= {"node:fs", "node:path", "node:readline"}
    assert "\nimport " not in text
    assert "innerHTML" not in text
    assert "eval(" not in text
