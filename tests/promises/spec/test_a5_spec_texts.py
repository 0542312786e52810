"""What the specification prints is what the verifiers compare, letter by letter."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from forge import Forge
from forged_bundles import Bundled
from muniment.verification.page import frame, marks, nesting, wording
from worlds import World

ROOT = Path(__file__).parents[3]
SPEC = ROOT / "docs" / "spec"


def block(page: str, name: str) -> str:
    """Return the block of a page that is called so."""
    text = (SPEC / f"{page}.md").read_text()
    found = re.search(rf"^```{name}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found, name
    return found[1]


def test_the_table_of_the_kernels_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has what `tools/kernel_table.py` writes: `make docs` after a change."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    import kernel_table  # noqa: PLC0415 - by the line above

    written = kernel_table.PAGE.read_text().partition(kernel_table.BEGIN)[2]
    page = written.partition(kernel_table.END)[0].strip()
    assert page == kernel_table.table().strip()


def test_the_head_of_a_report() -> None:
    """With a style sheet and its digest in their places."""
    sheet = "p { color: red }"
    told = block("report", "head").replace("SHEET", sheet)
    assert told.replace("DIGEST", frame.digest_of_text(sheet)) == frame.page_head(sheet)


def test_the_tags_of_a_report() -> None:
    """Each tag with attributes is printed, and read."""
    frame_of_table, log, line, *drawn = block("report", "tags").splitlines()
    assert frame_of_table == nesting.WIDE
    assert ["<figure>", log] == [*marks.FIGURES]
    assert line == marks.AXIS
    kinds: list[str] = []
    for one in drawn:
        written = one.replace('"X"', '"8.0"').replace('"Y"', '"352.0"')
        written = written.replace("MARKS", ' data-value="7"').replace("TITLE", "7")
        found = marks.read_mark(written)
        assert found is not None, one
        kinds.append(found.kind)
    assert kinds == ["dot", "span", "full", "dashed"]


def test_the_characters_that_show_nothing() -> None:
    """Those of the ranges, and no other."""
    told = block("report", "hidden").replace("U+", "")
    ranges = [one.strip().partition("\u2013") for one in told.split(",")]
    printed = {
        code
        for low, _, high in ranges
        for code in range(int(low, 16), int(high or low, 16) + 1)
    }
    read = {code for code in range(0x110000) if wording.HIDDEN.match(chr(code))}
    assert printed == read


def shape(value: object) -> object:
    """Return *value* with its texts left out, but for those that a page prints."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return [shape(one) for one in value[:1]] if isinstance(value, list) else "text"


def test_the_files_for_other_tools(tmp_path: Path) -> None:
    """They have the members that are printed, and the fixed texts of these."""
    world = World(tmp_path, forge=Forge("one").open())
    for one in range(3):
        world.note(str(one))
    world.start()
    world.forge.end_run("01JD3Z8M6Q4W0V9K2T7N5RYXCB")
    files = Bundled(world).files()
    told = block("evidence", "trusted-root").replace("\n", "")
    origin = files["ledger.vkey"].decode().partition("+")[0]
    root, printed = (
        json.loads(files["trusted_root.json"]),
        told.replace("ORIGIN", origin),
    )
    assert shape(root) == shape(json.loads(printed))
    assert root["tlogs"][0]["baseUrl"] == f"https://{origin}"
    log = json.loads(printed)["tlogs"][0] | {"logId": {}, "publicKey": {}}
    assert root["tlogs"][0] | {"logId": {}, "publicKey": {}} == log
    told = block("evidence", "sigstore").replace("\n", "")
    printed = json.loads(told.replace("{the envelope of the closing event}", '"x"'))
    sigstore = json.loads(files["evidence.sigstore.json"])
    envelope = sigstore["dsseEnvelope"]
    assert shape(sigstore | {"dsseEnvelope": "x"}) == shape(printed)
    hint = sigstore["verificationMaterial"]["publicKey"]["hint"]
    assert hint == envelope["signatures"][0]["keyid"]
    vkey = files["ledger.vkey"].decode()
    assert files["policy"].decode() == f"log {vkey}quorum none\n"
    begin, key, end, rest = files["ledger.pub"].decode().split("\n")
    assert (begin[5:-5], end[5:-5], rest) == ("BEGIN PUBLIC KEY", "END PUBLIC KEY", "")
    assert re.fullmatch("[A-Za-z0-9+/]+=*", key)
