"""``muniment policy``: checks a policy, and signs it."""

from __future__ import annotations

from pathlib import Path

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, json_option
from muniment_cli.shell.policies import read_policy
from muniment_cli.terminal.output import fields, hint, say, show_json

__all__ = ["command"]

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group(
    "policy",
    epilog=examples(
        "muniment policy check policy.json",
        "muniment policy sign policy.json -o signed.json",
    ),
)
def command() -> None:
    """Check a policy, or sign it."""


@command.command("check", epilog=examples("muniment policy check policy.json"))
@click.argument("file", type=_FILE)
@json_option
def check(file: Path, as_json: bool) -> int:
    """Say whether FILE is a policy without mistakes, and its digest.

    No ledger is needed. Functions that are fallbacks are found, as by run: their modules
    are imported. Effect kinds are those that muniment and the plugins here declare; what
    a program registers is known to its run alone. Whether a signature counts depends on
    the ledger in which the policy is used: who signed it is said here, and not believed.
    """
    from muniment.plugins import Plugins
    from muniment_plugins.governance.documents.signed_policy import signer_of
    from muniment_plugins.governance.flows.existence import kinds_of, require_kinds

    policy = read_policy(file)
    if policy is None:
        raise AssertionError("click requires the file")
    require_kinds(policy, None, kinds_of(Plugins()))
    by = None if policy.envelope is None else signer_of(policy.envelope)
    if as_json:
        told = {"policy": policy.name, "digest": policy.digest, "mode": policy.mode}
        show_json({**told, "signed_by": by, "document": dict(policy.document)})
        return 0
    fields(
        [
            ("policy", policy.name),
            ("digest", policy.digest),
            ("mode", policy.mode),
            (
                "signed by",
                "nobody" if by is None else f"{by}, as it says: not verified",
            ),
        ]
    )
    return 0


@command.command(
    "sign",
    epilog=examples("muniment policy sign policy.json -o signed.json --key ann.pem"),
)
@click.argument("file", type=_FILE)
@click.option(
    "-o", "--output", required=True, type=_FILE, help="Write the envelope to this file."
)
@click.option(
    "--key",
    metavar="KEY",
    help="Sign with this key: a file, or env:NAME.  [default: the trust home's]",
)
@json_option
@pass_session
def sign(
    session: Session, file: Path, output: Path, key: str | None, as_json: bool
) -> int:
    """Sign the policy in FILE with an approver's key.

    The envelope takes the place of the policy: `--policy` reads either. A ledger adopts a
    signed policy only if the signer is an approver of it.
    """
    from muniment.encoding.canonical import canonical
    from muniment_cli.keys.answers import approver_key
    from muniment_cli.shell.new_places import write_or_refuse
    from muniment_plugins.governance.documents.signed_policy import sealed

    with session.open() as ledger:
        policy = read_policy(file)
        if policy is None:
            raise AssertionError("click requires the file")
        signer = approver_key(ledger, key)
    envelope = sealed(policy.document, signer)
    write_or_refuse(output, canonical(dict(envelope)) + b"\n")
    if as_json:
        show_json(
            {"digest": policy.digest, "key": signer.public.keyid, "output": output}
        )
        return 0
    say(output)
    hint(f"{policy.digest} is signed by {signer.public.keyid}")
    return 0
