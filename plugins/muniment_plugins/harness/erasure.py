"""What an event still says after some of its words were erased."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.errors import ErasedError
from muniment.formats.statement import BlobRef

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from muniment.formats.statement import Event
    from muniment.ledger import Ledger

__all__ = ["left_of"]


def left_of(ledger: Ledger, event: Event) -> Mapping[str, object]:
    """Return the data of *event*, each blob read, without the members that are gone."""
    return dict(_left(ledger, event))


def _left(ledger: Ledger, event: Event) -> Iterator[tuple[str, object]]:
    for name, one in event.data.items():
        try:
            yield name, ledger.value(one) if isinstance(one, BlobRef) else one
        except ErasedError:
            continue
