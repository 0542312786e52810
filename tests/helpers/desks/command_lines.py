"""Each command that prints for machines, and words that call it.

Rule: what there is comes from the command line itself, so that no command is left out.
"""

from __future__ import annotations

import click

from muniment_cli.shell.group import command_line

__all__ = ["commands", "typed"]


def commands() -> dict[str, click.Command]:
    """Return each command that takes ``--json``, by what is typed."""
    group = command_line()
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        if isinstance(one, click.Group):
            found |= {f"{name} {sub}": each for sub, each in one.commands.items()}
        elif one is not None:
            found[name] = one
    return {
        name: one
        for name, one in found.items()
        if any({"--json", "--jsonl"} & {*param.opts} for param in one.params)
    }


def typed(name: str, command: click.Command) -> list[str]:
    """Return words that call *command*: something for each thing that it wants."""
    words = name.split()
    for param in command.params:
        if not param.required:
            continue
        words += [param.opts[0]] if isinstance(param, click.Option) else []
        one_of = (
            [*param.type.choices] if isinstance(param.type, click.Choice) else ["x"]
        )
        number = isinstance(param.type, click.types.IntParamType)
        words.append("1" if number else str(one_of[0]))
    option = {"--json", "--jsonl"} & {o for param in command.params for o in param.opts}
    return [*words, min(option)]
