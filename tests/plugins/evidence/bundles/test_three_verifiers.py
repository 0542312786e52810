"""Three verifiers that share no code say the same of every change of a bundle."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from bundled import Bundles, bundle_on_p256, evidence_plugins
from every_kind import make
from muniment import verify_bundle
from muniment.ledger import Ledger
from muniment_plugins.evidence import write_bundle
from mutations import mutations
from spoiled_bundles import copy, read, spoiled
from standalone_program import exit_code_of
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


def _copy_errors(root: str) -> list[str]:
    """Return what may come of copying a fingerprint, and is none."""
    digest = root.removeprefix("SHA256:")
    cut = [root[:at] for at in (3, 8, 20, len(root) - 4, len(root) - 1)]
    longer = [root + more for more in (" ", "=", "==", ".", "A", "\n", "\u00a0")]
    before = [f"{more}{root}" for more in (" ", "\t", "key ", '"')]
    odd = [root[:-1] + one for one in "B1/+x" if one != root[-1]]
    words = [digest, f"sha256:{digest}", root.lower(), f"SHA-256:{digest}"]
    inside = [
        f"{root[:30]} {root[30:]}",
        f"{root[:30]}\u2026{root[33:]}",
        root.replace(":", ""),
    ]
    return [*cut, *longer, *before, *odd, *words, *inside]


def test_fingerprint_that_is_none(bundles: Bundles, tmp_path: Path) -> None:
    """An honest bundle is not WRONG because a key was copied wrongly: all three cannot tell."""
    for key in _copy_errors(bundles.root):
        report = verify_bundle(bundles.folder, keys=[key], home=bundles.home)
        alone, said = exit_code_of(bundles.folder, key)
        line = [str(NODE), str(PROGRAM), str(bundles.folder), "--key", key]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        codes = (report.exit_code, alone, done.returncode)
        assert codes == (3, 3, 3), (key, said, done.stdout, report.findings)
        assert "WRONG" not in done.stdout
    other = "SHA256:" + "A" * 43
    with verifiers(other, tmp_path / "nobody") as three:
        assert three.codes(bundles.folder)[0] == (1, 1, 1)


def test_it_depends_on_nothing() -> None:
    """It imports modules of Node alone, and only for the command line."""
    text = PROGRAM.read_text()
    found = [part.split('"')[1] for part in text.split("import(")[1:]]
    assert set(found) <= {f"node:{one}" for one in ("fs", "path", "readline", "url")}
    assert "\nimport " not in text
    assert "innerHTML" not in text
    assert "eval(" not in text


def _copied(place: Path, name: str) -> list[str]:
    (place / name).write_bytes(PROGRAM.read_bytes())
    return [name]


def _linked(place: Path, name: str) -> list[str]:
    (place / name).symlink_to(PROGRAM)
    return [name]


def _untyped(place: Path, name: str) -> list[str]:
    (place / "package.json").write_text('{"type": "module"}')
    return _copied(place, name)


STARTS: dict[str, Callable[[Path], list[str]]] = {
    "a second download": lambda at: _copied(at, "verify_evidence (1).mjs"),
    "a version": lambda at: _copied(at, "verify-1.2.mjs"),
    "a link": lambda at: _linked(at, "verify.mjs"),
    "no ending": lambda at: _untyped(at, "verify"),
    "odd letters": lambda at: _copied(at, "prüfer #1 %20.mjs"),
    "a pipe": lambda _: ["--input-type=module", "-"],
}


@pytest.mark.parametrize("how", STARTS)
def test_it_verifies_whatever_it_is_called(tmp_path: Path, how: str) -> None:
    """Silence is no pass: without a bundle, of none, and of one that is none."""
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "MANIFEST").write_text("no")
    for given, code in (([], 2), (["nothing"], 3), (["wrong"], 1)):
        done = subprocess.run(
            [str(NODE), *STARTS[how](_fresh(tmp_path)), *given],
            cwd=tmp_path,
            input=PROGRAM.read_bytes(),
            capture_output=True,
            check=False,
        )
        assert (done.returncode, bool(done.stdout + done.stderr)) == (code, True), done


def _fresh(place: Path) -> Path:
    for one in place.iterdir():
        if not one.is_dir():
            one.unlink()
    return place


def test_who_imports_it_runs_nothing(tmp_path: Path) -> None:
    """A page or a program that uses its functions decides itself what is verified."""
    (tmp_path / "v.mjs").write_bytes(PROGRAM.read_bytes())
    (tmp_path / "own.mjs").write_text(
        'import { verify } from "./v.mjs"; console.log(typeof verify);'
    )
    done = subprocess.run(
        [str(NODE), "own.mjs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "function\n", "")
