"""The optimizer: a flat list of named passes, Program to Program, in order.

A pass keeps the values (up to rounding) and never raises the cost of a program
(`Ops.cost`: a division counts by its time on the machine).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from ramidyn.simplify import rules
from ramidyn.simplify.rules import rewrite, with_bodies
from ramidyn.symbolic.count import LATENCY, PRODUCT_LATENCY
from ramidyn.symbolic.expr import Expr, call, const
from ramidyn.symbolic.program import Program, live

Pass = Callable[[Program], Program]


def drop_dead_code(program: Program) -> Program:
    """Keep what the results need.    Assumes: nothing."""
    needed = set(chain.from_iterable([e.args for e in program.order]))
    if len(needed.union(program.results)) == len(program.order):
        return program
    return replace(program, order=live(program.order, program.results))


def thaw_loops(program: Program) -> Program:
    """Let states that are done go on in what no result shows.    Assumes: nothing.

    A loop with an open end keeps the values of such states. What they hand from step to
    step, and nobody asks for after the loop, need not be kept.
    """
    shown: dict[Expr, set[int]] = {e: {0} for e in program.calls if e.value.until}
    for e in program.order:
        if e.op == "result" and e.args[0] in shown:
            shown[e.args[0]].add(int(e.value))
    if not shown:
        return program

    def rule(e: Expr, args: tuple[Expr, ...], _: dict[Expr, int]) -> Expr | None:
        if e not in shown:
            return None
        return call(rules.keep_shown_results(e.value, shown[e]), args)

    return rewrite(program, {"call": (rule,)})


def fold_trigonometry(program: Program) -> Program:
    """Use sin² + cos² = 1 and rotations by quarter turns.    Assumes: finite angles."""
    candidates = (e for e in program.order if e.op in ("add", "sin", "cos"))
    if not any(map(rules.may_fold_trigonometry, candidates)):
        return program
    rule = (rules.fold_trigonometry,)
    return rewrite(program, {"add": rule, "sin": rule, "cos": rule})


def collect_terms(program: Program) -> Program:
    """Join constants and take out common factors.    Assumes: reassociation allowed."""
    sums, products = (rules.collect_in_sum,), (rules.collect_in_product,)
    quotients = (rules.collect_in_quotient,)
    by_operation = {"add": sums, "sub": sums, "mul": products, "div": quotients}
    return rewrite(program, by_operation, needs_uses=True)


def place_signs(program: Program) -> Program:
    """Let differences and constants take signs.    Assumes: x − y = −(y − x)."""
    if not any(e.op == "neg" and rules.may_take_sign(e.args[0]) for e in program.order):
        return program
    return rewrite(program, {"neg": (rules.place_signs,)}, needs_uses=True)


# What suits the machine: these change operations in place, so `lower` copies them.


def share_reciprocals(program: Program) -> Program:
    """x/d, y/d → r = 1/d, x·r, y·r.    Assumes: one rounding more; finite 1/d."""
    divisions = [e for e in program.order if e.op == "div" and e.args[1].op != "const"]
    divided = Counter([e.args[1] for e in divisions])
    if all(n < 2 for n in divided.values()):
        return program

    one = next((e for e in program.order if e.op == "const" and e.value == 1.0), None)
    before: dict[Expr, list[Expr]] = {}
    reciprocal: dict[Expr, Expr] = {}
    same: dict[Expr, Expr] = {}
    for e in divisions:
        x, d = e.args
        if divided[d] < 2:
            continue
        if d not in reciprocal:
            new = before[e] = []
            if one is None:
                one = const(1.0)
                new.append(one)
            reciprocal[d] = Expr("div", (one, d), None, e.region)
            new.append(reciprocal[d])
        if x is one:
            same[e] = reciprocal[d]
        else:
            e.op, e.args = "mul", (x, reciprocal[d])
    return rules.with_new_nodes(program, before, same)


def contract(program: Program) -> Program:
    """Fuse products into sums.    Assumes: contraction allowed."""
    taken = rules.products_of_sums(program)
    for e, product in taken.items():
        rules.take_in(e, product)
    gone = set(taken.values())
    return replace(program, order=tuple([e for e in program.order if e not in gone]))


def chain_products(program: Program) -> Program:
    """x + (a·b + c·d) → a·b + (c·d + x).    Assumes: reassociation allowed."""
    uses = program.uses()
    ready: dict[Expr, int] = {}
    """when a value is there if operations wait only for their arguments"""
    ready_at, latency = ready.__getitem__, LATENCY.get
    order: list[Expr] = []
    gone: set[Expr] = set()
    for e in program.order:
        latest = max(map(ready_at, e.args)) if e.args else -PRODUCT_LATENCY
        ready[e] = latest + latency(e.op, PRODUCT_LATENCY)
        if e.op in rules.SUMS:
            inner = rules.chain(e, uses, ready, gone)
            if inner is not None:
                order.append(inner)
        order.append(e)
    return replace(program, order=tuple([e for e in order if e not in gone]))


SIMPLIFICATIONS: tuple[Pass, ...] = (
    drop_dead_code,
    thaw_loops,
    fold_trigonometry,
    collect_terms,
    place_signs,
)
"""What makes the program shorter; operation counts are taken after these."""

LOWERING: tuple[Pass, ...] = (
    share_reciprocals,
    contract,
    chain_products,
)
"""What suits the machine: fewer divisions, fused products; see `rules.copied`."""


def simplify(program: Program) -> Program:
    """Return the program after the simplifications, and what it calls."""
    return _through(SIMPLIFICATIONS, with_bodies(program, simplify))


def lower(program: Program) -> Program:
    """Return the simplified program in the form that becomes native code.

    It has no labels: those are for readers.
    """
    own = rules.copied(replace(with_bodies(program, lower), labels={}))
    return _through(LOWERING, own)


def everywhere(one: Pass, program: Program) -> Program:
    """Return the program after one pass, and what it calls."""
    return one(with_bodies(program, lambda body: everywhere(one, body)))


def _through(passes: tuple[Pass, ...], program: Program) -> Program:
    for one in passes:
        program = one(program)
    return program
