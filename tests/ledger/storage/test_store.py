"""The store against a list: whatever happens in whatever order, the log is the list."""

from __future__ import annotations

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from muniment.errors import AppendRefused, MunimentError, UsageError, WrongError
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.types import EventTypes
from muniment.formats.checkpoint import origin, read_checkpoint
from muniment.formats.dsse import signer_from_uri
from muniment.formats.merkle import Frontier
from muniment.formats.statement import timestamp
from muniment.ledger import Ledger
from muniment.storage.create import create_ledger
from muniment.storage.sealing import Draft
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify

TEXT = st.text(max_size=20)
CONTENT = st.none() | st.text(max_size=5000)


class Histories(RuleBasedStateMachine):
    """Two writers on one ledger, faults in between, and the list of what was said."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.home = TrustHome(self.directory / "home")
        self.place = self.directory / "ledger.db"
        create_ledger(self.place, self.home)
        self.writers = [self._open(), self._open()]
        self.texts: list[str] = []
        self.contents: list[tuple[int, str]] = []

    def _open(self) -> Ledger:
        return Ledger.open(self.place, home=self.home, plugins=())

    def _say(self, text: str, content: str | None) -> dict[str, object]:
        if content is not None:
            self.contents.append((len(self.texts) + 1, content))
        self.texts.append(text)
        return {"text": text, "details": content}

    @rule(who=st.integers(0, 1), text=TEXT, content=CONTENT)
    def append(self, who: int, text: str, content: str | None) -> None:
        """Append one event."""
        event = self.writers[who].append("note.added", self._say(text, content))
        assert event.seq == len(self.texts)

    @rule(who=st.integers(0, 1), texts=st.lists(TEXT, min_size=1, max_size=5))
    def append_many(self, who: int, texts: list[str]) -> None:
        """Append several at once."""
        data = [("note.added", self._say(text, None)) for text in texts]
        events = self.writers[who].append_many(data)
        assert events[-1].seq == len(self.texts)

    @rule(who=st.integers(0, 1), at=st.sampled_from(["signed", "inserted"]), text=TEXT)
    def fail(self, who: int, at: str, text: str) -> None:
        """Fail in the middle of an append."""
        store = self.writers[who].store

        def step(label: str) -> None:
            if label == at:
                raise UsageError("stop", rule="test/stop")

        store.step = step
        with pytest.raises(UsageError, match="stop"):
            self.writers[who].append("note.added", {"text": text, "details": text})
        store.step = lambda _: None

    @rule(who=st.integers(0, 1))
    def checkpoint(self, who: int) -> None:
        """Sign a checkpoint."""
        note = self.writers[who].checkpoint()
        assert note is not None
        keys = self.writers[who].store.keyring().current("checkpoint")
        found = read_checkpoint(note, origin(self.writers[who].id), keys)
        assert found.size == len(self.texts) + 1

    @rule(who=st.integers(0, 1))
    def reopen(self, who: int) -> None:
        """Close one and open it again."""
        self.writers[who].close()
        self.writers[who] = self._open()

    @invariant()
    def is_the_list(self) -> None:
        """Each writer reads what was said, chained."""
        for ledger in self.writers:
            _, *events = ledger.events()
            assert [event.data["text"] for event in events] == self.texts
            assert ledger.head.size == len(self.texts) + 1

    def teardown(self) -> None:
        """Verify the whole."""
        for seq, content in self.contents:
            event = self.writers[0].event(seq)
            assert self.writers[0].resolve(event)["details"] == content
        for ledger in self.writers:
            ledger.close()
        report = verify(self.place, home=self.home)
        assert (report.ok, report.size) == (True, len(self.texts) + 1), report
        shutil.rmtree(self.directory)


Histories.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None
)
TestHistories = Histories.TestCase


def test_the_tree_is_right_across_tiles(ledger: Ledger) -> None:
    """Over more than one tile, the writer's frontier is that of all leaves."""
    for _ in range(6):
        ledger.append_many([("note.added", {"text": "x"})] * 100)
    note = ledger.checkpoint()
    frontier = Frontier()
    for event in ledger.events():
        frontier.append(bytes.fromhex(event.hash))
    assert note is not None
    keys = ledger.store.keyring().current("checkpoint")
    assert read_checkpoint(note, origin(ledger.id), keys).root == frontier.root()
    ledger.close()
    with Ledger.open(ledger.path, plugins=()) as again:
        again.append("note.added", {"text": "y"})
    assert verify(ledger.path).size == 602


def test_time_never_runs_backwards(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that was set back claims the time of the event before."""
    first = ledger.append("note.added", {"text": "a"})
    monkeypatch.setattr(
        "muniment.storage.sealing.timestamp",
        lambda moment: timestamp(moment - timedelta(hours=1)),
    )
    assert ledger.append("note.added", {"text": "b"}).time == first.time


def test_an_older_copy_does_not_grow(ledger: Ledger) -> None:
    """A ledger that was rolled back refuses to append, and still closes."""
    ledger.append("note.added", {"text": "a"})
    ledger.close()
    kept = ledger.path.read_bytes()
    with Ledger.open(ledger.path, plugins=()) as later:
        later.append("note.added", {"text": "b"})
    ledger.path.write_bytes(kept)
    with Ledger.open(ledger.path, plugins=()) as older:
        for _ in range(2):
            with pytest.raises(AppendRefused, match="older copy, 1 event behind"):
                older.append("note.added", {"text": "c"})
        assert older.head.size == 2


def test_another_history_does_not_grow(ledger: Ledger) -> None:
    """A copy that went another way is a fork, and refuses to append."""
    ledger.close()
    kept = ledger.path.read_bytes()
    home = TrustHome()
    with Ledger.open(ledger.path, plugins=()) as one:
        one.append("note.added", {"text": "one"})
    ledger.path.write_bytes(kept)
    head = home.keys_directory(ledger.id).with_name("head")
    remembered = head.read_bytes()
    head.unlink()
    with Ledger.open(ledger.path, plugins=()) as other:
        other.append("note.added", {"text": "other"})
        other.append("note.added", {"text": "other"})
    head.write_bytes(remembered)
    with (
        Ledger.open(ledger.path, plugins=()) as forked,
        pytest.raises(WrongError, match="history differs") as caught,
    ):
        forked.append("note.added", {"text": "more"})
    assert caught.value.exit_code == 1
    assert verify(ledger.path).exit_code == 1


def test_a_key_event_that_cannot_hold_is_not_written(ledger: Ledger) -> None:
    """Enrolling a key without proof of possession leaves the log as it was."""
    root = signer_from_uri(str(TrustHome().recovery_directory(ledger.id) / "root.pem"))
    data = {"keyid": "SHA256:" + "A" * 43, "reason": "no such key"}
    prepared = EventTypes(KERNEL_TYPES).get("key.revoked").prepare(data)
    for _ in range(2):
        with pytest.raises(MunimentError, match="key/"):
            ledger.store.append([Draft(prepared)], signer=root)
    assert ledger.append("note.added", {"text": "a"}).seq == 1
    assert verify(ledger.path).ok


def test_a_checkpoint_is_made_every_so_many_events(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody needs to ask for checkpoints: appending makes them."""
    monkeypatch.setattr("muniment.storage.append.CHECKPOINT_EVENTS", 3)
    sizes = set()
    for _ in range(10):
        ledger.append("note.added", {"text": "a"})
        sizes.add(ledger.store.last_checkpoint()[0])
    assert len(sizes) >= 3
    assert len(TrustHome().anchors(ledger.id)) >= 3


def test_a_clean_close_leaves_one_file(ledger: Ledger) -> None:
    """Whoever wrote and closes last leaves no log behind."""
    ledger.append("note.added", {"text": "a"})
    assert list(ledger.events())
    ledger.close()
    names = {path.name for path in ledger.path.parent.iterdir()}
    assert names == {"ledger.db", ".gitignore"}
