"""Find a linker, and link object files to a shared library."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from ramidyn.backend.llvm.target import Processor, host
from ramidyn.errors import CompileError

ZIG: Final = "zig"
"""the linker in the package ziglang"""


@final
@dataclass(frozen=True, slots=True)
class Linker:
    """A program that links, and how it takes its options."""

    command: tuple[str, ...]
    is_compiler: bool
    """a C compiler that passes options on to its linker"""

    def __str__(self) -> str:
        return ZIG if "ziglang" in self.command else Path(self.command[0]).name


def find_linker(processor: Processor, wanted: str | None = None) -> Linker:
    """Return the linker to use for a processor, or the wanted one.

    Raises:
        CompileError: there is none.
    """
    names = [wanted] if wanted else _candidates(processor)
    for name in names:
        found = _linker(name, processor)
        if found is not None:
            return found
    raise CompileError(
        f"export_library: no linker for {processor.triple}; looked for "
        f"{', '.join(names)}. Install a C compiler, or run: pip install ziglang"
    )


def _candidates(processor: Processor) -> list[str]:
    machine = processor.triple.partition("-")[0]
    if host().triple.startswith(machine) and sys.platform == "linux":
        return [*filter(None, [os.environ.get("CC")]), "cc", "gcc", "clang", "ld", ZIG]
    return [f"{machine}-linux-gnu-gcc", ZIG]


def _linker(name: str, processor: Processor) -> Linker | None:
    machine = processor.triple.partition("-")[0]
    if name == ZIG:
        if importlib.util.find_spec("ziglang") is None:
            return None
        target = f"{machine}-linux-gnu"
        command = (sys.executable, "-m", "ziglang", "cc", "-target", target)
        return Linker(command, is_compiler=True)
    path = shutil.which(name)
    if path is None:
        return None
    return Linker((path,), is_compiler=not Path(name).name.endswith("ld"))


def link(
    objects: Sequence[bytes], symbols: Sequence[str], library: Path, linker: Linker
) -> None:
    """Link objects to a shared library that shows only some symbols.

    The library is there whole, or not at all.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files: list[str] = []
        for k, code in enumerate(objects):
            path = folder / f"part{k}.o"
            path.write_bytes(code)
            files.append(str(path))
        shown = folder / "symbols.map"
        shown.write_text(f"{{ global: {'; '.join(symbols)}; local: *; }};\n")
        made = folder / library.name
        options = [f"--version-script={shown}", f"-soname={library.name}"]
        if linker.is_compiler:
            options = [f"-Wl,{o.replace('-soname=', '-soname,')}" for o in options]
        # A linker without a compiler knows no folder of development files.
        maths = "-lm" if linker.is_compiler else "-l:libm.so.6"
        command = [*linker.command, "-shared", "-o", str(made), *files, *options, maths]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not made.exists():
            raise CompileError(
                f"export_library: {linker} cannot link {library.name}:\n"
                f"{(done.stderr or done.stdout)[:2000]}"
            )
        moved = library.with_name(f".{library.name}.part")
        shutil.copyfile(made, moved)
        moved.chmod(0o755)
        os.replace(moved, library)
