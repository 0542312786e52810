"""The capsule itself: validate, supervise, judge; for one program or many.

    >>> Capsule(Policy(allowed_imports=("math",))).run(code, [1, 2, 3]).metrics
    {'total': 6}

Rules:

- A policy that requires more than this machine offers is refused before anything runs.
- A child that is killed before it has a program is replaced, once.
- A program never makes `run` raise: its faults are the execution's status. Data that no
  capsule can carry is the caller's error and raised.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import orjson

from muniment.encoding.arrays import ARRAYS_BY_TAG
from muniment.encoding.canonical import JsonValue
from muniment.encoding.codec import encode
from muniment.encoding.native import as_it_is
from muniment.errors import CannotTellError, RefusedError, ValueRefused, of_machine
from muniment_plugins.capsule.batch import pairs_of, require_text, threads_for
from muniment_plugins.capsule.child.clocks import stated
from muniment_plugins.capsule.data_order import refuse_unordered
from muniment_plugins.capsule.execution import Execution, digest_of
from muniment_plugins.capsule.isolation.layers import confirmed, describe
from muniment_plugins.capsule.language.refusals import ProgramRefused
from muniment_plugins.capsule.machine import Machine, machine
from muniment_plugins.capsule.parent.results import (
    ProtocolViolation,
    error_of,
    judge_answer,
    judge_end,
    judge_start,
    signal_name,
)
from muniment_plugins.capsule.parent.start import ChildSurroundings, child_environment
from muniment_plugins.capsule.parent.supervisor import ChildOutcome, supervise
from muniment_plugins.capsule.policy import LEVELS, Policy, floor_of, refuse_beyond
from muniment_plugins.capsule.pool import pool
from muniment_plugins.capsule.protocol import MAX_REQUEST
from muniment_plugins.capsule.validation import Validated, validate

__all__ = ["Capsule"]


class Capsule:
    """Runs programs within the bounds of one policy; keeps nothing between runs."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy if policy is not None else Policy()

    def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
        """Return the program as a run would run it.

        Raises:
            ProgramRefused: it names the first thing that the policy does not allow.
            UsageError: *code* is not text.

        """
        require_text(code, "code")
        program = validate(code, self.policy, entrypoint)
        if self.policy.engine == "monty":
            _monty().refuse_missing(program)
        return program

    def run(
        self, code: str, data: object, entrypoint: str = "fit_and_eval"
    ) -> Execution:
        """Run ``entrypoint(data)`` of *code* in a child and return the execution.

        Raises:
            RefusedError: the required level is out of reach (rule ``capsule/level``),
                on this machine or, seen before the program ran, in this child.
            ValueRefused: *data* has no exact form or order, or takes more than 256 MiB
                as JSON.
            UsageError: *code* is not text (rule ``capsule/code``).
            CannotTellError: no child could be started.

        """
        if self.policy.engine == "monty" or floor_of(self.policy) != "process":
            refuse_beyond(self.policy, self._reachable())
        encoded, written = _written(data)
        try:
            program = self.validate(code, entrypoint)
            if self.policy.engine == "monty":
                execution: Execution = _monty().run(program, encoded, self.policy)
                return execution
        except ProgramRefused as error:
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
        """Run (code, data) pairs in parallel; return the executions in the same order.

        There are *workers* children at a time; by default one for each processor. All
        pairs are read before the first program runs.

        Raises:
            UsageError: a program is no such pair, its code is not text, or *workers* is
                not a whole number, 1 or more.
            CannotTellError: a child or a thread for it could not be started.

        """
        pairs, side_by_side = pairs_of(programs), threads_for(workers)
        self._reachable()  # once, not in every thread

        def run(program: tuple[str, object]) -> Execution:
            return self.run(*program, entrypoint)

        with ThreadPoolExecutor(side_by_side) as threads:
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
    ) -> tuple[ChildOutcome, Machine]:
        """Have one child run *program*; return its outcome, and the machine found."""
        surroundings = self._surroundings(program)
        with pool().child(surroundings, self.policy.time_s, machine) as child:
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
        """Import the data's packages too, though the program does not import them."""
        for name in needed - {name.partition(".")[0] for name in self.policy.modules}:
            raise ValueRefused(
                f"the data is made of {name}, which the program may not import",
                rule="capsule/data-package",
                place="data",
                remedy=f"add {name!r} to allowed_imports, or pass plain lists and dicts",
            )
        return replace(program, imports=tuple(sorted({*program.imports, *needed})))

    def _surroundings(self, program: Validated) -> ChildSurroundings:
        return ChildSurroundings.of(program.imports, self.policy.env)

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

    def _rejected(self, code: str, error: ProgramRefused) -> Execution:
        return Execution(
            status="rejected",
            metrics=None,
            error=error.to_json(),
            layers={"validation": True},
            level="none",
            seed=self.policy.seed,
            code_digest=digest_of(code),
        )

    def _judged(self, code: str, outcome: ChildOutcome, found: Machine) -> Execution:
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
            # A child's statement cannot restore what the probe disproved.
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


def _written(data: object) -> tuple[JsonValue, orjson.Fragment]:
    """Return *data* as JSON, and the text of this JSON."""
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

    A quotation mark inside a string is escaped, so that no text looks like a tag.
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
    """Return the other engine, which few have installed.

    Raises:
        RefusedError: its package is not installed (rule ``capsule/engine``).

    """
    try:
        from muniment_plugins.capsule.engines import monty  # noqa: PLC0415 - as it says
    except ImportError as error:
        if error.name != "pydantic_monty":
            raise
        missing = RefusedError(
            "the engine monty is not installed",
            rule="capsule/engine",
            place="Policy.engine",
            remedy="pip install 'muniment[monty]', or use engine='python'",
        )
        raise of_machine(missing) from None
    return monty


_Verdict = tuple[str, dict[str, JsonValue] | None, dict[str, JsonValue] | None]


def _judge(outcome: ChildOutcome, *, allow_non_finite: bool) -> _Verdict:
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


def _of_clean_end(verdict: _Verdict, outcome: ChildOutcome) -> _Verdict:
    """Return *verdict*, unless it is a success and the child did not end by itself.

    Raises:
        ProtocolViolation: the child ended with a code that none of ours ends with.

    """
    if verdict[0] != "ok":
        return verdict
    if outcome.signal:
        status, error = judge_end(outcome.signal, "")
        return status, None, error
    if outcome.code:
        raise ProtocolViolation(f"an answer, and an end with code {outcome.code}")
    return verdict


def _exit(outcome: ChildOutcome) -> str:
    """Say how the child ended; after its answer it may wait to be killed."""
    if outcome.answer is not None and not (outcome.signal or outcome.code):
        return "answered"
    return signal_name(outcome.signal) if outcome.signal else f"code {outcome.code}"


def _in_turn(verdict: _Verdict, outcome: ChildOutcome) -> _Verdict:
    """Return *verdict* if it came in turn.

    Raises:
        ProtocolViolation: a program that never ran has a result, or one that ran says
            that it could not be prepared.

    """
    _, _, error = verdict
    is_unprepared = error is not None and error["rule"] == "capsule/prepare"
    if is_unprepared == bool(outcome.stated):
        raise ProtocolViolation("an answer out of turn")
    return verdict


def _of_reason(outcome: ChildOutcome) -> _Verdict:
    """Say why the parent ended the child."""
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
