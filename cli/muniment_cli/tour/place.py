"""Where a tour takes place: a directory with a ledger and a trust home of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from muniment.errors import UsageError

__all__ = ["PLUGINS", "TourPlace", "place_of"]

PLUGINS = ("capsule", "evidence", "harness")
"""The plugins that the tour needs, whatever else is installed or forbidden here."""


@dataclass(frozen=True, slots=True)
class TourPlace:
    """The directory of the tour."""

    directory: Path

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return self.directory / ".muniment" / "ledger.db"

    @property
    def home(self) -> Path:
        """The trust home, which only this tour uses."""
        return self.directory / "trust-home"

    @property
    def tampered(self) -> Path:
        """The directory of the tampered copies."""
        return self.directory / "tampered"


def place_of(directory: Path | None) -> TourPlace:
    """Return the place of the tour: *directory*, or a new temporary one.

    Raises:
        UsageError: *directory* holds something that no tour left there.

    """
    if directory is None:
        import tempfile

        return TourPlace(Path(tempfile.mkdtemp(prefix="muniment-demo-")))
    place = TourPlace(directory.absolute())
    taken = directory.exists() and (not directory.is_dir() or any(directory.iterdir()))
    if taken and not place.home.is_dir():
        raise UsageError(
            "something is there that no tour left",
            rule="demo/occupied",
            place=str(directory),
            remedy="name a new or empty directory, or none",
        )
    return place
