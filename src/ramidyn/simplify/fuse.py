"""Fused multiply-adds: which products are fused into which sums.

A machine does a·b + c in one step, as fast as a·b alone. So a product costs nothing if
every sum that needs it absorbs it; a sum can absorb one product.
"""

from __future__ import annotations

from ramidyn.symbolic import expr
from ramidyn.symbolic.expr import Expr
from ramidyn.symbolic.program import Program

SUMS = ("add", "sub")
SIGNS = {"fma": (1, 1), "fms": (1, -1), "fnma": (-1, 1)}
"""the signs of a·b and of c"""
CYCLES = {"add": 3, "sub": 3, "div": 13, "sqrt": 20, "sin": 50, "cos": 50}
"""latency of operations [cycles]; the others take PRODUCT"""
PRODUCT = 4
LATE = 12
"""how much later than its products a term may be ready [cycles]"""


def products_of_sums(program: Program) -> dict[Expr, Expr]:
    """Return sums with the product that each absorbs.

    A product with few sums goes first: it blocks the fewest others.
    """
    sums: dict[Expr, list[Expr]] = {}
    for e in program.order:
        for a in e.args:
            if a.op == "mul":
                sums.setdefault(a, []).append(e)
    results = set(program.results)
    taken: dict[Expr, Expr] = {}
    for product, needing in sorted(sums.items(), key=lambda item: len(item[1])):
        if product not in results and all(
            e.op in SUMS and e not in taken and e.args[0] is not e.args[1]
            for e in needing
        ):
            taken.update(dict.fromkeys(needing, product))
    return taken


def take_in(e: Expr, args: tuple[Expr, ...], product: Expr | None) -> Expr | None:
    """a·b + c → fma(a, b, c), and its signs; ``product`` is an argument of e."""
    k = 0 if e.args[0] is product else 1
    if product is None or args[k].op != "mul":
        return None
    a, b = args[k].args
    signs = (1, 1) if e.op == "add" else (1, -1) if k == 0 else (-1, 1)
    return _fused(*signs, a, b, args[1 - k])


def cycles(program: Program) -> dict[Expr, int]:
    """Return when each value is ready if operations wait only for their arguments."""
    ready: dict[Expr, int] = {}
    for e in program.order:
        latest = max([ready[a] for a in e.args], default=0)
        ready[e] = latest + (CYCLES.get(e.op, PRODUCT) if e.args else 0)
    return ready


def chain(
    e: Expr, args: tuple[Expr, ...], uses: dict[Expr, int], ready: dict[Expr, int]
) -> Expr | None:
    """x + (a·b + c·d) → a·b + (c·d + x), and its signs: one operation fewer.

    Only if no other node needs the terms, and x is not ready so late that the others
    would wait for it.
    """
    for k in (0, 1):
        old, new, x = e.args[k], args[k], args[1 - k]
        if old.op not in SIGNS or new.op not in SIGNS or uses[old] > 1:
            continue
        cd = old.args[2]
        if cd.op != "mul" or new.args[2].op != "mul" or uses[cd] > 1:
            continue
        if ready[e.args[1 - k]] > max(ready[a] for a in cd.args) + LATE:
            continue
        sign = -1 if e.op == "sub" and k == 1 else 1
        sign_x = -1 if e.op == "sub" and k == 0 else 1
        sign_ab, sign_cd = (sign * s for s in SIGNS[new.op])
        if sign_x < 0 and sign_cd < 0:
            continue
        a, b, (c, d) = new.args[0], new.args[1], new.args[2].args
        return _fused(sign_ab, 1, a, b, _fused(sign_cd, sign_x, c, d, x))
    return None


def _fused(sign: int, sign_c: int, a: Expr, b: Expr, c: Expr) -> Expr:
    """Return ±a·b ± c; not both signs are negative."""
    if sign < 0:
        return expr.fnma(a, b, c)
    return expr.fma(a, b, c) if sign_c > 0 else expr.fms(a, b, c)
