"""The group of subcommands: imported on demand, with suggestions for typos."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

import click


class Group(click.Group):
    """Sub-commands by name, with a line of help each; ``load`` imports one."""

    def __init__(
        self,
        *args: Any,
        commands_by_name: Mapping[str, str],
        load: Callable[[str], click.Command],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.commands_by_name: dict[str, str] = dict(commands_by_name)
        self.load = load

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order in which a newcomer needs them."""
        return list(self.commands_by_name)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Import a sub-command."""
        if cmd_name not in self.commands_by_name:
            return None
        return self.load(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the sub-command that was asked for, or suggest the closest name."""
        name = args[0]
        if not name.startswith("-") and name not in self.commands_by_name:
            known = list(self.commands_by_name)
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise click.ClickException(
                f"Unknown command {name!r}. {hint}Available commands: "
                + ", ".join(known)
            )
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list without importing the sub-commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.commands_by_name.items()))
