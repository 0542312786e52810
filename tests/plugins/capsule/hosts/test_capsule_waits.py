"""Whatever the parent may wait for has an end: each call that could block, and why not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from muniment_plugins import capsule

HERE = Path(capsule.__file__).parent
PARENT = {
    file.stem: file
    for file in (
        *(HERE / "parent").glob("[a-z]*.py"),
        *(HERE / f"{name}.py" for name in ("capsule", "machine", "pool")),
        HERE / "isolation" / "procfs.py",
    )
}
"""The modules whose code runs in the host while a child lives."""

WAITING = {
    *("acquire", "communicate", "get", "join", "put", "read", "readline", "readv"),
    *("recv", "recvfrom", "recvmsg", "result", "select", "send", "sendall", "sendmsg"),
    *("send_fds", "sendto", "shutdown", "sleep", "wait", "wait3", "wait4", "waitid"),
    *("waitpid", "write", "writev"),
}

REASONS = {
    "procfs.read_proc os.read": "/proc answers from counters, no memory of the child",
    "capsule.Capsule.run_many threads.shutdown": "it is told not to wait",
    "start.Alone._reap os.wait4": "WNOHANG, until a deadline",
    "start.Alone._reap time.sleep": "half a millisecond, until a deadline",
    "start.Alone.end self._watchdog.join": "cancelled, or busy with one kill",
    "streams.Selecting.read os.read": "does not block: test_capsule_theft",
    "streams.Selecting.rest os.read": "does not block, and so often at most",
    "streams.Selecting.wait self._selector.select": "with a deadline",
    "streams.Selecting.write os.write": "does not block: test_capsule_theft",
    "streams.Threaded._keep_next self._arrived.get": "with a deadline",
    "streams.Threaded._read_all os.read": "in a thread that nobody waits for long",
    "streams.Threaded._read_all self._arrived.put": "in such a thread",
    "streams.Threaded._write_all os.write": "in such a thread",
    "streams.Threaded._write_all self._outgoing.get": "in such a thread",
    "streams.Threaded.close outgoing.put": "with a deadline",
    "streams.Threaded.close thread.join": "with a deadline",
    "streams.Threaded.write self._outgoing.put": "there is room: it was looked for",
    "supervisor._Conversation._answer self.streams.read": "see streams",
    "supervisor._Conversation._read self.streams.read": "see streams",
    "supervisor._Conversation._write self.streams.write": "see streams",
    "supervisor._Conversation.listen streams.wait": "until the deadline",
    "warm_start.Worker._receive self._control.recv": "with a deadline: test_capsule_warm",
    "warm_start.Worker._send socket.send_fds": "with a deadline: test_capsule_warm",
    "warm_start.Worker.close self._process.wait": "with a deadline",
    "windows_jobs.JobChild.end self._process.wait": "with a deadline",
}
"""What may wait, and why it ends whatever a child does."""

TIMED = {
    *(
        "windows_jobs.JobChild.end self._process.wait",
        "streams.Threaded.close thread.join",
    ),
    *(
        "streams.Selecting.wait self._selector.select",
        "warm_start.Worker.close self._process.wait",
    ),
    *("supervisor._Conversation.listen streams.wait",),
}
"""Those whose deadline is the first argument of the call itself."""


def calls(module: str) -> dict[str, list[ast.Call]]:
    """Return the calls of *module* that could wait, by function and words."""
    found: dict[str, list[ast.Call]] = {}

    def look(node: ast.AST, place: str) -> None:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.ClassDef | ast.FunctionDef)
            inner = f"{place}.{child.name}" if named else place  # type: ignore[attr-defined]
            if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute):
                words = ast.unparse(child.func)
                if child.func.attr in WAITING and is_one(child):
                    found.setdefault(f"{place} {plain(words)}", []).append(child)
            look(child, inner)

    look(ast.parse(PARENT[module].read_text()), module)
    return found


def plain(words: str) -> str:
    """Return *words* without what is between brackets."""
    while "[" in words:
        words = words[: words.index("[")] + words[words.index("]") + 1 :]
    return words


def is_one(call: ast.Call) -> bool:
    """Tell whether it is not a look-up in a dict, and joins no texts."""
    function = call.func
    assert isinstance(function, ast.Attribute)
    if function.attr == "join":
        return not isinstance(function.value, ast.Constant)
    if function.attr == "get":
        return ast.unparse(function.value) in {
            *("self._arrived", "self._outgoing[descriptor]"),
        }
    return True


def test_each_call_that_could_wait_has_an_end() -> None:
    """Exactly those that are listed with a reason; a new one has to be thought about."""
    found = {name for module in PARENT for name in calls(module)}
    assert found == set(REASONS)


@pytest.mark.parametrize("name", sorted(TIMED))
def test_a_deadline_is_given(name: str) -> None:
    """Where the deadline is an argument, every such call has it."""
    for call in calls(name.partition(".")[0])[name]:
        assert call.args or call.keywords
