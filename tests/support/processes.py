"""Scripts of this folder, each run in a process of its own, and their memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent


def run_script(name: str, *arguments: str) -> str:
    """Run a script and return what it prints."""
    paths = [str(SUPPORT.parent), str(SUPPORT.parents[1] / "src")]
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(SUPPORT / name), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def resident() -> int:
    """Return the bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
