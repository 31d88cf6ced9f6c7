"""One line about the machine that figures were measured on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ramidyn.backend.llvm.target import chosen


def processor() -> str:
    """Return the processor's own name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def installed(package: str) -> str:
    """Return a package's version, or "absent"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def machine_line(*packages: str) -> str:
    """Return processor, vector width and versions."""
    target = chosen()
    names = ("ramidyn", "numpy", "llvmlite", *packages)
    versions = ", ".join(f"{p} {installed(p)}" for p in names)
    width = f"{target.lanes('float64')} doubles per vector"
    python = platform.python_version()
    return f"{processor()} ({target.cpu}, {width}), Python {python}, {versions}"
