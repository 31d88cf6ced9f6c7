"""Where results go: arrays on disk, written chunk by chunk, in any order.

.zarr     a group with one array for each output, by name: (rows, *shape)
.npy      one table: the outputs of a state side by side in a row
.parquet  a folder with one file for each chunk, one column of lists per output
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol, final

import numpy as np

from ramidyn.errors import Error
from ramidyn.out_of_core.sources import Array, Shapes, package, split_columns

OUTPUT_SUFFIXES: Final = (".zarr", ".npy", ".parquet")


class Sink(Protocol):
    """Results that can be written and read back chunk by chunk."""

    def create(self) -> None:
        """Make the empty output, in place of what is there."""
        ...

    def write(self, chunk: int, arrays: Sequence[Array]) -> None:
        """Write the results of one chunk."""
        ...

    def read(self, chunk: int) -> list[Array]:
        """Return the results of one chunk as they are on disk."""
        ...


def open_sink(path: Path, outputs: Shapes, rows: int, chunk: int, dtype: str) -> Sink:
    """Return the sink for an output file."""
    check_suffix(path)
    kinds = {".zarr": _Zarr, ".npy": _Npy, ".parquet": _ParquetSink}
    return kinds[path.suffix](path, outputs, rows, chunk, dtype)


def check_suffix(path: Path) -> None:
    """Raise Error for a file name that says no format."""
    if path.suffix not in OUTPUT_SUFFIXES:
        raise Error(f"{path}: expected one of {', '.join(OUTPUT_SUFFIXES)}")


def remove(path: Path) -> None:
    """Remove a file or a folder, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@final
class _Zarr:
    def __init__(
        self, path: Path, outputs: Shapes, rows: int, chunk: int, dtype: str
    ) -> None:
        self._path, self._outputs = path, outputs
        self._rows, self._chunk, self._dtype = rows, chunk, dtype
        self._zarr: Any = package("zarr", str(path))

    def create(self) -> None:
        remove(self._path)
        group = self._zarr.create_group(str(self._path))
        for name, shape in self._outputs:
            group.create_array(
                name,
                shape=(self._rows, *shape),
                chunks=(self._chunk, *(max(n, 1) for n in shape)),
                dtype=self._dtype,
                compressors=None,  # random digits do not shrink
            )

    def write(self, chunk: int, arrays: Sequence[Array]) -> None:
        group = self._zarr.open_group(str(self._path), mode="r+")
        start = chunk * self._chunk
        for (name, _), array in zip(self._outputs, arrays, strict=True):
            group[name][start : start + len(array)] = array

    def read(self, chunk: int) -> list[Array]:
        group = self._zarr.open_group(str(self._path), mode="r")
        start, stop = chunk * self._chunk, min((chunk + 1) * self._chunk, self._rows)
        return [np.asarray(group[name][start:stop]) for name, _ in self._outputs]


@final
class _Npy:
    """A table, written with file operations: a memory map dies of a full disk."""

    def __init__(
        self, path: Path, outputs: Shapes, rows: int, chunk: int, dtype: str
    ) -> None:
        self._path, self._shapes = path, [shape for _, shape in outputs]
        self._rows, self._chunk, self._dtype = rows, chunk, np.dtype(dtype)
        self._width = sum(map(math.prod, self._shapes))

    def create(self) -> None:
        self._check_space()
        remove(self._path)
        table = np.lib.format.open_memmap(
            self._path, "w+", self._dtype, (self._rows, self._width)
        )
        del table  # the file has its header and its size; its rows take no disk yet

    def _check_space(self) -> None:
        """Raise Error, before anything is removed, if the disk is too small."""
        needed = self._rows * self._width * self._dtype.itemsize
        free = shutil.disk_usage(self._path.parent).free
        free += self._path.stat().st_size if self._path.is_file() else 0
        if needed > free:
            raise Error(
                f"{self._path}: {self._rows:,} rows need {needed / 1e9:,.1f} GB; free "
                f"on the disk: {free / 1e9:,.1f} GB"
            )

    def write(self, chunk: int, arrays: Sequence[Array]) -> None:
        rows: list[Any] = list(arrays)
        table: Any = np.concatenate([a.reshape(len(a), -1) for a in rows], axis=1)
        with self._path.open("r+b") as file:
            np.lib.format.read_magic(file)
            np.lib.format.read_array_header_1_0(file)
            row = self._width * self._dtype.itemsize
            file.seek(chunk * self._chunk * row, os.SEEK_CUR)
            file.write(np.ascontiguousarray(table, self._dtype).data)
            file.flush()
            os.fsync(file.fileno())

    def read(self, chunk: int) -> list[Array]:
        table: Any = np.load(self._path, mmap_mode="r", allow_pickle=False)
        start, stop = chunk * self._chunk, min((chunk + 1) * self._chunk, self._rows)
        return split_columns(np.array(table[start:stop]), self._shapes)


@final
class _ParquetSink:
    def __init__(
        self, path: Path, outputs: Shapes, rows: int, chunk: int, dtype: str
    ) -> None:
        self._path, self._outputs, self._dtype = path, outputs, dtype
        del rows, chunk  # files have as many rows as they are given
        self._arrow: Any = package("pyarrow", str(path))
        self._parquet: Any = package("pyarrow.parquet", str(path))

    def create(self) -> None:
        remove(self._path)
        self._path.mkdir(parents=True)

    def _file(self, chunk: int) -> Path:
        return self._path / f"part-{chunk:09d}.parquet"

    def write(self, chunk: int, arrays: Sequence[Array]) -> None:
        columns: dict[str, Any] = {}
        for (name, shape), array in zip(self._outputs, arrays, strict=True):
            values = self._arrow.array(np.ascontiguousarray(array).ravel())
            columns[name] = self._arrow.FixedSizeListArray.from_arrays(
                values, math.prod(shape)
            )
        part = self._file(chunk).with_suffix(".part")
        try:
            self._parquet.write_table(self._arrow.table(columns), part)
            os.replace(part, self._file(chunk))
        finally:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()

    def read(self, chunk: int) -> list[Array]:
        table = self._parquet.read_table(self._file(chunk))
        found: list[Array] = []
        for name, shape in self._outputs:
            column = table.column(name).combine_chunks()
            values: Any = np.asarray(column.flatten(), self._dtype)
            found.append(values.reshape(table.num_rows, *shape))
        return found
