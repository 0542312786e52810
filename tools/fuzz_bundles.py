"""Fuzz both verifiers of evidence bundles, guided by the code that they reach.

    make fuzz                                a minute of it
    python tools/fuzz_bundles.py 600         ten minutes; more options of libFuzzer may follow

Rules:

- An input is one small change of an honest bundle: a part of one file, or of the zip file,
  is replaced. The half of the inputs also list what is there in MANIFEST, as somebody
  without keys would.
- Whatever is changed is refused by both, in one line: another exception, a change that
  neither sees, and one that only one of them sees are finds. atheris writes the input down.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import atheris

HELPERS = Path(__file__).resolve().parents[1] / "tests" / "helpers" / "bundles"
sys.path.append(str(HELPERS))

with atheris.instrument_imports(include=["muniment"]):
    from bundled import evidence_plugins, program
    from muniment import verify_bundle
    from muniment.ledger import Ledger
    from muniment_plugins.evidence import write_bundle
    from spoiled_bundles import Files, read, sealed, write
    from standalone_program import program as standalone

SECONDS = "60"
_MOST = 4096


class Fuzzed:
    """Bundles in a directory of its own, and what is done to them."""

    def __init__(self, place: Path) -> None:
        """Write honest bundles into *place*."""
        self.place = place
        self.module: Any = standalone()
        home = place / "home"
        with Ledger.create(
            place / "ledger.db", home=home, plugins=evidence_plugins()
        ) as ledger:
            run = ledger.execute(program).run_id
            written = write_bundle(ledger, run, place / "closed")
            write_bundle(ledger, run, place / "raw", raw=True)
            write_bundle(ledger, run, place / "whole.zip")
        self.root, self.home = written.root, place / "nobody"
        self.honest: list[Files] = [read(place / "closed"), read(place / "raw")]
        self.zip = (place / "whole.zip").read_bytes()
        for path in (place / "closed", place / "whole.zip"):
            if (found := self.codes(path)) != (0, 0):
                raise AssertionError(f"the honest {path.name} is refused: {found}")

    def codes(self, path: Path) -> tuple[int, int]:
        """Return what both verifiers make of the bundle."""
        report = verify_bundle(path, keys=[self.root], home=self.home)
        try:
            self.module.verify(path, self.root)
        except self.module.Refused:
            return report.exit_code, 1
        except self.module.Unchecked:
            return report.exit_code, 3
        return report.exit_code, 0

    def __call__(self, data: bytes) -> None:
        """Change one bundle as *data* says, and have it judged."""
        take = atheris.FuzzedDataProvider(data)
        if take.ConsumeIntInRange(0, 7) == 0:
            changed = spliced(self.zip, take)
            if changed != self.zip:
                (self.place / "changed.zip").write_bytes(changed)
                self._judge(self.place / "changed.zip")
            return
        honest = self.honest[take.ConsumeIntInRange(0, 1)]
        names = sorted(honest)
        name = names[take.ConsumeIntInRange(0, len(names) - 1)]
        listed = take.ConsumeBool()
        files: Files = {**honest, name: spliced(honest[name], take)}
        files = sealed(files) if listed else files
        if files != honest:
            folder = self.place / "changed"
            _empty(folder)
            self._judge(write(folder, files))

    def _judge(self, path: Path) -> None:
        found = self.codes(path)
        if 0 in found:
            raise AssertionError(f"a changed bundle passes: exit codes {found}")


def spliced(data: bytes, take: atheris.FuzzedDataProvider) -> bytes:
    """Return *data* with a part of it replaced."""
    start = take.ConsumeIntInRange(0, len(data))
    gone = take.ConsumeIntInRange(0, min(64, len(data) - start))
    put = bytes(take.ConsumeBytes(_MOST))
    return data[:start] + put + data[start + gone :]


def _empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def main() -> None:
    """Fuzz until the time is up, or something is found."""
    seconds, *more = sys.argv[1:] or [SECONDS]
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - for speed
    with tempfile.TemporaryDirectory(dir=base) as place, suppress(KeyboardInterrupt):
        options = [f"-max_total_time={seconds}", f"-max_len={_MOST}", "-timeout=20"]
        atheris.Setup([sys.argv[0], *options, *more], Fuzzed(Path(place)))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
