"""Another engine: programs without packages in Monty, an interpreter that is not CPython.

    Policy(allowed_imports=("math",), engine="monty")      level "engine"

Rules:

- Monty has no CPython underneath and gives its programs no file, no socket and no
  process; it runs them in a worker process of its own, with an empty environment, one
  worker per execution. We take its word for that: no isolation layer of the operating
  system surrounds the worker, and nothing is probed.
- It is a subset of Python. Modules and syntax that it lacks are refused before the
  program runs; where its results differ from CPython's, they differ.
- A result is checked inside before it comes out: as JSON text it must not be longer
  than any result may be. Then it is judged like the frames of a child.

Loaded for programs that ask for it; needs the extra ``muniment[monty]``.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
import platform
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pydantic_monty import (
    Frame,
    Monty,
    MontyConversionError,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    OSPolicy,
    ResourceLimits,
    __version__,
)

from muniment.encoding.canonical import JsonValue
from muniment.errors import CannotTellError, ValueRefused
from muniment_plugins.capsule.child.clocks import INSTANT, stated
from muniment_plugins.capsule.execution import Execution, digest_of
from muniment_plugins.capsule.language.refusals import ProgramRefused
from muniment_plugins.capsule.parent.results import (
    ProtocolViolation,
    error_of,
    judge_answer,
    read_frame,
)
from muniment_plugins.capsule.policy import Policy
from muniment_plugins.capsule.protocol import (
    MAX_MESSAGE,
    MAX_RESULT,
    Unsendable,
    render_metrics,
)
from muniment_plugins.capsule.validation import Validated
from muniment_plugins.capsule.value_decoder import decode_plain

__all__ = ["LEVEL", "refuse_missing", "run"]

LEVEL = "engine"

_GRACE_S = 1.0
_RECURSION = 1000
# No program can use these names: validation refuses them.
_CALL = "\n__result__ = {}(__data__)"
_SIZED = f"import json as __json__\n__json__.dumps(__result__)[:{MAX_RESULT + 1}]"
_LIMITS = {"feed time limit exceeded": "cpu", "sleep limit exceeded": "wall"}

_Verdict = tuple[str, dict[str, JsonValue] | None, dict[str, JsonValue] | None]


@dataclass(slots=True)
class _Output:
    """The part of a program's output that is kept."""

    room: int
    kept: bytearray = field(default_factory=bytearray)
    truncated: bool = False

    def __call__(self, _stream: str, text: str) -> None:
        """Keep as much as there is room for."""
        part = text.encode(errors="backslashreplace")
        left = self.room - len(self.kept)
        self.kept += part[:left]
        self.truncated |= len(part) > left


def run(program: Validated, data: JsonValue, policy: Policy) -> Execution:
    """Run *program* on *data*, as `muniment.encoding.codec` encodes it.

    Raises:
        ProgramRefused: it needs something that this engine lacks.
        ValueRefused: this engine cannot carry *data*.
        CannotTellError: no worker could be started.

    """
    output = _Output(policy.max_output)
    started = time.monotonic()
    status, metrics, error = _in_session(program, decode_plain(data), policy, output)
    return Execution(
        status=status,
        metrics=metrics,
        error=error,
        layers=_layers(policy),
        level=LEVEL,
        seed=policy.seed,
        code_digest=digest_of(program.code),
        usage={"wall_s": round(time.monotonic() - started, 6)},
        environment={
            **stated(policy.clock),
            "implementation": "Monty",
            "platform": f"{sys.platform}-{platform.machine()}",
            "timezone": "UTC",
        },
        stdout=output.kept.decode(errors="replace"),
        stdout_truncated=output.truncated,
        non_finite=policy.allow_non_finite,
    )


def refuse_missing(program: Validated) -> None:
    """Refuse *program* if it imports modules that this engine lacks.

    Raises:
        ProgramRefused: rule ``capsule/engine``; it names all of them.
        CannotTellError: no worker could be started.

    """
    missing = [name for name in program.imports if not _has(name)]
    if missing:
        raise ProgramRefused(
            f"Monty has no module {', '.join(missing)}",
            rule="engine",
            remedy="do without, or use engine='python'",
        )


@functools.cache
def _has(module: str) -> bool:
    """Tell whether this version has *module*; ask it once."""
    try:
        with _session(Policy()) as session:
            session.feed_run(f"import {module}")
    except MontyRuntimeError:
        return False
    return True


@contextmanager
def _session(policy: Policy) -> Generator[MontySession]:
    """Give a worker that is started for this session and ends with it."""
    with ExitStack() as stack:
        try:
            pool = Monty(
                max_checkouts_per_worker=1,
                max_processes=1,
                request_timeout=policy.time_s + 2 * _GRACE_S,
            )
            session = stack.enter_context(
                stack.enter_context(pool).checkout(
                    assert_message_annotations=False,
                    limits=_limits(policy),
                    os_policy=_system(policy),
                )
            )
        except (MontyError, OSError, RuntimeError) as error:
            raise CannotTellError(
                f"no worker of Monty could be started: {error}",
                rule="capsule/spawn",
                remedy="install the package anew, or use engine='python'",
            ) from error
        yield session


def _limits(policy: Policy) -> ResourceLimits:
    return {
        "max_feed_duration_secs": policy.time_s,
        "max_memory": policy.mem_mb * 1024 * 1024,
        "max_recursion_depth": _RECURSION,
        "max_total_sleep_secs": policy.time_s + _GRACE_S,
    }


def _system(policy: Policy) -> OSPolicy:
    if policy.clock == "frozen":
        return {
            "datetime": dt.datetime.fromtimestamp(INSTANT, dt.UTC),
            "random_start": {"seed": policy.seed},
            "sleep": "zero",
        }
    return {
        "process_time": "elapsed",
        "random_start": {"seed": policy.seed},
        "sleep_system_max": math.inf,  # the limit decides
    }


def _layers(policy: Policy) -> dict[str, JsonValue]:
    return {
        "allow_dangerous": policy.allow_dangerous,
        "engine": {
            "as_mb": policy.mem_mb,
            "cpu_s": policy.time_s,
            "name": "monty",
            "recursion": _RECURSION,
            "version": __version__,
        },
        "subprocess": True,
        "validation": True,
        "verified_by_parent": False,
    }


def _in_session(
    program: Validated, data: object, policy: Policy, output: _Output
) -> _Verdict:
    try:
        with _session(policy) as session:
            text = _answer(session, program, data, output)
        return judge_answer(
            read_frame(text.encode()), allow_non_finite=policy.allow_non_finite
        )
    except Unsendable as error:
        return judge_answer({"failed": _failure(*error.args)})
    except ProtocolViolation as error:
        return "killed", None, error_of("protocol", str(error))
    except MontyConversionError as error:
        raise ValueRefused(
            f"Monty cannot carry the data: {error}",
            rule="capsule/engine-data",
            place="data",
            remedy="pass plain values, or use engine='python'",
        ) from None
    except MontyError as error:
        return _of_error(error, program)


def _answer(
    session: MontySession, program: Validated, data: object, output: _Output
) -> str:
    """Run the program, then return its result as a child's frame."""
    session.feed_run(
        program.code + _CALL.format(program.entrypoint),
        inputs={"__data__": data, "__name__": "program"},
        print_callback=output,
    )
    try:
        if len(session.feed_run(_SIZED)) > MAX_RESULT:
            raise Unsendable("result-size", f"the metrics take over {MAX_RESULT} bytes")
        return render_metrics(session.feed_run("__result__"))
    except MontyRuntimeError as error:
        if isinstance(error.exception(), MemoryError | TimeoutError):
            raise
        raise Unsendable("result", f"the result: {error}") from None


def _of_error(error: MontyError, program: Validated) -> _Verdict:
    """Say what ended the program, or refuse it if it never ran."""
    if isinstance(error, MontyCrashedError):
        if error.timed_out:
            return "timeout", None, error_of("wall", "the wall-clock time is over")
        return "killed", None, error_of("engine", f"Monty ended: {error}")
    raised = error.exception()
    message = str(raised)[:MAX_MESSAGE]
    frames: list[Frame] = []
    if isinstance(error, MontyRuntimeError | MontySyntaxError):
        frames = error.traceback()
    if isinstance(raised, NotImplementedError | SyntaxError) and not _began(frames):
        raise ProgramRefused(
            message,
            rule="engine",
            line=frames[-1].line if frames else 0,
            column=frames[-1].column if frames else 0,
            remedy="say it otherwise, or use engine='python'",
        )
    if isinstance(raised, TimeoutError):
        for start, rule in _LIMITS.items():
            if message.startswith(start):
                return "timeout", None, error_of(rule, message)
    lines = program.code.count("\n") + 1
    places = [(0, 0)] + [(f.line, f.column) for f in frames if f.line <= lines]
    rule = "memory" if isinstance(raised, MemoryError) else "raised"
    kind = type(raised).__name__
    return judge_answer({"failed": _failure(rule, message, kind, *places[-1])})


def _began(frames: list[Frame]) -> bool:
    """Tell whether the program ran: frames of a parse error have no function."""
    return any(frame.function_name is not None for frame in frames)


def _failure(
    rule: str, message: str, kind: str = "", line: int = 0, column: int = 0
) -> dict[str, JsonValue]:
    return {
        "column": column,
        "line": line,
        "message": message,
        "rule": rule,
        "type": kind,
    }
