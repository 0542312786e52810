"""HTTP clients whose requests are effects of a run, for SDKs that take a client.

    openai.OpenAI(http_client=http_client(run))
    anthropic.AsyncAnthropic(http_client=async_http_client(run))

Rules:

- `httpx2` is what current SDKs use, `httpx` what older ones do; the clients are those of
  either library, and differ from a plain one in their transport only.
- Every request is an effect, each hop of a redirect and each retry of an SDK too.
- In a replay nothing is sent: no connection is made, no proxy is looked up.
- Errors are those of the library, or of whatever it stands on, raised again from what
  was recorded.
- An answer whose length is not told beforehand is handed on as it comes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast, overload
from urllib.request import getproxies, proxy_bypass

from muniment.errors import EffectFailed, UsageError, printable
from muniment.lanes import Lane, current_run
from muniment_plugins.providers.bodies import Body, Known, Live, stream_of
from muniment_plugins.providers.exchange import (
    Fault,
    Outcome,
    Received,
    Sent,
    unframed,
)
from muniment_plugins.providers.flow import Flow, is_stream
from muniment_plugins.providers.recorder.wire import class_name, made
from muniment_plugins.providers.secret_names import Names

if TYPE_CHECKING:
    import httpx
    import httpx2

__all__ = ["async_http_client", "http_client", "library"]

Library: TypeAlias = Literal["httpx2", "httpx"]

_NETWORK = ("cert", "http1", "http2", "limits", "proxy", "trust_env", "verify")
"""Options of a client that belong to its connections."""


def library(name: str | None = None, extra: str = "openai") -> Any:
    """Return the module ``httpx2``, or ``httpx`` where that is the one installed.

    Raises:
        UsageError: neither is, or not the one that *name* asks for.

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

    def __init__(
        self,
        lane: Lane | None,
        module: Any,
        make: Callable[[str | None], Any],
        volatile: Iterable[str],
        names: Names,
    ) -> None:
        self._lane = lane
        self._module = module
        self._make = make
        self._volatile = tuple(volatile)
        self._names = names
        self._wires: dict[str | None, Any] = {}

    @property
    def lane(self) -> Lane:
        """The lane that the requests belong to."""
        return current_run() if self._lane is None else self._lane

    def flow(self, sent: Sent) -> Flow:
        """Take *sent* as an effect."""
        return Flow.of(self.lane, sent, self._volatile, names=self._names)

    def wire(self, url: Any) -> Any:
        """Return the transport that does send, through the proxy that counts for it."""
        proxy = _proxy(url.scheme, url.host)
        if proxy not in self._wires:
            self._wires.setdefault(proxy, self._make(proxy))  # of two threads, one
        return self._wires[proxy]

    def error(self, fault: Fault, request: Any) -> BaseException:
        """Return the library's error for *fault*, or another; and what it comes from."""
        kind = getattr(self._module, fault.name, None)
        if isinstance(kind, type) and issubclass(kind, self._module.RequestError):
            error = cast("BaseException", kind(fault.message, request=request))
        else:
            other = self._module.NetworkError(fault.message, request=request)
            error = made(fault.name, fault.message) or other
        error.__cause__ = fault.failure
        return error

    def fault(self, error: Exception) -> Fault:
        """Return *error* as it is recorded: one of the library by its name alone."""
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
        )
        if outcome.failure is not None:
            check = response.raise_for_status
            response.raise_for_status = functools.partial(
                _raise_for_status, check, outcome.failure
            )
        return response

    def answered(self, flow: Flow, request: Any, known: Outcome) -> Any:
        """Return the library's response for what is *known* as a whole."""
        body = Known(flow, known, lambda fault: self.error(fault, request))
        return self.response(known, request, body)


def _raise_for_status(check: Callable[[], Any], failure: EffectFailed) -> Any:
    """Let the error of a status name the effect that failed by it."""
    try:
        return check()
    except Exception as error:
        raise error from failure


class _Transport(_Base):
    """Sends requests as effects, and waits."""

    def handle_request(self, request: Any) -> Any:
        """Return the response to *request*, live or from the record."""
        flow = self.flow(_sent(request, request.read()))
        known = flow.known()
        if known is not None:
            return self.answered(flow, request, known)
        fault, response = None, None
        try:
            with flow.effect.performing:
                response = self.wire(request.url).handle_request(request)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
            fault = self.fault(error)
        except BaseException as error:
            flow.interrupt(type(error).__name__)
            raise
        if fault is not None:  # beyond the error, whose text may hold a key
            return self.answered(flow, request, flow.settle(fault))
        head = _received(response, [], None)
        if is_stream(request.method, head):
            flow.begin(head)
            return self.response(head, request, Live(flow, response, self.fault))
        return self.answered(flow, request, flow.settle(self._whole(flow, response)))

    def _whole(self, flow: Flow, response: Any) -> Outcome:
        chunks: list[bytes] = []
        fault = None
        try:
            chunks.extend(response.iter_bytes())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
            fault = self.fault(error)
        except BaseException as error:
            flow.interrupt(type(error).__name__)
            raise
        finally:
            response.close()
        return _received(response, chunks, fault)

    def close(self) -> None:
        """Close the connections."""
        for wire in self._wires.values():
            wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _AsyncTransport(_Base):
    """Sends requests as effects, and is awaited."""

    async def handle_async_request(self, request: Any) -> Any:
        """Return the response to *request*, live or from the record."""
        flow = self.flow(_sent(request, await request.aread()))
        known = await flow.aknown()
        if known is not None:
            return self.answered(flow, request, known)
        fault, response = None, None
        try:
            with flow.effect.performing:
                wire = self.wire(request.url)
                response = await wire.handle_async_request(request)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
            fault = self.fault(error)
        except BaseException as error:
            flow.interrupt(type(error).__name__)
            raise
        if fault is not None:  # beyond the error, whose text may hold a key
            return self.answered(flow, request, flow.settle(fault))
        head = _received(response, [], None)
        if is_stream(request.method, head):
            flow.begin(head)
            return self.response(head, request, Live(flow, response, self.fault))
        return self.answered(
            flow, request, flow.settle(await self._whole(flow, response))
        )

    async def _whole(self, flow: Flow, response: Any) -> Outcome:
        chunks: list[bytes] = []
        fault = None
        try:
            async for chunk in response.aiter_bytes():
                chunks.append(chunk)  # noqa: PERF401 - kept when the next one fails
        except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
            fault = self.fault(error)
        except BaseException as error:
            flow.interrupt(type(error).__name__)
            raise
        finally:
            await response.aclose()
        return _received(response, chunks, fault)

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


def _received(response: Any, chunks: list[bytes], fault: Fault | None) -> Received:
    headers = tuple(response.headers.multi_items())
    return Received(response.status_code, headers, tuple(chunks), fault)


def _proxy(scheme: str, host: str) -> str | None:
    proxies = getproxies()
    if not proxies or proxy_bypass(host):
        return None
    return proxies.get(scheme) or proxies.get("all")


@overload
def http_client(
    run: Lane | None = None,
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
    run: Lane | None = None,
    *,
    library: Literal["httpx"],
    transport: httpx.BaseTransport | None = None,
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    redact: Iterable[str] = (),
    **options: Any,
) -> httpx.Client: ...
def http_client(
    run: Lane | None = None,
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
        library: ``httpx2`` or ``httpx``; the first of them that is installed.
        transport: what sends, in the place of the library's own.
        volatile: what further differs between equal requests: names of headers,
            ``query.NAME``, ``body.MEMBER``.
        keep: names of headers, parameters and members that are no secrets.
        redact: names of such that are.
        options: those of the library's client.

    Raises:
        UsageError: the library is not installed.

    """
    module = _library(library)
    make = _maker(module.HTTPTransport, transport, options)
    recording = _Transport(run, module, make, volatile, Names.of(keep, redact))
    return module.Client(transport=recording, **{"follow_redirects": True, **options})


@overload
def async_http_client(
    run: Lane | None = None,
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
    run: Lane | None = None,
    *,
    library: Literal["httpx"],
    transport: httpx.AsyncBaseTransport | None = None,
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    redact: Iterable[str] = (),
    **options: Any,
) -> httpx.AsyncClient: ...
def async_http_client(
    run: Lane | None = None,
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
    recording = _AsyncTransport(run, module, make, volatile, Names.of(keep, redact))
    return module.AsyncClient(
        transport=recording, **{"follow_redirects": True, **options}
    )


_library = library


def _maker(
    kind: Any, transport: Any, options: dict[str, Any]
) -> Callable[[str | None], Any]:
    """Return what makes the transport behind a proxy; takes the *options* that count."""
    given = {name: options.pop(name) for name in _NETWORK if name in options}

    def make(proxy: str | None) -> Any:
        if transport is not None:
            return transport
        found = proxy if given.get("trust_env", True) else None
        return kind(**{"proxy": found, **given})

    return make
