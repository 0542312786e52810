"""The capsule itself: validate, supervise, judge; for one program or many.

    >>> Capsule(Policy(allowed_imports=("math",))).run(code, [1, 2, 3]).metrics
    {'total': 6}

Rules:

- What the policy requires and this machine cannot give is refused before anything runs.
- A child that somebody kills before there is a program in it is replaced, once.
- A program never makes `run` raise: what it does wrong is the execution's status. Data
  that no capsule can carry is the caller's error and raised.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import orjson

from muniment.canonical import JsonValue
from muniment.errors import CannotTellError, RefusedError, UsageError, ValueRefused
from muniment.value_arrays import ARRAYS_BY_TAG
from muniment.value_plain import as_it_is
from muniment.values import encode
from muniment_plugins.capsule.clocks import stated
from muniment_plugins.capsule.execution import Execution, digest_of
from muniment_plugins.capsule.machine import Machine, machine
from muniment_plugins.capsule.policy import LEVELS, Policy, refuse_beyond
from muniment_plugins.capsule.pool import pool
from muniment_plugins.capsule.protocol import MAX_REQUEST
from muniment_plugins.capsule.refusals import BoundedExecutionError
from muniment_plugins.capsule.results import (
    ProtocolViolation,
    error_of,
    judge_answer,
    judge_end,
    judge_start,
    signal_name,
)
from muniment_plugins.capsule.starting import Surroundings, child_environment
from muniment_plugins.capsule.supervisor import Outcome, supervise
from muniment_plugins.capsule.unordered import refuse_unordered
from muniment_plugins.capsule.validation import Validated, validate
from muniment_plugins.capsule.walls import confirmed, describe

__all__ = ["Capsule"]


class Capsule:
    """Runs programs within the bounds of one policy; keeps nothing between runs."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy if policy is not None else Policy()

    def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
        """Return what a run would run.

        Raises:
            BoundedExecutionError: the first thing that the policy does not allow.
            UsageError: *code* is no text.

        """
        _require_text(code)
        program = validate(code, self.policy, entrypoint)
        if self.policy.engine == "monty":
            _monty().refuse_missing(program)
        return program

    def run(
        self, code: str, data: object, entrypoint: str = "fit_and_eval"
    ) -> Execution:
        """Run ``entrypoint(data)`` of *code* in a child and return what became of it.

        Raises:
            RefusedError: the required level is out of reach (rule ``capsule/level``),
                on this machine or, seen before the program ran, in this child.
            ValueRefused: *data* has no exact form or order, or takes more than 256 MiB
                as JSON.
            CannotTellError: no child could be started.

        """
        refuse_beyond(self.policy, self._reachable())
        encoded, written = _written(data)
        try:
            program = self.validate(code, entrypoint)
            if self.policy.engine == "monty":
                execution: Execution = _monty().run(program, encoded, self.policy)
                return execution
        except BoundedExecutionError as error:
            return self._rejected(code, error)
        request = self._request(program, written)
        if missing := _packages_in(request) - set(program.imports):
            program = self._with_packages(missing, program)
            request = self._request(program, written)
        outcome, found = self._supervised(program, request)
        if outcome.is_unbegun:
            outcome, found = self._supervised(program, request)
        if outcome.reason == "level":
            refuse_beyond(self.policy, _weaker(outcome.level, found.level))
        return self._judged(code, outcome, found)

    def run_many(
        self,
        programs: Iterable[tuple[str, object]],
        entrypoint: str = "fit_and_eval",
        *,
        workers: int | None = None,
    ) -> list[Execution]:
        """Run (code, data) pairs side by side; the executions in the same order.

        *workers* children at a time, as many as there are processors if not given.

        Raises:
            CannotTellError: a child or a thread for it could not be started.

        """
        self._reachable()  # once, not in every thread

        def run(program: tuple[str, object]) -> Execution:
            return self.run(*program, entrypoint)

        pairs = [*programs]
        with ThreadPoolExecutor(workers or os.cpu_count()) as threads:
            try:
                executions = threads.map(run, pairs)
            except RuntimeError as error:
                threads.shutdown(wait=False, cancel_futures=True)
                raise CannotTellError(
                    f"no thread could be started: {error}",
                    rule="capsule/spawn",
                    place="run_many",
                    remedy="free processes or memory, or ask for fewer workers",
                ) from error
            return list(executions)

    def _supervised(
        self, program: Validated, request: bytes
    ) -> tuple[Outcome, Machine]:
        """Have one child run *program*; what was seen of it, and of its surroundings."""
        surroundings = self._surroundings(program)
        with pool().child(surroundings, self.policy.time_s) as child:
            found = child.found or machine()
            outcome = supervise(
                child,
                request,
                bounds=(self.policy.time_s, self.policy.mem_mb),
                max_output=self.policy.max_output,
                admit=lambda level: self._admits(_weaker(level, found.level)),
            )
        return outcome, found

    def _reachable(self) -> str:
        if self.policy.engine == "monty":
            level: str = _monty().LEVEL
            return level
        return machine().level

    def _admits(self, level: str) -> bool:
        try:
            refuse_beyond(self.policy, level)
        except RefusedError:
            return False
        return True

    def _with_packages(self, needed: set[str], program: Validated) -> Validated:
        """Have loaded what the data is made of, though the program does not import it."""
        for name in needed - {name.partition(".")[0] for name in self.policy.modules}:
            raise ValueRefused(
                f"the data is made of {name}, which the program may not import",
                rule="capsule/data-package",
                place="data",
                remedy=f"add {name!r} to allowed_imports, or pass plain lists and dicts",
            )
        return replace(program, imports=tuple(sorted({*program.imports, *needed})))

    def _surroundings(self, program: Validated) -> Surroundings:
        return Surroundings.of(program.imports, self.policy.env)

    def _request(self, program: Validated, data: orjson.Fragment) -> bytes:
        policy = self.policy
        request = orjson.dumps(
            {
                "clock": policy.clock,
                "code": program.code,
                "data": data,
                "entrypoint": program.entrypoint,
                "imports": program.imports,
                "limits": {"mem_mb": policy.mem_mb, "time_s": policy.time_s},
                "max_output": policy.max_output,
                "seed": policy.seed,
            }
        )
        if len(request) > MAX_REQUEST:
            raise ValueRefused(
                f"program and data take {len(request)} bytes, allowed are {MAX_REQUEST}",
                rule="capsule/data-size",
                place="data",
                remedy="pass a part of the data, or a summary",
            )
        return request

    def _rejected(self, code: str, error: BoundedExecutionError) -> Execution:
        return Execution(
            status="rejected",
            metrics=None,
            error=error.to_json(),
            layers={"validation": True},
            level="none",
            seed=self.policy.seed,
            code_digest=digest_of(code),
        )

    def _judged(self, code: str, outcome: Outcome, found: Machine) -> Execution:
        allowed = self.policy.allow_non_finite
        status, metrics, error = _judge(outcome, allow_non_finite=allowed)
        stated = outcome.stated or {}
        verified = stated != {} and outcome.unmet == []
        return Execution(
            status=status,
            metrics=metrics,
            error=error,
            layers={
                **describe(stated),
                **outcome.raised,
                "allow_dangerous": self.policy.allow_dangerous,
                "probe": dict(found.probe),
                "subprocess": True,
                "validation": True,
                "verified": confirmed(stated) if verified else [],
                "verified_by_parent": verified,
            },
            # What the probe disproved, no statement of a child brings back.
            level=_weaker(outcome.level, found.level),
            seed=self.policy.seed,
            code_digest=digest_of(code),
            usage=outcome.usage,
            environment=_environment(self.policy, outcome.packages),
            stdout=outcome.stdout.decode(errors="replace"),
            stdout_truncated=outcome.stdout_truncated,
            stderr=outcome.last_words.decode(errors="replace"),
            exit=_exit(outcome),
            non_finite=allowed,
        )


def _require_text(code: object) -> None:
    if not isinstance(code, str):
        raise UsageError(
            f"it is {type(code).__name__}, not text",
            rule="capsule/code",
            place="code",
            remedy="pass the program's source as a str",
        )


def _written(data: object) -> tuple[JsonValue, orjson.Fragment]:
    """Return *data* as JSON, and the text of that."""
    text = as_it_is(data)
    if text is not None:
        return cast("JsonValue", data), orjson.Fragment(text)
    encoded = encode(data)
    written = orjson.dumps(encoded)
    if b'{"$set":' in written or b'{"$frozenset":' in written:
        refuse_unordered(data)
    return encoded, orjson.Fragment(written)


def _packages_in(request: bytes) -> set[str]:
    """Return the packages that the tags of *request* name.

    A quotation mark inside of a string is escaped there, so that no text looks like one.
    """
    if b"$" not in request:
        return set()
    return {
        form.package
        for tag, form in ARRAYS_BY_TAG.items()
        if f'{{"{tag}":'.encode() in request
    }


def _weaker(level: str, other: str) -> str:
    return min(level, other, key=LEVELS.index)


def _monty() -> Any:
    """Return the other engine, which few have.

    Raises:
        RefusedError: its package is not installed (rule ``capsule/engine``).

    """
    try:
        from muniment_plugins.capsule import monty  # noqa: PLC0415 - as it says
    except ImportError as error:
        if error.name != "pydantic_monty":
            raise
        raise RefusedError(
            "the engine monty is not installed",
            rule="capsule/engine",
            place="Policy.engine",
            remedy="pip install 'muniment[monty]', or use engine='python'",
        ) from None
    return monty


_Verdict = tuple[str, dict[str, JsonValue] | None, dict[str, JsonValue] | None]


def _judge(outcome: Outcome, *, allow_non_finite: bool) -> _Verdict:
    if outcome.reason:
        return _of_reason(outcome)
    if outcome.answer is None:
        words = outcome.last_words.decode(errors="replace")
        if outcome.stated is None:  # nothing of the program ran
            return "error", None, judge_start(outcome.signal, words)
        status, error = judge_end(outcome.signal, words)
        return status, None, error
    try:
        verdict = judge_answer(outcome.answer, allow_non_finite=allow_non_finite)
        return _of_clean_end(_in_turn(verdict, outcome), outcome)
    except ProtocolViolation as violation:
        return "killed", None, error_of("protocol", str(violation))


def _of_clean_end(verdict: _Verdict, outcome: Outcome) -> _Verdict:
    """Return *verdict*, unless it is a success of what did not end by itself.

    Raises:
        ProtocolViolation: it ended with a code that no child of ours ends with.

    """
    if verdict[0] != "ok":
        return verdict
    if outcome.signal:
        status, error = judge_end(outcome.signal, "")
        return status, None, error
    if outcome.code:
        raise ProtocolViolation(f"an answer, and an end with code {outcome.code}")
    return verdict


def _exit(outcome: Outcome) -> str:
    """Say how the child ended; after its answer it may be left to be killed."""
    if outcome.answer is not None and not (outcome.signal or outcome.code):
        return "answered"
    return signal_name(outcome.signal) if outcome.signal else f"code {outcome.code}"


def _in_turn(verdict: _Verdict, outcome: Outcome) -> _Verdict:
    """Return *verdict*, if it may come where it came.

    Raises:
        ProtocolViolation: a result of what never ran, or a program that ran and says
            that it could not be prepared.

    """
    _, _, error = verdict
    is_unprepared = error is not None and error["rule"] == "capsule/prepare"
    if is_unprepared == bool(outcome.stated):
        raise ProtocolViolation("an answer out of turn")
    return verdict


def _of_reason(outcome: Outcome) -> _Verdict:
    """Say why this side ended the child."""
    if outcome.reason == "memory":
        message = "it took more memory than mem_mb allows"
        return "limit", None, error_of("memory", message)
    if outcome.reason != "wall":
        return "killed", None, error_of("protocol", outcome.reason)
    if outcome.stated is None:
        message = "loading packages took too long"
        return "timeout", None, error_of("prepare", message)
    return "timeout", None, error_of("wall", "the wall-clock time is over")


def _environment(policy: Policy, packages: JsonValue) -> dict[str, JsonValue]:
    variables = child_environment(policy.env)
    return {
        **stated(policy.clock),
        "hash_seed": int(variables["PYTHONHASHSEED"]),
        "implementation": platform.python_implementation(),
        "locale": variables["LC_ALL"],
        "packages": packages,
        "platform": f"{sys.platform}-{platform.machine()}",
        "python": platform.python_version(),
        "timezone": variables["TZ"],
        "variables": dict(sorted(variables.items())),
    }
