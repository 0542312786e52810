"""Key requests and root keys, from and to files.

Rules: a passphrase comes from ``MUNIMENT_PASSPHRASE``, else from whoever sits at the
terminal; it is never an option, which every process list would show.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muniment.errors import CannotTellError, MunimentError, UsageError
from muniment_cli.output import say

if TYPE_CHECKING:
    from muniment.canonical import JsonValue
    from muniment.keys import PrivateKey

__all__ = ["read_request", "read_root", "write_request"]

ENVIRONMENT = "MUNIMENT_PASSPHRASE"
_MOST = 1 << 20
_WRITTEN = "give the file that `muniment keys request -o FILE` wrote"


def read_root(path: Path) -> PrivateKey:
    """Return the private key in *path*; ask for its passphrase where it has one."""
    from muniment.keys import load_private

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
    from muniment.canonical import parse

    try:
        with path.open("rb") as file:
            return parse(file.read(_MOST))
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
    from muniment.canonical import canonical

    text = canonical(request).decode()
    if output is None:
        say(text)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise UsageError(
            f"the request cannot be written ({error.strerror})",
            rule="cli/output",
            place=str(output),
            remedy="choose another name",
        ) from None
    say(output)
