"""A host without a capsule: runs what it gets, and believes what it hears.

    <- {"code": "…", "data": {…}, "after": false, "time_s": 5, "env": {…}}
    -> {"status": "ok", "metrics": {…}, "stdout": "…", "signal": 0, …}

Rules: it does what hosts without a capsule do. The program has the host's built-in
names, its environment and its descriptors; its result comes back as a pickle, as a
frame of JSON that it wrote itself, or as the last line of its output. One interpreter
serves many programs, with a fork each, so that a control costs milliseconds.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import os
import pickle
import resource
import select
import signal
import socket
import sys
import time
from typing import Any, NoReturn

_MOST = 4 << 20
_PRELOADED = ("numpy", "pandas", "scipy.stats", "sklearn.metrics", "sklearn.datasets")
RESULTS = 5


def _child(job: dict[str, Any], results: int, output: int) -> NoReturn:
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(results, RESULTS)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ.update(job["env"])
    socket.setdefaulttimeout(0.2)  # a listener here hears, and never answers
    # Whoever breaks a limit of its own making shall not take the machine with it.
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    space: dict[str, Any] = {"__name__": "program"}
    try:
        _know(space)
        exec(compile(job["code"], "<program>", "exec", dont_inherit=True), space)  # noqa: S102 - what it is for
        found = space["fit_and_eval"](job["data"])
        if job["after"]:
            found = _next(job["code"], job["data"])
        _answer(_judged(found), RESULTS)
    except BaseException as error:  # noqa: BLE001 - whatever it raises is its end
        sys.stdout.write(f"\n{type(error).__name__}: {error}"[:5000])
    sys.stdout.flush()
    os._exit(0)


def _know(space: dict[str, Any]) -> None:
    """Make the program's module one that can be found, for dataclasses and pickles."""
    module = type(sys)("program")
    space.update(module.__dict__, __name__="program")
    module.__dict__.update(space)
    sys.modules["program"] = module


def _next(code: str, data: object) -> object:
    """Run the program that comes next, in the same interpreter."""
    space: dict[str, Any] = {"__name__": "next"}
    exec(compile(code, "<next>", "exec", dont_inherit=True), space)  # noqa: S102 - as above
    return space["check"](data)


def _judged(found: Any) -> Any:
    """Look at a score as a host in the same process would."""
    if isinstance(found, dict) and "score" in found and found["score"] > 0.5:
        return {"forged": True}
    return found


def _answer(found: object, results: int) -> None:
    try:
        body = pickle.dumps(found)
    except Exception:  # noqa: BLE001 - whatever has no pickle has a text
        body = repr(found).encode()
    left = memoryview(len(body).to_bytes(4, "big") + body)
    while left:
        left = left[os.write(results, left) :]


def _believed(body: bytes) -> Any:
    """Read a result in any form that it may have."""
    for read in (
        pickle.loads,
        json.loads,
        lambda text: ast.literal_eval(text.decode()),
    ):
        with contextlib.suppress(Exception):
            return read(body)
    return {"text": body.decode(errors="replace")}


def _collect(readers: dict[int, bytearray], deadline: float) -> bool:
    """Read until all ends are closed; False at the deadline."""
    waiting = set(readers)
    while waiting:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        for reader in select.select(list(waiting), [], [], left)[0]:
            part = os.read(reader, 1 << 16)
            if part and len(readers[reader]) < _MOST:
                readers[reader] += part
            elif not part:
                waiting.discard(reader)
    return True


def _has_ended(pid: int, deadline: float) -> bool:
    """Wait for the end of what closed its pipes, and leave it to be reaped."""
    flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
    while os.waitid(os.P_PID, pid, flags) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def serve(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job, and say what came of it."""
    results, results_end = os.pipe()
    output, output_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(results)
        os.close(output)
        _child(job, results_end, output_end)
    os.close(results_end)
    os.close(output_end)
    readers = {results: bytearray(), output: bytearray()}
    deadline = time.monotonic() + job["time_s"]
    in_time = _collect(readers, deadline) and _has_ended(pid, deadline)
    if not in_time:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    os.close(results)
    os.close(output)
    code = os.waitstatus_to_exitcode(status)
    answer, text = bytes(readers[results]), readers[output].decode(errors="replace")
    metrics = _first(answer, text)
    state = "ok" if metrics is not None else "error"
    return {
        "status": state if in_time else "timeout",
        "metrics": repr(metrics),
        "stdout": text,
        "signal": -min(0, code) if in_time else 0,
        "max_rss_kb": used.ru_maxrss,
        "answered": len(answer),
    }


def _first(answer: bytes, text: str) -> Any:
    if len(answer) > 4:
        return _believed(answer[4 : 4 + int.from_bytes(answer[:4], "big")])
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            with contextlib.suppress(ValueError):
                return json.loads(line)
    return None


def main() -> None:
    """Answer jobs, line by line, until there are no more."""
    for name in _PRELOADED:
        with contextlib.suppress(ImportError):
            __import__(name)
    gc.freeze()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(serve(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
