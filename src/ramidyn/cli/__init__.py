"""Ramidyn on the command line: ``ramidyn --help``.

Exit codes: 0 success, 1 a failed check, 2 invalid input, 3 an internal error.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from ramidyn.cli.group import Group
from ramidyn.errors import Error, printable

HOLDS_NOT, WRONG_INPUT, OUR_BUG, INTERRUPTED = 1, 2, 3, 130

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


def _load(name: str) -> click.Command:
    """Import a subcommand; only the requested one is imported."""
    match name:
        case "demo":
            from ramidyn.cli.demo_ import command
        case "info":
            from ramidyn.cli.info_ import command
        case "view":
            from ramidyn.cli.view_ import command
        case "check":
            from ramidyn.cli.check_ import command
        case "bench":
            from ramidyn.cli.bench_ import command
        case "explain":
            from ramidyn.cli.explain_ import command
        case "compile":
            from ramidyn.cli.compile_ import command
        case "export-c":
            from ramidyn.cli.export_c_ import command
        case "export-library":
            from ramidyn.cli.export_library_ import command
        case "write-inertials":
            from ramidyn.cli.write_inertials_ import command
        case "map":
            from ramidyn.cli.map_ import command
        case "sample":
            from ramidyn.cli.sample_ import command
        case "papers":
            from ramidyn.cli.papers_ import command
        case _:
            from ramidyn.cli.cache_ import command
    return command


@click.group(
    cls=Group,
    commands_by_name=COMMANDS,
    load=_load,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="ROBOT is a URDF, MJCF or SDF file, or a built-in robot such as "
    "humanoid30.  Exit codes: 0 success, 1 failed check, 2 invalid input, 3 internal "
    "error.",
)
@click.option(
    "--debug", is_flag=True, expose_value=False, help="Show tracebacks of errors."
)
@click.version_option(package_name="ramidyn", prog_name="ramidyn")
def ramidyn() -> None:
    """Ramidyn compiles robot dynamics: robot in, native SIMD code out."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line, and exit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    is_debug = "--debug" in given
    given = [a for a in given if a != "--debug"]
    try:
        code = _run(given)
    except Exception as error:  # the last chance to report it
        if is_debug:
            traceback.print_exc()
        code = _explained(error)
    sys.exit(code)


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


def _explained(error: Exception) -> int:
    """Print the error on one line; return the exit code."""
    if isinstance(error, click.ClickException):
        text = error.format_message()
        if isinstance(error, click.UsageError) and error.ctx is not None:
            text += f" (see {error.ctx.command_path} --help)"
        return _failed(text, WRONG_INPUT)
    if isinstance(error, (Error, OSError)):
        return _failed(str(error), WRONG_INPUT)
    name = type(error).__name__
    text = f"Internal error ({name}: {error}). Please report it with the traceback "
    text += "(--debug)."
    return _failed(text, OUR_BUG)


def _failed(text: str, code: int) -> int:
    line = " ".join(printable(text).split())
    print(f"ramidyn: {line}", file=sys.stderr)
    return code
