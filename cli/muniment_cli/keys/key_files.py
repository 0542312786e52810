"""Reading and writing key requests and root keys.

Rules: a passphrase comes from ``MUNIMENT_PASSPHRASE``, else from the person at the
terminal; it is never an option, which every process list would show.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment.errors import CannotTellError, MunimentError, UsageError
from muniment_cli.terminal.output import say

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.keys.ed25519 import PrivateKey

__all__ = ["read_request", "read_root", "write_request"]

ENVIRONMENT = "MUNIMENT_PASSPHRASE"
_MOST = 1 << 20
_WRITTEN = "give the file that `muniment keys request -o FILE` wrote"


def read_root(path: Path) -> PrivateKey:
    """Return the private key in *path*; ask for its passphrase if it has one."""
    from muniment.keys.ed25519 import load_private

    try:
        return load_private(path, os.environ.get(ENVIRONMENT))
    except CannotTellError as error:
        if error.rule == "key/missing":
            error.remedy = (
                "name the file that you moved away from the trust home; `muniment status` "
                "says what is still there"
            )
        if error.rule != "key/passphrase" or not sys.stdin.isatty():
            raise
    asked: str = click.prompt(f"Passphrase of {path}", hide_input=True, err=True)
    return load_private(path, asked)


def read_request(path: Path) -> JsonValue:
    """Return the key request in *path*."""
    from muniment.encoding.canonical import parse
    from muniment.files.folder import read_given

    try:
        return parse(read_given(path, _MOST))
    except OSError as error:
        raise CannotTellError(
            f"the request cannot be read ({error.strerror})",
            rule="key/request",
            place=str(path),
            remedy=_WRITTEN,
        ) from None
    except MunimentError as error:
        error.place, error.remedy = f"{path} {error.place}".rstrip(), _WRITTEN
        raise


def write_request(request: dict[str, JsonValue], output: Path | None) -> None:
    """Print *request*, or write it to the new file *output*."""
    from muniment.encoding.canonical import canonical
    from muniment.files.folder import write_new

    text = canonical(request).decode()
    if output is None:
        say(text)
        return
    try:
        write_new(output, [text.encode(), b"\n"])
    except OSError as error:
        raise UsageError(
            f"the request cannot be written ({error.strerror})",
            rule="cli/output",
            place=str(output),
            remedy="choose another name",
        ) from None
    say(output)
