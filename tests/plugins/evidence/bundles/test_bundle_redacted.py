"""A redacted bundle names what it withholds, and shows nothing of it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from bundled import Bundles, evidence_plugins
from every_kind import make
from muniment import Run, verify_bundle
from muniment.errors import EffectFailed, UsageError
from muniment.formats.statement import BlobRef, Event
from muniment.ledger import Ledger
from muniment_plugins.evidence import open_bundle, write_bundle
from muniment_plugins.evidence.bundle_reader import WithheldFromBundle
from muniment_plugins.evidence.report.write import report_text
from spoiled_bundles import read
from standalone_program import exit_code_of

LISTS: tuple[list[str], ...] = (
    [],
    ["*"],
    ["*/*", "*"],
    ["llm.*"],
    ["tool.*", "tool.completed/*"],
)


def withheld_of(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the file."""
    lines = (folder / "withheld.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def shown_in(folder: Path) -> list[int]:
    """Return the numbers of the events whose payloads are there."""
    lines = (folder / "events.intoto.jsonl").read_text().splitlines()
    payloads = (
        json.loads(base64.b64decode(json.loads(one)["payload"])) for one in lines
    )
    return [one["predicate"]["muniment"]["seq"] for one in payloads]


def words(value: object) -> Iterator[str]:
    """Yield every text in a JSON value that says more than a word or a digest."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from words(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from words(one)


@pytest.mark.parametrize("shown", LISTS, ids=str)
def test_every_run_of_every_kind(shown: list[str], tmp_path: Path) -> None:
    """Runs that failed, asked people, were canceled, forked, called: both verifiers agree.

    Each event of the run is shown or withheld, once, with its place and leaf hash.
    """
    make(tmp_path / "ledger.db", notes=3).close()
    written = 0
    with Ledger.open(tmp_path / "ledger.db", plugins=evidence_plugins()) as ledger:
        for run in dict.fromkeys(one.run for one in ledger.events() if one.run):
            folder = tmp_path / f"{run}"
            kinds = {one.type.partition(".")[0] for one in ledger.events(run=run)}
            blobs = [
                one for event in ledger.events(run=run) for one in event.data.values()
            ]
            kinds |= {"*", *("*/*" for one in blobs if isinstance(one, BlobRef))}
            if any(one.partition(".")[0] not in kinds for one in shown):
                continue  # the run has no such effect
            made = write_bundle(ledger, run, folder, disclose=shown)
            report = verify_bundle(folder, keys=[made.root])
            code, said = exit_code_of(folder, made.root)
            assert (report.exit_code, report.integrity, code) == (0, "intact", 0), said
            events = {one.seq: one for one in ledger.events(run=run)}
            hidden = {}
            if (folder / "withheld.jsonl").exists():
                hidden = {
                    one["seq"]: one for one in withheld_of(folder) if "seq" in one
                }
                assert "WITHHELD" in said
            assert hidden.keys() | set(shown_in(folder)) >= events.keys()
            assert not hidden.keys() & set(shown_in(folder))
            for seq, one in hidden.items():
                event = events[seq]
                assert (one["scope"], one["ordinal"]) == (event.scope, event.ordinal)
                assert base64.b64decode(one["leaf"]).hex() == event.hash
            assert sum(made.withheld.values()) == len(hidden)
            counts = {one.what: one for one in report.counts}
            assert counts["signatures"].unchecked == len(hidden)
            assert not any(one.lacking for one in report.counts)
            written += 1
    assert written > 1


def secrets_of(event: Event, ledger: Ledger) -> Iterator[bytes]:
    """Yield what only this event says: its payload, signature, words and contents."""
    yield base64.b64encode(event.payload)
    yield base64.b64encode(event.signature)
    for word in words(cast("object", event.raw)):
        if word.startswith("secret"):
            yield word.encode()
    for ref in event.data.values():
        if isinstance(ref, BlobRef):
            yield ledger.get_blob(ref)


def secretive(run: Run) -> str:
    """Say secrets wherever an event can hold one."""
    run.record("note.added", {"text": "secret-1"})
    run.record("synthesis.attempted", {"code": "secret_4 = 1", "accepted": True})
    run.effect("llm", {"model": "secret-5"}, lambda _: {"model": "secret-6"})
    with run.scope("lane") as lane:
        lane.effect("tool", {"name": "secret-7"}, lambda _: "secret-8")
    return "secret-9"


@pytest.mark.parametrize("form", ["folder", "bundle.zip"])
def test_nothing_withheld_is_anywhere(form: str, tmp_path: Path) -> None:
    """No payload, signature, word or content of it is in any file; what is shown is."""
    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as ledger:
        done = ledger.execute(secretive)
        run = done.run_id
        assert done.result == "secret-9", done
        write_bundle(ledger, run, tmp_path / form, disclose=["note.added"])
        path = tmp_path / form
        whole = path.read_bytes() if path.is_file() else b"".join(read(path).values())
        plain = whole + b"".join(
            base64.b64decode(json.loads(line)["payload"])
            for line in whole.splitlines()
            if line.startswith(b'{"payload":')
        )
        hidden = looked = 0
        for event in ledger.events(run=run):
            if event.type in ("run.started", "run.completed", "note.added"):
                continue
            hidden += 1
            for secret in secrets_of(event, ledger):
                looked += 1
                assert secret not in plain, (event.type, secret)
        assert (hidden, looked > 15) == (5, True)
        assert b"secret-1" in plain
        assert b"secret-9" not in plain
        with open_bundle(path, evidence_plugins()) as bundle:
            page = report_text(bundle, run)
            assert "It is redacted: 5 events" in re.sub("<[^<>]*>", "", page)
            assert ">withheld</data>" in page
            assert "secret-5" not in page


def test_twice_gives_equal_bytes_and_no_further_event(
    bundles: Bundles, tmp_path: Path
) -> None:
    """The same allow-list finds its closing event again; another one is another bundle."""
    ledger, shown = bundles.ledger, ["llm.*", "llm.completed/*"]
    before = ledger.head.size
    again = write_bundle(ledger, bundles.run, tmp_path / "again", disclose=shown)
    assert read(tmp_path / "again") == read(bundles.redacted)
    assert ledger.head.size == before
    other = write_bundle(ledger, bundles.run, tmp_path / "other", disclose=[])
    assert other.manifest != again.manifest


def test_views_say_nothing_more(bundles: Bundles) -> None:
    """run.json counts what is shown, and plugins' views are left out."""
    view = json.loads((bundles.redacted / "run.json").read_text())
    assert view["events"] == len(shown_in(bundles.redacted)) - 1  # the genesis
    assert "tool.requested" not in view["types"]
    assert not (bundles.redacted / "bundle.json").exists()


@pytest.mark.parametrize(
    "shown",
    [["lm.*"], ["llm.completed/values"], ["llm.*", "x"], [""], ["/"], ["llm.*/*"]],
)
def test_a_pattern_that_matches_nothing(
    shown: list[str], bundles: Bundles, tmp_path: Path
) -> None:
    """It is refused by name, and nothing is written; one that matches is not."""
    if shown == ["llm.*/*"]:
        write_bundle(bundles.ledger, bundles.run, tmp_path / "x", disclose=shown)
        return
    with pytest.raises(UsageError) as raised:
        write_bundle(bundles.ledger, bundles.run, tmp_path / "x", disclose=shown)
    assert (raised.value.rule, raised.value.place) == (
        "evidence/disclose",
        "--disclose",
    )
    assert repr(shown[-1]) in raised.value.message
    assert not (tmp_path / "x").exists()


def test_an_effect_is_shown_as_a_whole(bundles: Bundles, tmp_path: Path) -> None:
    """Its request alone would leave an outcome that nobody asked for, or none.

    So a name of a part shows nothing, and is refused, as one is that is mistyped.
    """
    for part in ("llm.requested", "llm.completed/value"):
        with pytest.raises(UsageError) as raised:
            write_bundle(
                bundles.ledger, bundles.run, tmp_path / "half", disclose=[part]
            )
        assert raised.value.rule == "evidence/disclose"
        assert f"{part!r} shows nothing" in raised.value.message
    both = ["llm.requested", "llm.completed"]
    made = write_bundle(bundles.ledger, bundles.run, tmp_path / "whole", disclose=both)
    assert made.shown["llm.requested"] == 1
    assert verify_bundle(tmp_path / "whole", keys=[made.root]).exit_code == 0


def test_an_effect_within_one_that_is_withheld(tmp_path: Path) -> None:
    """It is withheld with the outer one; who named the inner one alone is told."""

    def outer(run: Run) -> str:
        def inner(_: object) -> str:
            return str(run.effect("llm", {"model": "m"}, lambda _: "said"))

        return str(run.effect("tool", {"name": "t"}, inner))

    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as ledger:
        run = ledger.execute(outer).run_id
        scopes = {one.scope for one in ledger.events(run=run, type="llm.*")}
        assert scopes == {"@tool.1"}, scopes
        with pytest.raises(UsageError) as raised:
            write_bundle(ledger, run, tmp_path / "x", disclose=["llm.*"])
        assert "'llm.*' shows nothing: llm.completed" in raised.value.message
        write_bundle(ledger, run, tmp_path / "x", disclose=["llm.*", "tool.*"])


def test_no_page_says_that_nothing_is_there(tmp_path: Path) -> None:
    """What is withheld may be a verdict or a failure: absence is said of what is shown."""
    absent = ("states no claim", "reached no verdict", "says that something failed")

    def verdict(run: Run) -> None:
        reached = {"hypothesis": "h", "verifier": "v", "passed": True, "result": 1}
        run.record("verdict.reached", reached)
        with suppress(EffectFailed):
            run.effect("tool", {"name": "t"}, lambda _: 1 / 0)

    with Ledger.create(
        tmp_path / "ledger.db", home=tmp_path / "home", plugins=evidence_plugins()
    ) as ledger:
        done = ledger.execute(verdict)
        kinds = {one.type for one in ledger.events(run=done.run_id)}
        assert {"verdict.reached", "tool.failed"} <= kinds, done
        write_bundle(ledger, done.run_id, tmp_path / "part", disclose=[])
        hidden = {
            one.type: one.seq
            for one in ledger.events(run=done.run_id)
            if one.type in ("verdict.reached", "tool.failed")
        }
    with open_bundle(tmp_path / "part", evidence_plugins()) as bundle:
        page = report_text(bundle, bundle.run)
        for words in absent:
            told = f"{words}, as far as is shown here: some events are withheld."
            assert told in page, words
        assert "events that are shown" in page
        for seq in hidden.values():
            with pytest.raises(WithheldFromBundle):
                bundle.event(seq)
    view = json.loads((tmp_path / "part" / "run.json").read_text())
    assert view["withheld"] == {"blobs": 0, "events": 3}


def test_a_withheld_field_keeps_its_name(bundles: Bundles) -> None:
    """A page says of which field the content is withheld."""
    with open_bundle(bundles.redacted, evidence_plugins()) as bundle:
        page = report_text(bundle, bundle.run)
    assert 'title="4/request">request</data></dt>' in page
    assert ">withheld</data></dt>" not in page


def test_a_raw_bundle_is_not_redacted(bundles: Bundles, tmp_path: Path) -> None:
    """Nothing would vouch for what it says that it withholds; verifiers refuse it, too."""
    with pytest.raises(UsageError) as raised:
        write_bundle(bundles.ledger, bundles.run, tmp_path / "x", raw=True, disclose=[])
    assert raised.value.rule == "evidence/redact"
    files = dict(read(bundles.redacted))
    for name in (
        "evidence.sigstore.json",
        "closing.checkpoint",
        "consistency",
        "run.json",
    ):
        del files[name]
    from spoiled_bundles import sealed, write  # noqa: PLC0415 - beside its use

    folder = write(tmp_path / "raw", sealed(files))
    report = verify_bundle(folder, keys=[bundles.root])
    assert report.exit_code == exit_code_of(folder, bundles.root)[0] == 1
    assert {"bundle/missing"} <= {one.rule for one in report.findings}
