"""``muniment eval``: holds recorded runs against a suite, or two sets of them.

Rules: the eval is recorded, and its verdict is signed. Exit code 0 if it passed, 1 if it
failed, 3 if nobody can tell; the same with ``--json``. No file is overwritten.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muniment_cli.shell.completion import complete_runs
from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.decided import DECIDED
from muniment_cli.shell.options import examples, json_option, pairs

if TYPE_CHECKING:
    from muniment_plugins.evals import EvalSuite

__all__ = ["command"]


@click.command(
    "eval",
    epilog=examples(
        "muniment eval fixture.json last",
        "muniment eval evals/letters.toml --junit letters.xml",
        "muniment eval evals/letters.toml prompt=new --against prompt=old",
    ),
)
@click.argument("suite", metavar="SUITE")
@click.argument("runs", metavar="[RUN…]", nargs=-1, shell_complete=complete_runs)
@click.option(
    "--against",
    multiple=True,
    metavar="RUN",
    help="Compare with these runs, case by case; may be repeated.",
)
@click.option(
    "--pair-by",
    metavar="LABEL",
    help="With --against: the label that runs of one case share.  [default: case; where runs "
    "lack it, their input pairs them]",
)
@click.option(
    "--fail-on",
    type=click.Choice(["worse", "shown"]),
    help="With --against: exit 1 if a case got worse, or if the test shows it.  [default: "
    "worse]",
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the result as JUnit XML, to a new file.",
)
@click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label of the eval."
)
@json_option
@pass_session
def command(  # noqa: PLR0913, PLR0917 - click hands over one for each option
    session: Session,
    suite: str,
    runs: tuple[str, ...],
    against: tuple[str, ...],
    pair_by: str | None,
    fail_on: str | None,
    junit: Path | None,
    labels: tuple[str, ...],
    as_json: bool,
) -> int:
    """Hold recorded runs of graphs against a suite, and record the verdict.

    SUITE is a pack, a manifest or a fixture that ends in .json, .yaml or .toml. RUN is an id,
    a prefix of one, or LABEL=VALUE for all runs with that label but forks, which have it of
    their origin; cases that name no run are held to each. `last` is the newest run of a graph
    here: evals, and what runs called, are passed over. The events of each run are verified
    before it is judged: one that was changed is named, and the exit code is 1. A case that
    compared nothing passes nothing, and neither does a fixture held against the run that it
    was made of: the exit code is 3.
    """
    from muniment_cli.shell.new_places import write_or_refuse
    from muniment_cli.terminal.output import show_json
    from muniment_cli.views.graphs.evals import show_eval
    from muniment_plugins.evals import eval_suite_run, junit_xml

    _require_new(junit)
    with session.open(write=True) as ledger:
        _require_plugin(ledger.plugins.versions)
        found = eval_suite_run(
            ledger,
            _loaded(suite),
            runs,
            against,
            pair_by=pair_by,
            fail_on=fail_on,
            labels=pairs(labels, "label"),
        )
    DECIDED.code = int(found["exit_code"])
    if junit is not None:
        write_or_refuse(junit, junit_xml(found).encode())
    if as_json:
        show_json(found)
    else:
        show_eval(found)
    return int(found["exit_code"])


def _require_new(file: Path | None) -> None:
    """Refuse a file that is there, before anything is run.

    Raises:
        UsageError: it is, or its folder is not.

    """
    if file is None:
        return
    from muniment.errors import UsageError
    from muniment_cli.shell.new_places import require_parent

    require_parent(file)
    if file.exists() or file.is_symlink():
        raise UsageError(
            "the file is there, and nothing is overwritten",
            rule="cli/output",
            place=str(file),
            remedy="choose another name",
        )


def _require_plugin(active: Any) -> None:
    """Refuse a ledger that knows no evals.

    Raises:
        CannotTellError: it does not.

    """
    from muniment.errors import CannotTellError

    for name in ("workflow", "evals"):
        if name not in active:
            raise CannotTellError(
                f"the plugin {name} is not active",
                rule="evals/plugin",
                place="this ledger",
                remedy="see `muniment plugins`, and MUNIMENT_PLUGINS",
            )


def _loaded(name: str) -> EvalSuite:
    """Return the suite in a file, or say which file was probably meant.

    Raises:
        UsageError: there is none, or it has a mistake.

    """
    from muniment.documents.places import near
    from muniment.documents.reading import SUFFIXES
    from muniment.errors import UsageError
    from muniment_plugins.evals import load_suite

    file = Path(name)
    if file.is_dir() or not file.exists():
        folder = file if file.is_dir() else file.parent
        there = folder.iterdir() if folder.is_dir() else ()
        known = sorted(
            one.name
            for one in there
            if one.suffix.lower() in SUFFIXES and one.name != file.name
        )
        what = "it is a folder" if file.is_dir() else "there is no such file"
        if file.is_symlink() and not file.is_dir():
            what = "it is a link that leads to no file"
        raise UsageError(
            what,
            rule="evals/file",
            place=name,
            remedy=near(file.name, known[:20])
            or "name a pack, a manifest or a fixture",
        )
    return load_suite(name)
