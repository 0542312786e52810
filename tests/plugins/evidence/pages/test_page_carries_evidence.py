"""A page that carries its evidence is verified by a browser, and by the command."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import pytest

from browser import NEEDS_BROWSER, opened, serious
from bundled import Bundles
from first_hour import Newcomer
from muniment.errors import UsageError
from muniment_plugins.evidence import (
    carried_evidence,
    check_carried,
    verified_record,
    write_carrying,
)
from muniment_plugins.evidence.javascript import in_page
from muniment_plugins.evidence.report import carried
from spoiled_bundles import read

if TYPE_CHECKING:
    from browser import Browser

TOOL = (sys.executable, str(Path(__file__).parents[4] / "tools/page_program.py"))
_BLOCK = '<script type="application/zip" id="evidence">'


@dataclass(frozen=True)
class Carrying:
    """A page that carries its evidence, and lies about it."""

    folder: Path
    text: str
    root: str

    def lie(self, name: str) -> Path:
        """Write a changed page."""
        page = self.folder / f"{name}.html"
        page.write_text(LIES[name](self.text))
        return page


def _evidence(text: str) -> tuple[str, bytes, str]:
    before, _, rest = text.partition(_BLOCK)
    packed, _, after = rest.partition("<")
    data = zlib.decompress(base64.b64decode(packed), wbits=-15)
    return before + _BLOCK, data, "<" + after


def _packed(text: str, data: bytes) -> str:
    before, _, after = _evidence(text)
    packer = zlib.compressobj(wbits=-15)
    told = base64.b64encode(packer.compress(data) + packer.flush()).decode()
    return before + told + after


def _with_a_byte_changed(text: str) -> str:
    data = bytearray(_evidence(text)[1])
    data[len(data) // 2] ^= 1
    return _packed(text, bytes(data))


LIES: dict[str, Callable[[str], str]] = {
    "another word": lambda text: text.replace("Verdicts</h2>", "Proven</h2>", 1),
    "another value": lambda text: text.replace(">it holds<", ">it held<", 1),
    "a section less": lambda text: text.replace("<section>", "<p>", 1),
    "another run": lambda text: text.replace('data-run="0', 'data-run="1', 1),
    "a byte of the evidence": _with_a_byte_changed,
    "no zip file": lambda text: _packed(text, b"so it goes"),
}


@pytest.fixture(scope="module")
def page(bundles: Bundles, tmp_path_factory: pytest.TempPathFactory) -> Carrying:
    """Give the page of a bundle."""
    folder = tmp_path_factory.mktemp("pages")
    write_carrying(bundles.folder, folder / "page.html")
    return Carrying(folder, (folder / "page.html").read_text(), bundles.root)


def test_it_is_the_report_and_the_bundle(page: Carrying, bundles: Bundles) -> None:
    """The zip file has the files of the bundle; what is shown is the report in it."""
    place = page.folder / "out.zip"
    place.write_bytes(carried_evidence(page.text) or b"")
    with zipfile.ZipFile(place) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    assert files == read(bundles.folder)
    report = (bundles.folder / "report.html").read_text()
    checked = check_carried(page.text, report)
    assert (checked.verdict, checked.findings) == ("agrees", ())
    assert checked.compared > 40
    assert verified_record(bundles.ledger, bundles.run).integrity == "intact"


def test_frame_script_and_style_are_small(page: Carrying, bundles: Bundles) -> None:
    """All but the report and the evidence takes less than 60 kB."""
    report = (bundles.folder / "report.html").read_bytes()
    assert len(carried.carrying("", b"").encode()) < 60_000
    before, data, after = _evidence(page.text)
    assert len((before + after).encode()) - len(report) < 60_000
    assert len(page.text) - len(before + after) < len(data)  # it is deflated


def test_its_program_is_made_of_the_verifier() -> None:
    """The first line names what it was made of; it ends no element of the page."""
    done = subprocess.run([*TOOL, "--check"], capture_output=True, check=False)
    assert done.returncode == 0, "make page-program"
    assert "</script" not in in_page().lower()
    assert "<!--" not in in_page()


@pytest.mark.slow
@pytest.mark.skipif(which("npm") is None, reason="npm")
def test_its_program_is_made_again() -> None:
    """The same bytes."""
    line = [*TOOL, "--print"]
    done = subprocess.run(line, capture_output=True, check=False, text=True)
    if "CalledProcessError" in done.stderr:
        pytest.skip("a registry of npm packages")
    assert done.stdout == in_page()


@pytest.mark.parametrize("name", LIES)
def test_the_command_refuses_each_lie(page: Carrying, name: str) -> None:
    """In an empty folder, without a ledger: exit code 1, and one line that says why."""
    user = Newcomer(page.folder / name / "desk", page.folder / name / "home")
    user.folder.mkdir(parents=True)
    user.home.mkdir()
    done = user.muniment("verify", page.lie(name), "--key", page.root, "--json")
    assert done.code == 1, done.out
    told = json.loads(done.out)
    assert told["findings"] or told["page"]["findings"]


def test_the_command_verifies_it_without_a_ledger(
    page: Carrying, tmp_path: Path
) -> None:
    """Who got nothing but the page and the fingerprint; another script cannot be told."""
    user = Newcomer(tmp_path / "desk", tmp_path / "home")
    user.folder.mkdir()
    user.home.mkdir()
    file = page.folder / "page.html"
    done = user.muniment("verify", file, "--key", page.root)
    assert done.code == 0, done.err + done.out
    assert "the evidence in it" in done.out
    assert "agrees" in done.out
    assert user.muniment("verify", file).code == 3
    other = page.folder / "script.html"
    other.write_text(page.text.replace("Verifying…", "Believing…"))
    done = user.muniment("verify", other, "--key", page.root)
    assert done.code == 3
    assert "its script is not that of this muniment" in done.out


def test_who_writes_one(tmp_path: Path) -> None:
    """`report RUN --evidence` closes the bundle; Markdown, and raw bundles, carry none."""
    user = Newcomer(tmp_path / "desk", tmp_path / "home")
    user.folder.mkdir()
    user.home.mkdir()
    user.begin()
    (user.folder / "work.py").write_text("def main(run):\n    return 1\n")
    run = json.loads(user.muniment("run", "work.py:main", "--json").out)["run"]
    before = user.events()
    (user.folder / "taken.html").touch()
    for name in ("taken.html", "a.md"):
        assert user.muniment("report", run, "-o", name, "--evidence").code == 2
    assert user.events() == before  # refused before anything is appended
    assert user.muniment("report", run, "-o", "a.html", "--evidence").code == 0
    assert user.events()[-1] == "bundle.closed"
    assert user.muniment("verify", "a.html").code == 0
    assert user.muniment("report", run, "-o", "b.html", "--evidence").code == 0
    pages = [(user.folder / name).read_bytes() for name in ("a.html", "b.html")]
    assert pages[0] == pages[1]
    assert user.muniment("report", run, "-o", "a.md", "--evidence").code == 2
    assert user.muniment("report", run, "-o", "a.html", "--evidence").code == 2
    assert user.muniment("bundle", run, "-o", "raw.zip", "--raw").code == 0
    done = user.muniment("report", "raw.zip", "-o", "c.html", "--evidence")
    assert done.code == 2
    assert "has no report that the page could show" in done.err


def test_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle beyond the limit is refused; evidence that inflates beyond it is none."""
    monkeypatch.setattr(carried, "MOST", 1000)
    with pytest.raises(UsageError, match="hand over the bundle"):
        carried.carrying("", b"x" * 1001)
    bomb = _packed(carried.carrying("", b"x"), b"\\0" * 5_000)
    assert carried.carried_evidence(bomb) == b""
    assert carried.carried_evidence("<p>so</p>") is None


@NEEDS_BROWSER
@pytest.mark.slow
def test_a_browser_verifies_it(page: Carrying, browser: Browser) -> None:
    """Without a network: intact with the root's fingerprint, and not without."""
    with opened(browser, page.folder / "page.html") as shown:
        said = shown.view.locator("#said")
        shown.view.wait_for_selector("#said[data-code]")
        assert said.inner_text().startswith("cannot tell. self-asserted")
        shown.view.fill("#root", page.root)
        shown.view.click("#verify")
        shown.view.wait_for_selector("#said[data-code='0']")
        assert "values of the report" in said.inner_text()
        shown.view.fill("#root", "SHA256:" + "A" * 43)
        shown.view.click("#verify")
        shown.view.wait_for_selector("#said[data-code='1']")
        assert "is not a key of this ledger" in said.inner_text()
        assert shown.errors == []
        assert serious(shown) == []
    with opened(browser, page.folder / "page.html", scheme="dark", width=390) as shown:
        shown.view.wait_for_selector("#said[data-code]")
        assert serious(shown) == []
    with opened(browser, page.folder / "page.html", scripts=False) as shown:
        assert "The program did not run" in shown.view.locator("#said").inner_text()


@NEEDS_BROWSER
@pytest.mark.slow
@pytest.mark.parametrize("name", LIES)
def test_a_browser_refuses_each_lie(
    page: Carrying, browser: Browser, name: str
) -> None:
    """Whatever is shown that is not in the evidence, and evidence that was changed."""
    with opened(browser, page.lie(name)) as shown:
        shown.view.fill("#root", page.root)
        shown.view.click("#verify")
        shown.view.wait_for_selector("#said[data-code='1']")
        said = shown.view.locator("#said").inner_text()
        assert said.startswith("WRONG."), said
