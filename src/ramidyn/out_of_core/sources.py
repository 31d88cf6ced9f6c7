"""Where states come from: arrays on disk, read a few rows at a time.

.zarr     a group with one array for each input, by name: (rows, *shape)
.npz      the same, in one file that is read as a whole
.npy      one table: the inputs of a state side by side in a row
.parquet  a file or a folder of files, one column of lists for each input
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, final

import numpy as np
import numpy.typing as npt

from ramidyn.errors import Error, ShapeError, UnknownName

Array = npt.NDArray[np.float64]
Shapes = Sequence[tuple[str, tuple[int, ...]]]
"""names and shapes of the entries of one state"""

INPUT_SUFFIXES: Final = (".zarr", ".npy", ".npz", ".parquet")


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
            return _Parquet(path, inputs)
        return _Named(path, inputs)
    except (OSError, ValueError, EOFError) as error:
        raise Error(f"{path}: cannot be read: {error}") from None


def needed(inputs: Shapes) -> str:
    """Return the inputs for a message: ``q (7), qd (7)``."""
    return ", ".join(f"{n} ({', '.join(map(str, s)) or '1'})" for n, s in inputs)


def package(name: str, why: str) -> Any:
    """Import an optional package."""
    packages = {"zarr": "zarr", "pyarrow.parquet": "pyarrow", "pyarrow": "pyarrow"}
    try:
        match name:
            case "zarr":
                return importlib.import_module("zarr")
            case "pyarrow":
                return importlib.import_module("pyarrow")
            case _:
                return importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise Error(
            f"{why} needs the package {packages[name]}: pip install 'ramidyn[bulk]'"
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
        group: Any
        if path.suffix == ".npz":
            group = np.load(path, allow_pickle=False)
        else:
            zarr = package("zarr", str(path))
            try:
                group = zarr.open_group(str(path), mode="r")
            except Exception as error:  # zarr raises many kinds
                raise Error(f"{path}: not a zarr group: {error}") from None
        names = sorted(map(str, group.keys()))
        self._arrays: list[Any] = []
        for name, shape in inputs:
            if name not in names:
                raise UnknownName(
                    f"{path}: no array {name!r}; it has {', '.join(names) or 'none'}. "
                    f"Needed: {needed(inputs)}"
                )
            array = group[name]
            _check(path, name, array, shape)
            self._arrays.append(array)
        counts = {
            name: a.shape[0] for (name, _), a in zip(inputs, self._arrays, strict=True)
        }
        if len(set(counts.values())) > 1:
            raise ShapeError(f"{path}: arrays of different lengths: {counts}")
        self.rows: int = next(iter(counts.values()), 0)

    def read(self, start: int, stop: int) -> list[Array]:
        return [np.asarray(a[start:stop]) for a in self._arrays]


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
class _Parquet:
    """Columns of lists; row groups are read as they are needed."""

    def __init__(self, path: Path, inputs: Shapes) -> None:
        self._parquet: Any = package("pyarrow.parquet", str(path))
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
                array = self._column(table.column(name), name, shape)
                parts[k].append(array[low - group.start : high - group.start])
        return [np.concatenate(part) for part in parts]

    def _column(self, column: Any, name: str, shape: tuple[int, ...]) -> Array:
        rows, width = len(column), math.prod(shape)
        flat = column.combine_chunks()
        values = flat.flatten() if hasattr(flat, "flatten") else flat
        found: Any = np.asarray(values)
        _check_type(self._path, f"column {name!r}", found.dtype)
        if found.size != rows * width:
            raise ShapeError(
                f"{self._path}: column {name!r} has {found.size / max(rows, 1):g} "
                f"numbers in a row; expected {width}"
            )
        return found.reshape(rows, *shape)
