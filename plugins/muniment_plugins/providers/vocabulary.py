"""The effect kind and the event type that providers add to the kernel's words.

    http.requested  {"request": {"method": "GET", "url": "https://…", …},
                     "about": {"host": "api.example", "method": "GET"}}

Rules: what a request means is known to its server alone, so a request in doubt is not
repeated without being asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

from muniment.kinds import EffectKind

__all__ = ["KINDS"]


def _request(request: object) -> Mapping[str, object]:
    told = cast("Mapping[str, str]", request)
    return {"method": told["method"], "host": urlsplit(told["url"]).hostname or ""}


def _response(response: object) -> Mapping[str, object]:
    return {"status": cast("Mapping[str, object]", response)["status"]}


KINDS: tuple[EffectKind, ...] = (
    EffectKind(
        "http", on_doubt="ask", about_request=_request, about_response=_response
    ),
)
