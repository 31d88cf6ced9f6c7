"""A Program: named inputs, named outputs, and the operations between them in order."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ramidyn.symbolic.expr import ARITY, CONDITIONS, Condition, Expr

OPCODES = {op: code for code, op in enumerate(sorted(ARITY))}
OPERATIONS = {code: op for op, code in OPCODES.items()}


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


COLUMNS = "columns'"
"""The name of entries that a program's loop computes; no user's input has it."""


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
    """What a program does to the columns of a matrix: see `column_loop`."""

    sweeps: tuple[Sweep, ...]
    """one after another"""
    rows: int
    columns: int
    """number of columns, padding included"""
    places: tuple[int, ...]
    """of the entries that the program gives, in the matrix"""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A straight line of scalar operations.

    ``results`` holds the entries of all outputs, flat and in order; ``order`` holds
    every node that they need, arguments first; ``regions`` names the parts of the
    trace that ``Expr.region`` counts; ``labels`` says what some nodes are, to readers.
    With a ``loop``, the last two outputs are what it works on: see `column_loop`.
    """

    name: str
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    results: tuple[Expr, ...]
    order: tuple[Expr, ...]
    regions: tuple[str, ...] = ("start",)
    labels: dict[Expr, str] = field(default_factory=dict[Expr, str])
    loop: ColumnLoop | None = None

    def __repr__(self) -> str:
        signature = ", ".join(f"{v.name}{list(v.shape)}" for v in self.inputs)
        results = ", ".join(f"{v.name}{list(v.shape)}" for v in self.outputs)
        return f"Program {self.name}({signature}) -> {results}, {len(self.order)} nodes"

    def __str__(self) -> str:
        from ramidyn.symbolic.printer import text  # noqa: PLC0415  only to print

        return text(self, most=200)

    @property
    def visible(self) -> tuple[Variable, ...]:
        """The outputs that callers see."""
        return self.outputs if self.loop is None else self.outputs[:-2]

    def parts(self) -> tuple[tuple[Expr, ...], tuple[Expr, ...], tuple[Expr, ...]]:
        """Return the results that callers see, and those that the loop works on."""
        end = sum(v.size for v in self.visible)
        if self.loop is None:
            return self.results, (), ()
        middle = end + self.outputs[-2].size
        return self.results[:end], self.results[end:middle], self.results[middle:]

    def input_offsets(self) -> dict[str, int]:
        """Return where each input begins when all are laid end to end."""
        offsets: dict[str, int] = {}
        total = 0
        for v in self.inputs:
            offsets[v.name] = total
            total += v.size
        return offsets

    def uses(self) -> dict[Expr, int]:
        """Return how often each node is an argument or a result."""
        uses = dict.fromkeys(self.order, 0)
        for e in self.order:
            for a in e.args:
                uses[a] += 1
        for e in self.results:
            uses[e] += 1
        return uses

    def flat(self) -> tuple[Any, ...]:
        """Return the program as plain data: the form that is hashed and pickled."""
        index = {e: i for i, e in enumerate(self.order)}
        codes = bytes([OPCODES[e.op] for e in self.order])
        args = array("I", [index[a] for e in self.order for a in e.args])
        values = array("d", [e.value for e in self.order if e.op == "const"])
        slots = [e.value for e in self.order if e.op == "input"]
        runs: list[tuple[int, int]] = []
        for i, e in enumerate(self.order):
            if not runs or runs[-1][1] != e.region:
                runs.append((i, e.region))
        results = array("I", [index[e] for e in self.results])
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
            self.loop,
            self.regions,
        )

    def digest(self) -> str:
        """Return a hash of everything that affects what the program computes."""
        h = hashlib.sha256()
        for part in self.flat():
            h.update(part if isinstance(part, bytes) else repr(part).encode())
            h.update(b"\0")
        return h.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        # A deep graph would overflow the stack of the default pickle.
        labels = {
            i: self.labels[e] for i, e in enumerate(self.order) if e in self.labels
        }
        return from_flat, (self.flat(), labels)


def from_flat(flat: tuple[Any, ...], labels: dict[int, str] | None = None) -> Program:
    """Return the program that `Program.flat` described; labels by place in order."""
    name, inputs, outputs, codes, args_, values_, slots, runs, results_, *rest = flat
    loop, regions = rest
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
        operands = tuple(nodes[j] for j in args[next_arg : next_arg + arity])
        next_arg += arity
        value: Any = None
        if op == "const":
            value = next(next_value)
        elif op == "input":
            value = next(next_slot)
        kind = Condition if op in CONDITIONS else Expr
        nodes.append(kind(op, operands, value, region))
    return Program(
        name,
        tuple(Variable(n, s) for n, s in inputs),
        tuple(Variable(n, s) for n, s in outputs),
        tuple(nodes[i] for i in results),
        tuple(nodes),
        regions,
        {nodes[i]: name for i, name in (labels or {}).items()},
        loop,
    )


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
