"""The standalone verifier agrees with muniment's own, and needs none of it."""

from __future__ import annotations

import ast
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from random import Random

import pytest

from bundled import Bundles, evidence_plugins
from every_kind import make
from muniment.encoding.canonical import canonical, parse, parse_canonical
from muniment.errors import ValueRefused, WrongError
from muniment.formats.evidence import SELF_PROVING
from muniment.ledger import Ledger
from muniment_plugins.evidence import write_bundle
from muniment_plugins.evidence.standalone.one_file import one_file
from spoiled_bundles import copy, packed, read, sealed, spoiled, spoilings
from standalone_program import exit_code_of, program


@pytest.mark.parametrize("kind", ["folder", "raw", "redacted"])
def test_each_file_alone(bundles: Bundles, tmp_path: Path, kind: str) -> None:
    """Whatever is done to one file, it refuses the bundle too."""
    folder = copy(getattr(bundles, kind), tmp_path / "bundle")
    files = read(folder)
    assert exit_code_of(folder, bundles.root)[0] == 0
    for one in spoilings(files):
        with spoiled(folder, files, one.files):
            code, said = exit_code_of(folder, bundles.root)
        assert code == 1, (one.name, one.what, said)
        assert ": " in said


@pytest.mark.parametrize("kind", ["folder", "raw", "redacted"])
def test_each_file_with_a_manifest_that_agrees(
    bundles: Bundles, tmp_path: Path, kind: str
) -> None:
    """Without keys, nobody can make a bundle of something else that it takes."""
    folder = copy(getattr(bundles, kind), tmp_path / "bundle")
    files = read(folder)
    for one in spoilings(files):
        if one.name in SELF_PROVING or sealed(one.files) == files:
            continue
        with spoiled(folder, files, sealed(one.files)):
            code, said = exit_code_of(folder, bundles.root)
        assert code == 1, (one.name, one.what, said)


def test_every_run_of_every_kind(tmp_path: Path) -> None:
    """It takes every honest bundle: runs that failed, asked people, were canceled."""
    make(tmp_path / "ledger.db", notes=3).close()
    with Ledger.open(tmp_path / "ledger.db", plugins=evidence_plugins()) as ledger:
        runs = dict.fromkeys(one.run for one in ledger.events() if one.run)
        for number, run in enumerate(runs):
            written = write_bundle(ledger, run, tmp_path / f"{number}.zip")
            code, said = exit_code_of(written.path, written.root)
            assert (code, said) == (0, said)
            assert run in said


def test_a_zip_byte_by_byte(bundles: Bundles, tmp_path: Path) -> None:
    """A zip file has one form for it, too."""
    path = write_bundle(bundles.ledger, bundles.run, tmp_path / "bundle.zip").path
    data = path.read_bytes()
    assert exit_code_of(path, bundles.root)[0] == 0
    for at in [*range(0, len(data), 997), *range(len(data) - 300, len(data), 31)]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert exit_code_of(path, bundles.root)[0] == 1, at
    for odd in (data + b"\0", b"\0" + data, data[:-1], data[:200], b""):
        path.write_bytes(odd)
        assert exit_code_of(path, bundles.root)[0] == 1


def test_files_that_are_no_bundle(bundles: Bundles, tmp_path: Path) -> None:
    """Whatever a stranger sends, it ends soon: packed files, pipes, files without end."""
    pipe, vast = tmp_path / "pipe", tmp_path / "vast.zip"
    os.mkfifo(pipe)
    with vast.open("wb") as sparse:
        sparse.truncate(20 << 30)
    packed = [tmp_path / f"{method}.zip" for method in (8, 12, 14)]
    for path, method in zip(packed, (8, 12, 14), strict=True):
        with zipfile.ZipFile(path, "w", method) as file:
            for name, data in read(bundles.folder).items():
                file.writestr(name, data)
    folder = copy(bundles.folder, tmp_path / "folder")
    with (folder / "policy").open("wb") as sparse:
        sparse.truncate(20 << 30)
    for path in (vast, *packed, folder):
        assert exit_code_of(path, bundles.root)[0] == 1, path
    assert exit_code_of(pipe, bundles.root)[0] == 3, "nothing was read"


def test_a_zip_of_many_files(tmp_path: Path) -> None:
    """Reading takes a time that grows with the files, not with their square."""
    files = {f"blobs/{number:05}": b"x" * 2_000 for number in range(20_000)}
    path = tmp_path / "many.zip"
    path.write_bytes(packed(files.items()))
    found = program().read(path)

    assert list(found) == sorted(files)
    assert found["blobs/00017"] == b"x" * 2_000


def test_keys(bundles: Bundles, tmp_path: Path) -> None:
    """A root of the ledger counts, another of its keys does not, a stranger's refutes."""
    own = program().given(str(bundles.folder / "ledger.pub"))
    nothing = exit_code_of(tmp_path / "nothing", bundles.root)

    assert exit_code_of(bundles.folder, own)[0] == 3
    assert exit_code_of(bundles.folder, "")[0] == 3
    assert exit_code_of(bundles.folder, "SHA256:" + "A" * 43)[0] == 1
    assert nothing[0] == 3


def test_the_program(bundles: Bundles, tmp_path: Path) -> None:
    """One file, run by a Python that cannot see muniment; one line, and the exit code."""
    path = tmp_path / "verify_evidence.py"
    path.write_text(one_file())
    imports = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    tops = {one.partition(".")[0] for one in imports}
    line = [sys.executable, "-I", str(path), str(bundles.folder), "--key"]
    done = subprocess.run(
        [*line, bundles.root], capture_output=True, text=True, check=False
    )
    odd = subprocess.run(
        [*line, "SHA256:" + "A" * 43], capture_output=True, text=True, check=False
    )

    assert tops - sys.stdlib_module_names == {"cryptography"}
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"intact. run {bundles.run}: ")
    assert (odd.returncode, odd.stdout.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        *("0", "-1", "1e21", "1e-7", "1e-6", "0.1", "123456789.5", "5e-324", "1.5e300"),
        *("100", "-0.000123", "4.35", "333333333.3333333"),
        '"\\u0001\\n\\"/é\u2028😀"',
        '{"\ue000":1,"😀":2}',
        '{"b":1,"a":[null,true,{"x":[]}]}',
    ],
)
def test_json_is_spelled_alike(text: str) -> None:
    """Both take the same bytes for canonical, and refuse all other spellings."""
    data = canonical(parse(text.encode()))
    assert program().canonical(program().json.loads(text)) == data
    for odd in (data + b" ", b" " + data, text.encode() + b"\n"):
        with pytest.raises(program().Refused):
            program().parse(odd, "odd")


def test_floats_are_spelled_alike() -> None:
    """Random doubles of every size, and those around the borders of notation."""
    draw = Random(7)  # noqa: S311 - the same ones each time
    drawn = [struct.unpack("<d", draw.randbytes(8))[0] for _ in range(2000)]
    drawn += [draw.random() * 10**power for power in range(-9, 25) for _ in range(9)]
    compared = 0
    for value in drawn:
        try:
            expected = canonical(value).decode()
        except ValueRefused:  # NaN, infinite, or read as too large an integer
            continue
        assert program().number(value) == expected
        compared += 1
    assert compared > 1800


def test_json_that_neither_takes() -> None:
    """Numbers out of range, lone surrogates and names that occur twice are refused."""
    for text in (
        '{"a":1,"a":1}',
        "9007199254740993",
        "NaN",
        '"\\ud800"',
        "1.0",
        "[1,]",
    ):
        with pytest.raises(program().Refused):
            program().parse(text.encode(), "odd")
        with pytest.raises(WrongError):
            parse_canonical(text.encode())
