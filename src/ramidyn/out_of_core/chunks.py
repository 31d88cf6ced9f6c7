"""One chunk of work: read or draw states, compute, write, note it.

A job is sent to workers as bytes and opened once in each process. Random states are
drawn in blocks of BLOCK rows, each with its own seed: they are the same for any chunk
size, any number of workers and any order.

The journal, a folder beside the output, says what is finished:

    <output>.progress/plan.json     what is computed, of what, in which chunks
    <output>.progress/<chunk>       the checksums of a finished chunk, written last

Workers write a chunk first and its checksums then, so that whatever is killed, and
whenever, they stand for a chunk that is whole. One is of its results, the other of the
states that they were computed from: states that changed since are not resumed.
"""

from __future__ import annotations

import functools
import json
import math
import os
import pickle
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from ramidyn.errors import Error
from ramidyn.function import Function
from ramidyn.out_of_core.sinks import Sink, open_sink, remove
from ramidyn.out_of_core.sources import (
    Array,
    Shapes,
    Source,
    one_line,
    open_source,
)
from ramidyn.robot import Robot

BLOCK: Final = 4096
ACCELERATION: Final = 10.0
"""[rad/s², m/s²]; the largest random one"""
UNLIMITED: Final = {"velocity": 1.0, "effort": 10.0}
"""the range of random velocities and forces where a robot has no limit"""


@final
@dataclass(frozen=True, slots=True)
class Job:
    """What is computed, from what, to where."""

    function: Function
    inputs: Shapes
    outputs: Shapes
    """all that is written, drawn inputs included"""
    rows: int
    chunk: int
    dtype: str
    output: str
    source: str | None
    """the file of states; None: they are drawn"""
    robot: Robot | None = None
    seed: int = 0

    @property
    def chunks(self) -> int:
        """How many there are."""
        return -(-self.rows // self.chunk)

    def bounds(self, chunk: int) -> tuple[int, int]:
        """Return the first row of a chunk, and the one after its last."""
        start = chunk * self.chunk
        return start, min(start + self.chunk, self.rows)

    def opened_source(self) -> Source | None:
        """Return where states come from; None: they are drawn."""
        return (
            None if self.source is None else open_source(Path(self.source), self.inputs)
        )

    def read(self, source: Source, chunk: int) -> list[Array]:
        """Return the states of a chunk, as the function takes them."""
        first, end = self.bounds(chunk)
        try:
            found = source.read(first, end)
        except Error:
            raise
        except Exception as error:  # damaged files: every reader has its own errors
            raise Error(
                f"{self.source}: states {first:,} to {end - 1:,} cannot be read: "
                f"{one_line(error)}"
            ) from error
        return [np.ascontiguousarray(a, self.dtype) for a in found]

    def sink(self) -> Sink:
        """Return where results go."""
        return open_sink(
            Path(self.output), self.outputs, self.rows, self.chunk, self.dtype
        )

    def payload(self) -> bytes:
        """Return the job as it is sent."""
        return pickle.dumps(self)


@functools.lru_cache(maxsize=4)
def _opened(payload: bytes) -> tuple[Job, Source | None, Sink, Journal]:
    job: Job = pickle.loads(payload)
    return job, job.opened_source(), job.sink(), Journal(Path(job.output))


def run_chunk(payload: bytes, chunk: int) -> int:
    """Compute and write one chunk; return its number."""
    job, source, sink, journal = _opened(payload)
    states = (
        draw(job, *job.bounds(chunk)) if source is None else job.read(source, chunk)
    )
    found: Any = job.function(*states)
    count = len(job.outputs) - (0 if source is not None else len(job.inputs))
    results: list[Array] = list(found) if count > 1 else [np.asarray(found)]
    arrays = results if source is not None else [*states, *results]
    arrays = [np.ascontiguousarray(a, job.dtype) for a in arrays]
    sink.write(chunk, arrays)
    journal.finish(chunk, arrays, () if source is None else states)
    return chunk


def draw(job: Job, start: int, stop: int) -> list[Array]:
    """Return random states: those rows of the blocks that they are drawn in."""
    first, skipped = divmod(start, BLOCK)
    parts = [_block(job, k) for k in range(first, -(-stop // BLOCK))]
    joined = [np.concatenate(rows) for rows in zip(*parts, strict=True)]
    return [a[skipped : skipped + stop - start] for a in joined]


def _block(job: Job, k: int) -> list[Array]:
    assert job.robot is not None
    rng = np.random.default_rng([job.seed, k])
    limits = job.robot.limits
    ranges: dict[str, Any] = {
        "qd": _bounded(limits.velocity, UNLIMITED["velocity"]),
        "qdd": ACCELERATION,
        "tau": _bounded(limits.effort, UNLIMITED["effort"]),
    }
    found: list[Array] = []
    for name, shape in job.inputs:
        if name == "q":
            found.append(job.robot.random_configuration(rng, batch=BLOCK))
        else:
            found.append(rng.uniform(-1.0, 1.0, (BLOCK, *shape)) * ranges[name])
    return found


def _bounded(limits: Any, otherwise: float) -> Array:
    return np.where(np.isfinite(limits), limits, otherwise)


def default_chunk(inputs: Shapes, outputs: Shapes) -> int:
    """Return the rows of a chunk of some 32 MB, a multiple of BLOCK."""
    width = sum(math.prod(shape) for _, shape in (*inputs, *outputs))
    return max(1, 32 * 2**20 // (8 * max(width, 1)) // BLOCK) * BLOCK


# ------------------------------------------------------------ journal


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
