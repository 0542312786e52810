"""A run that is exported from its ledger and from its bundle."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.ledger import Ledger
from muniment_plugins.evidence import BundleReader

__all__ = ["Exported"]


@dataclass(frozen=True)
class Exported:
    """A ledger, one run of it, and the bundle of that run."""

    ledger: Ledger
    run: str
    bundle: BundleReader

    def written(self, form: str) -> bytes:
        """Return the export; a bundle of the run has to give the same bytes."""
        data = self.ledger.export(self.run, form)
        again = self.bundle.plugins.exporter(form)(self.bundle, self.run)
        assert again == data
        assert self.ledger.export(self.run, form) == data
        return data
