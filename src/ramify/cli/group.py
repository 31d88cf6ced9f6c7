"""The group of sub-commands: each is imported when asked for, mistypes get advice."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import Any, cast

import click


class Group(click.Group):
    """Sub-commands by name, each in the module of its name: ``command`` in it."""

    def __init__(
        self, *args: Any, commands_by_name: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.commands_by_name = dict(commands_by_name)

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
        module = importlib.import_module(f"ramify.cli.{cmd_name.replace('-', '_')}_")
        return cast("click.Command", module.command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the sub-command that was asked for, or say which was meant."""
        name = args[0]
        if not name.startswith("-") and name not in self.commands_by_name:
            known = list(self.commands_by_name)
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise click.ClickException(
                f"no command {name!r}; {hint}There are: {', '.join(known)}"
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
