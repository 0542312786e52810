"""Puts the recorder into the program: into its HTTP libraries, as they are imported.

    import httpx        →  over_httpx.patch(httpx, client)

Rules:

- Only libraries that the program imports are imported, and only their recording code is
  loaded.
- What bypasses those libraries is noticed (`watch`) while the program is recorded. So is
  a module that only has the name of one: it is left as it is.
- A process says that it is recorded once it is: a process in which this fails is named.
- In a replay, the program and the Pythons that it starts are refused the network, and
  the recorder is told. So it is of an import that failed, and by which a process ended. Sockets of this machine without an address in any network stay
  open, since processes use them among each other.
- This runs in the program's own interpreter: the standard library only.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock  # `threading` takes longer than this

TYPE_CHECKING = False  # as in `typing`, which takes as long as all of this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from muniment_plugins.providers.recorder.inside.client import Client

__all__ = ["begin"]

_PATCHES = {
    "aiohttp": "over_aiohttp",
    "httpx": "over_httpx",
    "httpx2": "over_httpx",
    "urllib.request": "over_urllib",
    "urllib3.connectionpool": "over_urllib3",
}
"""The library that is imported → the module that records it."""

_NEEDS = {
    "over_aiohttp": ("spelled", "delivery"),
    "over_urllib": ("spelled",),
    "over_urllib3": ("spelled",),
}
"""What else is loaded: ``spelled`` by those that read answers as `http.client` does."""

_REACHING = ("socket.connect", "socket.sendto", "socket.sendmsg")
_ASKING = ("socket.getaddrinfo", "socket.gethostbyname")
_HERE = (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0", b"localhost")  # noqa: S104 - names, not bound
_INTERNET = (2, 10, 23, 30)
"""AF_INET, and AF_INET6 as Linux, Windows and macOS number it."""


def begin(address: str, offline: bool) -> None:
    """Record this process from here on; without the network if *offline*."""
    __import__("_socket")  # before anything is changed: it may be lacking
    modules = _Modules(address)
    if offline:
        _shut(modules.client(), address)
        _tell_of_imports(modules)
    else:
        modules.load("watch").watch(address, modules.client)
    sys.meta_path.insert(0, _Finder(modules))
    _greet(address)


def _tell_of_imports(modules: _Modules) -> None:
    """Tell the recorder if this process ends by an import that failed, as it ends."""
    before = sys.excepthook

    def ending(kind: Any, error: Any, trace: Any) -> None:
        seen: list[Any] = []
        one = error
        while one is not None and one not in seen:
            seen.append(one)
            one = one.__cause__ or one.__context__
        for one in seen:
            if isinstance(one, ImportError):
                try:
                    modules.client().tell(lacked=[os.getpid(), str(one)])
                except Exception:  # noqa: BLE001 - the program ends as it would
                    break
        before(kind, error, trace)

    sys.excepthook = ending


def _greet(address: str) -> None:
    """Say that this process is recorded; the frame is that of `wire`, spelled out."""
    import _socket  # noqa: PLC0415 - `socket` takes longer than this

    token, _, place = address.partition("@")
    command = getattr(sys, "orig_argv", None) or [sys.executable]
    told = [os.fsencode(one) for one in command]
    hello = f"[{os.getpid()}, {os.getppid()}]"
    parts = [len(one) for one in told]
    head = f'{{"token": "{token}", "hello": {hello}, "parts": {parts}}}'.encode()
    local = place.startswith("/")
    family = _socket.AF_UNIX if local else _socket.AF_INET
    stream = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        host, _, port = place.rpartition(":")
        stream.connect(place if local else (host, int(port)))
        stream.sendall(b"".join([len(head).to_bytes(4, "big"), head, *told]))
        stream.recv(64)
    except OSError:
        return  # nobody records any more: the first call will say so
    finally:
        stream.close()


class _Modules:
    """The modules beside this one, by name; loaded when they are asked for.

    Threads that import libraries at the same time wait for each other here.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._client: Any = None
        self._lock: Any = RLock()
        self._loading: set[str] = set()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def client(self) -> Client:
        """Return what speaks to the recorder."""
        with self._lock:
            if self._client is None:
                for name in ("wire", "stops", "unpacked", "bodies"):
                    self.load(name)
                self._client = self.load("client").Client(self._address)
            return self._client  # type: ignore[no-any-return]  # loaded by path

    def load(self, name: str) -> Any:
        """Return the module *name*."""
        known = f"_muniment_{name}"
        with self._lock:
            if known not in sys.modules:
                self._execute(known, f"{name}.py")
            return sys.modules[known]

    def _execute(self, known: str, file: str) -> None:
        from importlib.machinery import SourceFileLoader  # noqa: PLC0415 - late

        folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
        module: Any = type(sys)(known)
        path = module.__file__ = os.path.join(folder, file)  # noqa: PTH118
        self._loading.add(known)
        sys.modules[known] = module
        SourceFileLoader(known, path).exec_module(module)
        self._loading.discard(known)

    def _after_fork(self) -> None:
        """Let the only thread of a forked process load what another one had begun."""
        self._lock = RLock()
        for known in self._loading:
            sys.modules.pop(known, None)
        self._loading.clear()


class _Finder:
    """Finds the recorded libraries, through the program's other finders."""

    def __init__(self, modules: _Modules) -> None:
        self._modules = modules
        self._finding: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        """Return where the module *name* is, with a loader that also patches it."""
        if name not in _PATCHES or name in self._finding:
            return None
        self._finding.add(name)
        try:
            for finder in (*sys.meta_path,):  # others may take theirs away meanwhile
                spec = None if finder is self else finder.find_spec(name, path, target)  # type: ignore[arg-type]
                if spec is not None and spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self._modules)  # type: ignore[assignment]
                    return spec
        finally:
            self._finding.discard(name)
        return None


class _Loader:
    """Loads a module as its own loader does, and then patches it."""

    def __init__(self, loader: Any, modules: _Modules) -> None:
        self._loader = loader
        self._modules = modules

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make the module as its loader does."""
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        """Run the module; afterwards nothing shows that it was loaded through here."""
        loader = self._loader
        module.__loader__ = loader
        if module.__spec__ is not None:
            module.__spec__.loader = loader
        loader.exec_module(module)
        client, wire = self._modules.client(), self._modules.load("wire")
        name = _PATCHES[module.__name__]
        for other in _NEEDS.get(name, ()):
            self._modules.load(other)
        try:
            self._modules.load(name).patch(module, client, wire)
        except Exception:  # noqa: BLE001 - it is another library than the known one
            return


def _shut(client: Client, address: str) -> None:
    """Keep this process from the network."""
    recorder = address.partition("@")[2]

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _REACHING:
            family, to = int(arguments[0].family), arguments[1]
            if family not in _INTERNET or _spelled(to) == recorder:
                return
        elif event in _ASKING and arguments[0] not in _HERE:
            to = arguments[0]
        else:
            return
        client.tell(tried=[event, str(to)])
        raise ConnectionRefusedError(f"a replay has no network: {event} {to}")

    sys.addaudithook(refuse)


def _spelled(to: Any) -> str:
    return f"{to[0]}:{to[1]}" if isinstance(to, tuple) else str(to)
