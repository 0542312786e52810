"""What a verifier holds work against: its command, and texts, names and paths.

    {"command": "python check.py", "expect_status": 0, "required_identifiers": ["rateLimit"],
     "required_paths": ["src/rate_limit.py"], "checks": [{"kind": "text", "value": "…"}]}

Rules:

- All that is written is checked; a contract without any check verifies nothing, and is
  refused before the graph runs.
- A command is expected to end with 0 unless another status is written.
- A file that ``contract_path`` names is read when the run begins, and is a part of what
  the run pins. All that the node says and all that the file says holds: lists are united,
  texts are checked one after the other. Two commands, two statuses or two times that
  differ are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from muniment.documents.places import At, near
from muniment.documents.reading import read_document
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.ceilings.paths import path_fault
from muniment_plugins.workflow.documents.node import WorkflowNode
from muniment_plugins.workflow.documents.shapes import CONTRACT

__all__ = [
    "CHECK_KINDS",
    "OF_COMMANDS",
    "ContractCheck",
    "VerifierContract",
    "contract_of",
    "read_contract",
    "united",
    "value_fault",
]

Object = Mapping[str, JsonValue]

CHECK_KINDS = (
    "visible_text_contains",
    "combined_output_contains",
    "expect_status",
    "identifier",
    "path",
    "text",
)
OF_COMMANDS = ("expect_status", "combined_output_contains")
"""Checks that are about a command: without one they can be neither right nor wrong."""
_STATUSES = range(256)
_LISTS = ("required_identifiers", "required_paths", "required_text", "notes", "checks")
_ALIASES = {
    "identifiers": "required_identifiers",
    "paths": "required_paths",
    "exact_text": "required_text",
    "required_strings": "required_text",
    "verification_contract_path": "contract_path",
}
"""Other names that files use → the name of the key."""
_OF_COMMANDS = frozenset({"expect_status", "expect_text", "timeout_s"})
"""What a file may say of the command of a node, and nothing else."""
_OF_TEXTS = {
    "assert_text": "visible_text_contains",
    "expect_text": "combined_output_contains",
}
_OF_LISTS = {
    "required_identifiers": "identifier",
    "required_paths": "path",
    "required_text": "text",
}


@dataclass(frozen=True, slots=True)
class ContractCheck:
    """One thing that is checked."""

    kind: str
    value: JsonValue

    def to_json(self) -> dict[str, JsonValue]:
        """Return it as prompts and records have it."""
        return {"kind": self.kind, "value": self.value}


@dataclass(frozen=True, slots=True)
class VerifierContract:
    """All that one verifier checks."""

    node: str
    said: Object = field(default_factory=dict[str, JsonValue])

    @property
    def command(self) -> JsonValue:
        """A line for the shell, or a list: the program and its arguments."""
        return self.said.get("command")

    @property
    def timeout_s(self) -> float:
        """The seconds that the command may take; ten minutes by default."""
        return cast("float", self.said.get("timeout_s", 600))

    @property
    def checks(self) -> tuple[ContractCheck, ...]:
        """Everything that is checked of what the work left behind."""
        return tuple(self._checks())

    @property
    def rows(self) -> tuple[ContractCheck, ...]:
        """The checks that are written out as such."""
        rows = cast("list[Mapping[str, JsonValue]]", self.said.get("checks", []))
        return tuple(ContractCheck(str(row["kind"]), row["value"]) for row in rows)

    def _checks(self) -> Iterator[ContractCheck]:
        said = self.said
        if self.command is not None:
            yield ContractCheck("expect_status", said.get("expect_status", 0))
        for key, kind in _OF_TEXTS.items():
            if key in said:
                yield ContractCheck(kind, said[key])
        for key, kind in _OF_LISTS.items():
            for one in cast("list[str]", said.get(key, [])):
                yield ContractCheck(kind, one)
        yield from self.rows

    def told(self) -> dict[str, JsonValue]:
        """Return what those who do the work are told of it."""
        known = {
            key: self.said[key] for key in ("summary", "notes") if key in self.said
        }
        command = {} if self.command is None else {"command": self.command}
        return {
            "node": self.node,
            **known,
            **command,
            "checks": [one.to_json() for one in self.checks],
        }


def value_fault(check: ContractCheck) -> str | None:
    """Return why nothing can ever have the value of *check*; None if it can."""
    value = check.value
    if check.kind == "expect_status":
        if type(value) is int and value in _STATUSES:
            return None
        return f"{value!r:.60} is no exit status, which is a number from 0 to 255"
    if not isinstance(value, str) or not value:
        return f"{value!r:.60} is no text, or an empty one"
    fault = path_fault(value) if check.kind == "path" else ""
    return f"{value!r:.60} is no path: {fault}" if fault else None


def contract_of(node: WorkflowNode, files: Mapping[str, Object]) -> VerifierContract:
    """Return the contract of a *node* of the kind ``verify``.

    Args:
        node: the node.
        files: path, as nodes name it → the contract that its file holds.

    Raises:
        UsageError: node and file say different things, of which only one could hold.

    """
    return VerifierContract(node.name, united(node.part("verify"), files))


def united(said: Object, files: Mapping[str, Object]) -> dict[str, JsonValue]:
    """Return what a verifier *said*, with what the file says that it names.

    Raises:
        UsageError: they say different things, of which only one could hold.

    """
    found = dict(said)
    path = cast("str | None", found.pop("contract_path", None))
    if path is None:
        return found
    return _united(found, files[path], At(path, "workflow"))


def read_contract(path: Path) -> Object:
    """Return the contract in the file *path*: JSON, YAML or TOML.

    Raises:
        UsageError: it cannot be read, or says something that nothing checks.

    """
    said, at = _plain_names(read_document(path, "workflow")), At(str(path), "workflow")
    CONTRACT.check(said, at)
    rows = cast("list[Object]", said.get("checks") or [])
    for number, row in enumerate(rows):
        word = str(row["kind"])
        there = at.key("checks").item(number)
        if word not in CHECK_KINDS:
            raise there.key("kind").wrong(
                f"no check is called {word!r:.60}", "check", near(word, CHECK_KINDS)
            )
        fault = value_fault(ContractCheck(word, row["value"]))
        if fault is not None:
            raise there.key("value").wrong(fault, "check", "write one that fits")
    known = VerifierContract("", said)
    if not (known.checks or said.keys() & _OF_COMMANDS):
        raise at.wrong("it checks nothing", "check", "write a command, or texts")
    for number, one in enumerate(cast("list[str]", said.get("required_paths") or [])):
        fault = value_fault(ContractCheck("path", one))
        if fault is not None:
            place = at.key("required_paths").item(number)
            raise place.wrong(fault, "check", "write one that fits")
    status = said.get("expect_status")
    if status is not None and (
        fault := value_fault(ContractCheck("expect_status", status))
    ):
        raise at.key("expect_status").wrong(fault, "check", "write one that fits")
    return said


def _plain_names(written: Object) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for key, value in written.items():
        name = _ALIASES.get(key, key)
        found[name] = [value] if name in _LISTS and isinstance(value, str) else value
    return found


def _united(own: dict[str, JsonValue], other: Object, file: At) -> dict[str, JsonValue]:
    """Return what the node and the file say together.

    Raises:
        UsageError: they say different things, of which only one could hold.

    """
    found = {**other, **own}
    for key in own.keys() & other.keys():
        mine, theirs = own[key], other[key]
        if mine == theirs:
            continue
        if key in _LISTS:
            found[key] = [
                *_rows(mine),
                *(x for x in _rows(theirs) if x not in _rows(mine)),
            ]
        elif key == "summary":
            found[key] = f"{mine}\n{theirs}"
        elif key in _OF_TEXTS:
            row: JsonValue = {"kind": _OF_TEXTS[key], "value": theirs}
            found["checks"] = [*_rows(found.get("checks", [])), row]
        else:
            raise file.key(key).wrong(
                f"the node says something else: {mine!r:.80}",
                "contract-conflict",
                "leave one of them out, or write a verifier for each",
            )
    return found


def _rows(value: JsonValue) -> list[JsonValue]:
    return cast("list[JsonValue]", value)
