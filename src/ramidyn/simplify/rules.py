"""Local rules: each looks at one node and its arguments; `rewrite` applies them.

A rule returns the replacement of a node, or None if it does not apply. It
takes the old node, the new arguments, and how often each old node was used: work
may move into a node only from arguments that nobody else uses.

All assume that reassociation is allowed and that values are finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ramidyn.symbolic import expr
from ramidyn.symbolic.count import count
from ramidyn.symbolic.expr import (
    Expr,
    add,
    const,
    div,
    fresh_table,
    intern,
    mul,
    neg,
    put_label,
    rebuilt,
    rebuilt_of_two,
    sub,
    sum_of,
    unary,
)
from ramidyn.symbolic.program import Callee, Program, live

Args = tuple[Expr, ...]
Uses = dict[Expr, int]

TINY = 2.0**-1000


def fold_trigonometry(e: Expr, args: Args, _: Uses) -> Expr | None:
    """sin² x + cos² x → 1;  sin and cos of x + k·π/2 → those of x."""
    if e.op == "add":
        x = _angle_of_square(args[0])
        y = x and _angle_of_square(args[1])
        if x and y and x[1] is y[1] and x[0] != y[0]:
            return const(1.0)
    elif e.op in ("sin", "cos") and args[0].op in ("add", "sub"):
        return _quarter_turns(e.op, args[0])
    return None


def may_fold_trigonometry(e: Expr) -> bool:
    """Return whether the rule may apply to a node: in many programs to none."""
    if e.op == "add":
        a, b = e.args
        is_product = a.op == b.op == "mul"
        return is_product and bool(_angle_of_square(a) and _angle_of_square(b))
    return e.args[0].op in ("add", "sub")


def _angle_of_square(e: Expr) -> tuple[str, Expr] | None:
    if e.op == "mul" and e.args[0] is e.args[1] and e.args[0].op in ("sin", "cos"):
        return e.args[0].op, e.args[0].args[0]
    return None


def _quarter_turns(op: str, angle: Expr) -> Expr | None:
    x, c = angle.args
    if x.op == "const":
        if angle.op == "sub":  # c − x
            return _turned(op, neg(c), x.value)
        x, c = c, x
    if c.op != "const":
        return None
    return _turned(op, x, c.value if angle.op == "add" else -c.value)


def _turned(op: str, x: Expr, c: float) -> Expr | None:
    """Return sin or cos of x + c where c is k quarter turns, else None."""
    k = round(c / (math.pi / 2))
    if k == 0 or abs(c - k * (math.pi / 2)) > 4e-15 * abs(k):
        return None
    if op == "cos":
        k += 1  # cos x = sin(x + π/2)
    value = unary("cos" if k % 2 else "sin", x)
    return neg(value) if k % 4 >= 2 else value


def collect_in_product(_: Expr, args: Args, __: Uses) -> Expr | None:
    """c·(d·x) → (cd)·x, where no constant comes near the ends of the number range."""
    c, x = args
    if c.op != "const":
        c, x = x, c
    is_scaled = c.op == "const" and x.op == "mul" and x.args[0].op == "const"
    return _times(c.value, x) if is_scaled else None


def collect_in_quotient(_: Expr, args: Args, __: Uses) -> Expr | None:
    """x/c → x·(1/c), where no constant comes near the ends of the number range."""
    x, c = args
    return _times(1.0 / c.value, x) if c.op == "const" else None


def collect_in_sum(e: Expr, args: Args, uses: Uses) -> Expr | None:
    """Combine constants, or take out a common factor.

    (x + c) + d → x + (c + d);  c·x + d·x → (c + d)·x;  a·x ± a·y → a·(x ± y)
    """
    a, b = args
    if not _may_collect(a, b):
        return None
    found = _sum_of_constants(e, args)
    return found if found is not None else _factor_common(e, args, uses)


def _may_collect(a: Expr, b: Expr) -> bool:
    """Return whether two terms have something in common: most have not."""
    if a.op == "mul":
        p, x = a.args
        if b.op == "mul":
            r, y = b.args
            if p is r or p is y or x is r or x is y:
                return True
            return x is b or y is a
        return x is b
    if b.op == "mul":
        return b.args[1] is a
    return a.op == "const" or b.op == "const"


def _times(c: float, x: Expr) -> Expr | None:
    """Return c·x as (cd)·y for an x = d·y; None where a product leaves the range."""
    d, y = _scaled(x)
    c *= d
    return mul(const(c), y) if TINY < abs(c) < 1 / TINY else None


def _sum_of_constants(e: Expr, args: Args) -> Expr | None:
    sign = 1.0 if e.op == "add" else -1.0
    (c, x), (d, y) = _scaled(args[0]), _scaled(args[1])
    if x is y and (c != 1.0 or d != 1.0):
        total = sum_of(c, sign * d)
        return mul(const(total), x) if abs(total) < 1 / TINY else None
    for k, (inner, outer) in enumerate(((args[0], args[1]), (args[1], args[0]))):
        if outer.op != "const" or inner.op not in ("add", "sub"):
            continue
        a, b = inner.args
        if a.op != "const" and b.op != "const":
            continue
        # e = ±inner ± outer, with one of inner's two terms constant.
        s_inner, s_outer = (1.0, sign) if k == 0 else (sign, 1.0)
        s_b = -1.0 if inner.op == "sub" else 1.0
        kept = a.value if a.op == "const" else s_b * b.value
        total = sum_of(s_inner * kept, s_outer * outer.value)
        if abs(total) >= 1 / TINY:
            return None
        if a.op == "const":
            negative = s_inner * s_b < 0
            return sub(const(total), b) if negative else add(const(total), b)
        return sub(const(total), a) if s_inner < 0 else add(a, const(total))
    return None


def _scaled(e: Expr) -> tuple[float, Expr]:
    """Return (c, x) with e = c·x."""
    if e.op == "mul" and e.args[0].op == "const":
        return e.args[0].value, e.args[1]
    return 1.0, e


def _factor_common(e: Expr, args: Args, uses: Uses) -> Expr | None:
    """a·x ± a·y → a·(x ± y), where only this sum needs the products."""
    if args[0].op != "mul" or args[1].op != "mul":
        return None
    if uses[e.args[0]] > 1 or uses[e.args[1]] > 1:
        return None
    combine = add if e.op == "add" else sub
    (a, x), (b, y) = args[0].args, args[1].args
    if a is b:
        return mul(a, combine(x, y))
    if a is y:
        return mul(a, combine(x, b))
    if x is b:
        return mul(x, combine(a, y))
    if x is y and (a.op != "const" or b.op != "const"):
        return mul(x, combine(a, b))
    return None


def place_signs(e: Expr, args: Args, uses: Uses) -> Expr | None:
    """Move a sign into its operand, if nothing else uses the operand.

    −(x − y) → y − x;  −(c·x) → (−c)·x;  −(c + x) → −c − x;  −(c/x) → (−c)/x
    """
    if e.op != "neg" or uses[e.args[0]] > 1:
        return None
    x = args[0]
    if x.op == "sub":
        # Built without looking up its negative, which is the node being replaced.
        return expr.node("sub", (x.args[1], x.args[0]))
    if x.op == "mul" and x.args[0].op == "const":
        return mul(const(-x.args[0].value), x.args[1])
    if x.op == "add" and x.args[0].op == "const":
        return sub(const(-x.args[0].value), x.args[1])
    if x.op == "add" and x.args[1].op == "const":
        return sub(const(-x.args[1].value), x.args[0])
    if x.op == "div" and x.args[0].op == "const":
        return div(const(-x.args[0].value), x.args[1])
    return None


def may_take_sign(x: Expr) -> bool:
    """Return whether a node may take a sign; see `place_signs`."""
    return x.op == "sub" or (
        x.op in ("add", "mul", "div") and "const" in (x.args[0].op, x.args[1].op)
    )


Rule = Callable[[Expr, Args, Uses], Expr | None]
"""(old node, its new arguments, uses of old nodes) -> its replacement, or None."""


def rewrite(
    program: Program,
    rules: Mapping[str, Sequence[Rule]],
    *,
    needs_uses: bool = False,
) -> Program:
    """Return the program with each node replaced by the first rule that answers.

    Rules are listed by the operation that they look at. Nodes that nothing changes
    are kept as they are. A rule can free a sign that products then carry outwards,
    one for each; where that costs more than the rules save, the program stays.

    Args:
        program: what to change.
        rules: by operation.
        needs_uses: whether a rule asks how often nodes are used.
    """
    uses = program.uses() if needs_uses else _UNKNOWN
    new: dict[Expr, Expr] = {}
    now, is_untouched = new.get, new.keys().isdisjoint
    with fresh_table() as table:
        table.regions = list(program.regions)
        for e in program.order:
            table.region = e.region
            op, args = e.op, e.args
            if len(args) == 2:  # most have two
                a, b = args
                x, y = now(a, a), now(b, b)
                is_same = x is a and y is b
                if not is_same:
                    args = (x, y)
            else:
                is_same = is_untouched(args)
                if not is_same:
                    args = tuple([now(a, a) for a in args])
            replacement = None
            for rule in rules.get(op, ()):
                replacement = rule(e, args, uses)
                if replacement is not None:
                    break
            if replacement is None:
                if is_same:
                    replacement = intern(e)
                elif len(args) == 2:
                    replacement = rebuilt_of_two(e, args)
                else:
                    replacement = rebuilt(e, args)
            if replacement is not e:
                new[e] = replacement
        nodes = tuple(table.table.values())
    return _if_cheaper(program, nodes, new)


def _if_cheaper(
    program: Program, nodes: Sequence[Expr], new: dict[Expr, Expr]
) -> Program:
    """Return the program with new nodes for some, unless that makes it costlier."""
    if not new:
        return program
    results = tuple([new.get(e, e) for e in program.results])
    order = live(nodes, results)
    labels = moved_labels(program.labels, new)
    changed = replace(program, results=results, order=order, labels=labels)
    return changed if count(changed).cost <= count(program).cost else program


def copied(program: Program) -> Program:
    """Return the program with operations of its own, which may be changed in place."""
    new: dict[Expr, Expr] = {}
    now = new.get
    order: list[Expr] = []
    for e in program.order:
        copy, args = e, e.args
        if args:
            if len(args) == 2:  # most have two
                a, b = args
                args = (now(a, a), now(b, b))
            else:
                args = tuple([now(a, a) for a in args])
            copy = new[e] = e.__class__(e.op, args, e.value, e.region)
        order.append(copy)
    results = tuple([now(e, e) for e in program.results])
    labels = {now(e, e): name for e, name in program.labels.items()}
    return replace(program, results=results, order=tuple(order), labels=labels)


def with_new_nodes(
    program: Program, before: Mapping[Expr, Sequence[Expr]], same: dict[Expr, Expr]
) -> Program:
    """Return the program with nodes put before others; and with ``same`` for some."""
    order: list[Expr] = []
    for e in program.order:
        if e in before:
            order += before[e]
        if e not in same:
            order.append(e)
    results = program.results
    if same:
        for e in order:
            if not same.keys().isdisjoint(e.args):
                e.args = tuple([same.get(a, a) for a in e.args])
        results = tuple([same.get(e, e) for e in results])
    labels = moved_labels(program.labels, same)
    return replace(program, results=results, order=tuple(order), labels=labels)


_UNKNOWN: Uses = {}


def with_bodies(program: Program, change: Callable[[Program], Program]) -> Program:
    """Return the program with every program that it calls changed."""
    callees: dict[str, Callee] = {e.value.digest: e.value for e in program.calls}
    changed = {
        digest: replace(callee, body=change(callee.body))
        for digest, callee in callees.items()
        if isinstance(callee.body, Program)
    }

    def rule(e: Expr, args: Args, _: Uses) -> Expr | None:
        callee = changed.get(e.value.digest)
        return None if callee is None else expr.call(callee, args)

    return rewrite(program, {"call": (rule,)}) if changed else program


def keep_shown_results(callee: Callee, shown: set[int]) -> Callee:
    """Return a loop that keeps only these results of states that are done.

    The first one says whether they are. A loop with loops inside stays: those would
    wait for states that are done.
    """
    body = callee.body
    if not isinstance(body, Program) or body.calls or body.results[0].op != "where":
        return callee
    is_done, name = body.results[0].args[0], body.inputs[0].name

    def result(k: int, e: Expr) -> Expr:
        is_kept = e.op == "where" and e.args[0] is is_done
        is_own = is_kept and e.args[1].op == "input" and e.args[1].value == (name, k)
        return e.args[2] if is_own and k not in shown else e

    results = tuple(result(k, e) for k, e in enumerate(body.results))
    order = live(body.order, results)
    return replace(callee, body=replace(body, results=results, order=order))


def moved_labels(labels: dict[Expr, str], new: dict[Expr, Expr]) -> dict[Expr, str]:
    """Return the labels on what their nodes became, signs aside."""
    moved: dict[Expr, str] = {}
    for e, name in labels.items():
        put_label(moved, new.get(e, e), name)
    return moved


# ------------------------------------------------------------ fused multiply-adds

# A machine does a·b + c in one step, as fast as a·b alone. So a product costs nothing
# if every sum that needs it absorbs it; a sum can absorb one product.

SUMS = ("add", "sub")
SIGNS = {"fma": (1, 1), "fms": (1, -1), "fnma": (-1, 1)}
"""the signs of a·b and of c"""
LATE = 12
"""how much later than its products a term may be ready [cycles]"""


def products_of_sums(program: Program) -> dict[Expr, Expr]:
    """Return sums with the product that each absorbs.

    A product with few sums goes first: it blocks the fewest others.
    """
    sums: dict[Expr, list[Expr]] = {}
    excluded = set(program.results)
    for e in program.order:
        is_sum = e.op in SUMS and e.args[0] is not e.args[1]
        for a in e.args:
            if a.op == "mul":
                if not is_sum:
                    excluded.add(a)
                elif a in sums:
                    sums[a].append(e)
                else:
                    sums[a] = [e]
    taken: dict[Expr, Expr] = {}
    for product, needing in sorted(sums.items(), key=lambda item: len(item[1])):
        if product not in excluded and taken.keys().isdisjoint(needing):
            for e in needing:
                taken[e] = product
    return taken


def take_in(e: Expr, product: Expr) -> None:
    """a·b + c → fma(a, b, c), and its signs; ``product`` is an argument of e."""
    x, y = e.args
    if x is product:
        e.op, c = ("fma" if e.op == "add" else "fms"), y
    else:
        e.op, c = ("fma" if e.op == "add" else "fnma"), x
    e.args = (*product.args, c)


def chain(e: Expr, uses: Uses, ready: dict[Expr, int], gone: set[Expr]) -> Expr | None:
    """x + (a·b + c·d) → a·b + (c·d + x), and its signs: one operation fewer.

    Only if no other node needs the terms, and x is not ready so late that the others
    would wait for it. Returns c·d + x, which is new; terms that are not needed any more
    are ``gone``.
    """
    for k in (0, 1):
        sum_of_products, x = e.args[k], e.args[1 - k]
        if sum_of_products.op not in SIGNS or uses[sum_of_products] > 1:
            continue
        a, b, cd = sum_of_products.args
        if cd.op != "mul" or uses[cd] > 1:
            continue
        if ready[x] > max(ready[cd.args[0]], ready[cd.args[1]]) + LATE:
            continue
        sign = -1 if e.op == "sub" and k == 1 else 1
        sign_x = -1 if e.op == "sub" and k == 0 else 1
        sign_ab, sign_cd = (sign * s for s in SIGNS[sum_of_products.op])
        if sign_x < 0 and sign_cd < 0:
            continue
        inner = Expr(_fused(sign_cd, sign_x), (*cd.args, x), None, e.region)
        e.op, e.args = _fused(sign_ab, 1), (a, b, inner)
        gone.update((sum_of_products, cd))
        return inner
    return None


def _fused(sign: int, sign_c: int) -> str:
    """Return the operation ±a·b ± c; not both signs are negative."""
    return "fnma" if sign < 0 else "fma" if sign_c > 0 else "fms"
