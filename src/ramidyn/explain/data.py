"""The contents of an explanation, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ramidyn.algorithms.matrix_layout import sparsity_tree
from ramidyn.compilation import Request
from ramidyn.compiler import count
from ramidyn.errors import ModelError
from ramidyn.explain.closed_loops import ClosedLoops, explain_loops
from ramidyn.explain.counts import Counts, counts_of
from ramidyn.explain.crba_cost import CrbaCost
from ramidyn.explain.shape import TreeShape, envelope
from ramidyn.explain.zeros import Zeros, zeros_of
from ramidyn.quantities.closed_loops import clustered_loops
from ramidyn.quantities.dynamics import forward_dynamics
from ramidyn.quantities.operational import operational_inertia_inverse
from ramidyn.robot import Robot
from ramidyn.simplify.passes import simplify
from ramidyn.symbolic.count import Ops
from ramidyn.tracing.chooser import counts_waits, price, trace_quantities
from ramidyn.tracing.quantity import Choice, Quantity


def sentence(choice: Choice) -> str:
    """Return the algorithm that was chosen and what the others cost."""
    if len(choice.costs) == 1:
        return f"{choice.algorithm}, the only algorithm for this robot"
    best = choice.costs[choice.algorithm]
    others = {k: v for k, v in choice.costs.items() if k != choice.algorithm}
    same = [k for k, v in others.items() if v == best]
    more = [v for v in others.values() if v > best]
    text = choice.algorithm + (f" (or {', '.join(same)})" if same else "")
    if more and best:
        text += f"; the next best costs {min(more) / best - 1:.0%} more"
    ordered = sorted(choice.costs.items(), key=lambda item: item[1])
    shown = ", ".join(f"{k} {v:,}" for k, v in ordered)
    return f"{text} (costs in units of a multiplication: {shown})"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a robot's code is this fast."""

    robot: Robot
    shape: TreeShape
    crba: CrbaCost
    """by the formula of Featherstone 2005, over bodies"""
    counts: tuple[Counts, ...]
    choices: tuple[Choice, ...]
    zeros: Zeros
    """of the mass matrix, by cause"""
    loops: ClosedLoops | None = None
    """what the loops cost, where there are some"""
    force_operations: tuple[int, int] | None = None
    """of forward dynamics with and without force elements, where there are some"""
    closed: Choice | None = None
    """of forward dynamics with loops closed, where there are some"""
    clusters: tuple[str, ...] = ()
    """the loops that are clusters, where that is cheaper"""
    declined: tuple[str, ...] = ()
    """the loops that are not to be clusters"""

    @property
    def closed_loops(self) -> str:
        """How loops are closed, in words; "" where there are none."""
        if self.closed is None:
            return ""
        text = f"with loops closed, forward_dynamics by {sentence(self.closed)}"
        if self.clusters:
            word = "" if self.closed.algorithm.startswith("cluster") else "possible "
            text += f"; {word}clusters: {', '.join(self.clusters)}"
        if self.declined:
            text += f"; not to be clusters: {', '.join(self.declined)}"
        return text

    @property
    def force_cost(self) -> str:
        """What the robot's force elements cost, in words; "" where it has none."""
        if self.force_operations is None:
            return ""
        total, without = self.force_operations
        n, more = len(self.robot.forces), total - without
        return (
            f"{n} force element{'s' if n != 1 else ''}: {more:,} operations of forward "
            f"dynamics, besides {without:,} without (+{more / max(without, 1):.1%})"
        )

    @property
    def body_limbs(self) -> tuple[int, ...]:
        """The limb of each body; of one that follows another, its leader's."""
        order, _ = sparsity_tree(self.robot.model)
        place = {v: k for k, v in enumerate(order)}
        joints = [b.joint for b in self.robot.tree.bodies]
        return tuple(self.shape.limbs[place[j.v_index]] if j.nv else 0 for j in joints)

    def json(self) -> dict[str, Any]:
        """Return plain data for scripts."""
        s = self.shape
        return {
            "robot": self.robot.name,
            "nq": self.robot.nq,
            "nv": self.robot.nv,
            "bodies": len(self.robot.tree),
            "D0": self.crba.D0,
            "D1": s.d1,
            "D2": s.d2,
            "nonzeros": s.nonzeros,
            "crba": {
                **dict(self.crba.table()),
                "by_formula": _plain(self.crba.cost),
            },
            "density": s.density,
            "longest_chain": s.main_share,
            "factor_on_two_threads": s.on_threads(2),
            "critical_path": s.critical_path,
            "bounds": {k: list(v) for k, v in s.bounds.items()},
            "zeros": asdict(self.zeros),
            "loops": None if self.loops is None else _loops(self.loops),
            "dof_parents": list(s.parents),
            "permutation": list(s.permutation),
            "envelope": envelope(s.pattern),
            "envelope_permuted": envelope(s.permuted),
            "factor": {"operations": s.factor_cost, "chain": s.chain.factor_cost},
            "solve": {"operations": s.solve_cost, "chain": s.chain.solve_cost},
            "counts": {
                c.name: {
                    "stages": {x.name: _plain(x.ops) for x in c.stages},
                    "chain": None if c.chain is None else _plain(c.chain),
                }
                for c in self.counts
            },
            "forces": None
            if self.force_operations is None
            else dict(zip(("with", "without"), self.force_operations, strict=True)),
            "closed": None
            if self.closed is None
            else {
                "chosen": self.closed.algorithm,
                "costs": self.closed.costs,
                "clusters": list(self.clusters),
                "declined": list(self.declined),
            },
            "choices": {
                c.quantity: {"chosen": c.algorithm, "costs": c.costs}
                for c in self.choices
            },
        }


def _loops(found: ClosedLoops) -> dict[str, Any]:
    return {
        "cuts": [asdict(cut) for cut in found.cuts],
        "spanning_tree": [list(edge) for edge in found.edges],
        "renumbering": list(found.order),
        "columns": [list(row) for row in found.columns],
        "steps": {k: _plain(v) for k, v in found.steps.items()},
        "loopwise": _plain(found.loopwise),
        "gauss": found.gauss,
    }


def _plain(ops: Ops) -> dict[str, int]:
    return {"mul": ops.mul, "add": ops.add, "div": ops.div, "sincos": ops.sincos}


def explain(
    robot: Robot,
    frames: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Explanation:
    """Count every algorithm for a robot; those of its tree, and its loops apart.

    Args:
        robot: what to explain.
        frames: operational points; the algorithms of their inertia are counted too.
        progress: told what is being counted.
    """
    for name in frames:
        robot.model.frame(name)
    loops = None
    if robot.model.loops:
        progress("loops")
        loops = explain_loops(robot)
        robot = Robot(
            replace(robot.model, loops=()),
            robot.conventions,
            robot.joint_order,
            robot.mimic,
        )
    _, parents = sparsity_tree(robot.model)
    shape = TreeShape(parents)
    counts = tuple(counts_of(robot, progress))
    progress("choosing")
    choices: list[Choice] = []
    wanted = [forward_dynamics]
    if frames:
        wanted.append(operational_inertia_inverse(list(frames)))
    for one in wanted:
        progress(str(one))
        try:
            choices += [
                _with_all_costs(choice, one, robot)
                for choice in Request(one, robot).choose().choices
            ]
        except ModelError:  # a singular mass matrix: no forward dynamics
            continue
    return Explanation(
        robot,
        shape,
        CrbaCost.of(robot.tree),
        counts,
        tuple(choices),
        zeros_of(robot),
        loops,
        _force_operations(robot),
        *_closed_choice(robot),
    )


def _with_all_costs(choice: Choice, quantity: Quantity, robot: Robot) -> Choice:
    """Return a choice with the costs of all candidates, simplified.

    Costs include longest waits if those that decided do.
    """
    model, conventions = robot.placed_model, robot.conventions
    programs = {
        name: trace_quantities([quantity(algorithm=name)], model, conventions)
        for name in choice.traced
    }
    waits = counts_waits(choice.traced, programs.values())
    costs = {
        name: choice.costs[name]
        if name in choice.costs
        else price(simplify(program), waits)
        for name, program in programs.items()
    }
    return choice._replace(costs=costs)


def _closed_choice(
    robot: Robot,
) -> tuple[Choice | None, tuple[str, ...], tuple[str, ...]]:
    """Return how forward dynamics closes the loops, clusters, and those declined."""
    loops = robot.model.loops or robot.description.loops
    if not loops:
        return None, (), ()
    model = replace(robot.model, loops=loops)
    closed = Robot(model, robot.conventions, robot.joint_order, robot.mimic)
    try:
        (choice,) = Request(forward_dynamics, closed).choose().choices
    except ModelError:  # a singular mass matrix: no forward dynamics
        return None, (), ()
    choice = _with_all_costs(choice, forward_dynamics, closed)
    clusters = clustered_loops(closed.placed_model, closed.conventions)
    return choice, clusters, tuple(x.name for x in loops if x.as_rows)


def _force_operations(robot: Robot) -> tuple[int, int] | None:
    """Return the operations of forward dynamics with forces and without."""
    if not robot.forces:
        return None
    plain = Robot(replace(robot.model, forces=()), robot.conventions, robot.joint_order)
    try:
        return tuple(count(forward_dynamics, r).total for r in (robot, plain))  # type: ignore[return-value]
    except ModelError:  # a singular mass matrix: no forward dynamics
        return None
