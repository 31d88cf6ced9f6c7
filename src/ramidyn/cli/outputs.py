"""Refuse to write over the input of a command, before anything is touched."""

from __future__ import annotations

import os
from pathlib import Path

from ramidyn.errors import Error


def check_output(output: str | os.PathLike[str], *inputs: Path | None) -> None:
    """Raise Error where writing an output would destroy an input.

    An output that is an input, holds it or lies inside of it is refused, whatever links
    lead there; links inside of an input folder count as inputs.
    """
    for given in inputs:
        if given is None or not given.exists():
            continue
        links = (p for p in given.rglob("*") if p.is_symlink())
        for path in (given, *(links if given.is_dir() else ())):
            relation = _relation(Path(output).resolve(), path.resolve())
            if relation:
                raise Error(
                    f"{os.fspath(output)}: the output {relation} the input {path}; "
                    "choose another output"
                )


def _relation(output: Path, given: Path) -> str:
    if output == given or (output.exists() and output.samefile(given)):
        return "is"
    if given.is_relative_to(output):
        return "holds"
    return "is inside" if output.is_relative_to(given) else ""
