"""Click groups that load late, suggest near names, and take options anywhere.

Rules:

- A command is imported when it is called (or when its own help is asked for).
- The global options may be before the command or after it.
- A group with a default command runs it when no command is named.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

import click

from muniment_cli.shell.context import Session
from muniment_cli.shell.table import SECTIONS, Entry, entries, plugin_entries

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["DefaultGroup", "MainGroup", "command_line"]

Setter = Callable[["click.Context", "click.Parameter | None", "str | None"], None]


class _Guessing(click.Group):
    """A group that suggests the command that was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest near names."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, self.list_commands(ctx), n=2)
            options = [text for one in self.get_params(ctx) for text in one.opts]
            if name in ("help", "version") and f"--{name}" in options:
                near = [f"--{name}"]
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"no command is called {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


class DefaultGroup(_Guessing):
    """A group where ``muniment GROUP [OPTIONS]`` means ``GROUP list [OPTIONS]``."""

    default = "list"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command if none is named."""
        at = 0
        while at < len(args) and args[at].startswith("-"):
            if args[at] in ctx.help_option_names:
                return super().parse_args(ctx, args)
            if args[at] == "--ledger":
                at += 2
            elif args[at] in _SWITCHES or args[at].startswith("--ledger="):
                at += 1
            else:
                break
        if ctx.resilient_parsing and at >= len(args):
            return super().parse_args(ctx, args)  # a name is still being typed
        if at >= len(args) or args[at].startswith("-"):
            args = [*args[:at], self.default, *args[at:]]
        return super().parse_args(ctx, args)

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the commands, and the options of the default command."""
        found = super().shell_complete(ctx, incomplete)
        chosen = self.get_command(ctx, self.default)
        if chosen is not None and incomplete.startswith("-"):
            known = {one.value for one in found}
            more = chosen.shell_complete(click.Context(chosen, parent=ctx), incomplete)
            found += [one for one in more if one.value not in known]
        return found

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write each command with its whole first sentence; click would cut it."""
        found = [
            (name, self.get_command(ctx, name)) for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(200)) for name, one in found if one]
            )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the examples of the default command if the group has none."""
        chosen = self.get_command(ctx, self.default)
        if self.epilog is None and chosen is not None:
            chosen.format_epilog(ctx, formatter)
        else:
            super().format_epilog(ctx, formatter)


class MainGroup(_Guessing):
    """``muniment``: every command by name, none loaded before it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, plugins' last."""
        del ctx
        return [*entries(), *(entry.name for entry in plugin_entries())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command *cmd_name*."""
        if (entry := entries().get(cmd_name)) is not None:
            return _with_globals(_load(entry), _set_ledger)
        for entry in plugin_entries():
            if entry.name == cmd_name:
                _export_ledger(ctx, None, ctx.ensure_object(Session).ledger_url)
                return _with_globals(_load_stranger(entry), _export_ledger)
        return None

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the sections of the table; import nothing."""
        del ctx
        sections: list[tuple[str, Iterable[Entry]]] = [*SECTIONS]
        offered = list(plugin_entries())
        if offered:
            sections.append(("Plugins", offered))
        width = max(len(one.name) for _, section in sections for one in section)
        for title, section in sections:
            with formatter.section(title):
                formatter.write_dl(
                    [(one.name.ljust(width), one.help) for one in section]
                )

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the names of the table; import nothing."""
        from click.shell_completion import CompletionItem

        known = [*entries().values(), *plugin_entries()]
        found = [
            CompletionItem(one.name, help=one.help)
            for one in known
            if one.name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)


def _load(entry: Entry) -> click.Command:
    module, _, attribute = entry.target.partition(":")
    command = cast("object", getattr(importlib.import_module(module), attribute))
    if not isinstance(command, click.Command):
        raise TypeError(f"{entry.target} is not a click command")
    return command


def _load_stranger(entry: Entry) -> click.Command:
    """Import a plugin's command; whatever it raises is not our bug.

    Raises:
        CannotTellError: it cannot be imported, or is not a command.

    """
    try:
        return _load(entry)
    except Exception as error:
        from muniment.errors import CannotTellError

        raise CannotTellError(
            f"{type(error).__name__}: {error}",
            rule="plugin/load",
            place=f"command {entry.name} {entry.help}",
            remedy="repair or uninstall the plugin; `muniment plugins check` says more",
        ) from error


def _with_globals(command: click.Command, set_ledger: Setter) -> click.Command:
    """Let *command* take the global options, too, after its name."""
    taken = {name for parameter in command.params for name in parameter.opts}
    command.params += [
        one
        for one in _global_options(set_ledger, hidden=True)
        if not taken & set(one.opts)
    ]
    if isinstance(command, click.Group):
        for name in list(command.commands):
            _with_globals(command.commands[name], set_ledger)
    return command


def _set_ledger(
    ctx: click.Context, _: click.Parameter | None, value: str | None
) -> None:
    if value is not None:
        ctx.ensure_object(Session).ledger_url = value


def _export_ledger(
    ctx: click.Context, parameter: click.Parameter | None, value: str | None
) -> None:
    """Set the ledger for `muniment.open`, which a plugin's command calls, too."""
    if value is not None:
        _set_ledger(ctx, parameter, value)
        os.environ["MUNIMENT_LEDGER"] = value


def _set_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Session).debug = True


def _set_color(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Session).plain = True
        ctx.find_root().color = ctx.color = False


_SWITCHES = ("--debug", "--no-color")


def _global_options(set_ledger: Setter, *, hidden: bool) -> list[click.Parameter]:
    """Return fresh global options; they set the session and reach no function."""
    return [
        click.Option(
            ["--ledger"],
            metavar="URL",
            callback=set_ledger,
            expose_value=False,
            help="The ledger: a path or sqlite:///PATH.  [env: MUNIMENT_LEDGER]",
        ),
        click.Option(
            ["--no-color"],
            is_flag=True,
            callback=_set_color,
            expose_value=False,
            hidden=hidden,
            help="Print without colours.  [env: NO_COLOR]",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            callback=_set_debug,
            expose_value=False,
            hidden=hidden,
            help="Show everything that is known about an error.",
        ),
    ]


def command_line() -> MainGroup:
    """Return the command ``muniment``."""
    group = MainGroup(
        "muniment",
        invoke_without_command=True,
        callback=_help_without_command,
        help="A signed, hash-chained record of what programs and models did: "
        "audit it, prove it, replay it.",
        epilog="\b\nExamples:\n"
        "  muniment demo\n"
        "  muniment init && muniment run experiment.py\n"
        "  muniment verify\n",
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": 100,
        },
    )
    group.params += _global_options(_set_ledger, hidden=False)
    version = click.version_option(
        package_name="muniment", message="%(prog)s %(version)s"
    )
    return version(group)


def _help_without_command() -> None:
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
