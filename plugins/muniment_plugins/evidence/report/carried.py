"""A report that carries the bundle whose report it is: a browser verifies it, offline.

    page = carrying(report, bundle)     one HTML file
    check_carried(page, report)         what of it is not the report in the bundle

Rules:

- It shows the report of the bundle, letter by letter; the bundle is in it, deflated, and
  so is the verifier in JavaScript, which runs when the page is opened.
- Its policy allows the one style sheet and the one script inside, and nothing else.
- A verifier that came with the evidence proves nothing against its sender: the page says
  so, and `muniment verify page.html` verifies it with the reader's own.
"""

from __future__ import annotations

import base64
import re
import tempfile
import zlib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import UsageError
from muniment.events.readable import references
from muniment.events.visibility import hides
from muniment.formats.evidence import REPORT, blob_name
from muniment.verification.page.frame import PAGE_END, page_head, read_page
from muniment_plugins.evidence.bundle import write_bundle
from muniment_plugins.evidence.bundle_reader import BundleReader, open_bundle
from muniment_plugins.evidence.containers import write_files
from muniment_plugins.evidence.javascript import in_page
from muniment_plugins.evidence.report.check import Difference, ReportCheck
from muniment_plugins.evidence.report.style import CHECK_STYLE, STYLE
from muniment_plugins.evidence.report.write import Reported, refuse_taken, write_page

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = [
    "MOST",
    "carried_evidence",
    "carrying",
    "check_carried",
    "write_carrying",
    "write_carrying_run",
]

MOST = 64 << 20
"""How many bytes the bundle may have that a page carries, as a zip file."""
_OPEN, _CLOSE = '<script type="application/zip" id="evidence">', "</script>\n"
_BASE64 = re.compile("[A-Za-z0-9+/=]*")
_ASIDE = (
    '<aside id="check" aria-label="Verification">\n'
    "<p>This page carries its evidence. The program in it has compared them:</p>\n"
    '<p id="said" role="status">The program did not run: this browser runs no scripts, or is '
    "too old. Verify the page with muniment.</p>\n"
    '<p><label for="root">Fingerprint of the root, from its keeper</label> '
    '<input id="root" size="52" placeholder="SHA256:" autocomplete="off" spellcheck="false">'
    ' <button id="verify" type="button">Verify</button></p>\n'
    "<p>A verifier that came with the evidence proves nothing against its sender. Save this "
    "page, and verify it with your own: muniment verify page.html --key FINGERPRINT</p>\n"
    "</aside>\n"
)


@cache
def _head() -> str:
    return page_head(STYLE + CHECK_STYLE, in_page())


def carrying(report: str, bundle: bytes) -> str:
    """Return the page that shows *report* and carries *bundle*, a zip file.

    Raises:
        UsageError: the bundle is too large.

    """
    if len(bundle) > MOST:
        raise UsageError(
            f"a page carries at most {MOST >> 20} MiB, and the bundle has "
            f"{len(bundle) >> 20}",
            rule="report/carried",
            place="the bundle",
            remedy="write the page without --evidence, and hand over the bundle beside it",
        )
    packer = zlib.compressobj(9, wbits=-15)
    packed = base64.b64encode(packer.compress(bundle) + packer.flush()).decode()
    before, after = _around(report)
    return before + packed + after


def _around(report: str) -> tuple[str, str]:
    """Return what is before and behind the evidence on a page that shows *report*."""
    at = report.find("<body ")
    start = report.find("<main>\n", at)
    body, main = report[at:start], report[start:].removesuffix(PAGE_END)
    script = f'<script type="module">{in_page()}</script>\n'
    end = PAGE_END.removeprefix("</main>\n")
    before = f"{_head()}{body}{_ASIDE}{main}</main>\n{_OPEN}"
    return before, f"{_CLOSE}{script}{end}"


def write_carrying_run(ledger: Ledger, run: str, path: Path) -> Reported:
    """Close the bundle of *run*, and write the page that carries it to *path*.

    Raises:
        UsageError: the name is taken or no HTML, before anything is appended; or the
            bundle is too large.
        As `write_bundle`, for the bundle.

    """
    _refuse(path)
    with tempfile.TemporaryDirectory() as folder:
        bundle = write_bundle(ledger, run, Path(folder) / "evidence.zip").path
        return write_carrying(bundle, path)


def write_carrying(bundle: Path, path: Path) -> Reported:
    """Write the page that shows the report of *bundle*, and carries it, to *path*.

    Raises:
        UsageError: the bundle has no report or is too large, or the name is taken, or no
            HTML.
        WrongError: it does not verify.
        CannotTellError: it cannot be read.

    """
    _refuse(path)
    with open_bundle(bundle) as reader, tempfile.TemporaryDirectory() as folder:
        files = reader.files
        if REPORT not in files:
            raise UsageError(
                "the bundle has no report that the page could show",
                rule="report/carried",
                place=str(bundle),
                remedy="write it again, with a closing event: muniment bundle RUN -o OUT",
            )
        packed = Path(folder) / "evidence.zip"
        write_files(files, packed, lambda _: None)
        report = b"".join(files[REPORT]()).decode()
        text = carrying(report, packed.read_bytes())
        told = write_page(text, path, reader.run, reader.checkpointed)
        return replace(told, private=_private_in(reader))


def _private_in(bundle: BundleReader) -> int:
    """Return how many private contents are in the *bundle*."""
    files = bundle.files
    return len(
        {
            ref.digest
            for event in bundle.events()
            for name, ref in references(event).items()
            if hides(event, name) and blob_name(ref.digest) in files
        }
    )


def _refuse(path: Path) -> None:
    """Refuse a name that is taken, or that is not one of an HTML page."""
    refuse_taken(path)
    if path.suffix.lower() != ".html":
        raise UsageError(
            "only an HTML page carries its evidence",
            rule="evidence/output",
            place=str(path),
            remedy="choose a name that ends in .html",
        )


def carried_evidence(page: str) -> bytes | None:
    """Return the zip file that *page* carries; None if it carries none that can be read.

    It is in the last element of that name: behind it, only a script follows.
    """
    at = page.rfind(_OPEN)
    if at < 0:
        return None
    found = _BASE64.match(page, at + len(_OPEN))
    packed = "" if found is None else found[0]
    unpacker = zlib.decompressobj(-15)
    try:
        data = unpacker.decompress(base64.b64decode(packed, validate=True), MOST)
    except (ValueError, zlib.error):
        return b""
    return data if unpacker.eof and not unpacker.unused_data else b""


def check_carried(page: str, report: str) -> ReportCheck:
    """Compare *page* with the *report* in the bundle that it carries, which was verified.

    All of it but the evidence is written again and compared. Another frame or script may
    be that of another muniment: nobody can tell, as long as what it shows is the report.
    """
    inside = read_page(report)
    found: list[Difference] = []
    before, after = _around(report)
    at, end = len(before), len(page) - len(after)
    same = page.startswith(before) and page.endswith(after) and at <= end
    if not same or _BASE64.fullmatch(page, at, end) is None:
        start, stop = report.find("<main>\n"), len(report) - len(PAGE_END)
        body, main = report[report.find("<body ") : start], report[start:stop]
        shown = body in page and f"{main}</main>\n{_OPEN}" in page
        what = "it does not show the report of the bundle that it carries"
        if shown:
            what = (
                "its frame or its script is not that of this muniment: open it nowhere"
            )
        found.append(Difference(1, "page", what, "cannot tell" if shown else "wrong"))
    return ReportCheck(len(inside.cited), tuple(found), inside.run, max(inside.size, 0))
