"""HTTP clients whose requests are effects of a run, for SDKs that take a client.

    openai.OpenAI(http_client=http_client(run))
    anthropic.AsyncAnthropic(http_client=async_http_client(run))

Rules:

- Current SDKs use `httpx2`, older ones `httpx`. The clients are those of either library,
  and differ from a normal one only in their transport.
- Every request is an effect, including each hop of a redirect and each retry of an SDK.
- In a replay nothing is sent: no connection is made, no proxy is looked up.
- Errors are those of the library, or of a library below it, raised again from the
  record.
- An answer whose length is not known beforehand is handed on as it arrives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable
from contextlib import aclosing, closing, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast, overload
from urllib.request import getproxies, proxy_bypass

from muniment.errors import UsageError, printable
from muniment.runs.run import Run, current_run
from muniment_plugins.providers.clients.bodies import (
    Body,
    LiveBody,
    WholeBody,
    stream_of,
)
from muniment_plugins.providers.clients.exchange import (
    Fault,
    Outcome,
    Received,
    Sent,
    unframed,
)
from muniment_plugins.providers.clients.faults import raise_for_status, stop_of, stopped
from muniment_plugins.providers.clients.flow import Flow, is_stream
from muniment_plugins.providers.clients.unsearched import look
from muniment_plugins.providers.recorder.inside.over_httpx import NoConnection
from muniment_plugins.providers.recorder.inside.wire import class_name, codings, made
from muniment_plugins.providers.secrets.names import SecretNames

if TYPE_CHECKING:
    import httpx
    import httpx2

__all__ = ["async_http_client", "http_client", "library"]

Library: TypeAlias = Literal["httpx2", "httpx"]

_NETWORK = ("cert", "http1", "http2", "limits", "proxy", "trust_env", "verify")
"""Options of a client that belong to its connections."""


def library(name: str | None = None, extra: str = "openai") -> Any:
    """Return the module ``httpx2``, or ``httpx`` if only that is installed.

    Raises:
        UsageError: neither is installed, or not the one that *name* asks for.

    """
    for one in ("httpx2", "httpx") if name is None else (name,):
        try:
            return import_module(one)
        except ImportError:
            continue
    raise UsageError(
        f"{name or 'httpx2'} is not installed",
        rule="provider/missing",
        place="muniment_plugins.providers",
        remedy=f"pip install {name}" if name else f"pip install 'muniment[{extra}]'",
    )


class _Base:
    """What both transports share: the run, and the wire behind it."""

    on_loop = False

    def __init__(
        self,
        lane: Run | None,
        module: Any,
        make: Callable[[str | None], Any],
        volatile: Iterable[str],
        names: SecretNames,
    ) -> None:
        self._lane = lane
        self._module = module
        self._make = make
        self._volatile = tuple(volatile)
        self._names = names
        self._wires: dict[str | None, Any] = {}
        bare = module.Client(transport=module.BaseTransport(), trust_env=False)
        self._unpacked = {*codings(bare.headers.multi_items(), "accept-encoding")}

    @property
    def lane(self) -> Run:
        """The lane that the requests belong to."""
        return current_run() if self._lane is None else self._lane

    def flow(self, sent: Sent) -> Flow:
        """Take *sent* as an effect."""
        return Flow.of(self.lane, sent, self._volatile, names=self._names)

    async def aflow(self, sent: Sent) -> Flow:
        """Take *sent* as an effect, awaiting plugins."""
        return await Flow.aof(self.lane, sent, self._volatile, names=self._names)

    def wire(self, url: Any) -> Any:
        """Return the transport that sends, through the proxy for *url*."""
        proxy = _proxy(url.scheme, url.host)
        if proxy not in self._wires:
            self._wires.setdefault(proxy, self._make(proxy))  # of two threads, one
        return self._wires[proxy]

    def error(self, fault: Fault, request: Any) -> BaseException:
        """Return the library's error for *fault*, or another, with its origins."""
        if fault.stop is not None:
            return stop_of(fault)
        kind = getattr(self._module, fault.name, None)
        if isinstance(kind, type) and issubclass(kind, self._module.RequestError):
            error = cast("BaseException", kind(fault.message, request=request))
        else:
            other = self._module.NetworkError(fault.message, request=request)
            error = made(fault.name, fault.message) or other
        error.__cause__ = fault.failure
        return error

    def fault(self, error: Exception) -> Fault:
        """Return *error* as it is recorded: the library's own by its name alone."""
        ours = isinstance(error, self._module.RequestError)
        name = type(error).__name__ if ours else class_name(error)
        return Fault(name, printable(error))

    def response(self, outcome: Outcome, request: Any, body: Body) -> Any:
        """Return the library's response, with *body* as its stream."""
        if isinstance(outcome, Fault):
            raise self.error(outcome, request)
        response = self._module.Response(
            outcome.status,
            headers=list(unframed(outcome)),
            stream=stream_of(self._module, body),
            request=request,
            extensions={"network_stream": NoConnection()},
        )
        if outcome.failure is not None:
            check = response.raise_for_status
            response.raise_for_status = functools.partial(
                raise_for_status, check, outcome.failure
            )
        return response

    def answered(self, flow: Flow, request: Any, known: Outcome) -> Any:
        """Return the library's response for an outcome *known* as a whole."""
        body = WholeBody(flow, known, lambda fault: self.error(fault, request))
        return self.response(known, request, body)

    @contextmanager
    def caught(self, flow: Flow) -> Generator[list[Fault]]:
        """Catch what the library raises; record what interrupts the program's wait."""
        faults: list[Fault] = []
        try:
            yield faults
        except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
            faults.append(self.fault(error))
        except BaseException as error:
            stopped(flow, error, on_loop=self.on_loop)
            raise

    def told(self, flow: Flow, response: Any) -> Any:
        """Return *response*; warn of bodies that are not searched for secrets."""
        look(self.lane, flow.one, _received(flow, response, [], []), self._unpacked)
        return response

    def begun(
        self, flow: Flow, request: Any, response: Any, faults: list[Fault]
    ) -> Any:
        """Return the library's response, or None if its body must be read first."""
        if faults:  # outside of the error's block: its text may hold a key
            return self.answered(flow, request, flow.settle(faults[0]))
        head = _received(flow, response, [], faults)
        if not is_stream(request.method, head):
            return None
        flow.begin(head)
        return self.response(head, request, LiveBody(flow, response, self.fault))


class _Transport(_Base):
    """Sends requests as effects; blocking."""

    def handle_request(self, request: Any) -> Any:
        """Return the response to *request*, live or from the record."""
        flow = self.flow(_sent(request, request.read()))
        known = flow.known()
        if known is not None:
            return self.answered(flow, request, known)
        response = None
        with self.caught(flow) as faults, flow.effect.performing:
            answer = self.wire(request.url).handle_request(request)
            response = self.told(flow, answer)
        begun = self.begun(flow, request, response, faults)
        if begun is not None:
            return begun
        chunks: list[bytes] = []
        with self.caught(flow) as faults, closing(response):
            chunks.extend(response.iter_bytes())
        outcome = flow.settle(_received(flow, response, chunks, faults))
        return self.answered(flow, request, outcome)

    def close(self) -> None:
        """Close the connections."""
        for wire in self._wires.values():
            wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _AsyncTransport(_Base):
    """Sends requests as effects; awaited."""

    on_loop = True

    async def handle_async_request(self, request: Any) -> Any:
        """Return the response to *request*, live or from the record."""
        flow = await self.aflow(_sent(request, await request.aread()))
        known = await flow.aknown()
        if known is not None:
            return self.answered(flow, request, known)
        response = None
        with self.caught(flow) as faults, flow.effect.performing:
            answer = await self.wire(request.url).handle_async_request(request)
            response = self.told(flow, answer)
        begun = self.begun(flow, request, response, faults)
        if begun is not None:
            return begun
        chunks: list[bytes] = []
        with self.caught(flow) as faults:  # the closing waits, too
            async with aclosing(response):
                async for chunk in response.aiter_bytes():
                    chunks.append(chunk)  # noqa: PERF401 - kept when the next one fails
        outcome = flow.settle(_received(flow, response, chunks, faults))
        return self.answered(flow, request, outcome)

    async def aclose(self) -> None:
        """Close the connections."""
        for wire in self._wires.values():
            await wire.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _sent(request: Any, body: bytes) -> Sent:
    headers = tuple(request.headers.multi_items())
    return Sent(request.method, str(request.url), headers, body)


def _received(
    flow: Flow, response: Any, chunks: list[bytes], faults: list[Fault]
) -> Received:
    headers = tuple(response.headers.multi_items())
    fault = faults[0] if faults else None
    why = flow.one.unsearched.get("answer", "")
    return Received(response.status_code, headers, tuple(chunks), fault, unsearched=why)


def _proxy(scheme: str, host: str) -> str | None:
    proxies = getproxies()
    if not proxies or proxy_bypass(host):
        return None
    return proxies.get(scheme) or proxies.get("all")


@overload
def http_client(
    run: Run | None = None,
    *,
    library: Literal["httpx2"] | None = None,
    transport: httpx2.BaseTransport | None = None,
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    redact: Iterable[str] = (),
    **options: Any,
) -> httpx2.Client: ...
@overload
def http_client(
    run: Run | None = None,
    *,
    library: Literal["httpx"],
    transport: httpx.BaseTransport | None = None,
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    redact: Iterable[str] = (),
    **options: Any,
) -> httpx.Client: ...
def http_client(
    run: Run | None = None,
    *,
    library: Library | None = None,
    transport: Any = None,
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    redact: Iterable[str] = (),
    **options: Any,
) -> Any:
    """Return a client whose requests are effects of *run*.

    Args:
        run: a run or a lane of it; without one, the one that the calling code is in.
        library: ``httpx2`` or ``httpx``; by default the first that is installed.
        transport: sends the requests, instead of the library's own transport.
        volatile: what else differs between equal requests: names of headers,
            ``query.NAME``, ``body.MEMBER``.
        keep: names of headers, parameters and members that are not secrets.
        redact: names of headers, parameters and members that are secrets.
        options: options of the library's client.

    Raises:
        UsageError: the library is not installed.

    """
    module = _library(library)
    make = _maker(module.HTTPTransport, transport, options)
    recording = _Transport(run, module, make, volatile, SecretNames.of(keep, redact))
    return module.Client(transport=recording, **{"follow_redirects": True, **options})


@overload
def async_http_client(
    run: Run | None = None,
    *,
    library: Literal["httpx2"] | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    redact: Iterable[str] = (),
    **options: Any,
) -> httpx2.AsyncClient: ...
@overload
def async_http_client(
    run: Run | None = None,
    *,
    library: Literal["httpx"],
    transport: httpx.AsyncBaseTransport | None = None,
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    redact: Iterable[str] = (),
    **options: Any,
) -> httpx.AsyncClient: ...
def async_http_client(
    run: Run | None = None,
    *,
    library: Library | None = None,
    transport: Any = None,
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    redact: Iterable[str] = (),
    **options: Any,
) -> Any:
    """Return an asynchronous client; everything else is as in `http_client`."""
    module = _library(library)
    make = _maker(module.AsyncHTTPTransport, transport, options)
    recording = _AsyncTransport(
        run, module, make, volatile, SecretNames.of(keep, redact)
    )
    return module.AsyncClient(
        transport=recording, **{"follow_redirects": True, **options}
    )


_library = library


def _maker(
    kind: Any, transport: Any, options: dict[str, Any]
) -> Callable[[str | None], Any]:
    """Return a maker of transports behind a proxy; remove its options from *options*."""
    given = {name: options.pop(name) for name in _NETWORK if name in options}

    def make(proxy: str | None) -> Any:
        if transport is not None:
            return transport
        found = proxy if given.get("trust_env", True) else None
        return kind(**{"proxy": found, **given})

    return make
