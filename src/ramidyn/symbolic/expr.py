"""Scalars as symbols: one node type, shared by construction.

An `Expr` is an operation on other nodes. Equal operations on equal arguments are
the same object (hash-consing), so a common subexpression exists once. What can be
decided exactly while building is decided there: constants fold, 0 and 1 vanish,
signs move outwards until an addition absorbs them, x − x is 0.

Assumes: finite values (0·x → 0, x − x → 0, x / x → 1).
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Generator, Iterator, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeAlias
from weakref import WeakValueDictionary

from ramidyn.concurrency import tracing_lock, without_collection
from ramidyn.errors import TraceError

Key: TypeAlias = tuple[Any, ...]
ScalarLike: TypeAlias = "Expr | float | SupportsFloat"

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def users_line() -> str:
    """Return "file:line" of the innermost caller outside of Ramidyn and NumPy."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  fast, documented
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE) and f"{os.sep}numpy{os.sep}" not in name:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "unknown line"


class Expr:
    """A node of a program: an operation and its arguments.

    Attributes:
        op: the operation, such as "add", "sin", "const" or "input"
        args: the nodes it works on
        value: the number of a "const"; (name, flat index) of an "input"
        region: the index of the region of the trace it was made in
    """

    __slots__ = ("__weakref__", "args", "op", "region", "value")

    def __init__(self, op: str, args: tuple[Expr, ...], value: Any, region: int):
        self.op: str = op
        self.args: tuple[Expr, ...] = args
        self.value: Any = value
        self.region: int = region

    if TYPE_CHECKING:

        def __hash__(self) -> int: ...

    else:
        __hash__ = object.__hash__

    def __repr__(self) -> str:
        if self.op == "const":
            return f"Expr({self.value!r})"
        if self.op == "input":
            return f"Expr({self.value[0]}[{self.value[1]}])"
        return f"Expr({self.op} of {len(self.args)})"

    @property
    def is_zero(self) -> bool:
        """Whether it is the constant zero."""
        return self.op == "const" and self.value == 0.0

    # Arithmetic. A NumPy array on the other side takes over, element by element.
    def __add__(self, other: ScalarLike) -> Expr:
        b = other if other.__class__ is Expr else _lift(other)
        return NotImplemented if b is None else add(self, b)  # type: ignore[arg-type]

    def __radd__(self, other: ScalarLike) -> Expr:
        b = _lift(other)
        return NotImplemented if b is None else add(b, self)

    def __sub__(self, other: ScalarLike) -> Expr:
        b = other if other.__class__ is Expr else _lift(other)
        return NotImplemented if b is None else sub(self, b)  # type: ignore[arg-type]

    def __rsub__(self, other: ScalarLike) -> Expr:
        b = _lift(other)
        return NotImplemented if b is None else sub(b, self)

    def __mul__(self, other: ScalarLike) -> Expr:
        b = other if other.__class__ is Expr else _lift(other)
        return NotImplemented if b is None else mul(self, b)  # type: ignore[arg-type]

    def __rmul__(self, other: ScalarLike) -> Expr:
        b = _lift(other)
        return NotImplemented if b is None else mul(b, self)

    def __truediv__(self, other: ScalarLike) -> Expr:
        b = other if other.__class__ is Expr else _lift(other)
        return NotImplemented if b is None else div(self, b)  # type: ignore[arg-type]

    def __rtruediv__(self, other: ScalarLike) -> Expr:
        b = _lift(other)
        return NotImplemented if b is None else div(b, self)

    def __neg__(self) -> Expr:
        return neg(self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return absolute(self)

    def __pow__(self, exponent: ScalarLike) -> Expr:
        b = exponent if exponent.__class__ is Expr else _lift(exponent)
        return NotImplemented if b is None else power(self, b)  # type: ignore[arg-type]

    # Comparisons make conditions, for `where`.
    def __lt__(self, other: ScalarLike) -> Condition:
        return compare("lt", self, lift(other))

    def __le__(self, other: ScalarLike) -> Condition:
        return compare("le", self, lift(other))

    def __gt__(self, other: ScalarLike) -> Condition:
        return compare("lt", lift(other), self)

    def __ge__(self, other: ScalarLike) -> Condition:
        return compare("le", lift(other), self)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return compare("eq", self, lift(other))

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return ~compare("eq", self, lift(other))

    # What a symbol cannot do: the error names the user's line.
    def __bool__(self) -> bool:
        raise TraceError(
            f"{users_line()}: a symbol has no truth value while a function is "
            "traced, so `if`, `while`, `and`, `or`, `not` and `in` cannot use it; use "
            "ramidyn.math.where(condition, a, b), & | ~ between conditions, "
            "ramidyn.math.minimum and maximum, ramidyn.repeat_until for loops; compare "
            "arrays by numpy.less(a, b, dtype=object)"
        )

    def __float__(self) -> float:
        return self.value if self.op == "const" else self._no_number_yet()

    def _no_number_yet(self, *_: object) -> Any:
        raise TraceError(
            f"{users_line()}: a symbol is not a number yet, so float(), int(), round() "
            "and the math module cannot use it; use the operators and "
            "ramidyn.math.sin, sqrt, ... (numpy.sin, numpy.sqrt, ... work too)"
        )

    if not TYPE_CHECKING:  # to a type checker a symbol has none of these
        __int__ = __index__ = __round__ = __floor__ = __ceil__ = _no_number_yet
        __trunc__ = __complex__ = _no_number_yet

    def __iter__(self) -> Iterator[Expr]:
        raise TraceError(f"{users_line()}: a symbol is a scalar; it cannot be iterated")

    def _unsupported(self, *_: object) -> Any:
        raise TraceError(
            f"{users_line()}: symbols do not support this operation; supported: "
            "+ - * / ** abs, comparisons, and ramidyn.math.sqrt, sin, cos, tan, asin, "
            "acos, atan2, exp, log, minimum, maximum, where"
        )

    if not TYPE_CHECKING:
        __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _unsupported
        __divmod__ = __rpow__ = __lshift__ = __rshift__ = _unsupported
        __and__ = __or__ = __xor__ = __invert__ = _unsupported
        __matmul__ = __rmatmul__ = _unsupported
    # No __getitem__ or __len__: NumPy would take a symbol for a sequence.

    # NumPy's functions on object arrays call these methods.
    def sqrt(self) -> Expr:
        """Return √x."""
        return unary("sqrt", self)

    def sin(self) -> Expr:
        """Return sin x."""
        return unary("sin", self)

    def cos(self) -> Expr:
        """Return cos x."""
        return unary("cos", self)

    def tan(self) -> Expr:
        """Return tan x."""
        return unary("tan", self)

    def arcsin(self) -> Expr:
        """Return asin x."""
        return unary("asin", self)

    def arccos(self) -> Expr:
        """Return acos x."""
        return unary("acos", self)

    def arctan2(self, x: ScalarLike) -> Expr:
        """Return the angle of the point (x, self)."""
        return atan2(lift(self), lift(x))

    def exp(self) -> Expr:
        """Return eˣ."""
        return unary("exp", self)

    def log(self) -> Expr:
        """Return ln x."""
        return unary("log", self)

    def conjugate(self) -> Expr:
        """Return x: a symbol is real."""
        return self


class Condition(Expr):
    """A comparison: true or false for each state; `where` chooses by it."""

    __slots__ = ()

    def _not_a_number(self, *_: object) -> Any:
        raise TraceError(
            f"{users_line()}: a comparison is not a number; use "
            "ramidyn.math.where(condition, a, b)"
        )

    if not TYPE_CHECKING:
        __hash__ = object.__hash__
        __add__ = __radd__ = __sub__ = __rsub__ = _not_a_number
        __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _not_a_number
        __neg__ = __pow__ = __abs__ = _not_a_number
        __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _not_a_number

    def __and__(self, other: Condition) -> Condition:
        return logic("and", self, other)

    def __or__(self, other: Condition) -> Condition:
        return logic("or", self, other)

    def __invert__(self) -> Condition:
        return logic("not", self)


class Call(Expr):
    """A call of a program; its results are "result" nodes, each with a number.

    Its value is the `Callee`.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Call({self.value.name} of {len(self.args)})"

    if not TYPE_CHECKING:
        __hash__ = object.__hash__


class _Trace:
    """Where new nodes go: a table of all nodes alive, and the current region."""

    __slots__ = ("dtype", "labels", "region", "regions", "table")

    def __init__(self, table: MutableMapping[Key, Expr], dtype: str = "float64"):
        self.table = table
        self.dtype = dtype
        self.labels: dict[Expr, str] = {}
        self.regions: list[str] = ["start"]
        self.region = 0


# 0 and 1 are the same in every table, so that modules may keep them.
ZERO = Expr("const", (), 0.0, 0)
ONE = Expr("const", (), 1.0, 0)
_ALWAYS: dict[Key, Expr] = {("const", 0.0): ZERO, ("const", 1.0): ONE}

# Outside of a trace nodes are kept as long as somebody uses them.
_current: _Trace = _Trace(WeakValueDictionary(_ALWAYS))
_outside = _current
_table: MutableMapping[Key, Expr] = _current.table


def _abandon() -> None:
    """Leave the trace of a thread that a forked child does not have."""
    global _current, _table
    _current, _table = _outside, _outside.table


tracing_lock.repair = _abandon


@contextlib.contextmanager
def fresh_table(dtype: str = "float64") -> Generator[_Trace]:
    """Build nodes in a table of their own, in this thread, until the end.

    ``dtype`` is what the program will run in.

    The nodes in it are in an order of evaluation, and depend on nothing that was
    traced before: the same function gives the same program in every process.
    """
    global _current, _table  # noqa: PLW0603  one table, swapped whole
    with without_collection(), tracing_lock:
        outer = _current
        _current = _Trace(dict(_ALWAYS), dtype)
        _table = _current.table
        try:
            yield _current
        finally:
            _current, _table = outer, outer.table


def is_tracing() -> bool:
    """Whether a function is being traced, in this thread."""
    return _current is not _outside


def current_dtype() -> str:
    """Return what the program that is being traced will run in."""
    return _current.dtype


def region(name: str) -> None:
    """Begin a new region of the trace; a program may be cut where one begins."""
    _current.regions.append(name)
    _current.region = len(_current.regions) - 1


def regions() -> list[str]:
    """Return the names of the regions of the current trace."""
    return _current.regions


@contextlib.contextmanager
def resumed_regions() -> Generator[Callable[[int], None]]:
    """Yield what goes back to a region; the current one is resumed at the end."""
    trace, before = _current, _current.region

    def resume(index: int) -> None:
        trace.region = index

    try:
        yield resume
    finally:
        trace.region = before


@contextlib.contextmanager
def adjoint_regions() -> Generator[Callable[[int], None]]:
    """Yield what begins a region for the derivatives of another one."""
    trace, before = _current, _current.region
    last = -1

    def enter(index: int) -> None:
        nonlocal last
        if index != last and trace is not _outside:
            region(f"adjoint of {trace.regions[index]}")
            last = index

    try:
        yield enter
    finally:
        trace.region = before


def nodes() -> tuple[Expr, ...]:
    """Return the nodes of the current trace in the order in which they were made."""
    return tuple(_table.values())


def label(name: str, *exprs: Expr) -> None:
    """Say what nodes are, for readers of the program: the first label stays.

    Three are the entries of a vector, six those of a symmetric matrix (upper triangle
    by rows), nine those of a matrix.
    """
    if _current is not _outside:
        entries = ENTRIES[len(exprs)]
        for e, entry in zip(exprs, entries, strict=True):
            put_label(_current.labels, e, name + entry)


def labels() -> dict[Expr, str]:
    """Return the labels of the current trace."""
    return _current.labels


def put_label(labels: dict[Expr, str], e: Expr, name: str) -> None:
    """Label a node, and what it is the negative of, unless they have labels."""
    if e.args:
        labels.setdefault(e, name)
        if e.op == "neg" and e.args[0].args:
            minus = name[6:] if name.startswith("minus_") else f"minus_{name}"
            labels.setdefault(e.args[0], minus)


ENTRIES: dict[int, tuple[str, ...]] = {
    1: ("",),
    3: ("_x", "_y", "_z"),
    6: ("_xx", "_xy", "_xz", "_yy", "_yz", "_zz"),
    9: tuple(f"_{i}{j}" for i in "xyz" for j in "xyz"),
}


def node(op: str, args: tuple[Expr, ...], value: Any = None) -> Expr:
    """Return the one node of this operation on these arguments."""
    key: Key = (op, *map(id, args)) if value is None else (op, value)
    found = _table.get(key)
    if found is None:
        kind = Condition if op in CONDITIONS else Expr
        found = _table[key] = kind(op, args, value, _current.region)
    return found


def intern(e: Expr) -> Expr:
    """Return the node that stands for e in this table: e itself if it is the first."""
    args = e.args
    if len(args) == 2 and e.value is None:  # most are; the rest of `_key` takes longer
        op, i, j = e.op, id(args[0]), id(args[1])
        if i > j and op in COMMUTATIVE:
            i, j = j, i
        return _table.setdefault((op, i, j), e)
    return _table.setdefault(_key(e.op, e.args, e.value), e)


def _key(op: str, args: tuple[Expr, ...], value: Any) -> Key:
    """Return what a node of this operation on these arguments is found by."""
    if op == "call":
        return _call_key(value, args)
    if op == "result":
        return ("result", id(args[0]), value)
    if value is not None:
        return (op, value)
    if len(args) != 2:
        return (op, *map(id, args))
    i, j = map(id, args)
    return (op, j, i) if i > j and op in COMMUTATIVE else (op, i, j)


COMMUTATIVE = frozenset({"add", "mul"})
CONDITIONS = frozenset({"lt", "le", "eq", "and", "or", "not"})


def const(value: float) -> Expr:
    """Return a constant; it must be finite."""
    if not math.isfinite(value):
        raise TraceError(f"{users_line()}: the constant {value} is not finite")
    key: Key = ("const", value)
    found = _table.get(key)
    if found is None:
        # One zero: −0 and 0 are equal, so they share a key.
        found = _table[key] = Expr("const", (), value + 0.0, 0)
    return found


def symbol(name: str, index: int = 0) -> Expr:
    """Return entry ``index`` (flat) of the input ``name``."""
    return node("input", (), (name, index))


def is_symbol(name: str) -> bool:
    """Whether the current trace has an input of that name."""
    return ("input", (name, 0)) in _table


def _lift(value: object) -> Expr | None:
    """Return a number as a constant, or None for what is not a scalar number."""
    kind = value.__class__
    if kind is float or kind is int:
        try:
            return const(float(value))  # type: ignore[arg-type]
        except OverflowError:
            raise TraceError(f"{users_line()}: an int is too large to use") from None
    if kind is Expr:
        return value  # type: ignore[return-value]
    if kind is Condition:
        value._not_a_number()  # type: ignore[attr-defined]
    if getattr(value, "ndim", 0) != 0 or isinstance(value, (str, bytes, complex)):
        return None
    inner: Any = value.item() if hasattr(value, "item") else value  # type: ignore[attr-defined]
    if isinstance(inner, Expr):  # in an array without axes
        return inner
    if hasattr(kind, "__float__"):
        return const(float(value))  # type: ignore[arg-type]
    return None


def lift(value: object) -> Expr:
    """Return a number as a constant and a symbol as itself."""
    e = _lift(value)
    if e is None:
        raise TraceError(
            f"{users_line()}: {value!r} is a {type(value).__name__}; expected a real "
            "number or a symbol"
        )
    return e


def _binary(op: str, a: Expr, b: Expr) -> Expr:
    key: Key = (op, id(a), id(b))
    found = _table.get(key)
    if found is None:
        found = _table[key] = Expr(op, (a, b), None, _current.region)
    return found


def _commutative(op: str, a: Expr, b: Expr) -> Expr:
    i, j = id(a), id(b)
    key: Key = (op, i, j) if i < j else (op, j, i)
    found = _table.get(key)
    if found is None:
        found = _table[key] = Expr(op, (a, b), None, _current.region)
    return found


ROUNDING = 1e-14
"""What is left of a zero after a few operations, relative to what it came from."""


def sum_of(a: float, b: float) -> float:
    """Return a + b of constants; zero where only the rounding of both is left.

    Such noise would keep operations alive that exact arithmetic does not have.
    """
    out = a + b
    return 0.0 if abs(out) < ROUNDING * (abs(a) + abs(b)) else out


def add(a: Expr, b: Expr) -> Expr:
    """Return a + b."""
    if a.op == "const":
        if a.value == 0.0:
            return b
        if b.op == "const":
            return const(sum_of(a.value, b.value))
    if b.op == "const" and b.value == 0.0:
        return a
    if b.op == "neg":
        return sub(a, b.args[0])
    if a.op == "neg":
        return sub(b, a.args[0])
    return _commutative("add", a, b)


def sub(a: Expr, b: Expr) -> Expr:
    """Return a − b."""
    if a is b:
        return const(0.0)
    if b.op == "const":
        if b.value == 0.0:
            return a
        if a.op == "const":
            return const(sum_of(a.value, -b.value))
    if a.op == "const" and a.value == 0.0:
        return neg(b)
    if b.op == "neg":
        return add(a, b.args[0])
    if a.op == "neg":
        return neg(add(a.args[0], b))
    key: Key = ("sub", id(a), id(b))
    found = _table.get(key)
    if found is None:
        mirror = _table.get(("sub", id(b), id(a)))
        if mirror is not None:
            return neg(mirror)
        found = _table[key] = Expr("sub", (a, b), None, _current.region)
    return found


def mul(a: Expr, b: Expr) -> Expr:
    """Return a · b."""
    if b.op == "const":
        a, b = b, a
    if a.op == "const":
        value = a.value
        if value == 0.0:
            return a
        if value == 1.0:
            return b
        if value == -1.0:
            return neg(b)
        if b.op == "const":
            return const(value * b.value)
        if b.op == "neg":
            return mul(const(-value), b.args[0])
    if a.op == "neg":
        if b.op == "neg":
            return mul(a.args[0], b.args[0])
        return neg(mul(a.args[0], b))
    if b.op == "neg":
        return neg(mul(a, b.args[0]))
    return _commutative("mul", a, b)


def div(a: Expr, b: Expr) -> Expr:
    """Return a / b."""
    if b.op == "const":
        if b.value == 0.0:
            raise TraceError(f"{users_line()}: division by zero")
        if b.value == 1.0:
            return a
        if b.value == -1.0:
            return neg(a)
        if a.op == "const":
            return const(a.value / b.value)
    if a.op == "const" and a.value == 0.0:
        return a
    if a is b:
        return const(1.0)
    if a.op == "neg":
        return neg(div(a.args[0], b))
    if b.op == "neg":
        return neg(div(a, b.args[0]))
    return _binary("div", a, b)


def neg(a: Expr) -> Expr:
    """Return −a."""
    if a.op == "neg":
        return a.args[0]
    if a.op == "const":
        return const(-a.value)
    key: Key = ("neg", id(a))
    found = _table.get(key)
    if found is None:
        found = _table[key] = Expr("neg", (a,), None, _current.region)
    return found


_FOLD: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "exp": math.exp,
    "log": math.log,
}
_ODD = frozenset({"sin", "tan", "asin"})


def unary(op: str, a: Expr) -> Expr:
    """Return the function ``op`` of a."""
    if a.__class__ is Condition:
        a._not_a_number()  # type: ignore[attr-defined]
    if a.op == "const":
        try:
            return const(_FOLD[op](a.value))
        except (ValueError, OverflowError) as error:
            raise TraceError(f"{users_line()}: {op}({a.value}): {error}") from None
    if a.op == "neg":
        if op in _ODD:
            return neg(unary(op, a.args[0]))
        if op == "cos":
            return unary(op, a.args[0])
    return node(op, (a,))


def absolute(a: Expr) -> Expr:
    """Return |a|."""
    if a.op == "const":
        return const(abs(a.value))
    if a.op == "neg":
        return absolute(a.args[0])
    if a.op in ("abs", "sqrt", "exp"):
        return a
    return node("abs", (a,))


def atan2(y: Expr, x: Expr) -> Expr:
    """Return the angle of the point (x, y)."""
    if x.op == "const" and y.op == "const":
        return const(math.atan2(y.value, x.value))
    return node("atan2", (y, x))


def extremum(op: str, a: Expr, b: Expr) -> Expr:
    """Return min(a, b) or max(a, b), by ``op``.

    The order matters to derivatives, where both are equal: that of a is taken.
    """
    if a.op == "const" and b.op == "const":
        return const(min(a.value, b.value) if op == "min" else max(a.value, b.value))
    return a if a is b else _binary(op, a, b)


def power(a: Expr, exponent: Expr) -> Expr:
    """Return aᶜ for a constant c, by multiplications and roots where it can be."""
    if exponent.op != "const":
        raise TraceError(
            f"{users_line()}: the exponent of ** must be a constant; use "
            "ramidyn.math.exp(y * ramidyn.math.log(x)) for x ** y with x > 0"
        )
    c: float = exponent.value
    if c < 0.0:
        return div(const(1.0), power(a, const(-c)))
    if c == int(c) and c <= 64:
        return _integer_power(a, int(c))
    if c == 0.5:
        return unary("sqrt", a)
    if a.op == "const":
        try:
            return const(math.pow(a.value, c))
        except (ValueError, OverflowError) as error:
            raise TraceError(f"{users_line()}: ({a.value}) ** {c}: {error}") from None
    return node("pow", (a, exponent))


def _integer_power(a: Expr, n: int) -> Expr:
    result, square = const(1.0), a
    while n:
        if n & 1:
            result = mul(result, square)
        n >>= 1
        if n:
            square = mul(square, square)
    return result


def compare(op: str, a: Expr, b: Expr) -> Condition:
    """Return the condition a < b, a ≤ b or a = b, by ``op``."""
    return node(op, (a, b))  # type: ignore[return-value]


def logic(op: str, *conditions: Expr) -> Condition:
    """Return the conjunction, disjunction or negation of conditions."""
    for c in conditions:
        if not isinstance(c, Condition):
            raise TraceError(f"{users_line()}: & | ~ need conditions, not {c!r}")
    return node(op, conditions)  # type: ignore[return-value]


def where(condition: Expr, a: Expr, b: Expr) -> Expr:
    """Return a where the condition holds, else b."""
    return a if a is b else node("where", (condition, a, b))


def fma(a: Expr, b: Expr, c: Expr) -> Expr:
    """Return a · b + c, rounded once where the machine can."""
    return node("fma", (a, b, c))


def fms(a: Expr, b: Expr, c: Expr) -> Expr:
    """Return a · b − c, rounded once where the machine can."""
    return node("fms", (a, b, c))


def fnma(a: Expr, b: Expr, c: Expr) -> Expr:
    """Return c − a · b, rounded once where the machine can."""
    return node("fnma", (a, b, c))


def _call_key(callee: Any, args: tuple[Expr, ...]) -> Key:
    return ("call", callee.digest, *map(id, args))


def call(callee: Any, args: tuple[Expr, ...]) -> Expr:
    """Return the call of a `Callee`; equal calls are one."""
    key = _call_key(callee, args)
    found = _table.get(key)
    if found is None:
        found = _table[key] = Call("call", args, callee, _current.region)
    return found


def result(of: Expr, k: int) -> Expr:
    """Return result k of a call."""
    key: Key = ("result", id(of), k)
    found = _table.get(key)
    if found is None:
        found = _table[key] = Expr("result", (of,), k, _current.region)
    return found


def random(*args: Expr) -> Expr:
    """Return a random number in [0, 1); see `ramidyn.symbolic.random_numbers`."""
    return node("random", args)


def rebuilt(e: Expr, args: tuple[Expr, ...]) -> Expr:
    """Return the operation of a node on other arguments."""
    if e.op == "call":
        return call(e.value, args)
    if e.op == "result":
        return result(args[0], e.value)
    return BUILD[e.op](*args)


def rebuilt_of_two(e: Expr, args: tuple[Expr, Expr]) -> Expr:
    """Return the operation of a node of two arguments on others."""
    op, (x, y) = e.op, args
    if x is y or op not in KEPT_BY_KINDS:
        return rebuilt(e, args)
    if x.op in FOLDING or y.op in FOLDING:
        a, b = e.args
        if x.op != a.op or y.op != b.op:
            return rebuilt(e, args)
    i, j = id(x), id(y)
    key: Key = (op, j, i) if i > j and op in COMMUTATIVE else (op, i, j)
    found = _table.get(key)
    if found is None:
        if op == "sub" and (op, j, i) in _table:
            return sub(x, y)
        found = _table[key] = Expr(op, args, None, _current.region)
    return found


KEPT_BY_KINDS = frozenset({"add", "sub", "mul", "div"})
"""operations that fold, or not, by the kinds of their arguments if these differ"""
FOLDING = frozenset({"const", "neg"})
"""the kinds of arguments that such operations fold with"""

BUILD: dict[str, Callable[..., Expr]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "neg": neg,
    "abs": absolute,
    "atan2": atan2,
    "pow": power,
    "where": where,
    "random": random,
    "fma": fma,
    "fms": fms,
    "fnma": fnma,
    **{op: partial(extremum, op) for op in ("min", "max")},
    **{op: partial(unary, op) for op in _FOLD},
    **{op: partial(compare, op) for op in ("lt", "le", "eq")},
    **{op: partial(logic, op) for op in ("and", "or", "not")},
}
"""For each operation on numbers, the function that builds it; see `rebuilt`."""

ARITY = {
    **dict.fromkeys(("const", "input"), 0),
    **dict.fromkeys(("neg", "abs", "not", "result", *_FOLD), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "atan2", "pow", "min", "max"), 2),
    **dict.fromkeys(("lt", "le", "eq", "and", "or"), 2),
    **dict.fromkeys(("where", "fma", "fms", "fnma"), 3),
    "random": 6,
    "call": -1,
}
"""The number of arguments of every operation; a call has those of its callee."""
