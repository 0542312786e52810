"""``muniment keys``: who may sign, and how that changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment.errors import CannotTellError, UsageError
from muniment_cli.keys.key_files import read_request, read_root, write_request
from muniment_cli.keys.rotation import keys_here, old_key, replace_key, rotate_root
from muniment_cli.shell.completion import complete_keys
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.group import DefaultGroup
from muniment_cli.shell.options import ALGORITHMS, examples, json_option
from muniment_cli.terminal.advice import quoted
from muniment_cli.terminal.output import Cell, hint, say, show_json, table

if TYPE_CHECKING:
    from muniment.formats.statement import Event
    from muniment.keys.enrolment import KeyEntry
    from muniment_cli.terminal.fitting import Give

__all__ = ["command"]

_ROLES = click.Choice(["writer", "checkpoint", "approver"])
_PREFIX = len("SHA256:") + 16
"""Enough of a key's id to be pasted back."""
_algorithm = click.option(
    "--algorithm",
    type=click.Choice(ALGORITHMS),
    help="What kind of key is made.  [default: as the one before, else ed25519]",
)
_root = click.option(
    "--root",
    "root_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The root's private key, from where you keep it.",
)


@click.group(cls=DefaultGroup, epilog=examples("muniment keys"))
def command() -> None:
    """List, request, enrol, rotate, revoke, trust and export keys."""


@command.command("list", epilog=examples("muniment keys list", "muniment keys --json"))
@json_option
@pass_session
def list_keys(session: Session, as_json: bool) -> int:
    """List every key that the ledger ever had, and which are pinned or at hand."""
    with session.open() as ledger:
        pins = ledger.home.pins(ledger.id)
        here = keys_here(ledger)
        entries = ledger.keys.entries
    if as_json:
        show_json([_document(one, pins, here) for one in entries])
        return 0
    rows: list[list[Cell]] = [
        [
            (one.keyid, "" if one.until is None else "dim"),
            ", ".join(one.roles),
            one.name,
            str(one.since),
            "" if one.until is None else (str(one.until), "yellow"),
            ", ".join(_marks(one, pins, here)),
        ]
        for one in entries
    ]
    headings = ["key", "roles", "name", "since", "until", ""]
    gives: dict[str, Give] = {"key": _PREFIX, "": "never"}
    table(headings, rows, right=["since", "until"], gives=gives)
    return 0


@command.command(epilog=examples("muniment keys request --name 'ci runner' -o ci.json"))
@click.option("--role", "roles", type=_ROLES, multiple=True, default=["writer"])
@click.option("--name", default="", help="What people call the key.")
@click.option(
    "--id", "ledger_id", metavar="ID", help="The ledger's id, where it is not at hand."
)
@click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path),
    help="Use this private key; made if it is not there.  [default: the trust home's]",
)
@_algorithm
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False))
@pass_session
def request(  # noqa: PLR0913 - click passes them by name
    session: Session,
    *,
    roles: tuple[str, ...],
    name: str,
    ledger_id: str | None,
    key_file: Path | None,
    algorithm: str | None,
    output: Path | None,
) -> int:
    """Make a key on this machine, and the request that a root enrols.

    The request contains nothing secret; the private key stays here.
    """
    from muniment.key_management import request as ask
    from muniment.keys.ed25519 import PrivateKey, load_private, save_private

    if ledger_id is None:
        ledger_id = _id_at_hand(session)
    home = session.home
    if key_file is None:
        directory = home.keys_directory(ledger_id, create=True)
        key_file = directory / f"{roles[0]}.pem"
        if key_file.exists():
            raise UsageError(
                f"this user has a key for the role {roles[0]} already",
                rule="key/exists",
                place=str(key_file),
                remedy="request it with --key FILE, or name another file there",
            )
    if key_file.exists():
        key = load_private(key_file)
    else:
        key = PrivateKey.generate(algorithm or "ed25519")
        save_private(key_file, key)
    write_request(ask(key, ledger_id, list(dict.fromkeys(roles)), name), output)
    hint(
        f"the private key is {key_file}; now let a root run "
        f"`muniment keys enrol {quoted(str(output or 'REQUEST'))} --root FILE`"
    )
    return 0


def _id_at_hand(session: Session) -> str:
    """Return the id of the ledger; a request is for one that need not be here."""
    try:
        with session.open() as ledger:
            return ledger.id
    except CannotTellError as error:
        if error.rule in {"ledger/none", "store/missing"}:
            error.remedy = (
                "name the ledger by its id, --id ID, which `muniment status` says where "
                "it is; or its file with --ledger"
            )
        raise


@command.command(epilog=examples("muniment keys enrol ci.json --root /safe/root.pem"))
@click.argument("request_file", metavar="REQUEST", type=click.Path(path_type=Path))
@_root
@json_option
@pass_session
def enrol(session: Session, request_file: Path, root_file: Path, as_json: bool) -> int:
    """Enrol the key of REQUEST; signed by the root."""
    from muniment import key_management

    asked = read_request(request_file)
    root = read_root(root_file)
    with session.open(write=True) as ledger:
        event = key_management.enrol(ledger, asked, root)
        ledger.checkpoint()
        _tell(event, f"enrolled {event.raw['keyid']}", as_json=as_json)
    return 0


@command.command(
    epilog=examples(
        "muniment keys rotate --role writer --root /safe/root.pem",
        "muniment keys rotate SHA256:bbXp --request new.json --root /safe/root.pem",
        "muniment keys rotate --root /safe/next-root.pem",
    )
)
@click.argument("key", required=False, shell_complete=complete_keys)
@click.option("--role", type=_ROLES, help="The key of this role.")
@click.option(
    "--request",
    "request_file",
    type=click.Path(path_type=Path),
    help="The new key, requested elsewhere; made here without.",
)
@_algorithm
@_root
@json_option
@pass_session
def rotate(  # noqa: PLR0913 - click passes them by name
    session: Session,
    *,
    key: str | None,
    role: str | None,
    request_file: Path | None,
    algorithm: str | None,
    root_file: Path,
    as_json: bool,
) -> int:
    """Replace KEY (an id, a prefix, a name) or the one of --role by a new one.

    Given neither, the next root in --root becomes the root: this is how a lost or
    stolen root is replaced. It commits to a fresh next root.
    """
    root = read_root(root_file)
    with session.open(write=True) as ledger:
        if key is None and role is None:
            return rotate_root(
                ledger, root, root_file, algorithm=algorithm, as_json=as_json
            )
        old = old_key(ledger, key, role)
        event, kept = replace_key(ledger, old, request_file, root, algorithm)
        new = ledger.keys.entries[-1]
        _tell(event, f"rotated {old.keyid}, now {new.keyid}", as_json=as_json)
        if kept is not None:
            hint(f"the new private key is {kept}")
    with session.open(write=True) as ledger:  # the keys of now
        ledger.checkpoint()
    return 0


@command.command(
    epilog=examples(
        "muniment keys revoke SHA256:bbXp --reason 'laptop stolen' --root root.pem"
    )
)
@click.argument("key", shell_complete=complete_keys)
@click.option(
    "--reason", required=True, metavar="TEXT", help="The reason; it is recorded."
)
@_root
@json_option
@pass_session
def revoke(
    session: Session, key: str, reason: str, root_file: Path, as_json: bool
) -> int:
    """End KEY (an id, a prefix, a name): what it signs from now on is refused."""
    from muniment import key_management

    root = read_root(root_file)
    with session.open(write=True) as ledger:
        old = key_management.find_key(ledger.keys, key)
        event = key_management.revoke(ledger, old, reason, root)
        ledger.checkpoint()
        _tell(event, f"revoked {old.keyid} ({', '.join(old.roles)})", as_json=as_json)
    return 0


@command.command(epilog=examples("muniment keys trust SHA256:bbXpuKG6…"))
@click.argument("fingerprint")
@json_option
@pass_session
def trust(session: Session, fingerprint: str, as_json: bool) -> int:
    """Pin the key FINGERPRINT of this ledger, whole, as its keeper told you."""
    from muniment import key_management

    with session.open() as ledger:
        entry = key_management.trust(ledger, fingerprint)
        if as_json:
            show_json(
                {"ledger": ledger.id, "pinned": entry.keyid, "roles": entry.roles}
            )
        else:
            say(f"pinned {entry.keyid} ({', '.join(entry.roles)}) for {ledger.id}")
        if "root" not in entry.roles:
            hint("this is not a root: it vouches for what it signs, not for the ledger")
        elif entry.until is not None:
            (now,) = ledger.keys.current("root")
            hint(f"the root is another since: `muniment keys trust {now.keyid}`")
    return 0


@command.command(
    epilog=examples(
        "muniment keys export --role checkpoint --format vkey",
        "muniment keys export SHA256:bbXp --format pem > writer.pub",
    )
)
@click.argument("key", required=False, shell_complete=complete_keys)
@click.option("--role", type=click.Choice(["root", "writer", "checkpoint", "approver"]))
@click.option(
    "--format",
    "form",
    type=click.Choice(["ssh", "pem", "vkey", "fingerprint"]),
    default="ssh",
    show_default=True,
    help="vkey is what C2SP tools take for checkpoints.",
)
@pass_session
def export(session: Session, key: str | None, role: str | None, form: str) -> int:
    """Print public keys: KEY, those that hold --role now, or all current ones."""
    from muniment import key_management

    with session.open() as ledger:
        keyring = ledger.keys
        entries = [key_management.find_key(keyring, key)] if key else keyring.entries
        for one in entries:
            if key or (one.until is None and (role is None or role in one.roles)):
                say(_exported(one, form, ledger.id))
    return 0


def _exported(entry: KeyEntry, form: str, ledger_id: str) -> str:
    from muniment.formats.checkpoint import origin, vkey

    if form == "pem":
        return entry.public.pem.rstrip("\n")
    if form == "fingerprint":
        return entry.keyid
    if form == "vkey":
        return vkey(origin(ledger_id), entry.public)
    return f"{entry.public.ssh} {entry.name or '+'.join(entry.roles)}"


def _marks(entry: KeyEntry, pins: frozenset[str], here: dict[str, str]) -> list[str]:
    marks = ["pinned"] if entry.keyid in pins else []
    return [*marks, "here"] if entry.keyid in here else marks


def _document(
    entry: KeyEntry, pins: frozenset[str], here: dict[str, str]
) -> dict[str, object]:
    return {
        "here": entry.keyid in here,
        "keyid": entry.keyid,
        "name": entry.name,
        "pinned": entry.keyid in pins,
        "public": entry.public.ssh,
        "roles": list(entry.roles),
        "since": entry.since,
        "until": entry.until,
    }


def _tell(event: Event, line: str, *, as_json: bool) -> None:
    if as_json:
        show_json({"data": event.raw, "seq": event.seq, "type": event.type})
    else:
        say(f"{line}, event {event.seq}")
