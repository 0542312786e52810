"""Building an artifact from the arguments of a helper and what the caller adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from muniment.documents.places import At
from muniment.documents.shapes import Anything, Entries, Items, Text
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.artifact import (
    Artifact,
    artifact,
    read_artifact,
)
from muniment_plugins.workflow.artifacts.artifact_shape import EXTRA, FreeText
from muniment_plugins.workflow.artifacts.plain_json import (
    json_text,
    plain_json,
    plain_object,
)
from muniment_plugins.workflow.artifacts.stamps import Stamps

__all__ = ["Building"]

Object = dict[str, JsonValue]


class Building:
    """An artifact of which one part after the other becomes known."""

    __slots__ = ("_at", "_extra", "_kind", "_lineage", "_stamps", "data")

    def __init__(
        self, kind: str, extra: Mapping[str, object] | None, stamps: Stamps | None
    ) -> None:
        """Begin an artifact of *kind*; refuse an *extra* that none can have."""
        self._kind, self._stamps = kind, stamps
        self._at = At(f"artifact_{kind}", "workflow")
        self._extra = plain_object(
            {} if extra is None else extra, self._at.key("extra")
        )
        EXTRA.check(self._extra, self._at.key("extra"))
        if "data" in self._extra:
            there = self._at.key("extra").key("data")
            Entries(Anything()).check(self._extra["data"], there)
        self._lineage: list[str] = []
        self.data: Object = {}
        """What is known so far, under the names of the arguments."""

    def words(self, **given: object) -> None:
        """Keep arguments that are texts and not empty."""
        self.texts(**given)
        for name, value in given.items():
            if not cast("str", value).strip():
                raise self._missing(name)

    def texts(self, **given: object) -> None:
        """Keep arguments that are texts of any length."""
        for name, value in given.items():
            plain = self._plain(name, value)
            FreeText().check(plain, self._at.key(name))
            self.data[name] = plain

    def list_of_texts(self, name: str, given: object) -> list[JsonValue]:
        """Keep an argument that is a list of texts, and return it."""
        plain = self._plain(name, given)
        Items(Text()).check(plain, self._at.key(name))
        self.data[name] = plain
        return cast("list[JsonValue]", plain)

    def value(self, name: str, given: object, *, as_json: bool = False) -> str:
        """Keep an argument that is any value; return it as text, or as JSON."""
        plain = self.data[name] = self._plain(name, given)
        if isinstance(plain, str) and not as_json:
            return plain
        return json_text(plain)

    def about(self, target: Artifact | Mapping[str, object]) -> Artifact:
        """Keep which artifact this one is about, and return that."""
        found = read_artifact(target, self._at.key("target"))
        self.data["target_artifact_id"] = found.id
        self.data["target_kind"] = found.kind
        self._lineage = [*found.lineage, found.id]
        return found

    def done(
        self, title: str, text: str | None, metadata: Object | None = None
    ) -> Artifact:
        """Return the artifact, with what the caller added over what is known."""
        built = {"title": title, "text": self._summary(text)}
        merged = {
            "data": {**self.data, **self._object("data")},
            "metadata": {**(metadata or {}), **self._object("metadata")},
            "lineage": [
                *self._lineage,
                *cast("list[str]", self._extra.get("lineage", [])),
            ],
        }
        raw = {**built, **self._extra, **merged, "kind": self._kind}
        return artifact(raw, stamps=self._stamps, at=self._at)

    def _summary(self, text: str | None) -> str | None:
        FreeText().check("" if text is None else text, self._at.key("summary"))
        return text

    def _object(self, name: str) -> Object:
        return cast("Object", self._extra.get(name, {}))

    def _plain(self, name: str, value: object) -> JsonValue:
        if value is None:
            raise self._missing(name)
        return plain_json(value, self._at.key(name))

    def _missing(self, name: str) -> Exception:
        return self._at.key(name).wrong(
            f"missing {name}", "missing-key", "give one that is not empty"
        )
