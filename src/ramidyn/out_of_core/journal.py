"""What is finished: beside the output, a folder with the plan and one file per chunk.

    <output>.progress/plan.json     what is computed, of what, in which chunks
    <output>.progress/<chunk>       the checksum of a finished chunk, written last

Workers write a chunk first and its checksum then, so that whatever is killed, and
whenever, a checksum stands for a chunk that is whole.
"""

from __future__ import annotations

import json
import os
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

    def start(self, plan: dict[str, Any]) -> None:
        """Begin anew."""
        remove(self.folder)
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

    def finish(self, chunk: int, arrays: Sequence[Array]) -> None:
        """Note that a chunk is whole."""
        self._write(str(chunk), checksum(arrays))

    def finished(self, chunk: int) -> str | None:
        """Return the checksum of a finished chunk, or None."""
        try:
            return (self.folder / str(chunk)).read_text("utf-8").strip() or None
        except OSError:
            return None

    def state(self, chunk: int, sink: Sink) -> str:
        """Return "todo", "done", or "corrupt" where a finished chunk changed since."""
        expected = self.finished(chunk)
        if expected is None:
            return "todo"
        try:
            return "done" if checksum(sink.read(chunk)) == expected else "corrupt"
        except Exception:  # missing, truncated or foreign: every reader has its errors
            return "corrupt"

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
