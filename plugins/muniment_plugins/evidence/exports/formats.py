"""The formats of the box, by name; each loads its library when it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from muniment_plugins.evidence.exports.in_toto import as_in_toto
from muniment_plugins.evidence.exports.otlp import as_otlp
from muniment_plugins.evidence.exports.prov import as_prov
from muniment_plugins.evidence.exports.ro_crate import as_ro_crate
from muniment_plugins.evidence.exports.tables import as_csv, as_parquet

if TYPE_CHECKING:
    from muniment_plugins.evidence.report.record import Source

__all__ = ["FORMATS"]

FORMATS: Mapping[str, Callable[[Source, str], bytes]] = {
    "csv": as_csv,
    "in-toto": as_in_toto,
    "otlp": as_otlp,
    "parquet": as_parquet,
    "prov": as_prov,
    "ro-crate": as_ro_crate,
}
