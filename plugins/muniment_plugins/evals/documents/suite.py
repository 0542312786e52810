"""Suites of evals in their normal form, from what people write: three kinds of documents.

    suite = load_suite("evals/regression.toml")       a pack, a manifest or a fixture
    suite.cases[0]["id"], suite.digest

Rules:

- Paths are relative to ``base_dir``, which is relative to the file. Fixtures are read when
  the suite is: its digest covers them.
- A fixture by itself is a suite with one case, of whatever runs are given.
- A case that holds a run to nothing is refused: silence is never a pass.
- Records of runs in files (``run_path``) are nobody's word: results call them unsigned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

from muniment.documents.places import At
from muniment.documents.reading import plain_document, read_document
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment_plugins.evals.documents.fixture import read_fixture
from muniment_plugins.evals.documents.pack import pack_cases
from muniment_plugins.evals.documents.parts import Parts
from muniment_plugins.evals.documents.shapes import LACKING, MANIFEST, PACK
from muniment_plugins.evals.views.normaliser import Normaliser

__all__ = ["FAMILY", "EvalSuite", "SuiteLike", "load_suite", "suite_of"]

FAMILY = "evals"
_KEPT = ("name", "description", "package", "metadata")
_OF_PACK = {"version", "rubrics", "defaults", "fixtures", "package", "baseline"}
"""Keys by which a pack is known from a manifest."""


@dataclass(frozen=True)
class EvalSuite:
    """A suite without mistakes of form, in its normal form."""

    document: Mapping[str, JsonValue] = field(repr=False)
    """What the record of an eval has as its suite."""
    place: str = field(default="the suite", compare=False)
    """What messages call it: the path that users gave."""
    records: Mapping[str, Mapping[str, JsonValue]] = field(
        default_factory=dict[str, Mapping[str, JsonValue]], repr=False, compare=False
    )
    """The records of runs that are in files, by the paths that cases name."""

    @property
    def name(self) -> str:
        """The name, which evals by the suite have."""
        return cast("str", self.document["id"])

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The cases, in their order."""
        return cast("list[dict[str, Any]]", self.document["cases"])

    def case(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the case that a binding, or what is read for it, is of."""
        return self.cases[int(row["case"])]

    @cached_property
    def normaliser(self) -> Normaliser:
        """By which views are made."""
        said = cast("Mapping[str, JsonValue]", self.document["normaliser"])
        return Normaliser.read(said, At(self.place, FAMILY).key("normaliser"))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical normal form."""
        return sha256_tag(canonical(dict(self.document)))


SuiteLike: TypeAlias = "EvalSuite | Mapping[str, object]"


def load_suite(path: Path | str) -> EvalSuite:
    """Return the suite in the file *path*: JSON, YAML or TOML.

    Raises:
        UsageError: it cannot be read, or has a mistake; one line, with the key path.

    """
    file = Path(path)
    return _suite(read_document(file, FAMILY), At(str(path), FAMILY), file)


def suite_of(config: SuiteLike, folder: Path | str = ".") -> EvalSuite:
    """Return the suite in *config*, whose paths are relative to *folder*.

    Raises:
        UsageError: it has a mistake; one line, with the key path.

    """
    if isinstance(config, EvalSuite):
        return config
    plain = plain_document(dict(config), FAMILY, "the suite")
    name = Path(folder) / "suite"
    return _suite(cast("dict[str, JsonValue]", plain), At("the suite", FAMILY), name)


def _suite(said: dict[str, JsonValue], at: At, file: Path) -> EvalSuite:
    if said.get("_type") == "eval_suite":  # what a record has
        return EvalSuite(said, at.file)
    if said.get("_type") == "run_record" or "record" in said:
        raise at.wrong(
            "it is the record of a run, which nothing is held to",
            "record",
            "make a fixture of a good run: `muniment runs fixture RUN`; or write a suite "
            "with this file as run_path",
        )
    if said.get("_type") == "replay_fixture":
        made = _of_fixture(said, at)
    elif _OF_PACK & {*said}:
        _refuse_lacking(said, at)
        PACK.check(_worded(said, at), at)
        made = _of_pack(said, at, file)
    else:
        MANIFEST.check(said, at)
        made = _of_manifest(said, at, file)
    _require_names(made, at)
    return replace(made, place=at.file)


def _refuse_lacking(said: Mapping[str, JsonValue], at: At) -> None:
    """Refuse keys of the format that mean nothing here, with what to write instead."""
    for name in ("cases", "fixtures"):
        rows = said.get(name)
        for number, one in enumerate(rows if isinstance(rows, list) else []):
            for key in LACKING.keys() & (one if isinstance(one, dict) else {}):
                raise (
                    at.key(name)
                    .item(number)
                    .key(key)
                    .wrong(
                        "nothing here holds a run to this key", "lacking", LACKING[key]
                    )
                )


def _worded(said: dict[str, JsonValue], at: At) -> dict[str, JsonValue]:
    """Return a pack whose version is a text: TOML and YAML write a number."""
    version = said.get("version")
    if isinstance(version, bool) or not isinstance(version, int | float | str):
        return said
    if str(version).removesuffix(".0") != "1":
        raise at.key("version").wrong(
            f"version {version} is not known", "version", "write 1"
        )
    return {**said, "version": "1"}


def _of_fixture(said: dict[str, JsonValue], at: At) -> EvalSuite:
    fixture = read_fixture(said, at)
    name = str(fixture.get("id", "fixture"))
    normaliser = cast("Mapping[str, JsonValue]", fixture.get("normaliser"))
    read = Normaliser.read(normaliser, at.key("normaliser"))
    case = {"id": name, "severity": "blocking", "fixture": fixture}
    return EvalSuite(_document(name, read, [case], {}))


def _of_manifest(said: dict[str, JsonValue], at: At, file: Path) -> EvalSuite:
    parts = Parts.of(said, at, file)
    rows = cast("list[dict[str, Any]]", said["cases"])
    cases = [
        _case(parts, one, at.key("cases").item(number), number)
        for number, one in enumerate(rows)
    ]
    name = str(said.get("id") or said.get("name") or file.stem)
    normaliser = cast("Mapping[str, JsonValue]", said.get("normaliser"))
    read = Normaliser.read(normaliser, at.key("normaliser"))
    return EvalSuite(_document(name, read, cases, said), records=parts.records)


def _case(parts: Parts, said: dict[str, Any], at: At, number: int) -> dict[str, Any]:
    """Return a case of the chapter's manifest in its normal form."""
    case: dict[str, Any] = {
        "id": said.get("label") or f"case-{number + 1}",
        "severity": "blocking",
        **parts.run(said, at),
    }
    if said.get("fixture_path"):
        case["fixture"] = parts.fixture(said["fixture_path"], at.key("fixture_path"))
    if said.get("compare_to"):
        case["compare_to"] = parts.other(said["compare_to"], at.key("compare_to"))
    if "fixture" not in case and "compare_to" not in case:
        case["own_fixture"] = True  # as the chapter has it; the verdict says so
    return case


def _of_pack(said: dict[str, JsonValue], at: At, file: Path) -> EvalSuite:
    defaults = cast("Mapping[str, Any]", said.get("defaults") or {})
    parts = Parts.of(said, at, file, defaults.get("fixture_root"))
    cases = pack_cases(said, at, parts)
    name = str(said.get("id") or said.get("name") or file.stem)
    normaliser = cast("Mapping[str, JsonValue]", said.get("normaliser"))
    read = Normaliser.read(normaliser, at.key("normaliser"))
    return EvalSuite(_document(name, read, cases, said), records=parts.records)


def _document(
    name: str,
    normaliser: Normaliser,
    cases: list[dict[str, Any]],
    said: Mapping[str, JsonValue],
) -> dict[str, JsonValue]:
    kept = {one: said[one] for one in _KEPT if said.get(one) is not None}
    return {
        "_type": "eval_suite",
        "id": name,
        **kept,
        "normaliser": normaliser.document(),
        "cases": cast("JsonValue", cases),
    }


def _require_names(suite: EvalSuite, at: At) -> None:
    seen: set[str] = set()
    for number, one in enumerate(suite.cases):
        if one["id"] in seen:
            raise (
                at.key("cases")
                .item(number)
                .wrong(
                    f"{one['id']!r} is there twice", "duplicate", "name it otherwise"
                )
            )
        seen.add(one["id"])
