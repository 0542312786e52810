"""Names of programs and functions that stay when their code moves.

    @stable_name("acme:halve/1")
    def halve(data): …

    {"name": "acme:halve/1"}            how a run and a plan record it

Rules:

- A name is ``prefix:name/version``. The prefix is the plugin's own, or ``muniment`` for
  built-in plugins, and nobody else gives such a name. Code that gives other results gets another version, and the old one
  stays for old records.
- There is no digest beside it: the version says what the code does.
- A record names code, and imports nothing: the name is looked up among those that the
  active plugins declare with their hook ``stable_names``, and the code found there must
  bear it.
- Import paths that earlier editions recorded are declared beside the name, with the
  digest of the source if that decides; another source was another function.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from muniment.errors import CannotTellError, UsageError

__all__ = ["StableName", "StableNames", "name_of", "stable_name"]

_T = TypeVar("_T", bound=Callable[..., object])
_FORM = re.compile(r"[a-z][a-z0-9_.-]*:[a-z][a-z0-9_.-]*/[1-9][0-9]*")
_MARK = "__stable_name__"
_OURS = "muniment:"
_HOMES = ("muniment", "muniment_plugins", "muniment_cli")
_WRAPPED = ("__wrapped__", "function")
_DESCRIBING = frozenset(("import", "source", "file", "files"))


@dataclass(frozen=True, slots=True)
class _Given:
    """A name and its bearer: wrappers and subclasses inherit the mark only."""

    name: str
    bearer: object = field(repr=False, compare=False)


def stable_name(name: str) -> Callable[[_T], _T]:
    """Give a function or a class the stable *name*, by which it is recorded.

    Make it the outermost decorator; the plugin declares the name with ``stable_names``.

    Raises:
        UsageError: *name* is not of the form ``prefix:name/version``, or begins with
            ``muniment:``, and the code is not muniment's.

    """
    _require_form(name)

    def give(bearer: _T) -> _T:
        home = str(getattr(bearer, "__module__", "")).partition(".")[0]
        if name.startswith(_OURS) and home not in _HOMES:
            raise UsageError(
                f"{name} begins with {_OURS}, and is given in {home}",
                rule="plugin/stable-name",
                place="stable_name",
                remedy="the prefix is the plugin's own: a record would take the code for "
                "muniment's",
            )
        setattr(bearer, _MARK, _Given(name, bearer))
        return bearer

    return give


def name_of(program: object) -> str | None:
    """Return the stable name of a function, a class, or an instance of one."""
    for one in (program, type(program)):
        given = getattr(one, _MARK, None)
        if isinstance(given, _Given) and given.bearer is one:
            return given.name
    return None


@dataclass(frozen=True, slots=True)
class StableName:
    """A plugin's declaration of a name."""

    name: str
    path: str
    """``module:qualified.name``, its present place."""
    formerly: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    """Recorded import path → digest of the source; None for any source."""

    def __post_init__(self) -> None:
        _require_form(self.name)

    def load(self) -> object:
        """Return the function or class with the name.

        Raises:
            CannotTellError: nothing there bears the name.

        """
        module, _, qualified = self.path.partition(":")
        try:
            found: object = importlib.import_module(module)
            for part in qualified.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError, ValueError) as error:
            raise self._lost(f"{type(error).__name__}: {error}") from error
        # A decorator may have wrapped the bearer.
        bearers = [found, *(getattr(found, one, None) for one in _WRAPPED)]
        if self.name not in map(name_of, bearers):
            raise self._lost("what stands there does not bear it")
        return found

    def _lost(self, why: str) -> CannotTellError:
        return CannotTellError(
            f"nothing is found under the stable name {self.name} ({why})",
            rule="plugin/stable-name",
            place=self.path,
            remedy="the plugin that declares it has to be repaired",
        )


class StableNames:
    """The names that plugins declare, and the earlier import paths."""

    def __init__(self, declared: Iterable[StableName] = ()) -> None:
        """Index the *declared* names.

        Raises:
            UsageError: a name, or an earlier path, is declared twice.

        """
        self._by_name: dict[str, StableName] = {}
        self._by_path: dict[str, StableName] = {}
        for one in declared:
            _add(self._by_name, one.name, one)
            for path in one.formerly:
                _add(self._by_path, path, one)

    @property
    def declared(self) -> tuple[StableName, ...]:
        """All declared names."""
        return tuple(self._by_name.values())

    def of(self, described: Mapping[str, object]) -> StableName | None:
        """Return the name in a record's description, or that of its earlier path."""
        if "name" in described and "import" not in described:
            return self._by_name.get(str(described["name"]))
        path = str(described.get("import"))
        found = self._by_path.get(path)
        if found is None or found.formerly[path] not in (None, described.get("source")):
            return None
        return found

    def now(self, value: object) -> object:
        """Return a JSON *value* with names instead of earlier import paths."""

        def named(row: Mapping[str, object]) -> Mapping[str, object]:
            found = self.of(row) if "import" in row else None
            if found is None:
                return row
            others = {key: row[key] for key in row.keys() - _DESCRIBING}
            return {**others, "name": found.name}

        return _rewritten(value, named)

    def before(self, value: object) -> object:
        """Return a JSON *value* with the import paths that names replaced.

        If a name had several, the last declared one.
        """

        def called(row: Mapping[str, object]) -> Mapping[str, object]:
            found = None if "import" in row else self.of(row)
            if found is None or not found.formerly:
                return row
            path, source = [*found.formerly.items()][-1]
            others = {key: row[key] for key in row.keys() - {"name"}}
            said = {"import": path}
            if source is not None:
                said["source"] = source
            return {**others, **said}

        return _rewritten(value, called)


def _rewritten(
    value: object, change: Callable[[Mapping[str, object]], Mapping[str, object]]
) -> object:
    if isinstance(value, Mapping):
        row: Mapping[str, object] = change(value)  # pyright: ignore[reportUnknownArgumentType] - any JSON
        return {key: _rewritten(one, change) for key, one in row.items()}
    if isinstance(value, list | tuple):
        return [_rewritten(one, change) for one in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - any JSON
    return value


def _add(known: dict[str, StableName], key: str, one: StableName) -> None:
    if known.setdefault(key, one) != one:
        raise UsageError(
            f"{key} is declared twice: it is in {known[key].path} and {one.path}",
            rule="plugin/stable-name",
            place=one.name,
            remedy="a name belongs to one function; give the other a prefix of its own",
        )


def _require_form(name: str) -> None:
    if not _FORM.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a stable name",
            rule="plugin/stable-name",
            place="stable_name",
            remedy="write prefix:name/version, such as acme:halve/1",
        )
