"""A function of which only the source is left: it runs again, in the capsule.

    @verifier                                        def small(before, now, limit=3):
    def small(before, now, *, limit=3):       ->         return {…}
        return {…}                                   def called_again(data): …

Rules:

- Recorded source is somebody else's code: it runs within bounds like any other, never
  in this process; only `Trusted` source does, for who says that they trust it.
- Only a function that stands by itself can: what it takes from around it is not there.
  Then what it said cannot be derived again, and that is said.
- From the capsule come plain values of the very types that the function returned;
  others, such as arrays, cannot be told from what they would become.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, cast

from muniment.errors import CannotTellError, RefusedError
from muniment.guarding import GUARDS
from muniment.lanes import current_run
from muniment.values import encode
from muniment_plugins.harness.references import Function

__all__ = ["Sourced", "Trusted"]

_ENTRY = "called_again"
_LIMITS = {"time_s": 10, "mem_mb": 512}

_FRAME = """

def sent_whole(value):
    kind = type(value)
    if kind is tuple or kind is list:
        return {kind.__name__: [sent_whole(one) for one in value]}
    if kind is dict:
        return {"dict": [[sent_whole(key), sent_whole(value[key])] for key in value]}
    if value is None or kind in (bool, int, float, str):
        return {"is": value}
    raise TypeError("a " + kind.__name__ + " does not leave the capsule as it is")


def called_again(data):
    return {"whole": sent_whole(NAME(*data[0], **data[1]))}
"""


@dataclass(frozen=True, slots=True)
class Sourced:
    """A function by its recorded source; ``described`` is how the plan names it."""

    described: Mapping[str, object]
    code: str
    imports: tuple[str, ...]
    parameters: tuple[inspect.Parameter, ...]

    @property
    def __signature__(self) -> inspect.Signature:
        """What the function takes, for who asks before calling it."""
        return inspect.Signature(self.parameters)

    @classmethod
    def of(cls, described: Mapping[str, object], text: str) -> Self | None:
        """Return the function in *text*; None if it does not stand by itself."""
        function = _only(text)
        if function is None:
            return None
        code = ast.unparse(function) + _FRAME.replace("NAME", function.name)
        return cls(described, code, _imports(function), _parameters(function.args))

    def __call__(self, *arguments: object, **named: object) -> object:
        """Call it in the capsule.

        Raises:
            CannotTellError: the function needs what is not there any more, or takes or
                returns what has no plain form.

        """
        given = [_plain(one) for one in arguments]
        lane = current_run()
        try:
            encode([given, named])
            # The capsule keeps the code from all that the guards keep this process from.
            with lane.unguarded(*GUARDS):
                answer = lane.hook("execute_code", request=self._request(given, named))
        except RefusedError as refusal:
            raise _lost(self.described, refusal.message) from refusal
        told = cast("Mapping[str, object]", answer)
        if told["status"] != "ok":
            error = cast("Mapping[str, object]", told["error"])
            raise _lost(self.described, str(error["message"]))
        return _received(cast("Mapping[str, object]", told["metrics"])["whole"])

    def _request(
        self, arguments: list[object], named: Mapping[str, object]
    ) -> dict[str, object]:
        return {
            "code": self.code,
            "data": [arguments, dict(named)],
            "entrypoint": _ENTRY,
            "allowed_imports": list(self.imports),
            "resources": _LIMITS,
        }


@dataclass(frozen=True, slots=True)
class Trusted:
    """A function made of its recorded source in this process."""

    described: Mapping[str, object]
    function: Function

    @property
    def __signature__(self) -> inspect.Signature:
        """What the function takes."""
        return inspect.signature(self.function)

    @classmethod
    def of(cls, described: Mapping[str, object], text: str) -> Self | None:
        """Return the function in *text*; None if it is not a function by itself."""
        function = _only(text)
        if function is None:
            return None
        module = ast.Module([function], [])
        names: dict[str, object] = {"__name__": "recorded"}
        # Whoever replays said that they trust what the run recorded.
        exec(compile(module, "<recorded>", "exec"), names)  # noqa: S102
        return cls(described, cast("Function", names[function.name]))

    def __call__(self, *arguments: object, **named: object) -> object:
        """Call it here.

        Raises:
            CannotTellError: the function needs what is not there any more.

        """
        try:
            return self.function(*arguments, **named)
        except NameError as error:
            raise _lost(self.described, str(error)) from error


def _only(text: str) -> ast.FunctionDef | None:
    """Return the function that *text* consists of, without what is for its readers."""
    try:
        body = ast.parse(textwrap.dedent(text)).body
    except SyntaxError:  # a lambda in the middle of an expression
        return None
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        return None
    function = body[0]
    function.decorator_list = []
    function.returns = None
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return function


def _parameters(taken: ast.arguments) -> tuple[inspect.Parameter, ...]:
    """Return what the function takes; of a default, only that there is one."""
    first = [*taken.posonlyargs, *taken.args]
    required: list[ast.expr | None] = [None] * (len(first) - len(taken.defaults))
    defaults = [*required, *taken.defaults, *taken.kw_defaults]
    return tuple(
        inspect.Parameter(
            one.arg,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if default is None else ...,
        )
        for one, default in zip([*first, *taken.kwonlyargs], defaults, strict=True)
    )


def _imports(function: ast.FunctionDef) -> tuple[str, ...]:
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return tuple(sorted(found))


def _plain(value: object) -> object:
    """Return *value*; of samples and other mappings, a dict."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    return value


def _received(sent: object) -> object:
    """Return what the function in the capsule returned."""
    ((kind, told),) = cast("Mapping[str, object]", sent).items()
    if kind == "is":
        return told
    parts = cast("list[object]", told)
    if kind == "dict":
        pairs = (cast("list[object]", one) for one in parts)
        return {_received(key): _received(value) for key, value in pairs}
    items = [_received(one) for one in parts]
    return tuple(items) if kind == "tuple" else items


def _lost(described: Mapping[str, object], why: str) -> CannotTellError:
    return CannotTellError(
        f"the function {described.get('import')} cannot be imported, and its recorded "
        f"source does not run by itself: {why}",
        rule="harness/function",
        place="the recorded experiment",
        remedy="put it in a module, replay with --trust-source where it only needs to "
        "be outside the capsule, or with program=experiment.program",
    )
