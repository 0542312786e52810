"""Odd things given as a bundle, or in one: the three verifiers end with one exit code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bundled import Bundles
from muniment_plugins.evidence import write_bundle
from muniment_plugins.evidence.standalone.one_file import one_file
from three_verifiers import NEEDS_NODE, NODE, PROGRAM

pytestmark = NEEDS_NODE
ODD = os.fsdecode(b"x\xff\xfe")
"""A name that is no UTF-8."""


def _only(name: str, text: str = "so\n") -> Callable[[Path], None]:
    """Return what makes a directory with one file of that name."""

    def make(place: Path) -> None:
        place.mkdir()
        (place / name).write_text(text)

    return make


def _file(content: bytes) -> Callable[[Path], None]:
    return lambda place: void(place.write_bytes(content))


def void(_: object) -> None:
    """Give nothing."""


NO_BUNDLES: Mapping[str, Callable[[Path], None]] = {
    "nothing": void,
    "a link to nothing": lambda place: place.symlink_to(place.parent / "nothing"),
    "an empty directory": lambda place: place.mkdir(),
    "a directory of another file": _only("a.txt"),
    "a directory of an odd name": _only(ODD),
    "a directory of directories": lambda place: (place / "blobs").mkdir(parents=True),
    "a queue": os.mkfifo,
    "a link to a device": lambda place: place.symlink_to("/dev/zero"),
    "a link to no content": lambda place: place.symlink_to("/dev/null"),
    "an empty file": _file(b""),
    "a text": _file(b"hello\n"),
    "bytes": _file(bytes(range(256)) * 200),
}
"""What is no bundle → what makes it: nothing was read that could be wrong."""
SPOILED: Mapping[str, Callable[[Path], None]] = {
    "an odd name": lambda place: void((place / ODD).write_text("")),
    "an odd name among blobs": lambda place: (place / "blobs" / ODD).touch(),
    "a directory of an odd name": lambda place: (place / ODD).mkdir(),
    "a line break in a name": lambda place: void((place / "a\nb").write_text("")),
    "another file": lambda place: void((place / ".DS_Store").write_text("")),
    "an empty directory": lambda place: (place / "sub").mkdir(),
    "a queue": lambda place: os.mkfifo(place / "queue"),
    "a queue in place of a file": lambda place: _replaced(place / "run.json"),
    "no list": lambda place: (place / "MANIFEST").unlink(),
    "no events": lambda place: (place / "events.intoto.jsonl").unlink(),
    "neither": lambda place: _without(place, "MANIFEST", "events.intoto.jsonl"),
}
"""A bundle with something else in it, or less: that is wrong."""


def _without(place: Path, *names: str) -> None:
    for one in names:
        (place / one).unlink()


def _replaced(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the verifier in Python, which is one file."""
    path = tmp_path_factory.mktemp("alone") / "verify_evidence.py"
    path.write_text(one_file())
    return path


def codes(
    alone: Path, place: Path | str, root: str, cwd: Path | None = None
) -> dict[str, int]:
    """Return the exit codes of the three, each in a process of its own."""
    programs = {
        "muniment": [str(Path(sys.executable).with_name("muniment")), "verify"],
        "Python": [sys.executable, str(alone)],
        "JavaScript": [str(NODE), str(PROGRAM)],
    }
    told: dict[str, int] = {}
    for name, program in programs.items():
        done = subprocess.run(
            [*program, str(place), "--key", root],
            cwd=cwd,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert b"Traceback" not in done.stderr
        assert b"    at " not in done.stderr
        told[name] = done.returncode
    return told


@pytest.mark.parametrize("name", NO_BUNDLES)
def test_what_is_no_bundle(
    bundles: Bundles, alone: Path, tmp_path: Path, name: str
) -> None:
    """Nothing is there that could be wrong: nobody can tell, and nobody waits for more."""
    NO_BUNDLES[name](tmp_path / "given")

    told = codes(alone, tmp_path / "given", bundles.root)
    assert set(told.values()) == {3}, told


@pytest.mark.parametrize("name", SPOILED)
def test_what_no_bundle_has(
    bundles: Bundles, alone: Path, tmp_path: Path, name: str
) -> None:
    """A bundle with one thing more, or less, is wrong, whatever the thing is called."""
    shutil.copytree(bundles.folder, tmp_path / "given")
    SPOILED[name](tmp_path / "given")

    told = codes(alone, tmp_path / "given", bundles.root)
    assert set(told.values()) == {1}, told


@pytest.mark.parametrize("end", ["", ".zip"])
def test_a_bundle_below_an_odd_path(
    bundles: Bundles, alone: Path, tmp_path: Path, end: str
) -> None:
    """Where the path is no UTF-8, all verify what is given from there."""
    place = tmp_path / ODD
    place.mkdir()
    write_bundle(bundles.ledger, bundles.run, place / f"bundle{end}")

    told = codes(alone, f"bundle{end}", bundles.root, cwd=place)
    assert set(told.values()) == {0}, told


KEYS: Mapping[str, tuple[int, int, int]] = {
    "fingerprint": (0, 0, 0),
    "pem": (0, 0, 3),
    "ssh": (0, 3, 3),
    "cut": (3, 3, 3),
    "long": (3, 3, 3),
    "lower case": (3, 3, 3),
    "nothing": (3, 3, 3),
    "a directory": (3, 3, 3),
    "a device": (3, 3, 3),
}
"""Form of ``--key`` → the exit codes of muniment, Python and JavaScript."""


@pytest.mark.parametrize("form", KEYS)
def test_forms_of_keys(
    bundles: Bundles, alone: Path, tmp_path: Path, form: str
) -> None:
    """Each takes the forms that its documentation names; any other says nothing of a bundle."""
    (root,) = bundles.ledger.keys.current("root")
    forms = {
        "fingerprint": bundles.root,
        "cut": bundles.root[:-1],
        "long": f"{bundles.root}A",
        "lower case": bundles.root.lower(),
        "nothing": str(tmp_path / "nothing"),
        "a directory": str(tmp_path),
        "a device": "/dev/zero",
    }
    for ending, text in (("pem", root.pem), ("ssh", root.ssh)):
        forms[ending] = str(tmp_path / f"root.{ending}")
        (tmp_path / f"root.{ending}").write_text(f"{text}\n")

    told = codes(alone, bundles.folder, forms[form])
    assert tuple(told.values()) == KEYS[form], told
