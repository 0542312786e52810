"""A verifier of which only the source is left: it judges again, in the capsule.

    @verifier                                        def small(before, now, limit=3):
    def small(before, now, *, limit=3):       ->         return {…}
        return {…}                                   def judge_again(data): …

Rules:

- Recorded source is somebody else's code: it runs within bounds like any other, never
  in this process.
- Only a function that stands by itself can: what it takes from around it is not there.
  Then its verdict cannot be derived again, and that is said.
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

__all__ = ["Sourced"]

_ENTRY = "judge_again"
_LIMITS = {"time_s": 10, "mem_mb": 512}


@dataclass(frozen=True, slots=True)
class Sourced:
    """A function by its recorded source; ``described`` is how the plan names it."""

    described: Mapping[str, object]
    code: str
    imports: tuple[str, ...]
    parameters: tuple[str, ...]

    @property
    def __signature__(self) -> inspect.Signature:
        """What the function takes, for who asks before calling it."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(n, kind) for n in self.parameters])

    @classmethod
    def of(cls, described: Mapping[str, object], text: str) -> Self | None:
        """Return the function in *text*; None if it does not stand by itself."""
        try:
            body = ast.parse(textwrap.dedent(text)).body
        except SyntaxError:  # a lambda in the middle of an expression
            return None
        if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
            return None
        function = _bare(body[0])
        arguments = function.args
        taken = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        code = (
            f"{ast.unparse(function)}\n\n\ndef {_ENTRY}(data):\n"
            f"    return {function.name}(data[0], data[1], **data[2])\n"
        )
        return cls(described, code, _imports(function), tuple(one.arg for one in taken))

    def __call__(
        self, baseline: object, condition: object, **settings: object
    ) -> object:
        """Judge in the capsule.

        Raises:
            CannotTellError: the function needs what is not there any more.

        """
        samples = [
            dict(cast("Mapping[str, object]", one)) for one in (baseline, condition)
        ]
        lane = current_run()
        try:
            encode(settings)
            # The capsule keeps the code from all that the guards keep this process from.
            with lane.unguarded(*GUARDS):
                answer = lane.hook(
                    "execute_code", request=self._request(samples, settings)
                )
        except RefusedError as refusal:
            raise self._lost(refusal.message) from refusal
        told = cast("Mapping[str, object]", answer)
        if told["status"] != "ok":
            error = cast("Mapping[str, object]", told["error"])
            raise self._lost(str(error["message"]))
        return told["metrics"]

    def _request(
        self, samples: list[dict[str, object]], settings: Mapping[str, object]
    ) -> dict[str, object]:
        return {
            "code": self.code,
            "data": [*samples, dict(settings)],
            "entrypoint": _ENTRY,
            "allowed_imports": list(self.imports),
            "resources": _LIMITS,
        }

    def _lost(self, why: str) -> CannotTellError:
        return CannotTellError(
            f"the verifier {self.described.get('import')} cannot be imported, and its "
            f"recorded source does not run by itself: {why}",
            rule="harness/function",
            place="the recorded experiment",
            remedy="put it in a module, or replay with program=experiment.program",
        )


def _bare(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return *function* without what is only there for its readers."""
    function.decorator_list = []
    function.returns = None
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return function


def _imports(function: ast.FunctionDef) -> tuple[str, ...]:
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return tuple(sorted(found))
