"""Chang & Khatib (2000): the six steps of Table 1, and linear growth."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ramidyn.algorithms.operational.tasks import Task
from ramidyn.catalog.general_geometry import with_geometry
from ramidyn.catalog.paper_robots import chang_khatib24
from ramidyn.control import OperationalSpace
from ramidyn.description.builder import Body, Inertia, Joint
from ramidyn.explain.recursion import recursion_steps
from ramidyn.papers.document import Plot, Section, Table, robot_of, verdict
from ramidyn.papers.operation_counts import by_region, compiled_program, count_of
from ramidyn.quantities.mass_matrix import mass_matrix
from ramidyn.quantities.operational import (
    operational_inertia,
    operational_inertia_inverse,
    task_jacobian,
)
from ramidyn.robot import Robot
from ramidyn.robot_builder import RobotBuilder
from ramidyn.symbolic.count import count
from ramidyn.symbolic.dense import inner, inverse, ldl, product
from ramidyn.symbolic.program import Program

NAME = "Chang & Khatib 2000"
HANDS = (Task("left_hand"), Task("right_hand"))
SIZES = (12, 24, 48, 96)
STEPS = {
    "1. outward: X": ("transform",),
    "2. inward: articulated inertias and force propagators": ("articulated inertia",),
    "3. outward: diagonal blocks Ωᵢᵢ": ("mobility",),
    "4. outward: off-diagonal blocks Ωᵢⱼ": ("task inertia",),
    "5. to the operational points": ("task", "task rows"),
    "6. inversion: Λ": ("dense factor", "dense inverse"),
}
"""the steps of Table 1, and the regions of our program that are theirs"""


STEP_REGIONS = {r for regions in STEPS.values() for r in regions}


def step_counts(program: Program) -> dict[str, int]:
    """Return the operations of each step of a program of Λ by this algorithm."""
    found: Counter[str] = Counter()
    for name, n in by_region(program).items():
        found[name if name in STEP_REGIONS else name.rpartition(" ")[0]] += n
    counts = {
        step: sum(found.pop(r, 0) for r in regions) for step, regions in STEPS.items()
    }
    assert not found, f"regions of no step: {sorted(found)}"
    return counts


def branching(n: int, arm: int | None = None, geometry: str = "general") -> Robot:
    """Return n links in a trunk and two arms, half of them in the trunk.

    Or with ``arm`` links in each arm.
    """
    arm = n // 4 if arm is None else arm
    builder = RobotBuilder(f"branching{n}")
    link = Inertia.from_box(1.0, (0.1, 0.1, 0.3), at=(0, 0, 0.15))
    axes = ((0, 0, 1), (0, 1, 0), (1, 0, 0))

    def add(prefix: str, count: int, parent: str) -> str:
        for k in range(count):
            name = f"{prefix}{k}"
            at = (0, 0, 0) if parent == "world" else (0, 0, 0.3)
            joint = Joint.revolute(axes[k % 3], name=f"{name}_joint")
            builder.add(Body(name, link), parent, joint, at)
            parent = name
        return parent

    chest = add("trunk", n - 2 * arm, "world")
    for side in ("left", "right"):
        builder.add_frame(f"{side}_hand", add(side, arm, chest), (0, 0, 0.3))
    return robot_of(with_geometry(builder.description(), geometry, 0))


def explicit_inverse(
    mass: Sequence[Sequence[Any]], rows: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    """Return the lower triangle of J M⁻¹ Jᵀ, through the explicit inverse of M.

    The O(n³) method of before 2000, which the paper compares with.
    """
    half = product(rows, inverse(*ldl(mass)))
    return [[inner(x, y) for y in rows[: r + 1]] for r, x in enumerate(half)]


def explicit_count(robot: Robot) -> int:
    """Return the operations of Λ⁻¹ through the explicit inverse of M.

    M and J come from our programs; what follows sees neither tree nor zeros.
    """
    n, rows = robot.nv, 6 * len(HANDS)

    def dense(x: Any) -> None:
        explicit_inverse([[x] * n for _ in range(n)], [[x] * n for _ in range(rows)])

    programs = (compiled_program(q, robot) for q in (mass_matrix, task_jacobian(HANDS)))
    return count_of(dense).total + sum(count(p).total for p in programs)


ARM = 3
"""links of each arm where only the trunk grows"""


def inverse_counts(robot: Robot) -> tuple[int, int]:
    """Return the operations of Λ⁻¹ by this algorithm, and by our cheapest."""
    found = [
        count(compiled_program(operational_inertia_inverse(HANDS, a), robot)).total
        for a in ("chang_khatib", "auto")
    ]
    return found[0], found[1]


def sections() -> list[Section]:
    """Return the sections of this paper."""
    return [table1(), recursion(), box(), growth(), trunk_growth()]


def recursion() -> Section:
    """Return Fig. 4: what flows where, for both hands of the paper's robot."""
    robot = robot_of(chang_khatib24())
    steps = recursion_steps(robot, [t.frame for t in HANDS])
    rows: list[tuple[str, ...]] = []
    for sweep in dict.fromkeys(s for s, _, _ in steps):
        own = [(a, b) for s, a, b in steps if s == sweep]
        flows: list[str] = []
        for a, b in own:
            if flows and flows[-1].endswith(f" {a}"):
                flows[-1] += f" → {b}"
            else:
                flows.append(f"{a} → {b}")
        rows.append((sweep, f"{len(own)}", "; ".join(flows)))
    return Section(
        f"{NAME}, Fig. 4: the recursion",
        "What flows where and in which order, for both hands: articulated inertias up "
        "the tree, diagonal blocks of Λ⁻¹ down to the hands, and blocks between them "
        "from their common ancestor. `ramidyn.explain.recursion` has it for any robot "
        "and its points.",
        (Table(("sweep", "steps", "from → to"), tuple(rows)),),
    )


def box_on_the_floor(robot: Any, duration: float = 2.0) -> tuple[Any, Any]:
    """Return times and configurations of both hands that put a box on the floor.

    The robot bends first; then both hands go ahead and down on a smooth path, by
    operational-space control at the paper's 300 Hz.
    """
    tasks = [Task(h.frame, "pose", "local_world_aligned") for h in HANDS]
    control, free = OperationalSpace(robot, tasks), np.arange(robot.nv) < 8
    stiff = np.where(free, 16.0, 400.0)  # base, legs and trunk are soft
    q, qd, dt = robot.neutral(), np.zeros(robot.nv), 1 / 300
    for k, name in enumerate(robot.joint_names):
        q[k] = BENT.get(name.removeprefix("left_").removeprefix("right_"), 0.0)
    home, start = q, [robot.pose(q, h.frame) for h in HANDS]
    way = np.array([0.15, 0.0, BOX - start[0][2, 3]])
    states = [q]
    for t in np.arange(0.0, duration + 0.3, dt):
        s = min(t / duration, 1.0)
        moved = s**3 * (10 - 15 * s + 6 * s * s) * way
        wanted: list[Any] = []
        for hand, first in zip(HANDS, start, strict=True):
            now = robot.pose(q, hand.frame)
            a, b = (np.transpose(T[:3, :3]) for T in (now, first))
            turn = 0.5 * np.cross(a, b).sum(axis=0)
            error = np.concatenate([first[:3, 3] + moved - now[:3, 3], turn])
            v = robot.velocity(q, qd, hand.frame, "local_world_aligned")
            wanted.append(900 * error - 60 * v)
        pull = stiff * (home - q) - 2 * np.sqrt(stiff) * qd
        tau = control(q, qd, np.concatenate(wanted), pull)
        qd = qd + dt * robot.forward_dynamics(q, qd, tau)
        q = robot.integrate(q, qd, dt)
        states.append(q)
    return dt * np.arange(len(states)), np.array(states)


BENT = {"shank_joint": 0.7, "thigh_joint": -1.6, "pelvis_joint": 1.2}
BENT |= {"shoulder_pitch_joint": -0.3, "forearm_joint": -1.4}
"""angles of the joints at first"""
BOX = 0.15
"""height of the hands at the end: half of the box"""


def box() -> Section:
    """Return Figs. 2 and 5: the robot, and what its hands do with the box."""
    robot = robot_of(chang_khatib24("plain"))
    times, states = box_on_the_floor(robot)
    left, right = (robot.pose(states, h.frame)[:, :3, 3] for h in HANDS)
    apart: Any = np.linalg.norm(left - right, axis=1)
    rows = tuple(
        (f"{times[k]:.2f}", *(f"{x[k]:.2f}" for x in (left[:, 2], right[:, 2], apart)))
        for k in range(0, len(times), 75)
    )
    slip, over = float(np.abs(apart - apart[0]).max()), float(abs(left[-1, 2] - BOX))
    met = {
        "links": ("24", f"{len(robot.tree)}", len(robot.tree) == 24),
        "operational points": ("2", f"{len(HANDS)}", len(HANDS) == 2),
        "hands stay as far apart [mm]": ("0", f"{1e3 * slip:.0f}", slip < 0.005),
        "the box reaches the floor [mm]": ("0", f"{1e3 * over:.0f}", over < 0.005),
    }
    table = tuple(
        (name, p, ours, verdict(is_met)) for name, (p, ours, is_met) in met.items()
    )
    return Section(
        f"{NAME}, Figs. 2 and 5: a box on the floor",
        "The robot of Fig. 2 puts a box on the floor with both hands, by our "
        "controller at the servo rate of the paper (300 Hz). Heights of the hands and "
        "their distance, at some times of the motion.",
        (
            Table(("", "printed", "ours", ""), table),
            Table(("t [s]", "left hand [m]", "right hand [m]", "apart [m]"), rows),
        ),
    )


def table1() -> Section:
    """Return the six steps."""
    robot = robot_of(chang_khatib24())
    program = compiled_program(operational_inertia(HANDS, "chang_khatib"), robot)
    steps = step_counts(program)
    total = sum(steps.values())
    rows = [(name, f"{n:,}", f"{n / total:.0%}") for name, n in steps.items()]
    rows.append(("all", f"{total:,}", ""))
    return Section(
        f"{NAME}, Table 1",
        f"Λ of both hands of a robot with {len(robot.tree)} links, by the six steps of "
        "Table 1. The paper prints no counts. Ours are those of the program that is "
        "compiled (`operational_inertia`, algorithm `chang_khatib`), with a robot of "
        "the same size and general geometry.",
        (Table(("step", "operations", "share"), tuple(rows)),),
    )


def growth() -> Section:
    """Return linear growth, beside the method that the paper replaces."""
    robots = [branching(n) for n in SIZES]
    recursive, cheapest = zip(*map(inverse_counts, robots), strict=True)
    explicit = tuple(map(explicit_count, robots))
    rows = tuple(
        (str(n), f"{a:,}", f"{c:,}", f"{b:,}", f"{b / a:.1f}")
        for n, a, b, c in zip(SIZES, recursive, explicit, cheapest, strict=True)
    )
    head = ("n", "recursive", "our cheapest", "through M⁻¹", "M⁻¹ over recursive")
    series = {
        "Chang & Khatib": recursive,
        "through the explicit M⁻¹": explicit,
        "our cheapest": cheapest,
    }
    plot = Plot(
        "chang_khatib",
        f"{NAME}: operations for Λ⁻¹ of two hands",
        "lines",
        {
            name: [(float(n), float(y)) for n, y in zip(SIZES, found, strict=True)]
            for name, found in series.items()
        },
        axes=("links n", "operations"),
    )
    return Section(
        f"{NAME}, section 3.3: linear growth",
        "Λ⁻¹ of two hands on robots with half of their links in the trunk and a "
        "quarter in each arm, beside the method that the paper replaces: M⁻¹ in "
        "full, which takes O(n³) (`explicit_inverse`, "
        "run on unknown numbers; M and J by our programs).",
        (Table(head, rows),),
        (plot,),
        f"One more link costs the recursive method {_per_link(recursive)} operations "
        "between these sizes. The servo rate is a time, and stands in the page of "
        "benchmarks.",
    )


def trunk_growth() -> Section:
    """Return what a link costs where blocks between the hands do not grow."""
    found = {
        geometry: [inverse_counts(branching(n, ARM, geometry)) for n in SIZES]
        for geometry in ("general", "plain")
    }
    rows = tuple(
        (str(n), *(f"{x:,}" for counts in found.values() for x in counts[k]))
        for k, n in enumerate(SIZES)
    )
    slopes = {g: _per_link([a for a, _ in counts]) for g, counts in found.items()}
    head = ("n", *(f"{g}: {x}" for g in found for x in ("recursive", "our cheapest")))
    return Section(
        f"{NAME}, section 3.3: links in the trunk",
        f"The same with {ARM} links in each arm and all others in the trunk: a link "
        "there takes part in steps 1 to 3 only. Plain geometry has axes along x, y and "
        "z and centers of mass on the links; general geometry has no zeros.",
        (Table(head, rows),),
        after="One more link costs the recursive method "
        + ", and ".join(f"{s} operations ({g})" for g, s in slopes.items())
        + " between these sizes.",
    )


def _per_link(counts: Sequence[int]) -> str:
    """Return what one more link costs between the sizes."""
    steps = zip(itertools.pairwise(SIZES), itertools.pairwise(counts), strict=True)
    return ", ".join(f"{(d - c) / (b - a):.0f}" for (a, b), (c, d) in steps)
