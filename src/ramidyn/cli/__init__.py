"""Ramidyn on the command line: ``ramidyn --help``.

Exit codes: 0 success, 1 a failed check, 2 invalid input, 3 an internal error.
"""

from __future__ import annotations

import difflib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from ramidyn.errors import Error, printable
from ramidyn.version import version

WRONG_INPUT, OUR_BUG, INTERRUPTED = 2, 3, 130

COMMANDS = {
    "demo": "Compile a humanoid, check it and time it; no file needed.",
    "info": "Show a robot: tree, joints, masses, frames, warnings.",
    "view": "Show a robot in the browser, with a slider for every joint.",
    "check": "Compare every quantity with Pinocchio and MuJoCo.",
    "bench": "Time calls and batches against Pinocchio and MuJoCo.",
    "explain": "Explain why it is this fast: sparsity, counts, choices.",
    "compile": "Compile quantities into the cache, with times and counts.",
    "export-c": "Export a quantity as C99 with no dependencies.",
    "export-library": "Export compiled quantities as a shared library.",
    "write-inertials": "Write an MJCF model's inertias into it: no meshes needed.",
    "map": "Compute quantities of states on disk, chunk by chunk.",
    "sample": "Write random states and their dynamics to disk.",
    "papers": "Recompute the tables and figures of the founding papers.",
    "cache": "Show or clear the compiled code on disk.",
}
PLACES = {
    "demo": "demo_.command",
    "info": "info_.command",
    "view": "view_.command",
    "check": "check_.command",
    "bench": "bench_.command",
    "explain": "explain_.command",
    "compile": "compile_.command",
    "export-c": "export_.export_c_command",
    "export-library": "export_.export_library_command",
    "write-inertials": "export_.write_inertials_command",
    "map": "bulk_.map_command",
    "sample": "bulk_.sample_command",
    "papers": "papers_.command",
    "cache": "compile_.cache_command",
}
"""module and function of each"""


class Group(click.Group):
    """The sub-commands of COMMANDS; only the requested one is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Import a sub-command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = PLACES[cmd_name].partition(".")
        return getattr(import_module(f"ramidyn.cli.{module}"), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the sub-command that was asked for, or suggest the closest name."""
        name = args[0]
        if not name.startswith("-") and name not in COMMANDS:
            known = list(COMMANDS)
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
            formatter.write_dl(list(COMMANDS.items()))


def _print_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        click.echo(f"ramidyn, version {version()}")
        ctx.exit()


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="ROBOT is a URDF, MJCF or SDF file, or a built-in robot such as "
    "humanoid30.  Exit codes: 0 success, 1 failed check, 2 invalid input, 3 internal "
    "error.",
)
@click.option(
    "--debug", is_flag=True, expose_value=False, help="Show tracebacks of errors."
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def ramidyn() -> None:
    """Ramidyn compiles robot dynamics: robot in, native SIMD code out."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line, and exit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    is_debug = "--debug" in given
    given = [a for a in given if a != "--debug"]
    for stream in (sys.stdout, sys.stderr):
        _write_all_characters(stream)
    try:
        code = _run(given)
    except Exception as error:  # the last chance to report it
        if is_debug:
            traceback.print_exc()
        code = _print_error(error)
    sys.exit(code)


def _write_all_characters(stream: object) -> None:
    """Let a stream take what is not in its alphabet, as pipes of Windows do not."""
    if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
        is_pipe = sys.platform == "win32" and not stream.isatty()
        stream.reconfigure(encoding="utf-8" if is_pipe else None, errors="replace")


def _run(given: Sequence[str]) -> int:
    try:
        ramidyn.main(given or ["--help"], prog_name="ramidyn", standalone_mode=False)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:  # ramidyn ... | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _print_error(error: Exception) -> int:
    """Print the error on one line; return the exit code."""
    if isinstance(error, click.ClickException):
        text = error.format_message()
        if isinstance(error, click.UsageError) and error.ctx is not None:
            text += f" (see {error.ctx.command_path} --help)"
        return _print_failure(text, WRONG_INPUT)
    if isinstance(error, (Error, OSError)):
        return _print_failure(str(error), WRONG_INPUT)
    name = type(error).__name__
    text = f"Internal error ({name}: {error}). Please report it with the traceback "
    text += "(--debug)."
    return _print_failure(text, OUR_BUG)


def _print_failure(text: str, code: int) -> int:
    line = " ".join(printable(text).split())
    print(f"ramidyn: {line}", file=sys.stderr)
    return code
