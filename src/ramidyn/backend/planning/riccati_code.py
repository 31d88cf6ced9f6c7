"""The Riccati recursion of one problem, from its last knot to the first.

    value     ½ δxᵀ V δx + vᵀ δx        x = (q, q̇), δq in the tangent space
    step      δx⁺ = A δx + B δu + f     f: the defect of multiple shooting
    policy    δu = k + K δx

    Qxx = ℓxx + Aᵀ V A    Qux = ℓux + Bᵀ V A    Quu = ℓuu + Bᵀ V B + μ
    [K k] = −Quu⁻¹ [Qux Qu]        [V v] = [Qxx Qx] + (Qux − μ K)ᵀ [K k]

Vectors are one more column of the matrix above them: v of V, Qx of Qxx, Qu of Qux, k of
K. So a gradient is a column that its matrix has anyway, and all sums run along rows.

A semi-implicit step has one unknown a = δq̇⁺ = C δx + D δu for all of x⁺, as
δq⁺ = δq + dt a. So V is first taken to (δq, a), and products with A, twice as large as
C, are not needed:

    W = dt² Vqq + dt (Vqv + Vvq) + Vvv    U = dt Vqq + Vqv    G = W C + Uᵀ E

    Qxx = ℓxx + Cᵀ G + Eᵀ (Vqq E + U C)   Qux = ℓux + Dᵀ G    E = [1 0]

A floating base has δq⁺ = R (P δq + dt a) in its coordinates: V is taken to R⁻¹ δq⁺
first, and then 1 in E is P.

Where k is beyond a limit of u, a kernel finds the best one within (`box`), and rows of
K are zero where u stays at a limit (Tassa, Mansard & Todorov, 2014).
"""

# ruff: noqa: N803, N806  (the book's letters)
from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ramidyn.backend.llvm.word_builder import DOUBLE, Module, Value, const, ir
from ramidyn.backend.planning.blocks import SUMS, Recursion, RiccatiSizes, knot_word
from ramidyn.backend.planning.dense_code import DenseCode, Matrix, Place, Product
from ramidyn.backend.runtime.memory_layout import WORD


def emit_riccati(module: Module, sizes: RiccatiSizes) -> None:
    """riccati(block, damping): 0, or 1 if some Quu is not positive definite."""
    code = DenseCode.of(module, "riccati", 2, sizes.width)
    block, damping = code.arguments
    steps = code.load(block, Recursion.STEPS)
    scratch = _Scratch(code, sizes, code.load(block, Recursion.SCRATCH))
    code.put(code.get(DOUBLE, damping), scratch.at("damping"))
    for k in range(len(SUMS)):
        code.put(code.number(0.0, DOUBLE), scratch.at("sums", k))
    with code.loop(steps) as turn:
        knot = code.b.sub(code.add(steps, -1), turn)
        _Knot(code, sizes, scratch, block, knot, damping).emit()
    code.leave(0)


class _Scratch:
    """Where the recursion keeps its matrices."""

    def __init__(self, code: DenseCode, sizes: RiccatiSizes, base: Value) -> None:
        self.code, self.places, self.base = code, sizes.scratch, base

    def at(self, name: str, index: int = 0) -> Value:
        """Return the address of an entry."""
        return self.code.add(self.base, self.places[name][0] + index * WORD)

    def matrix(self, name: str, row: int = 0, column: int = 0) -> Matrix:
        """Return a matrix, or the part of it that begins at an entry."""
        columns = self.places[name][1][-1]
        return Matrix(self.at(name, row * columns + column), columns * WORD)


class _Knot:
    """One step of the recursion."""

    def __init__(
        self,
        code: DenseCode,
        sizes: RiccatiSizes,
        scratch: _Scratch,
        block: Value,
        knot: Value,
        damping: Value,
    ) -> None:
        self.code, self.sizes, self.scratch = code, sizes, scratch
        self.block, self.knot = block, knot
        self.damping = code.get(DOUBLE, damping)

    def given(self, name: str, columns: int) -> Matrix:
        """Return what is given for this knot."""
        code, word = self.code, knot_word(name)
        data, pace = code.load(self.block, word), code.load(self.block, word + 1)
        return Matrix(code.add(data, code.b.mul(self.knot, pace)), columns * WORD)

    def emit(self) -> None:
        """Write the step."""
        sizes, of = self.sizes, self.scratch.matrix
        if sizes.has_gaps:
            self.add_gap()
        A, B = self.given("A", sizes.nx), self.given("B", sizes.nu)
        if sizes.dt is None:
            self.products_with_value(A)
            V = of("V")
        else:
            if sizes.block:
                self.change_basis(self.given("R", sizes.block))
            self.value_of_velocities(sizes.dt)
            if sizes.block:
                P = self.given("P", sizes.block)
                self.change_columns(of("Ut"), sizes.rows, P)
                self.change_basis(P)
            self.products_with_velocities(A)
            V = of("W")
        self.action_values(A, B, V)
        self.policy()
        self.value_before()

    def start(self, matrix: Matrix, vector: Matrix, place: Place) -> list[Value]:
        """Return rows of a cost, with its gradient in the last column."""
        i, first, end = place
        code = self.code
        number = code.get(DOUBLE, code.at(vector.data, i))
        return code.insert(
            code.get_row(matrix, i, first, end), number, self.sizes.n, first
        )

    def products_with_value(self, A: Matrix) -> None:
        """Write G = [V A | v]."""
        code, n, of = self.code, self.sizes.n, self.scratch.matrix

        def start(place: Place) -> list[Value]:
            i, first, end = place
            v = code.get(DOUBLE, code.entry(of("V"), i, n))
            return code.insert(code.zeros(end - first), v, n, first)

        vectors = code.vectors(self.sizes.nx)
        code.multiply(n, vectors, [Product(of("V"), A, n)], start, of("G"))

    def value_of_velocities(self, dt: float) -> None:
        """Write W and Uᵀ."""
        code, h, of = self.code, self.sizes.rows, self.scratch.matrix
        wide = code.number(dt, code.vector)
        vectors = code.vectors(h)
        parts = of("V"), of("V", 0, h), of("V", h), of("V", h, h)
        with code.loop(const(h)) as i:
            qq, qv, vq, vv = (code.get_row(x, i, 0, vectors) for x in parts)
            Ut = code.add_scaled(wide, qq, vq)
            code.put_row(Ut, of("Ut"), i)
            W = [
                code.fma(wide, code.b.fadd(u, y), x)
                for u, y, x in zip(Ut, qv, vv, strict=True)
            ]
            code.put_row(W, of("W"), i)
            vq, vv = (
                code.get(DOUBLE, code.entry(x, i, self.sizes.n)) for x in parts[::2]
            )
            w = code.fma(code.number(dt, DOUBLE), vq, vv)
            code.put(w, code.at(self.scratch.at("w"), i))

    def change_columns(self, matrix: Matrix, rows: int, X: Matrix) -> None:
        """Multiply the first columns of a matrix by X, in place."""
        code, block = self.code, self.sizes.block
        products = [Product(matrix, X, block)]
        code.multiply(rows, code.vectors(block), products, self.zeros, matrix)

    def change_basis(self, X: Matrix) -> None:
        """Take V to other coordinates: V ← Xᵀ V X, v ← Xᵀ v."""
        code, sizes, of = self.code, self.sizes, self.scratch.matrix
        block, vectors = sizes.block, code.vectors(sizes.nx)
        products = [Product(X.transposed, of("V"), block)]
        code.multiply(block, vectors, products, self.zeros, of("Q"))
        for i in code.each(block):
            code.put_row(code.get_row(of("Q"), i, 0, vectors), of("V"), i)
        self.change_columns(of("V"), sizes.n, X)

    def zeros(self, place: Place) -> list[Value]:
        """Return the start of a sum of products only."""
        return self.code.zeros(place[2] - place[1])

    def products_with_velocities(self, C: Matrix) -> None:
        """Write G = [W C + Uᵀ E | w], w = dt vq + vv."""
        code, sizes, of = self.code, self.sizes, self.scratch.matrix
        n, h = sizes.n, sizes.rows

        def start(place: Place) -> list[Value]:
            i, first, _ = place
            w = code.get(DOUBLE, code.at(self.scratch.at("w"), i))
            return code.insert(self.first_columns(of("Ut"), place, h), w, n, first)

        vectors = code.vectors(sizes.nx)
        code.multiply(h, vectors, [Product(of("W"), C, h)], start, of("G"))

    def first_columns(self, matrix: Matrix, place: Place, columns: int) -> list[Value]:
        """Return the first columns of a row, and zeros behind."""
        i, first, end = place
        code, width = self.code, self.sizes.width
        found: list[Value] = []
        for v in range(first, end):
            left = min(width, columns - v * width)
            if left <= 0:
                found.append(code.number(0.0, code.vector))
                continue
            (value,) = code.get_row(matrix, i, v, v + 1)
            if left < width:
                kind = ir.VectorType(ir.IntType(1), width)
                is_own = ir.Constant(kind, [k < left for k in range(width)])
                value = code.b.select(is_own, value, code.number(0.0, code.vector))
            found.append(value)
        return found

    def action_values(self, L: Matrix, B: Matrix, V: Matrix) -> None:
        """Write Q = [Qxx | Qx], [Qux | Qu] and Quu; L is A or C."""
        code, sizes, of = self.code, self.sizes, self.scratch.matrix
        n, m, rows = sizes.n, sizes.m, sizes.rows
        lx = self.given("lx", n)
        lux, lu = self.given("lux", sizes.nx), self.given("lu", m)
        luu, vectors = self.given("luu", sizes.nu), code.vectors(sizes.nx)

        def costs(place: Place) -> list[Value]:
            varies = code.compare(place[0], "<", sizes.varying)
            both = (self.given(x, sizes.nx).data for x in ("lxx", "lxx_below"))
            lxx = Matrix(code.b.select(varies, *both), sizes.nx * WORD)
            return self.start(lxx, lx, place)

        products = [Product(L.transposed, of("G"), rows)]
        if sizes.dt is None:
            code.multiply_upper(range(n), vectors, products, costs, of("Q"))
        else:

            def start(place: Place) -> list[Value]:
                i, first, _ = place
                own = self.first_columns(of("V"), place, rows)
                vq = code.get(DOUBLE, code.entry(of("V"), i, n))
                own = code.insert(own, vq, n, first)
                return [
                    code.b.fadd(x, y) for x, y in zip(costs(place), own, strict=True)
                ]

            more = [*products, Product(of("Ut").transposed, L, rows)]
            code.multiply_upper(range(rows), vectors, more, start, of("Q"))
            code.multiply_upper(range(rows, n), vectors, products, costs, of("Q"))
        products = [Product(B.transposed, of("G"), rows)]
        code.multiply(m, vectors, products, partial(self.start, lux, lu), of("Qux"))
        vectors = code.vectors(m)
        code.multiply(rows, vectors, [Product(V, B, rows)], self.zeros, of("WB"))
        products = [Product(B.transposed, of("WB"), rows)]
        code.multiply(m, vectors, products, lambda p: code.get_row(luu, *p), of("Quu"))

    def policy(self) -> None:
        """Write K and k, and add what they promise."""
        code, sizes, of = self.code, self.sizes, self.scratch.matrix
        self.solve(is_limited=False)
        target = self.given("policy", sizes.nx)
        at = self.scratch.at
        with code.loop(const(sizes.m)) as i:
            Qu = code.get(DOUBLE, code.entry(of("Qux"), i, sizes.n))
            code.put(Qu, code.at(at("Qu"), i))
            k = code.get(DOUBLE, code.entry(target, i, sizes.n))
            code.put(k, code.at(at("k"), i))
        if sizes.has_limits:
            self.limit(target)
        # slope k·Qu, curvature ½ k·Quu k
        vectors = code.vectors(sizes.m)
        k, Qu = (code.get_row(of(x), 0, 0, vectors) for x in ("k", "Qu"))
        Quuk = self.weighted_rows(of("Quu"), at("k"), sizes.m, vectors)
        for number, (factor, right) in enumerate(((1.0, Qu), (0.5, Quuk))):
            products = [code.b.fmul(x, y) for x, y in zip(k, right, strict=True)]
            total = code.sum(products[0])
            for x in products[1:]:
                total = code.b.fadd(total, code.sum(x))
            self.add_to_sum(number, code.b.fmul(total, code.number(factor, DOUBLE)))

    def weighted_rows(
        self, matrix: Matrix, weights: Value, rows: int, vectors: int
    ) -> Sequence[Value]:
        """Return the sum of rows with weights."""
        code = self.code

        def add(found: Sequence[Value], k: Value | int) -> list[Value]:
            weight = code.wide(code.entry(Matrix(weights, 0), 0, k))
            return code.add_scaled(weight, code.get_row(matrix, k, 0, vectors), found)

        return code.accumulate(rows, code.zeros(vectors), add)

    def add_to_sum(self, number: int, value: Value) -> None:
        """Add to one of the sums of all knots."""
        code, place = self.code, self.scratch.at("sums", number)
        code.put(code.b.fadd(code.get(DOUBLE, place), value), place)

    def solve(self, is_limited: bool) -> None:
        """Write [K k] of the damped matrix; limited entries are left out."""
        code, sizes, of = self.code, self.sizes, self.scratch.matrix
        vu, vx = code.vectors(sizes.nu), code.vectors(sizes.nx)
        free = code.get_row(of("free"), 0, 0, vu)
        with code.loop(const(sizes.m)) as i:
            rows = code.get_row(of("Quu"), i, 0, vu) + code.get_row(of("Qux"), i, 0, vx)
            added = self.damping
            if is_limited:
                own = code.get(DOUBLE, code.at(self.scratch.at("free"), i))
                rows = [code.b.fmul(x, y) for x, y in zip(rows, free, strict=False)]
                rows += code.get_row(of("Qux"), i, 0, vx)
                rows = [code.b.fmul(x, code.splat(own, code.vector)) for x in rows]
                added = code.b.fadd(added, code.b.fsub(code.number(1.0, DOUBLE), own))
            code.put_row(rows, of("work"), i)
            place = code.entry(of("work"), i, i)
            code.put(code.b.fadd(code.get(DOUBLE, place), added), place)
        code.eliminate(
            of("work"),
            sizes.m,
            vu + vx,
            vu,
            of("inverses"),
            self.given("policy", sizes.nx),
        )

    def limit(self, target: Matrix) -> None:
        """Write another policy if k is beyond a limit."""
        code, sizes, at = self.code, self.sizes, self.scratch.at
        low, high = (self.given(x, sizes.m).data for x in ("low", "high"))
        with code.folds(const(sizes.m), 1, const(0)) as turn:
            i = turn.index
            k = code.get(DOUBLE, code.at(at("k"), i))
            (found,) = turn.values
            for limit, relation in ((low, "<"), (high, ">")):
                bound = code.get(DOUBLE, code.at(limit, i))
                is_beyond = code.b.fcmp_unordered(relation, k, bound)
                found = code.b.or_(found, code.b.zext(is_beyond, found.type))
            turn.next = [found]
        with code.when(code.compare(turn.results[0], "!=", 0)):
            code.call("invoke", code.load(self.block, Recursion.BOX), self.knot, 1)
            self.solve(is_limited=True)
            with code.loop(const(sizes.m)) as i:
                k = code.get(DOUBLE, code.at(at("k"), i))
                code.put(k, code.entry(target, i, sizes.n))

    def value_before(self) -> None:
        """Write V and v before the step."""
        code, sizes, of = self.code, self.sizes, self.scratch.matrix
        K, vectors = self.given("policy", sizes.nx), code.vectors(sizes.nx)
        minus = code.splat(code.b.fneg(self.damping), code.vector)
        with code.loop(const(sizes.m)) as i:
            both = (code.get_row(x, i, 0, vectors) for x in (K, of("Qux")))
            code.put_row(code.add_scaled(minus, *both), of("Qux"), i)
        products = [Product(of("Qux").transposed, K, sizes.m)]
        rows = range(sizes.n)

        def start(place: Place) -> list[Value]:
            return code.get_row(of("Q"), *place)

        code.multiply_upper(rows, vectors, products, start, of("V"))
        code.mirror(of("V"), sizes.n)

    def add_gap(self) -> None:
        """Move the value to where the step ends: v ← v + V f."""
        code, n, of, at = self.code, self.sizes.n, self.scratch.matrix, self.scratch.at
        f, vectors = self.given("gap", n).data, code.vectors(self.sizes.nx)
        code.put_row(self.weighted_rows(of("V"), f, n, vectors), of("step"), 0)
        absolute = code.module.intrinsic("llvm.fabs.f64", DOUBLE)
        with code.loop(const(n)) as i:
            entry = code.get(DOUBLE, code.at(f, i))
            place = code.entry(of("V"), i, n)
            before = code.get(DOUBLE, place)
            change = code.get(DOUBLE, code.at(at("step"), i))
            code.put(code.b.fadd(before, change), place)
            half = code.b.fmul(code.number(0.5, DOUBLE), change)
            self.add_to_sum(0, code.b.fmul(entry, before))
            self.add_to_sum(1, code.b.fmul(entry, half))
            self.add_to_sum(2, code.b.call(absolute, [entry]))
