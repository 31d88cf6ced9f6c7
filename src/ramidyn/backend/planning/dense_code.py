"""Loops over small dense matrices: rows one after another, columns in lanes.

A matrix has rows of whole vectors; what fills the last one is zero, or never read.
Sizes are known when the code is written, and products keep a block of their result in
registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ramidyn.backend.llvm.word_builder import DOUBLE, Module, Value, const, ir
from ramidyn.backend.runtime.memory_layout import WORD
from ramidyn.backend.sparse_factor.sparse_rows import NumberCode

UNROLLED = 8
"""terms of a sum, or rows, that are written out; more are a loop"""
MOST_VECTORS = 6
"""columns of a block, in vectors"""

Place = tuple[Value, int, int]
"""a row, and the first and the last vector in it"""


@dataclass(frozen=True)
class Matrix:
    """Where a matrix is: bytes from row to row and from column to column."""

    data: Value
    row: int
    column: int = WORD

    @property
    def transposed(self) -> Matrix:
        """The same numbers, rows and columns exchanged."""
        return Matrix(self.data, self.column, self.row)


@dataclass(frozen=True)
class Product:
    """A sum over k < ``inner`` of left[i, k] right[k, :]."""

    left: Matrix
    right: Matrix
    inner: int


class DenseCode(NumberCode):
    """The body of one function, with loops over matrices."""

    width: int

    @staticmethod
    def of(module: Module, name: str, arguments: int, width: int) -> DenseCode:
        """Begin a function for vectors of so many numbers."""
        code = DenseCode(module.function(name, arguments, local=True))
        code.width = width
        return code

    @property
    def vector(self) -> Value:
        """The type of a vector."""
        return ir.VectorType(DOUBLE, self.width)

    def vectors(self, columns: int) -> int:
        """Return how many vectors hold so many columns."""
        return -(-columns // self.width)

    def each(self, end: Value | int, first: Value | int = 0) -> Iterator[Value | int]:
        """Yield rows for the code that follows: one by one if they are few."""
        if isinstance(end, int) and isinstance(first, int) and end - first <= UNROLLED:
            yield from range(first, end)
        else:
            first = const(first) if isinstance(first, int) else first
            end = const(end) if isinstance(end, int) else end
            with self.loop(self.b.sub(end, first)) as k:
                yield self.add(first, k)

    def accumulate(
        self,
        count: Value | int,
        values: Sequence[Value],
        add: Callable[[Sequence[Value], Value | int], list[Value]],
    ) -> Sequence[Value]:
        """Return values after ``add`` for each k < count."""
        if not isinstance(count, int) or count > UNROLLED:
            end = const(count) if isinstance(count, int) else count
            with self.folds(end, 1, *values) as turn:
                turn.next = add(turn.values, turn.index)
            return turn.results
        for k in range(count):
            values = add(values, k)
        return values

    def add_scaled(
        self, factor: Value, row: Sequence[Value], to: Sequence[Value]
    ) -> list[Value]:
        """Return to + factor · row."""
        return [self.fma(factor, x, y) for x, y in zip(row, to, strict=True)]

    def at_row(self, matrix: Matrix, i: Value | int) -> Value:
        """Return the address of a row."""
        i = const(i) if isinstance(i, int) else i
        return self.add(matrix.data, self.mul(i, matrix.row))

    def entry(self, matrix: Matrix, i: Value | int, k: Value | int) -> Value:
        """Return the address of an entry."""
        k = const(k) if isinstance(k, int) else k
        return self.add(self.at_row(matrix, i), self.mul(k, matrix.column))

    def get_row(
        self, matrix: Matrix, i: Value | int, first: int, end: int
    ) -> list[Value]:
        """Return some vectors of a row."""
        row, size = self.at_row(matrix, i), self.width * WORD
        return [
            self.get(self.vector, self.add(row, v * size)) for v in range(first, end)
        ]

    def put_row(
        self, values: Sequence[Value], matrix: Matrix, i: Value | int, first: int = 0
    ) -> None:
        """Write vectors of a row."""
        row, size = self.at_row(matrix, i), self.width * WORD
        for v, value in enumerate(values):
            self.put(value, self.add(row, (first + v) * size))

    def wide(self, address: Value) -> Value:
        """Return the number at an address in all lanes."""
        return self.splat(self.get(DOUBLE, address), self.vector)

    def insert(
        self, values: list[Value], number: Value, column: int, first: int
    ) -> list[Value]:
        """Return vectors with a number in one column, if they have it."""
        v, lane = divmod(column, self.width)
        if first <= v < first + len(values):
            value = self.b.insert_element(values[v - first], number, const(lane))
            values = [*values[: v - first], value, *values[v - first + 1 :]]
        return values

    def zeros(self, count: int) -> list[Value]:
        """Return vectors of zeros."""
        return [self.number(0.0, self.vector)] * count

    def multiply(
        self,
        rows: int,
        vectors: int,
        products: Sequence[Product],
        start: Callable[[Place], list[Value]],
        target: Matrix,
        first: int = 0,
        skipped: int = 0,
    ) -> None:
        """Write target[i, :] = start(i) + products, of rows from ``first`` on.

        Vectors that are skipped are left as they are.
        """
        most = 20 if self.width >= 8 else 10  # accumulators; the rest are factors
        for v in range(skipped, vectors, MOST_VECTORS):
            end = min(vectors, v + MOST_VECTORS)
            blocks = -(-rows // max(1, most // (end - v)))
            size = -(-rows // blocks)
            whole = rows // size
            with self.loop(const(whole)) as block:
                top = self.add(self.mul(block, size), first)
                self._block(top, size, v, end, products, start, target)
            if rest := rows - whole * size:
                top = const(first + whole * size)
                self._block(top, rest, v, end, products, start, target)

    def multiply_upper(
        self,
        rows: range,
        vectors: int,
        products: Sequence[Product],
        start: Callable[[Place], list[Value]],
        target: Matrix,
    ) -> None:
        """Write rows of a product that is symmetric: vectors from the diagonal on."""
        ends = [*range(0, rows.stop, self.width), rows.stop]
        ends = sorted({rows.start, *(k for k in ends if k > rows.start)})
        for k, end in pairwise(ends):
            skipped = k // self.width
            self.multiply(end - k, vectors, products, start, target, k, skipped)

    def _block(
        self,
        top: Value,
        rows: int,
        v: int,
        end: int,
        products: Sequence[Product],
        start: Callable[[Place], list[Value]],
        target: Matrix,
    ) -> None:
        places = [self.add(top, r) for r in range(rows)]
        found = [value for i in places for value in start((i, v, end))]
        for product in products:

            def added(
                found: Sequence[Value], k: Value | int, product: Product = product
            ) -> list[Value]:
                right = self.get_row(product.right, k, v, end)
                factors = [self.wide(self.entry(product.left, i, k)) for i in places]
                wide = [f for f in factors for _ in right]
                triples = zip(wide, right * len(factors), found, strict=True)
                return [self.fma(*triple) for triple in triples]

            found = self.accumulate(product.inner, found, added)
        for r, i in enumerate(places):
            self.put_row(found[r * (end - v) : (r + 1) * (end - v)], target, i, v)

    def mirror(self, matrix: Matrix, size: int) -> None:
        """Copy the upper triangle of a matrix to the lower one."""
        for i in self.each(size):
            for j in self.each(i):
                value = self.get(DOUBLE, self.entry(matrix, j, i))
                self.put(value, self.entry(matrix, i, j))

    def eliminate(
        self,
        matrix: Matrix,
        size: int,
        vectors: int,
        skipped: int,
        inverses: Matrix,
        target: Matrix,
    ) -> None:
        """Solve Q X = −R in rows [Q | R]; leave with 1 if Q is not positive definite.

        R begins after ``skipped`` vectors; X goes to the target.
        """
        zero, one = self.number(0.0, DOUBLE), self.number(1.0, DOUBLE)
        for k in self.each(size):
            pivot = self.get(DOUBLE, self.entry(matrix, k, k))
            self.leave_if(self.b.fcmp_unordered("<=", pivot, zero), 1)
            inverse = self.b.fdiv(one, pivot)
            self.put(inverse, self.entry(inverses, 0, k))
            row = self.get_row(matrix, k, 0, vectors)
            for i in self.each(size, k + 1 if isinstance(k, int) else self.add(k, 1)):
                entry = self.get(DOUBLE, self.entry(matrix, i, k))
                factor = self.splat(
                    self.b.fneg(self.b.fmul(entry, inverse)), self.vector
                )
                own = self.get_row(matrix, i, 0, vectors)
                self.put_row(self.add_scaled(factor, row, own), matrix, i)
        for done in self.each(size):
            is_known = isinstance(done, int)
            i = size - 1 - done if is_known else self.b.sub(const(size - 1), done)

            def less(
                found: Sequence[Value], k: Value | int, i: Value | int = i
            ) -> list[Value]:
                is_known = isinstance(i, int) and isinstance(k, int)
                j = i + 1 + k if is_known else self.add(self.add(i, 1), k)
                factor = self.b.fneg(self.wide(self.entry(matrix, i, j)))
                return self.add_scaled(
                    factor, self.get_row(target, j, 0, vectors - skipped), found
                )

            right = self.get_row(matrix, i, skipped, vectors)
            found = self.accumulate(done, [self.b.fneg(x) for x in right], less)
            scale = self.wide(self.entry(inverses, 0, i))
            self.put_row([self.b.fmul(x, scale) for x in found], target, i)
