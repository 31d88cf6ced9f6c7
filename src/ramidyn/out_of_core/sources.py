"""Where states come from: arrays on disk, read a few rows at a time.

.zarr     a group with one array for each input, by name: (rows, *shape)
.npz      the same, in one file that is read as a whole
.npy      one table: the inputs of a state side by side in a row
.parquet  a file or a folder of files, one column of lists for each input
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, final

import numpy as np
import numpy.typing as npt

from ramidyn.errors import Error, ShapeError, UnknownName, install_command

Array = npt.NDArray[np.float64]
Shapes = Sequence[tuple[str, tuple[int, ...]]]
"""names and shapes of the entries of one state"""

INPUT_SUFFIXES: Final = (".zarr", ".npy", ".npz", ".parquet")


NULL: Final = -1
"""stands for the length of a null list"""


class Source(Protocol):
    """States that can be read row by row."""

    rows: int

    def read(self, start: int, stop: int) -> list[Array]:
        """Return the inputs of some states."""
        ...


def open_source(path: Path, inputs: Shapes) -> Source:
    """Return the states in a file.

    Raises:
        Error: the file cannot be read, or its arrays do not have the inputs' widths.
    """
    if path.suffix not in INPUT_SUFFIXES:
        raise Error(f"{path}: expected one of {', '.join(INPUT_SUFFIXES)}")
    if not path.exists():
        raise Error(f"{path}: no such file")
    try:
        if path.suffix == ".npy":
            return _Table(path, inputs)
        if path.suffix == ".parquet":
            return _ParquetSource(path, inputs)
        return _Named(path, inputs)
    except Error:
        raise
    except Exception as error:  # damaged files: every reader has its own errors
        raise Error(f"{path}: cannot be read: {one_line(error)}") from error


def one_line(error: Exception) -> str:
    """Return an error of another package for a message."""
    return " ".join(str(error).split()) or type(error).__name__


def needed(inputs: Shapes) -> str:
    """Return the inputs for a message: ``q (7), qd (7)``."""
    return ", ".join(f"{n} ({', '.join(map(str, s)) or '1'})" for n, s in inputs)


def package(name: str, why: str) -> Any:
    """Import an optional package."""
    try:
        match name:
            case "zarr":
                return importlib.import_module("zarr")
            case "pyarrow":
                return importlib.import_module("pyarrow")
            case "pyarrow.compute":
                return importlib.import_module("pyarrow.compute")
            case _:
                return importlib.import_module("pyarrow.parquet")
    except ImportError:
        if name == "zarr" and sys.version_info < (3, 11):
            raise Error(f"{why} needs zarr 3, and so Python 3.11 or later") from None
        raise Error(
            f"{why} needs the package {name.partition('.')[0]}: "
            f"{install_command('bulk')}"
        ) from None


def _check(path: Path, name: str, array: Any, shape: tuple[int, ...]) -> None:
    if tuple(array.shape[1:]) != shape:
        wanted = ", ".join(["rows", *map(str, shape)])
        raise ShapeError(
            f"{path}: array {name!r} has shape {tuple(array.shape)}; expected "
            f"({wanted})"
        )
    _check_type(path, name, array.dtype)


def _check_type(path: Path, name: str, dtype: Any) -> None:
    if np.dtype(dtype).kind not in "fiu":
        raise ShapeError(
            f"{path}: {name} has dtype {dtype}; expected float64 or another real number"
        )


@final
class _Named:
    """Arrays by name: zarr and npz."""

    def __init__(self, path: Path, inputs: Shapes) -> None:
        self._arrays: list[Any] = []
        if path.suffix == ".npz":
            with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                self._take(path, inputs, file)
        else:
            zarr = package("zarr", str(path))
            try:
                group = zarr.open_group(str(path), mode="r")
            except Exception as error:  # zarr raises many kinds
                raise Error(f"{path}: not a zarr group: {one_line(error)}") from None
            self._take(path, inputs, group)
        counts = {
            name: a.shape[0] for (name, _), a in zip(inputs, self._arrays, strict=True)
        }
        if len(set(counts.values())) > 1:
            raise ShapeError(f"{path}: arrays of different lengths: {counts}")
        self.rows: int = next(iter(counts.values()), 0)

    def _take(self, path: Path, inputs: Shapes, group: Any) -> None:
        for name, shape in inputs:
            if name not in group:
                names = ", ".join(_names(path, group)) or "none"
                raise UnknownName(
                    f"{path}: no array {name!r}; it has {names}. "
                    f"Needed: {needed(inputs)}"
                )
            array = group[name]
            _check(path, name, array, shape)
            self._arrays.append(array)

    def read(self, start: int, stop: int) -> list[Array]:
        return [np.asarray(a[start:stop]) for a in self._arrays]


def _names(path: Path, group: Any) -> list[str]:
    """Return the arrays in a file; zarr's own list of them would open them all."""
    if path.is_dir():
        return sorted(p.name for p in path.iterdir() if p.is_dir())
    return sorted(map(str, group.keys()))


@final
class _Table:
    """One .npy file: the inputs side by side."""

    def __init__(self, path: Path, inputs: Shapes) -> None:
        self._shapes = [shape for _, shape in inputs]
        self._table: Any = np.load(path, mmap_mode="r", allow_pickle=False)
        width = sum(map(math.prod, self._shapes))
        if self._table.ndim != 2 or self._table.shape[1] != width:
            raise ShapeError(
                f"{path}: shape {self._table.shape}; expected (rows, {width}): "
                f"{needed(inputs)} side by side"
            )
        _check_type(path, "the table", self._table.dtype)
        self.rows: int = len(self._table)

    def read(self, start: int, stop: int) -> list[Array]:
        return split_columns(np.array(self._table[start:stop]), self._shapes)


def split_columns(table: Any, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Return the arrays whose entries lie side by side in a table."""
    found: list[Array] = []
    at = 0
    for shape in shapes:
        size = math.prod(shape)
        found.append(table[:, at : at + size].reshape(len(table), *shape))
        at += size
    return found


@dataclass(frozen=True, slots=True)
class _RowGroup:
    file: Path
    index: int
    start: int
    stop: int


@final
class _ParquetSource:
    """Columns of lists; row groups are read as they are needed."""

    def __init__(self, path: Path, inputs: Shapes) -> None:
        self._parquet: Any = package("pyarrow.parquet", str(path))
        self._compute: Any = package("pyarrow.compute", str(path))
        self._path, self._inputs = path, inputs
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        self._groups: list[_RowGroup] = []
        rows = 0
        for file in files:
            opened = self._parquet.ParquetFile(file)
            names = list(opened.schema_arrow.names)
            for name, _ in inputs:
                if name not in names:
                    raise UnknownName(
                        f"{file}: no column {name!r}; it has {', '.join(names)}. "
                        f"Needed: {needed(inputs)}"
                    )
            for i in range(opened.num_row_groups):
                n = int(opened.metadata.row_group(i).num_rows)
                self._groups.append(_RowGroup(file, i, rows, rows + n))
                rows += n
        self.rows = rows

    def read(self, start: int, stop: int) -> list[Array]:
        parts: list[list[Array]] = [[] for _ in self._inputs]
        for group in self._groups:
            low, high = max(start, group.start), min(stop, group.stop)
            if low >= high:
                continue
            opened = self._parquet.ParquetFile(group.file)
            names = [name for name, _ in self._inputs]
            table = opened.read_row_group(group.index, columns=names)
            for k, (name, shape) in enumerate(self._inputs):
                array = self._column(table.column(name), name, shape, group.start)
                parts[k].append(array[low - group.start : high - group.start])
        return [np.concatenate(part) for part in parts]

    def _column(
        self, column: Any, name: str, shape: tuple[int, ...], first: int
    ) -> Array:
        """Return a column, of which every row is checked; ``first`` is its first."""
        rows, width = column.combine_chunks(), math.prod(shape)
        values, lengths = rows, np.where(rows.is_valid(), 1, NULL)
        if hasattr(rows, "flatten") and hasattr(rows.type, "value_type"):  # lists
            values = rows.flatten()
            lengths = np.asarray(self._compute.list_value_length(rows).fill_null(NULL))
        wrong = np.flatnonzero(lengths != width)
        if wrong.size:
            k, length = wrong[0], lengths[wrong[0]]
            given = "is null" if length == NULL else f"has {length} numbers"
            raise ShapeError(
                f"{self._path}: column {name!r} {given} in row {first + k}; expected "
                f"{width} numbers"
            )
        if values.null_count:
            k = np.flatnonzero(values.is_null())[0] // width
            raise ShapeError(
                f"{self._path}: column {name!r} has a null in row {first + k}; "
                f"expected {width} numbers"
            )
        found: Any = np.asarray(values)
        _check_type(self._path, f"column {name!r}", found.dtype)
        return found.reshape(len(rows), *shape)
