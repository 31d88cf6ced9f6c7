"""A Program: named inputs, named outputs, and the operations between them in order."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby
from typing import Any, Final, NamedTuple, final

from ramidyn.symbolic.expr import ARITY, CONDITIONS, Call, Condition, Expr

OPCODES = {op: code for code, op in enumerate(sorted(ARITY))}
OPERATIONS = {code: op for op, code in OPCODES.items()}
VALUED = frozenset({"const", "input", "result"})


@dataclass(frozen=True, slots=True)
class Variable:
    """A named array of a program."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of its entries."""
        n = 1
        for extent in self.shape:
            n *= extent
        return n


KEPT, FRESH = -1, -2
"""in place of a factor: a row begins with what it holds, or with zero"""


class SweepStep(NamedTuple):
    """x[row] ← x[row] · shared[scale] − Σ shared[k] · x[i]; or begin as KEPT, FRESH."""

    row: int
    scale: int
    terms: tuple[tuple[int, int], ...]
    """(k, i)"""


class Sweep(NamedTuple):
    """What is done to some columns x of a matrix."""

    columns: tuple[int, ...]
    steps: tuple[SweepStep, ...]
    """one after another"""


class ColumnLoop(NamedTuple):
    """Sweeps over the columns of a matrix, as a callee: see `column_loop`.

    Its arguments are the shared factors, then the entries that are given; result k is
    the entry at place k.
    """

    sweeps: tuple[Sweep, ...]
    """one after another"""
    rows: int
    columns: int
    """number of columns, padding included"""
    shared: int
    """number of shared factors"""
    places: tuple[int, ...]
    """of the entries that are given, in the matrix"""
    wide: tuple[Sweep, ...]
    """the same for one state, whose vectors hold neighboring columns"""


@dataclass(frozen=True, eq=False)
class Program:
    """A straight line of scalar operations and calls of other programs.

    ``results`` holds the entries of all outputs, flat and in order; ``order`` holds
    every node that they need, arguments first; ``regions`` names the parts of the
    trace that ``Expr.region`` counts; ``labels`` says what some nodes are, to readers.
    """

    name: str
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    results: tuple[Expr, ...]
    order: tuple[Expr, ...]
    regions: tuple[str, ...] = ("start",)
    labels: dict[Expr, str] = field(default_factory=dict[Expr, str])
    counted: list[Any] = field(default_factory=list[Any], init=False, repr=False)
    """its own operations, once they have been counted"""

    def __repr__(self) -> str:
        signature = ", ".join(f"{v.name}{list(v.shape)}" for v in self.inputs)
        results = ", ".join(f"{v.name}{list(v.shape)}" for v in self.outputs)
        return f"Program {self.name}({signature}) -> {results}, {len(self.order)} nodes"

    def __str__(self) -> str:
        from ramidyn.symbolic.printer import text  # noqa: PLC0415  only to print

        return text(self, most=200)

    @property
    def size(self) -> int:
        """The number of entries of all inputs."""
        return sum(v.size for v in self.inputs)

    @cached_property
    def calls(self) -> list[Expr]:
        """The calls, in their order."""
        return [e for e in self.order if e.op == "call"]

    def input_offsets(self) -> dict[str, int]:
        """Return where each input begins when all are laid end to end."""
        offsets: dict[str, int] = {}
        total = 0
        for v in self.inputs:
            offsets[v.name] = total
            total += v.size
        return offsets

    def read_entries(self) -> set[int]:
        """Return which entries of all inputs, laid end to end, are read."""
        offsets = self.input_offsets()
        inputs = (e.value for e in self.order if e.op == "input")
        return {offsets[name] + k for name, k in inputs}

    def uses(self) -> dict[Expr, int]:
        """Return how often each node is an argument or a result."""
        uses = Counter(chain.from_iterable([e.args for e in self.order]))
        uses.update(self.results)
        return uses

    def flat(self) -> tuple[Any, ...]:
        """Return the program as plain data: the form that is hashed and pickled."""
        order, operations = self.order, [e.op for e in self.order]
        place = dict(zip(order, range(len(order)), strict=True)).__getitem__
        used = chain.from_iterable([e.args for e in order])
        codes = bytes(map(OPCODES.__getitem__, operations))
        args = array("I", map(place, used))
        valued = [
            (op, e.value)
            for op, e in zip(operations, order, strict=True)
            if op in VALUED
        ]
        values = array("d", [value for op, value in valued if op == "const"])
        slots = [value for op, value in valued if op != "const"]
        callees = {e.value.digest: e.value for e in self.calls}
        number = {digest: k for k, digest in enumerate(callees)}
        calls = [(number[e.value.digest], len(e.args)) for e in self.calls]
        runs: list[tuple[int, int]] = []
        i = 0
        for region, run in groupby([e.region for e in order]):
            runs.append((i, region))
            i += len(list(run))
        results = array("I", map(place, self.results))
        return (
            self.name,
            tuple((v.name, v.shape) for v in self.inputs),
            tuple((v.name, v.shape) for v in self.outputs),
            codes,
            args.tobytes(),
            values.tobytes(),
            tuple(slots),
            tuple(runs),
            results.tobytes(),
            tuple(callee.flat() for callee in callees.values()),
            tuple(calls),
            self.regions,
        )

    def digest(self) -> str:
        """Return a hash of everything that affects what the program computes."""
        return _digest(self.flat())

    def __reduce__(self) -> tuple[Any, ...]:
        # A deep graph would overflow the stack of the default pickle.
        labels = {
            i: self.labels[e] for i, e in enumerate(self.order) if e in self.labels
        }
        return from_flat, (self.flat(), labels)


def from_flat(flat: tuple[Any, ...], labels: dict[int, str] | None = None) -> Program:
    """Return the program that `Program.flat` described; labels by place in order."""
    name, inputs, outputs, codes, args_, values_, slots, runs, results_, *rest = flat
    callees_, calls, regions = rest
    callees = [callee_from_flat(callee) for callee in callees_]
    next_call = iter(calls)
    args, values, results = array("I"), array("d"), array("I")
    args.frombytes(args_)
    values.frombytes(values_)
    results.frombytes(results_)
    region_at = dict(runs)
    nodes: list[Expr] = []
    next_arg, next_value, next_slot, region = 0, iter(values), iter(slots), 0
    for i, code in enumerate(codes):
        op = OPERATIONS[code]
        region = region_at.get(i, region)
        arity = ARITY[op]
        value: Any = None
        if op == "call":
            number, arity = next(next_call)
            value = callees[int(number)]
        operands = tuple(nodes[j] for j in args[next_arg : next_arg + arity])
        next_arg += arity
        if op == "const":
            value = next(next_value)
        elif op in ("input", "result"):
            value = next(next_slot)
        kind = Call if op == "call" else Condition if op in CONDITIONS else Expr
        nodes.append(kind(op, operands, value, region))
    return Program(
        name,
        tuple(Variable(n, s) for n, s in inputs),
        tuple(Variable(n, s) for n, s in outputs),
        tuple(nodes[i] for i in results),
        tuple(nodes),
        regions,
        {nodes[i]: name for i, name in (labels or {}).items()},
    )


@final
@dataclass(frozen=True, eq=False)
class Callee:
    """What a call runs: a body, once or step after step.

        arguments   carried, shared, and for each step of its own: sliced
        results     carried after the last step, and of each step: stacked

    The inputs of the body are the carried, the shared and the sliced entries of a step;
    its results are what is carried on, and the stacked ones. With ``until``, the first
    carried entry is 1 for a state that is done and 0 for the others: steps end when all
    states are, and the body keeps what is carried of those that are.

    A call that solves an equation says so: ``residual`` is a program of all results
    and the shared arguments, and zero at the last results, as many as it has itself.
    Derivatives are those of the solution, however it was found.
    """

    body: Program | ColumnLoop
    times: int = 1
    """number of steps, or the most there may be"""
    carried: int = 0
    sliced: int = 0
    """entries of each step"""
    until: bool = False
    residual: Program | None = None

    @property
    def columns(self) -> ColumnLoop | None:
        """The body, if it is a loop over columns."""
        return self.body if isinstance(self.body, ColumnLoop) else None

    @property
    def program(self) -> Program:
        """The body, if it is a program."""
        assert isinstance(self.body, Program)
        return self.body

    @property
    def name(self) -> str:
        """What readers call it."""
        return self.body.name if isinstance(self.body, Program) else "columns"

    @property
    def shared(self) -> int:
        """The number of arguments that all steps share."""
        if isinstance(self.body, ColumnLoop):
            return self.body.shared + len(self.body.places)
        return self.body.size - self.carried - self.sliced

    @property
    def stacked(self) -> int:
        """The number of results that each step has of its own."""
        if isinstance(self.body, ColumnLoop):
            return self.body.rows * self.body.columns
        return len(self.body.results) - self.carried

    @property
    def arguments(self) -> int:
        """The number of arguments."""
        return self.carried + self.shared + self.times * self.sliced

    @property
    def results(self) -> int:
        """The number of results."""
        return self.carried + self.times * self.stacked

    @cached_property
    def digest(self) -> str:
        """A hash of everything that affects what it computes."""
        return _digest(self.flat())

    def flat(self) -> tuple[Any, ...]:
        """Return it as plain data."""
        body = self.body
        flat = body.flat() if isinstance(body, Program) else tuple(body)
        is_program = isinstance(body, Program)
        zero = self.residual and self.residual.flat()
        return is_program, flat, zero, self.times, self.carried, self.sliced, self.until


def callee_from_flat(flat: tuple[Any, ...]) -> Callee:
    """Return the callee that `Callee.flat` described."""
    is_program, body, zero, *rest = flat
    made = from_flat(body) if is_program else ColumnLoop(*body)
    return Callee(made, *rest, residual=zero and from_flat(zero))


def _digest(flat: tuple[Any, ...]) -> str:
    h = hashlib.sha256()
    for part in flat:
        h.update(part if isinstance(part, bytes) else repr(part).encode())
        h.update(b"\0")
    return h.hexdigest()


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken: numbered if it is."""
    known, found, k = set(taken), name, 2
    while found in known:
        found, k = f"{name}_{k}", k + 1
    return found


def live(nodes: Iterable[Expr], results: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return those of ``nodes`` (arguments first) that the results need."""
    needed = set(results)
    kept: list[Expr] = []
    for e in reversed(tuple(nodes)):
        if e in needed:
            kept.append(e)
            needed.update(e.args)
    if len(kept) != len(needed):  # some were made outside, before ``nodes``
        return reachable(results)
    kept.reverse()
    return tuple(kept)


def reachable(results: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return every node that the results need, arguments first."""
    order: list[Expr] = []
    done: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(e, False) for e in reversed(results)]
    while stack:
        e, ready = stack.pop()
        if ready:
            order.append(e)
        elif e not in done:
            done.add(e)
            stack.append((e, True))
            stack.extend((a, False) for a in reversed(e.args) if a not in done)
    return tuple(order)


# ------------------------------------------------------------ angles of sines
#
# Frame placement moves the zero of joint angles, so sin(q + c) is common. For angles
# beyond FAR the sum would round away digits of q, so the terms are kept apart:
#
#     sin(x + y) = sin x cos y + cos x sin y
#     cos(x + y) = cos x cos y − sin x sin y

FAR: Final = 1e5
"""From here on terms are kept apart; below it, a sum of doubles rounds by 1e-11."""


def terms_of(angle: Expr) -> tuple[Expr, Expr] | None:
    """Return x and y of an angle x + y or x − y: inputs or constants, or None."""
    if angle.op not in ("add", "sub"):
        return None
    x, y = angle.args
    return (x, y) if {x.op, y.op} <= {"input", "const"} else None
