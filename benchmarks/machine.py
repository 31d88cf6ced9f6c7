"""What every benchmark shares: the machine it ran on, options, and the best of runs."""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import subprocess
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def options(doc: str) -> argparse.ArgumentParser:
    """Return a parser with the options of every benchmark."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few runs")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    return parser


def machine(*packages: str) -> dict[str, Any]:
    """Return what a figure depends on: processor, versions, commit, date."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [
            x for x in info.read_text().splitlines() if x.startswith("model name")
        ]
        cpu = models[0].split(":")[1].strip() if models else cpu
    from ramidyn.backend.llvm.target import host  # noqa: PLC0415  reading --help needs no LLVM

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    ).stdout.strip()
    return {
        "cpu": cpu,
        "target": host().cpu,
        "lanes": host().lanes("float64"),
        "python": platform.python_version(),
        "versions": {
            p: _version(p) for p in ("ramidyn", "numpy", "llvmlite", *packages)
        },
        "commit": commit,
        "date": datetime.date.today().isoformat(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def best(run: Callable[[], object], seconds: float) -> float:
    """Return the shortest time of one run, repeated for so many seconds."""
    run()
    shortest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def best_call(run: Callable[[], object], seconds: float, times: int = 200) -> float:
    """Return the time of one call, of the best loop of calls."""

    def loop() -> None:
        for _ in range(times):
            run()

    return best(loop, seconds) / times


def report(result: dict[str, Any], as_json: bool, *packages: str) -> None:
    """Print the machine and, as JSON, the result."""
    about = machine(*packages)
    if as_json:
        print(json.dumps({"machine": about, **result}, indent=2))
    else:
        versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
        print(f"{about['cpu']} ({about['target']}, {about['lanes']} lanes), {versions}")
