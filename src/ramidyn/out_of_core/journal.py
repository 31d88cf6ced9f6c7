"""What is finished: beside the output, a folder with the plan and one file per chunk.

    <output>.progress/plan.json     what is computed, of what, in which chunks
    <output>.progress/<chunk>       the checksums of a finished chunk, written last

Workers write a chunk first and its checksums then, so that whatever is killed, and
whenever, they stand for a chunk that is whole. One is of its results, the other of the
states that they were computed from: states that changed since are not resumed.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, final

from ramidyn.errors import Error
from ramidyn.out_of_core.sinks import Sink, remove
from ramidyn.out_of_core.sources import Array


def checksum(arrays: Iterable[Array]) -> str:
    """Return a checksum of the bytes of some arrays."""
    value = 0
    for array in arrays:
        value = zlib.crc32(memoryview(array.tobytes()), value)
    return f"{value:08x}"


@final
class Journal:
    """The progress of one output."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.folder: Path = output.with_name(f"{output.name}.progress")

    def clear(self) -> None:
        """Remove all progress.

        Raises:
            Error: the folder has files that are not a journal's.
        """
        names = (p.name for p in self.folder.glob("*"))
        if any(not re.fullmatch(r"plan\.json|\d+|\..*", name) for name in names):
            raise Error(
                f"{self.folder}: this folder, where the progress would be noted, has "
                "other files; choose another output"
            )
        remove(self.folder)

    def start(self, plan: dict[str, Any]) -> None:
        """Begin anew."""
        self.clear()
        self.folder.mkdir(parents=True)
        self._write("plan.json", json.dumps(plan, indent=1))

    def plan(self) -> dict[str, Any]:
        """Return what was begun.

        Raises:
            Error: nothing of ours was.
        """
        try:
            return json.loads((self.folder / "plan.json").read_text("utf-8"))
        except (OSError, ValueError):
            raise Error(
                f"{self.output}: --resume, but {self.folder.name} has no plan: this "
                "output was not begun by ramidyn; use --overwrite, or another output"
            ) from None

    def finish(
        self, chunk: int, results: Sequence[Array], states: Sequence[Array]
    ) -> None:
        """Note that a chunk is whole."""
        self._write(str(chunk), f"{checksum(results)} {checksum(states)}")

    def finished(self, chunk: int) -> tuple[str, str] | None:
        """Return the checksums of a finished chunk, results and states, or None."""
        try:
            results, states = (self.folder / str(chunk)).read_text("utf-8").split()
        except (OSError, ValueError):
            return None
        return results, states

    def state(self, chunk: int, sink: Sink) -> str:
        """Return "todo", "done", or "corrupt" where a finished chunk changed since."""
        expected = self.finished(chunk)
        if expected is None:
            return "todo"
        try:
            return "done" if checksum(sink.read(chunk)) == expected[0] else "corrupt"
        except Exception:  # missing, truncated or foreign: every reader has its errors
            return "corrupt"

    def is_of(self, chunk: int, states: Sequence[Array]) -> bool:
        """Whether a finished chunk was computed from these states."""
        expected = self.finished(chunk)
        return expected is not None and expected[1] == checksum(states)

    def forget(self, chunk: int) -> None:
        """Note that a chunk must be computed again."""
        (self.folder / str(chunk)).unlink(missing_ok=True)

    def _write(self, name: str, text: str) -> None:
        part = self.folder / f".{name}.{os.getpid()}"
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.folder / name)
