"""What cases of a suite name: files below its folder, fixtures, runs.

Rules: a path is relative to the suite's ``base_dir``; a file that is not there is named by
key path, with what is there. A text that ends in ``.json`` is a file with the record of a
run, as ``muniment runs show --json`` prints it; another one is a run of the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from muniment.documents.places import At, near
from muniment.documents.reading import SUFFIXES, read_document
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment_plugins.evals.documents.fixture import read_fixture
from muniment_plugins.evals.views.normaliser import Normaliser
from muniment_plugins.evals.views.view import view_of
from muniment_plugins.workflow.records.held.fitting import misfit

__all__ = ["Parts", "read_record", "sound_record"]


@dataclass(frozen=True)
class Parts:
    """The files and fixtures of a suite."""

    folder: Path
    root: Path
    """Where fixtures are."""
    named: Mapping[str, dict[str, JsonValue]] = field(
        default_factory=dict[str, dict[str, JsonValue]]
    )
    """The fixtures of a pack, by their ids."""
    records: dict[str, dict[str, JsonValue]] = field(
        default_factory=dict[str, dict[str, JsonValue]]
    )
    """The records of runs that are in files, by the paths that cases name."""

    @classmethod
    def of(
        cls,
        said: Mapping[str, JsonValue],
        at: At,
        file: Path,
        fixture_root: str | None = None,
    ) -> Parts:
        """Return the parts of the suite *said*, which is in *file*.

        Raises:
            UsageError: a folder or a fixture is not there, or has a mistake.

        """
        folder = file.parent / str(said.get("base_dir") or ".")
        _require_folder(folder, at.key("base_dir"))
        root = folder / (fixture_root or ".")
        _require_folder(root, at.key("defaults").key("fixture_root"))
        made = cls(folder, root)
        named: dict[str, dict[str, JsonValue]] = {}
        rows: Any = said.get("fixtures") or []
        for number, one in enumerate(rows):
            here = at.key("fixtures").item(number)
            if one["id"] in named:
                raise here.key("id").wrong("it is there twice", "duplicate", "keep one")
            named[one["id"]] = made.row(one, here)
        return cls(folder, root, named)

    def row(self, said: Mapping[str, Any], at: At) -> dict[str, JsonValue]:
        """Return the fixture in a row of a pack: a file, or written inline."""
        if (said.get("path") is None) == (said.get("inline") is None):
            raise at.wrong(
                "it has no path, or two", "contradiction", "write path or inline"
            )
        if said.get("path") is not None:
            found = self.fixture(said["path"], at.key("path"))
        else:
            inline = {"_type": "replay_fixture", **said["inline"]}
            found = read_fixture(inline, at.key("inline"))
        kind = said.get("kind")
        if kind is not None and kind != found["eval_kind"]:
            raise at.key("kind").wrong(
                f"the fixture's eval_kind is {found['eval_kind']}",
                "contradiction",
                "write the same",
            )
        return found

    def fixture(self, said: str, at: At) -> dict[str, JsonValue]:
        """Return the fixture in the file *said*."""
        path = _file(self.root, said, at)
        return read_fixture(read_document(path, at.family), At(said, at.family))

    def fixture_named(self, said: str, at: At) -> dict[str, JsonValue]:
        """Return the fixture that a pack calls *said*."""
        if said not in self.named:
            raise at.wrong(
                f"no fixture is called {said!r:.80}",
                "unknown-fixture",
                near(said, self.named) or "add it to fixtures",
            )
        return self.named[said]

    def run(self, said: Mapping[str, Any], at: At) -> dict[str, Any]:
        """Return which run a case names: none, one of the ledger, or one in a file."""
        if said.get("run") is not None and said.get("run_path") is not None:
            raise at.key("run_path").wrong(
                "the case names a run as well", "contradiction", "keep one of them"
            )
        if said.get("run") is not None:
            return {"run": said["run"]}
        if said.get("run_path") is not None:
            return self._recorded(said["run_path"], at.key("run_path"))
        return {}

    def _recorded(self, said: str, at: At) -> dict[str, Any]:
        record = read_record(_file(self.folder, said, at), At(said, at.family))
        self.records[said] = record
        return {"run_path": said, "sha256": sha256_tag(canonical(record))}

    def other(self, said: str, at: At) -> dict[str, Any]:
        """Return the run that a case is compared to."""
        if Path(said).suffix.lower() not in SUFFIXES:
            return {"run": said}
        return self._recorded(said, at)


def read_record(path: Path, at: At) -> dict[str, JsonValue]:
    """Return the record of a run in a file, without what `muniment runs show` is around it.

    Raises:
        UsageError: the file holds no record.

    """
    said = read_document(path, at.family)
    inner = said.get("record")
    return sound_record(inner if isinstance(inner, dict) else said, at)


def sound_record(said: dict[str, JsonValue], at: At) -> dict[str, JsonValue]:
    """Return *said* if it is the record of a run, of the version that is read here.

    Raises:
        UsageError: it is none.

    """
    odd = _odd_in(said)
    if odd is None:
        return said
    raise at.wrong(
        f"it is no record of a run, of version 1{odd and f': {odd}'}",
        "record",
        "give what `muniment runs show RUN --json` prints",
    )


def _odd_in(said: dict[str, JsonValue]) -> str | None:
    """Return what is wrong in a record, empty if it is none at all; None if it is sound."""
    if said.get("_type") != "run_record" or said.get("schema_version") != 1:
        return ""
    place = misfit(said)
    if place is not None:
        return f"{place} is not as it is in a record"
    ids = [one["id"] for one in cast("list[dict[str, str]]", said["stages"])]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        return f"the stage {twice} is there twice"
    try:
        view_of(said, Normaliser())
    except (KeyError, TypeError, ValueError, AttributeError):
        return ""
    return None


def _require_folder(folder: Path, at: At) -> None:
    if not folder.is_dir():
        raise at.wrong(f"there is no folder {folder}", "file", "make it, or correct it")


def _file(folder: Path, said: str, at: At) -> Path:
    path = folder / said
    if not path.is_file():
        there = path.parent.iterdir() if path.parent.is_dir() else ()
        names = sorted(one.name for one in there if one.suffix.lower() in SUFFIXES)
        hint = near(path.name, names[:20]) or f"nothing is in {path.parent}"
        raise at.wrong(f"there is no file {said}", "file", hint)
    return path
