"""``muniment runs fixture``: what a run was, for other runs to be held against.

Rule: it goes to stdout, or to a new file; nothing is overwritten.
"""

from __future__ import annotations

from pathlib import Path

import click

from muniment_cli.shell.context import Session, pass_session
from muniment_cli.shell.options import examples, run_argument
from muniment_cli.terminal.output import hint, show_json

__all__ = ["fixture_of_run"]


@click.command(
    "fixture",
    epilog=examples(
        "muniment runs fixture last -o letter.json",
        "muniment runs fixture 01JD3Z8M6Q --outcomes",
    ),
)
@run_argument
@click.option(
    "--outcomes",
    is_flag=True,
    help="Only how stages ended: nothing of what they made and worked on.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="PART",
    help="Leave a part out: graph, task, text, data, title, error, verification or metadata; "
    "may be repeated. Without graph, runs of a changed graph pass as well.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A new file, instead of stdout.",
)
@pass_session
def fixture_of_run(
    session: Session,
    run: str,
    outcomes: bool,
    ignore: tuple[str, ...],
    output: Path | None,
) -> int:
    """Write the fixture that a run of a graph passes.

    `muniment eval FIXTURE RUN` holds another run against it: the graph, how each stage
    ended, and, by digest, the task and what was made. Held against the run itself it proves
    nothing.
    """
    import json

    from muniment_cli.shell.new_places import require_parent, write_or_refuse
    from muniment_plugins.evals import run_record_fixture

    if output is not None:
        _require_json(output)
        require_parent(output)
    left = {"ignore": [*dict.fromkeys(ignore)]}
    with session.open() as ledger:
        made = run_record_fixture(ledger, run, contents=not outcomes, normaliser=left)
    if output is None:
        show_json(made)
        return 0
    text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    write_or_refuse(output, text.encode())
    hint(f"`muniment eval {output} RUN` holds another run against it")
    return 0


def _require_json(output: Path) -> None:
    """Refuse a name by which `muniment eval` would read the fixture as something else.

    Raises:
        UsageError: it does not end in .json.

    """
    if output.suffix.lower() == ".json":
        return
    from muniment.errors import UsageError

    raise UsageError(
        "a fixture is written as JSON, and read by the end of its name",
        rule="cli/output",
        place=str(output),
        remedy=f"call it {output.with_suffix('.json').name}",
    )
