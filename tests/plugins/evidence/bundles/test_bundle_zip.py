"""A zip file of a bundle is exactly what its members make it."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bundled import Bundles
from muniment import verify_bundle
from muniment_plugins.evidence import write_bundle
from spoiled_bundles import copy, packed, read

if TYPE_CHECKING:
    from muniment.verification.report import Report


def judged(path: Path, bundles: Bundles) -> Report:
    """Verify as a receiver with the root's fingerprint does."""
    return verify_bundle(path, keys=[bundles.root], home=bundles.home)


def test_it_holds_what_the_directory_holds(bundles: Bundles, tmp_path: Path) -> None:
    """Both forms have the same files, and any tool unpacks the zip."""
    path = tmp_path / "bundle.zip"
    written = write_bundle(bundles.ledger, bundles.run, path)
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        held = {one.filename: file.read(one) for one in file.infolist()}
        modes = {stat.S_ISREG(one.external_attr >> 16) for one in file.infolist()}

    assert held == read(bundles.folder)
    assert modes == {True}
    assert judged(path, bundles).counts == judged(bundles.folder, bundles).counts
    assert judged(path, bundles).exit_code == 0
    assert path.read_bytes() == packed(sorted(held.items()))
    again = write_bundle(bundles.ledger, bundles.run, tmp_path / "again.zip")
    assert again.path.read_bytes() == path.read_bytes()
    assert written.manifest == again.manifest


def test_every_hundredth_byte(bundles: Bundles, tmp_path: Path) -> None:
    """A byte that is changed anywhere, headers and directory included, is noticed."""
    path = tmp_path / "bundle.zip"
    write_bundle(bundles.ledger, bundles.run, path)
    data = path.read_bytes()
    for at in [*range(0, len(data), 101), *range(len(data) - 300, len(data), 7)]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert judged(path, bundles).exit_code == 1, at
    for odd in (data + b"\0", b"\0" + data, data[:-1], data[:200], b""):
        path.write_bytes(odd)
        assert judged(path, bundles).exit_code == 1, odd[-9:]


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../outside",
        "blobs/../../outside",
        "blobs\\outside",
        "C:/outside",
        "manifest",
        "Run.json",
        "blobs/",
        "blobs/sha256-" + "A" * 64,
        "x" * 5000,
        "nul\0byte",
        "zoë",
    ],
)
def test_a_member_that_no_bundle_has(
    bundles: Bundles, tmp_path: Path, name: str
) -> None:
    """It is refused by its name, and nothing is written anywhere."""
    path = tmp_path / "bundle.zip"
    members = [*read(bundles.folder).items(), (name, b"")]
    path.write_bytes(packed(sorted(members)))

    report = judged(path, bundles)

    assert report.exit_code == 1
    (found,) = report.findings
    assert found.rule in ("bundle/member", "zip/header")
    assert "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)[:99] in (
        found.place
    )
    assert list(tmp_path.iterdir()) == [path]


def test_a_member_that_is_there_twice(bundles: Bundles, tmp_path: Path) -> None:
    """Readers that take the first and readers that take the last would differ."""
    files = read(bundles.folder)
    path = tmp_path / "bundle.zip"
    for name in ("MANIFEST", "run.json"):
        members = sorted([*files.items(), (name, files[name])])
        path.write_bytes(packed(members))
        report = judged(path, bundles)

        assert (report.exit_code, report.findings[0].place) == (1, name)
        assert report.findings[0].rule == "zip/order"


def _compressed(file: zipfile.ZipFile, name: str, data: bytes) -> None:
    file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def _bomb(file: zipfile.ZipFile, name: str, _: bytes) -> None:
    file.writestr(zipfile.ZipInfo(name), bytes(50_000_000), zipfile.ZIP_DEFLATED)


def _link(file: zipfile.ZipFile, name: str, _: bytes) -> None:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    file.writestr(info, "/etc/passwd")


def _commented(file: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name)
    info.comment = b"read me"
    file.writestr(info, data)


@pytest.mark.parametrize("odd", [_compressed, _bomb, _link, _commented])
def test_members_of_another_form(
    bundles: Bundles,
    tmp_path: Path,
    odd: Callable[[zipfile.ZipFile, str, bytes], None],
) -> None:
    """Compressed, a bomb, a link, or with a comment: refused by name, not unpacked."""
    buffer = io.BytesIO()
    files = read(bundles.folder)
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in sorted(files.items()):
            if name == "checkpoint":
                odd(file, name, data)
            else:
                info = zipfile.ZipInfo(name)
                info.create_system, info.external_attr = 3, 0o100644 << 16
                file.writestr(info, data)
    path = tmp_path / "bundle.zip"
    path.write_bytes(buffer.getvalue())

    report = judged(path, bundles)

    assert report.exit_code == 1
    assert report.findings[0].place == "checkpoint"


def test_what_is_no_file_in_a_directory(bundles: Bundles, tmp_path: Path) -> None:
    """Links, folders and the like are refused by name; none is followed or opened."""
    outside = tmp_path / "outside"
    for number, name in enumerate(("run.json", "MANIFEST", "checkpoint")):
        folder = copy(bundles.folder, tmp_path / f"bundle{number}")
        outside.write_bytes((folder / name).read_bytes())
        (folder / name).unlink()
        (folder / name).symlink_to(outside)
        report = judged(folder, bundles)
        found = {one.place: one.rule for one in report.findings}
        assert (report.exit_code, found[name]) == (1, "bundle/missing")
        assert "a link" in str(report)
    folder = copy(bundles.folder, tmp_path / "folders")
    (folder / "empty").mkdir()
    assert [one.place for one in judged(folder, bundles).findings] == ["empty"]
    nothing = judged(tmp_path / "nothing", bundles)
    assert (nothing.exit_code, nothing.findings[0].kind) == (3, "unreadable")
