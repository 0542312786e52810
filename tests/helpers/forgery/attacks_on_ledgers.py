"""Attacks on a ledger file: what somebody holds, what they do, and what `verify` says.

Every row of the table in ``docs/trust.md`` is one `Attack` here, tried when the page is
written (``tools/ledger_attacks.py``) and whenever the tests run. The auditor has the
ledger's root as a pin, and an anchor over all events of the honest ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import rfc8785

from attacking import tampering
from broken_decisions import Asked, envelope_of
from forge import RUN, Forge, keyid, make_key
from muniment.trust.home import TrustHome
from muniment.verification.verify import Report, verify

__all__ = ["ATTACKS", "Attack", "carried_out", "honest", "table"]


@dataclass(frozen=True)
class Attack:
    """One thing that is done to the honest ledger."""

    holder: str
    """Which key the attacker has."""
    does: str
    forged: Callable[[Forge], Forge] | None = None
    """Returns what is written in the place of the ledger."""
    sql: str = ""
    """What is done to the file; its triggers are put back afterwards."""
    anchor: Callable[[Forge], bytes] | None = None
    """What is handed to the auditor in the place of the anchor."""
    keys: tuple[str, ...] = ("one/root",)
    """Whose fingerprints the auditor was given."""


def honest() -> Forge:
    """Return a ledger with a run, a content, keys of every fate, and checkpoints."""
    forge = Forge("one").open()
    forge.enrol("second", ["writer"])
    forge.enrol("gone", ["writer", "checkpoint"])
    data = {"keyid": keyid(forge.key("gone")), "reason": "stolen"}
    forge.append("key.revoked", data, signer=forge.key("root"))
    forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
    reference = forge.blob(b'"an answer"')
    forge.append("note.added", {"text": "x", "details": reference}, run=RUN)
    forge.checkpoint()
    forge.end_run(RUN, duration_us=1)
    forge.append("note.added", {"text": "the last"})
    forge.checkpoint()
    return forge


def _cut(forge: Forge) -> Forge:
    made = forge.with_rows(forge.rows[:-2])
    made.notes = forge.notes[:1]
    return made


def _rebuilt(_: Forge) -> Forge:
    return Forge("two").open()


def _under_stolen(_: Forge) -> Forge:
    class Thief(Forge):
        def key(self, role: str):  # type: ignore[no-untyped-def]
            return make_key("one/writer" if role == "root" else f"thief/{role}")

    return Thief("thief").open()


def _other_story(forge: Forge) -> Forge:
    made = forge.with_rows(forge.rows[:-1])
    made.append("note.added", {"text": "another last"})
    made.checkpoint()
    return made


def _null(forge: Forge) -> Forge:
    made = forge.copy()
    claim = {"predicate": {"muniment": {"type": "note.added"}}}
    made.add_bytes(b"null", claim, made.key("writer"))
    return made


def _more(kind: str, data: object, **rest: object) -> Callable[[Forge], Forge]:
    """Return what appends an event by the writer."""

    def forged(forge: Forge) -> Forge:
        made = forge.copy()
        made.append(kind, data, **rest)  # type: ignore[arg-type]
        return made

    return forged


def _by(name: str) -> Callable[[Forge], Forge]:
    def forged(forge: Forge) -> Forge:
        made = forge.copy()
        made.append("note.added", {"text": "by another"}, signer=make_key(name))
        return made

    return forged


def _second_end(forge: Forge) -> Forge:
    made = forge.copy()
    made.end_run(RUN, duration_us=2)
    return made


def _second_outcome(forge: Forge) -> Forge:
    made, run = forge.copy(), RUN[:-1] + "Z"
    made.append("run.started", {"name": "x", "seed": "0"}, run=run)
    for verb in ("requested", "completed", "completed"):
        made.append(f"probe.{verb}", {"text": verb}, run=run, ordinal=1)
    return made


def _late_outcome(forge: Forge) -> Forge:
    made, run = forge.copy(), RUN[:-1] + "Z"
    made.append("run.started", {"name": "x", "seed": "0"}, run=run)
    for verb in ("requested", "completed"):
        made.append(f"decision.{verb}", {"text": verb}, run=run, ordinal=1)
    made.end_run(run)
    made.append("decision.completed", {"text": "another"}, run=run, ordinal=1)
    return made


def _asked(forge: Forge) -> Asked:
    """Return a copy in which another run asks."""
    return Asked(forge.copy(), run=RUN[:-1] + "Z")


def _made_up(forge: Forge) -> Forge:
    asked = _asked(forge)
    payload = rfc8785.dumps(asked.payload())
    whole = envelope_of(payload, asked.forge.key("writer"))
    whole["signatures"][0]["keyid"] = keyid(asked.forge.key("ann"))
    asked.append(whole)
    return asked.forge


def _unapproved(forge: Forge) -> Forge:
    asked = _asked(forge)
    asked.forge.end_run(asked.run)
    return asked.forge


def _turned(forge: Forge) -> Forge:
    asked = _asked(forge)
    asked.reach("approved", asked.give(outcome="denied"))
    return asked.forge


def _erased(forge: Forge) -> Forge:
    made = forge.copy()
    tag = "sha256:" + made.blobs[0][0].hex()
    made.append("blob.erased", {"blobs": [tag], "reason": "x"})
    made.blobs = [(digest, seq, None) for digest, seq, _ in made.blobs]
    return made


def _series(*links: tuple[int, int | None]) -> Callable[[Forge], Forge]:
    """Return what appends to a series of two: numbers, and of which event to follow."""

    def forged(forge: Forge) -> Forge:
        made = forge.copy()
        for count, after in ((1, None), (2, -1), *links):
            prev = {} if after is None else {"prev": made.rows[after].hash.hex()}
            link = {"claim/c1": {"count": count, **prev}}
            made.append("claim.stated", {"id": "c1", "text": "x"}, series=link)
        return made

    return forged


def _miscounted(forge: Forge) -> Forge:
    """Return what closes a bundle of a claim that was stated twice, and counts one."""
    said = {"count": 1, "key": "claim/c1", "shown": True}
    data = {"manifest": "sha256:" + "0" * 64, "run": RUN, "series": [said]}
    made = _series()(forge)
    made.append("bundle.closed", data)
    return made


def _judged(forge: Forge) -> Forge:
    made = forge.copy()
    said = {"mode": "strict", "verdict": "acceptable", "compared": 9, "guards": []}
    findings = made.blob(b"[]")
    made.append("replay.judged", said | {"replay_of": RUN, "findings": findings})
    return made


def _false_note(forge: Forge) -> Forge:
    made = forge.copy()
    made.append("note.added", {"text": "beyond"})
    made.notes.append((len(made.rows), made.sign_note(len(made.rows), bytes(32))))
    return made


ATTACKS: tuple[Attack, ...] = (
    Attack("nothing", "does nothing"),
    Attack(
        "no key",
        "changes what an event says",
        sql="UPDATE event SET payload = CAST(replace(CAST(payload AS TEXT), "
        "'the last', 'the next') AS BLOB) WHERE seq = 7",
    ),
    Attack(
        "no key",
        "changes a column that only queries read",
        sql="UPDATE event SET type = 'note.removed' WHERE seq = 7",
    ),
    Attack("no key", "removes an event", sql="DELETE FROM event WHERE seq = 5"),
    Attack(
        "no key",
        "changes a blob",
        sql="UPDATE blob SET data = zeroblob(length(data))",
    ),
    Attack("no key", "removes a blob", sql="UPDATE blob SET data = NULL"),
    Attack(
        "no key",
        "plants a trigger",
        sql="CREATE TRIGGER planted AFTER INSERT ON event BEGIN SELECT 1; END",
    ),
    Attack("no key", "removes the checkpoints", sql="DELETE FROM checkpoint"),
    Attack("no key", "cuts off the end", _cut),
    Attack("no key", "rebuilds it under other keys", _rebuilt),
    Attack(
        "no key",
        "hands over a note that a stranger signed as the anchor",
        anchor=lambda forge: forge.note(signer=make_key("stranger")),
    ),
    Attack("a stranger's key", "adds an event", _by("stranger")),
    Attack("a writer's key", "adds a row that holds `null`", _null),
    Attack("a writer's key", "tells another end of the story", _other_story),
    Attack("a writer's key", "ends a run a second time", _second_end),
    Attack("a writer's key", "answers a request a second time", _second_outcome),
    Attack(
        "a writer's key",
        "adds to a run after its end",
        _more("note.added", {"text": "late"}, run=RUN),
    ),
    Attack("a writer's key", "answers a decision after the end", _late_outcome),
    Attack("a writer's key", "makes an approval up", _made_up),
    Attack("a writer's key", "goes on without an approval", _unapproved),
    Attack("a writer's key", "says that a denial was an approval", _turned),
    Attack("a writer's key", "counts no event twice in a series", _series((3, -1))),
    Attack("a writer's key", "leaves an event of a series out", _series((4, -1))),
    Attack("a writer's key", "gives a number of a series twice", _series((2, -2))),
    Attack("a writer's key", "begins a series again", _series((1, None))),
    Attack("a writer's key", "closes a bundle, and counts too few", _miscounted),
    Attack(
        "a writer's key",
        "erases `all`",
        _more("blob.erased", {"blobs": "all", "reason": "x"}),
    ),
    Attack(
        "a writer's key",
        "enrols a key",
        _more("key.enrolled", {"keyid": "x"}, signer=make_key("one/writer")),
    ),
    Attack(
        "a writer's key",
        "builds a ledger with it as the root",
        _under_stolen,
        keys=("one/root", "one/writer"),
    ),
    Attack("a writer's key", "erases a blob by an event that says so", _erased),
    Attack(
        "a writer's key",
        "adds an event of the year 9999",
        _more("note.added", {"text": "x"}, time="9999-01-01T00:00:00.000000Z"),
    ),
    Attack(
        "a writer's key",
        "states what is false",
        _more("note.added", {"text": "two and two is five"}),
    ),
    Attack(
        "a writer's key",
        "states that a replay was acceptable",
        _judged,
    ),
    Attack("a revoked writer's key", "adds an event", _by("one/gone")),
    Attack(
        "a revoked checkpoint key",
        "signs the anchor",
        anchor=lambda forge: forge.note(signer=make_key("one/gone")),
    ),
    Attack("the checkpoint key", "adds an event", _by("one/checkpoint")),
    Attack("the checkpoint key", "signs a false tree head into the file", _false_note),
    Attack(
        "the checkpoint key",
        "signs another tree head as the anchor",
        anchor=lambda forge: forge.sign_note(len(forge.rows), bytes(32)),
    ),
)


def carried_out(attack: Attack, folder: Path) -> Report:
    """Carry *attack* out in *folder*; return what the auditor is told."""
    forge = honest()
    place, anchor = folder / "ledger.db", folder / "kept.note"
    anchor.write_bytes((attack.anchor or Forge.note)(forge))
    (attack.forged(forge) if attack.forged else forge).write(place)
    if attack.sql:
        with tampering(place) as connection:
            connection.execute(attack.sql)
    keys = [keyid(make_key(name)) for name in attack.keys]
    return verify(place, keys=keys, anchor=anchor, home=TrustHome(folder / "home"))


def table(folder: Path) -> Iterator[str]:
    """Yield the lines of the table: attack, finding, exit code."""
    yield "| who has | and | `verify` says | finding | exit |"
    yield "|---|---|---|---|---|"
    for number, attack in enumerate(ATTACKS):
        place = folder / str(number)
        place.mkdir()
        report = carried_out(attack, place)
        rules = sorted({f"`{one.rule}`" for one in report.findings})
        words = (report.integrity, report.authenticity, report.completeness)
        cells = (
            attack.holder,
            attack.does,
            " · ".join(words),
            ", ".join(rules) or ("a note" if report.notes else "none"),
            str(report.exit_code),
        )
        yield "| " + " | ".join(cells) + " |"
