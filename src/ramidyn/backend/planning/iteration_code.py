"""Iterations of iterative LQR in native code, of a few problems side by side.

    begin(block, first, count)      roll the first motions out
    iterate(block, first, count)    improve the motions of problems that are not done

Kernels compute what depends on the robot, on the costs and on how a search goes on; a
`KernelCall` of the block is one of them with its arrays. Knots are states of one batch
for derivatives. Columns are lanes in the Riccati recursion. Problems are lanes in
rollouts with the full step; those for which that is too long, or a problem that is
alone, try all step lengths at once.
"""

from __future__ import annotations

from ramidyn.backend.llvm.target import runnable
from ramidyn.backend.llvm.word_builder import DOUBLE, Module, Value, const, ir
from ramidyn.backend.planning.blocks import (
    SUMS,
    Copy,
    KernelCall,
    RiccatiSizes,
    Search,
)
from ramidyn.backend.planning.riccati_code import emit_riccati
from ramidyn.backend.runtime.driver_code import flush_denormals
from ramidyn.backend.runtime.memory_layout import VIEW_WORDS, WORD, Kernel, View
from ramidyn.backend.sparse_factor.sparse_rows import NumberCode

TRIES = 20
"""of a recursion: enough for the least damping to grow to the largest"""


def emit(sizes: RiccatiSizes) -> Module:
    """Return the module for one size of problems."""
    module = Module("iterations")
    emit_invoke(module)
    emit_copy(module, sizes.width)
    emit_riccati(module, sizes)
    _emit_first_motions(module)
    _emit_iteration(module)
    for name in ("begin", "iterate"):
        code = module.function(name, 3)
        with flush_denormals(code, runnable()):
            code.call(f"{name}_all", *code.arguments)
        code.leave(0)
    return module


def emit_invoke(module: Module) -> None:
    """invoke(call, problem, count): run a kernel on arrays of a problem."""
    code = module.function("invoke", 3, local=True)
    call, problem, count = code.arguments
    kernel, loop, n_ports, template, offsets, views, failed = (
        code.load(call, w) for w in KernelCall
    )
    driver = code.load(kernel, Kernel.RUN)
    with code.loop(n_ports) as port:
        place = code.mul(port, VIEW_WORDS * WORD)
        source, target = code.add(template, place), code.add(views, place)
        for word in View:
            value = code.load(source, word)
            if word is View.DATA:
                further = code.mul(problem, code.load(code.at(offsets, port)))
                value = code.add(value, further)
            code.store(value, target, word)
    with code.when(code.compare(loop, "!=", 0)):
        found = code.call_address(driver, kernel, views, count, loop)
        code.store(code.b.or_(found, code.load(failed)), failed)
        code.leave(0)
    found = code.call_address(driver, kernel, views, count)
    code.store(code.b.or_(found, code.load(failed)), failed)
    code.leave(0)


def emit_copy(module: Module, width: int) -> None:
    """copy(table, count, problem, row): copy arrays of doubles."""
    code = NumberCode(module.function("copy", 4, local=True))
    table, count, problem, row = code.arguments
    wide = ir.VectorType(DOUBLE, width)
    with code.loop(count) as k:
        entry = code.add(table, code.mul(k, len(Copy) * WORD))
        target, per_problem, source, per_row, size = (code.load(entry, w) for w in Copy)
        target = code.add(target, code.b.mul(problem, per_problem))
        source = code.add(source, code.b.mul(row, per_row))
        whole = code.b.and_(size, const(-width * WORD))
        with code.loop(whole, width * WORD) as place:
            code.put(code.get(wide, code.add(source, place)), code.add(target, place))
        with code.loop(code.b.sub(size, whole), WORD) as rest:
            place = code.add(whole, rest)
            code.put(code.get(DOUBLE, code.add(source, place)), code.add(target, place))
    code.leave(0)


class _Problems:
    """The problems of a call, and what is done with them."""

    def __init__(self, module: Module, name: str) -> None:
        self.code = NumberCode(module.function(name, 3, local=True))
        self.block, self.first, self.count = self.code.arguments

    def invoke(self, word: Search, problem: Value, count: Value | int) -> None:
        """Run a kernel."""
        call = self.code.load(self.block, word)
        self.code.call("invoke", call, problem, count)

    def number(self, word: Search, problem: Value) -> Value:
        """Return a number of a problem."""
        code = self.code
        return code.get(DOUBLE, code.at(code.load(self.block, word), problem))

    def is_zero(self, word: Search, problem: Value) -> Value:
        """Return whether a number of a problem is zero."""
        zero = self.code.number(0.0, DOUBLE)
        return self.code.b.fcmp_ordered("==", self.number(word, problem), zero)

    def is_not_zero(self, word: Search, problem: Value) -> Value:
        """Return whether a number of a problem is not zero."""
        return self.code.b.not_(self.is_zero(word, problem))

    def copy(self, table: Search, problem: Value, row: Value) -> None:
        """Copy arrays of a problem; the word behind the table is their number."""
        found = (self.code.load(self.block, w) for w in (table, table + 1))
        self.code.call("copy", *found, problem, row)

    def find_policy(self, problem: Value) -> None:
        """Run the recursion with more and more damping, until all Quu are positive."""
        code = self.code
        recursion, sums, damping, is_sound = (
            code.load(self.block, w)
            for w in (Search.RECURSION, Search.SUMS, Search.DAMPING, Search.IS_SOUND)
        )
        zero = code.number(0.0, DOUBLE)
        code.put(zero, code.at(is_sound, problem))
        with code.loop(const(TRIES)):
            is_bad = self.is_zero(Search.IS_SOUND, problem)
            goes_on = code.b.and_(is_bad, self.is_zero(Search.DONE, problem))
            with code.when(goes_on):
                self.invoke(Search.END, problem, 1)
                failed = code.call("riccati", recursion, code.at(damping, problem))
                code.put(
                    code.b.sitofp(failed, DOUBLE), code.add(sums, WORD * len(SUMS))
                )
                self.invoke(Search.DECIDE, problem, 1)

    def take(self, problem: Value, further: Value | int) -> None:
        """Take the motion that was tried, if one is good."""
        code = self.code
        row = code.b.fptosi(self.number(Search.ROW, problem), const(0).type)
        with code.when(code.compare(row, ">=", 0)):
            place = code.add(row, further)
            self.copy(Search.MOTION, problem, place)


def _emit_first_motions(module: Module) -> None:
    """begin_all(block, first, count)."""
    of = _Problems(module, "begin_all")
    code = of.code
    has_gaps = code.compare(code.load(of.block, Search.N_GAPS), "!=", 0)
    with code.when(has_gaps), code.loop(of.count) as i:
        p = code.add(of.first, i)
        of.invoke(Search.DERIVATIVES, p, code.load(of.block, Search.STEPS))
        of.copy(Search.GAPS, p, const(0))
    of.invoke(Search.FIRST_ROLLOUT, of.first, of.count)
    of.invoke(Search.FINAL_COST, of.first, of.count)
    of.invoke(Search.TAKE_FIRST, of.first, of.count)
    with code.loop(of.count) as i:
        of.take(code.add(of.first, i), i)
    code.leave(0)


def _emit_iteration(module: Module) -> None:
    """iterate_all(block, first, count)."""
    of = _Problems(module, "iterate_all")
    code = of.code
    with code.loop(of.count) as i:
        p = code.add(of.first, i)
        with code.when(of.is_zero(Search.DONE, p)):
            of.invoke(Search.DERIVATIVES, p, code.load(of.block, Search.STEPS))
            of.find_policy(p)
            with code.when(of.is_not_zero(Search.IS_SOUND, p)):
                of.copy(Search.POLICY, p, const(0))
                of.copy(Search.GAPS, p, const(0))
    with code.when(code.compare(code.load(of.block, Search.IS_BATCH), "!=", 0)):
        of.invoke(Search.ROLLOUT, of.first, of.count)
        of.invoke(Search.FINAL_COST, of.first, of.count)
        of.invoke(Search.TAKE_FULL, of.first, of.count)
        with code.loop(of.count) as i:
            of.take(code.add(of.first, i), i)
    lengths = code.load(of.block, Search.LENGTHS)
    with code.loop(of.count) as i:
        p = code.add(of.first, i)
        with code.when(of.is_not_zero(Search.GOES, p)):
            of.invoke(Search.ROLLOUT_LENGTHS, p, lengths)
            of.invoke(Search.FINAL_LENGTHS, p, lengths)
            of.invoke(Search.TAKE_BEST, p, 1)
            of.take(p, 0)
    code.leave(0)
