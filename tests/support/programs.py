"""Random programs: recipes that run on symbols and on plain numbers alike.

A recipe is a list of steps over a growing pool of values. The pool knows for each
value how large it can be and how large its rounding error can be, and scales by an
exact 1/16 what grows beyond: values stay finite, and two ways to round the same
recipe stay within `tolerance`. Whatever decides (a comparison) is made from exact
values, or joins two branches that are equal where they meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ramidyn.symbolic import expr, functions
from ramidyn.symbolic.program import Program
from ramidyn.symbolic.trace import trace

CONSTANTS = (0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 0.1, math.pi / 2, -math.pi, 1.7)
EXPONENTS = (0, 1, 2, 3, -1, 0.5, -0.5, 1.5, 0.25, -2)
LARGEST_INPUT = 2.0
LARGEST_VALUE = 64.0
LARGEST_ERROR = 4000.0  # in units of the rounding error of 1

Shape = tuple[int, ...]

SYMBOLS = SimpleNamespace(
    sqrt=functions.sqrt,
    sin=functions.sin,
    cos=functions.cos,
    tan=functions.tan,
    asin=functions.asin,
    acos=functions.acos,
    atan2=functions.atan2,
    exp=functions.exp,
    log=functions.log,
    minimum=functions.minimum,
    maximum=functions.maximum,
    where=functions.where,
    constant=expr.const,
    region=expr.region,
)
NUMBERS = SimpleNamespace(
    sqrt=np.sqrt,
    sin=np.sin,
    cos=np.cos,
    tan=np.tan,
    asin=np.arcsin,
    acos=np.arccos,
    atan2=np.arctan2,
    exp=np.exp,
    log=np.log,
    minimum=np.minimum,
    maximum=np.maximum,
    where=np.where,
    constant=np.float64,
    region=lambda _: None,
)


@dataclass(slots=True)
class Value:
    """A value of the pool, the largest it can be, and its largest rounding error."""

    it: Any
    bound: float
    error: float
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a recipe: which kind, and numbers that pick what it works on."""

    kind: int
    i: int
    j: int
    k: int
    c: int


@dataclass(slots=True)
class Pool:
    """The values made so far, over symbols or over numbers (``F``)."""

    F: Any
    values: list[Value] = field(default_factory=list)
    conditions: list[Any] = field(default_factory=list)
    recent: int | None = None
    """how far back a step may reach; None: to the beginning"""

    def pick(self, i: int) -> Value:
        n = len(self.values)
        return self.values[-1 - i % min(n, self.recent or n)]

    def pick_exact(self, i: int) -> Value:
        exact = [v for v in self.values[:60] if v.is_exact]
        return exact[i % len(exact)]

    def put(self, it: Any, bound: float, error: float) -> None:
        error += 4 * bound
        while bound > LARGEST_VALUE or error > LARGEST_ERROR:
            it, bound, error = it * 0.0625, bound / 16, error / 16
        self.values.append(Value(it, bound, error))

    def put_exact(self, it: Any, bound: float) -> None:
        self.values.append(Value(it, bound, bound, is_exact=True))


def _unit(x: Any) -> Any:
    return x / (1 + abs(x))


def _add(p: Pool, s: Step) -> None:
    x, y = p.pick(s.i), p.pick(s.j)
    p.put(x.it + y.it, x.bound + y.bound, x.error + y.error)


def _sub(p: Pool, s: Step) -> None:
    x, y = p.pick(s.i), p.pick(s.j)
    p.put(x.it - y.it, x.bound + y.bound, x.error + y.error)


def _mul(p: Pool, s: Step) -> None:
    x, y = p.pick(s.i), p.pick(s.j)
    p.put(x.it * y.it, x.bound * y.bound, x.bound * y.error + y.bound * x.error)


def _multiply_add(p: Pool, s: Step) -> None:
    x, y, z = p.pick(s.i), p.pick(s.j), p.pick(s.k)
    product = x.it * y.it
    it = (product + z.it, product - z.it, z.it - product)[s.c % 3]
    error = x.bound * y.error + y.bound * x.error + z.error
    p.put(it, x.bound * y.bound + z.bound, error)


def _div(p: Pool, s: Step) -> None:
    x, y, z = p.pick(s.i), p.pick(s.j), p.pick(s.k)
    divisor = 2 + y.it * y.it
    it = (x.it / divisor, 1 / divisor, x.it / divisor - z.it / divisor)[s.c % 3]
    bound = x.bound + z.bound + 1
    p.put(it, bound, x.error + z.error + bound * y.error)


def _neg(p: Pool, s: Step) -> None:
    x = p.pick(s.i)
    p.values.append(Value(-x.it, x.bound, x.error, x.is_exact))


def _abs(p: Pool, s: Step) -> None:
    x = p.pick(s.i)
    p.values.append(Value(abs(x.it), x.bound, x.error, x.is_exact))


def _extremum(p: Pool, s: Step) -> None:
    x, y = p.pick(s.i), p.pick(s.j)
    it = (p.F.minimum if s.c % 2 else p.F.maximum)(x.it, y.it)
    exact = x.is_exact and y.is_exact
    value = Value(it, max(x.bound, y.bound), max(x.error, y.error), exact)
    p.values.append(value)


def _constant(p: Pool, s: Step) -> None:
    c = CONSTANTS[s.c % len(CONSTANTS)]
    p.put_exact(p.F.constant(c), abs(c))


def _scale(p: Pool, s: Step) -> None:
    x, c = p.pick(s.i), CONSTANTS[s.c % len(CONSTANTS)]
    it = (c * x.it, x.it * c, c * (CONSTANTS[s.k % len(CONSTANTS)] * x.it))[s.j % 3]
    p.put(it, 10 * x.bound, 10 * x.error)


def _divide_by_constant(p: Pool, s: Step) -> None:
    x = p.pick(s.i)
    c = CONSTANTS[1 + s.c % (len(CONSTANTS) - 1)]
    p.put(x.it / c, 10 * x.bound, 10 * x.error)


def _shift(p: Pool, s: Step) -> None:
    x, c = p.pick(s.i), CONSTANTS[s.c % len(CONSTANTS)]
    it = (c + x.it, x.it + c, x.it - c, c - x.it)[s.j % 4]
    p.put(it, 4 + x.bound, x.error)


def _sqrt(p: Pool, s: Step) -> None:
    x = p.pick(s.i)
    p.put(p.F.sqrt(1 + x.it * x.it), 1 + x.bound, x.error)


def _sine(p: Pool, s: Step) -> None:
    x = p.pick(s.i)
    it = p.F.sin(x.it) if s.c % 2 else p.F.cos(x.it)
    p.put(it, 1, x.error)


def _quarter_turn(p: Pool, s: Step) -> None:
    x = p.pick(s.i)
    c = (s.k % 9 - 4) * math.pi / 2
    angle = (x.it + c, c + x.it, x.it - c, c - x.it)[s.j % 4]
    p.put(p.F.sin(angle) if s.c % 2 else p.F.cos(angle), 1, x.error + 8)


def _pythagoras(p: Pool, s: Step) -> None:
    x, y = p.pick(s.i), p.pick(s.j)
    sine, cosine = p.F.sin(x.it), p.F.cos(x.it)
    it = y.it * (sine * sine + cosine * cosine)
    p.put(it, y.bound, y.error + y.bound * 4)


def _tan(p: Pool, s: Step) -> None:
    x = p.pick(s.i)
    p.put(p.F.tan(_unit(x.it)), 1.6, 3.5 * (x.error + 1))


def _arc(p: Pool, s: Step) -> None:
    x = p.pick(s.i)
    it = (p.F.asin if s.c % 2 else p.F.acos)(0.75 * _unit(x.it))
    p.put(it, math.pi, 2 * (x.error + 1))


def _atan2(p: Pool, s: Step) -> None:
    x, y = p.pick(s.i), p.pick(s.j)
    away = 1 + y.it * y.it
    pairs = ((x.it, away), (away, x.it), (-away, x.it))
    error = x.error + 2 * y.bound * y.error
    p.put(p.F.atan2(*pairs[s.c % 3]), math.pi, error)


def _exp(p: Pool, s: Step) -> None:
    x = p.pick(s.i)
    p.put(p.F.exp(p.F.minimum(x.it, 1)), math.e, math.e * x.error)


def _log(p: Pool, s: Step) -> None:
    x = p.pick(s.i)
    p.put(p.F.log(1 + x.it * x.it), 2 * x.bound, x.error + 1)


def _pow(p: Pool, s: Step) -> None:
    x, c = p.pick(s.i), EXPONENTS[s.c % len(EXPONENTS)]
    sine = p.F.sin(x.it)
    p.put((1 + sine * sine) ** c, 8, 24 * (x.error + 2))


def _common_factor(p: Pool, s: Step) -> None:
    a, x, y = p.pick(s.i), p.pick(s.j), p.pick(s.k)
    left, right = a.it * x.it, y.it * a.it
    it = left + right if s.c % 2 else left - right
    bound = x.bound + y.bound
    p.put(it, a.bound * bound, a.error * bound + a.bound * (x.error + y.error))


def _mirror(p: Pool, s: Step) -> None:
    x, y, z = p.pick(s.i), p.pick(s.j), p.pick(s.k)
    forth, back = x.it - y.it, y.it - x.it
    it = (forth * z.it, back * z.it, -forth, back, forth * back)[s.c % 5]
    bound, error = x.bound + y.bound + 1, x.error + y.error
    other = max(z.bound, bound)
    p.put(it, bound * other, 2 * bound * (error + z.error) + other * error)


def _compare(p: Pool, s: Step) -> None:
    x, y = p.pick_exact(s.i), p.pick_exact(s.j)
    kinds = (
        lambda a, b: a < b,
        lambda a, b: a <= b,
        lambda a, b: a > b,
        lambda a, b: a >= b,
        lambda a, b: a == b,
        lambda a, b: a != b,
    )
    p.conditions.append(kinds[s.c % len(kinds)](x.it, y.it))


def _logic(p: Pool, s: Step) -> None:
    if not p.conditions:
        return _compare(p, s)
    a = p.conditions[s.i % len(p.conditions)]
    b = p.conditions[s.j % len(p.conditions)]
    kinds = (lambda: a & b, lambda: a | b, lambda: ~a)
    p.conditions.append(kinds[s.c % 3]())
    return None


def _where(p: Pool, s: Step) -> None:
    if not p.conditions:
        _compare(p, s)
    c = p.conditions[-1 - s.c % min(len(p.conditions), 8)]
    x, y = p.pick(s.i), p.pick(s.j)
    it = p.F.where(c, x.it, y.it)
    p.put(it, max(x.bound, y.bound), max(x.error, y.error))


def _where_branches_meet(p: Pool, s: Step) -> None:
    x, y = p.pick(s.i), p.pick(s.j)
    bound, error = x.bound + y.bound, x.error + y.error
    if s.c % 3 == 0:
        it = p.F.where(x.it == y.it, x.it, y.it)
    elif s.c % 3 == 1:
        it = p.F.where(x.it < y.it, y.it - x.it, (x.it - y.it) * 0.5)
    else:
        it = p.F.where(x.it >= y.it, x.it - y.it, 0)
    p.put(it, bound, 2 * error)


def _region(p: Pool, s: Step) -> None:
    p.F.region(f"part {s.c}")


STEPS: tuple[Callable[[Pool, Step], None], ...] = (
    _add,
    _sub,
    _mul,
    _multiply_add,
    _div,
    _neg,
    _abs,
    _extremum,
    _constant,
    _scale,
    _divide_by_constant,
    _shift,
    _sqrt,
    _sine,
    _quarter_turn,
    _pythagoras,
    _tan,
    _arc,
    _atan2,
    _exp,
    _log,
    _pow,
    _common_factor,
    _mirror,
    _compare,
    _logic,
    _where,
    _where_branches_meet,
    _region,
)
COMMON = tuple(map(STEPS.index, (_add, _sub, _mul, _multiply_add, _scale, _neg)))


@dataclass(frozen=True, slots=True)
class Recipe:
    """A function over symbols or numbers, as data."""

    inputs: dict[str, Shape]
    steps: tuple[Step, ...]
    outputs: dict[str, Shape]
    recent: int | None = None

    def run(self, F: Any, *arrays: Any) -> dict[str, Any]:
        """Do the steps with the functions of ``F``; return the outputs by name."""
        pool = Pool(F, recent=self.recent)
        for a in arrays:
            entries = a.ravel() if isinstance(a, np.ndarray) else [a]
            for x in entries:
                pool.put_exact(x, LARGEST_INPUT)
        for s in self.steps:
            STEPS[s.kind](pool, s)
        return self._gather(pool)

    def _gather(self, pool: Pool) -> dict[str, Any]:
        """Return the last values as outputs, with what nobody asked for added in."""
        total = sum(math.prod(shape) for shape in self.outputs.values())
        n = len(pool.values)
        entries = [pool.values[(n - total + k) % n].it for k in range(total)]
        for k, v in enumerate(pool.values[: n - total] if self.recent else []):
            entries[k % total] = (entries[k % total] + v.it) * 0.5
        results: dict[str, Any] = {}
        for name, shape in self.outputs.items():
            size = math.prod(shape)
            array = np.empty(size, dtype=object)
            array[:] = entries[:size]
            entries = entries[size:]
            results[name] = array.reshape(shape) if shape else array[0]
        return results

    def program(self) -> Program:
        return trace(lambda *a: self.run(SYMBOLS, *a), self.inputs, name="random")

    def repeated(self, count: int) -> Program:
        """Return a program that does this for several sets of inputs, one by one."""
        inputs = {f"{n}_{k}": s for k in range(count) for n, s in self.inputs.items()}

        def body(*arrays: Any) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for k in range(count):
                own = arrays[k * len(self.inputs) : (k + 1) * len(self.inputs)]
                found |= {f"{n}_{k}": y for n, y in self.run(SYMBOLS, *own).items()}
            return found

        return trace(body, inputs, name="repeated")

    def numbers(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs of one state, by plain NumPy."""
        arrays = [np.asarray(values[name], dtype=np.float64) for name in self.inputs]
        results = self.run(NUMBERS, *(a if a.ndim else a[()] for a in arrays))
        return {name: np.asarray(r, dtype=np.float64) for name, r in results.items()}


def values_for(
    inputs: dict[str, Shape],
    rng: np.random.Generator,
    batch: int | None = None,
    dtype: str = "float64",
) -> dict[str, np.ndarray[Any, Any]]:
    """Return inputs within ±2: half of them random, half quarters, so that some tie."""
    lead = () if batch is None else (batch,)
    values: dict[str, np.ndarray[Any, Any]] = {}
    for name, shape in inputs.items():
        x = rng.uniform(-LARGEST_INPUT, LARGEST_INPUT, (*lead, *shape))
        x = np.where(rng.random(x.shape) < 0.5, x, np.round(4 * x) / 4)
        values[name] = x.astype(dtype)
    return values


def tolerance(dtype: str = "float64") -> float:
    """Return how far two roundings of one recipe can be apart, absolutely."""
    return 8 * LARGEST_ERROR * float(np.finfo(dtype).eps)


def assert_same(actual: Any, expected: Any, dtype: str = "float64") -> None:
    """Assert that two dicts of outputs are equal up to rounding."""
    assert list(actual) == list(expected)
    for name in expected:
        a, e = np.asarray(actual[name]), np.asarray(expected[name])
        assert a.shape == e.shape, name
        assert np.isfinite(a).all(), name
        np.testing.assert_allclose(a, e, rtol=0, atol=tolerance(dtype), err_msg=name)


def steps(kind: st.SearchStrategy[int]) -> st.SearchStrategy[Step]:
    number = st.integers(0, 40)
    return st.builds(Step, kind, number, number, number, number)


@st.composite
def recipes(draw: st.DrawFn, most: int = 40) -> Recipe:
    """Draw a recipe of up to ``most`` steps with inputs and outputs of all ranks."""
    shapes = st.sampled_from([(), (1,), (3,), (2, 2), (2, 3)])
    inputs = draw(st.lists(shapes, min_size=1, max_size=3))
    outputs = draw(st.lists(shapes, min_size=1, max_size=3))
    kinds = st.sampled_from(range(len(STEPS))) | st.sampled_from(COMMON)
    chosen = draw(st.lists(steps(kinds), min_size=1, max_size=most))
    return Recipe(
        {f"x{i}": s for i, s in enumerate(inputs)},
        tuple(chosen),
        {f"y{i}": s for i, s in enumerate(outputs)},
    )


def random_recipe(
    rng: np.random.Generator,
    operations: int,
    *,
    inputs: dict[str, Shape] | None = None,
    outputs: dict[str, Shape] | None = None,
    functions: float = 0.1,
    region_every: int = 400,
) -> Recipe:
    """Return a recipe of about so many operations, all of them needed.

    Args:
        rng: decides everything.
        operations: at least so many are in the traced program.
        inputs: their shapes; a scalar, a vector and a matrix by default.
        outputs: the same.
        functions: the share of steps that are not plain arithmetic.
        region_every: a region begins after so many steps.
    """
    region = STEPS.index(_region)
    others = [k for k in range(len(STEPS)) if k != region]
    chosen: list[Step] = []
    for n in range(operations):
        kind = rng.choice(others if rng.random() < functions else COMMON)
        if n % region_every == region_every - 1:
            kind = region
        chosen.append(Step(int(kind), *map(int, rng.integers(0, 1 << 20, 4))))
    return Recipe(
        inputs or {"s": (), "v": (6,), "A": (3, 4)},
        tuple(chosen),
        outputs or {"t": (), "w": (5,), "B": (2, 3)},
        recent=60,
    )


def random_program(
    rng: np.random.Generator, operations: int, **options: Any
) -> Program:
    """Return the program of a random recipe of about so many operations."""
    return random_recipe(rng, operations, **options).program()
