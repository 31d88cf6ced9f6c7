"""``ramidyn check``: compare with other libraries on random states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click
import numpy as np
from rich.text import Text

from ramidyn.cli.arguments import RobotFile, robot_argument
from ramidyn.cli.peers import Answer, Peer, PeerError, State, names_in, peer
from ramidyn.cli.screen import (
    console,
    json_option,
    paragraph,
    print_json,
    progress,
    show_warnings,
    table,
)
from ramidyn.cli.selfcheck import Difference, errors_of, loop_error, relative, state_of
from ramidyn.compiler import compile
from ramidyn.errors import ModelError
from ramidyn.robot import Robot

TOLERANCE = 1e-9
"""of the largest entry; what 1e7 roundings could add up to at worst"""
OF_INVERSE = ("forward_dynamics", "mass_matrix_inverse")
"""quantities that an ill-conditioned mass matrix makes inaccurate"""
SINGULAR = 1e15
"""the condition of a mass matrix that has no inverse in double precision"""


@dataclass(frozen=True, slots=True)
class CheckedQuantity:
    """One quantity compared: the largest difference, by the largest entry."""

    quantity: str
    against: str
    error: float
    tolerance: float
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the two agree."""
        return bool(self.note) or self.error <= self.tolerance


@click.command("check")
@robot_argument
@click.option("--against", help="pinocchio,mujoco (default: those installed).")
@click.option(
    "--states", default=32, show_default=True, help="Number of random states."
)
@click.option(
    "--seed", default=0, show_default=True, help="Seed for the random states."
)
@click.option("--frame", "frames", multiple=True, help="Also compare at these frames.")
@json_option
def command(
    robot: str,
    against: str | None,
    states: int,
    seed: int,
    frames: tuple[str, ...],
    as_json: bool,
    **options: str,
) -> None:
    """Compare every quantity with Pinocchio and MuJoCo, on random states.

    Errors are differences divided by the largest entry. Without --against, Ramidyn is
    also compared with itself: algorithms with one another, native code with the
    interpreter. Loops are open for all but one row. Exit code 1 above 1e-9.
    """
    source = RobotFile(robot, **options)
    names = names_in(against, source)
    ours = source.load()
    tree = source.tree()
    for frame in frames:
        ours.model.frame(frame)
    chosen = [*frames, *leaves(ours, 2)]
    batch, rng = max(states, 1), np.random.default_rng(seed)
    rows: list[CheckedQuantity] = []
    if against is None:
        rows += own_rows(errors_of(tree, batch, rng))
        if ours.model.loops:
            rows += own_rows([loop_error(ours, batch, rng)])
    unread: dict[str, str] = {}
    for name in names:
        try:
            rows += rows_of(peer(name, source), chosen, batch, rng)
        except PeerError as error:
            unread[name] = str(error)
    show(ours, rows, unread, batch, as_json)
    if not all(row.holds for row in rows):
        raise SystemExit(1)
    if unread and against is not None and not rows:
        raise click.ClickException("; ".join(f"{k}: {v}" for k, v in unread.items()))


def leaves(robot: Robot, most: int) -> list[str]:
    """Return the last bodies of a few limbs."""
    tips = [i for i in range(len(robot.tree)) if not robot.tree.children[i]]
    names = [robot.tree.bodies[i].name for i in reversed(tips)]
    return [n for n in names if n in robot.frame_names][:most]


def own_rows(errors: Sequence[Difference]) -> list[CheckedQuantity]:
    """Return the rows of Ramidyn's self-checks."""
    return [CheckedQuantity(e.what, "itself", e.error, e.tolerance) for e in errors]


def rows_of(
    other: Peer, frames: Sequence[str], batch: int, rng: np.random.Generator
) -> list[CheckedQuantity]:
    """Return one row for each quantity that both have."""
    robot = other.robot
    answers = other.answers(frames)
    state = state_of(robot, batch, rng)
    condition = float(np.linalg.cond(robot.mass_matrix(state.q)).max())
    rows: list[CheckedQuantity] = []
    with progress(len(answers)) as step:
        for answer in answers:
            step(f"{other.name}: {answer.quantity.name}")
            rows.append(_row(answer, other, state, condition))
    return rows


def _row(
    answer: Answer, other: Peer, state: State, condition: float
) -> CheckedQuantity:
    name, tolerance = answer.quantity.name, TOLERANCE
    if name in OF_INVERSE:
        if condition > SINGULAR:
            note = f"M is singular (condition {condition:.0e})"
            return CheckedQuantity(name, other.name, float("nan"), tolerance, note)
        tolerance = max(tolerance, 1e-15 * condition)
    try:
        f = compile(answer.quantity, other.robot)
    except ModelError:
        return CheckedQuantity(
            name, other.name, float("nan"), tolerance, "M is singular"
        )
    inputs = [getattr(state, v.name) for v in f.program.inputs]
    ours = f(*inputs)
    theirs = np.array([answer.theirs(state[k]) for k in range(len(state))])
    error = relative(ours, theirs)
    return CheckedQuantity(
        name, other.name, np.inf if np.isnan(error) else error, tolerance
    )


def show(
    robot: Robot,
    rows: Sequence[CheckedQuantity],
    unread: dict[str, str],
    batch: int,
    as_json: bool,
) -> None:
    """Print the rows."""
    if as_json:
        found = [{**asdict(r), "holds": r.holds} for r in rows]
        ok = all(r.holds for r in rows)
        print_json({"robot": robot.name, "rows": found, "unread": unread, "ok": ok})
        return
    show_warnings(robot.warnings)
    shown = [
        (
            r.quantity,
            r.against,
            r.note or f"{r.error:.1e}",
            f"{r.tolerance:.0e}",
            Text("ok", "green") if r.holds else Text("DIFFERS", "bold red"),
        )
        for r in rows
    ]
    title = (
        f"{robot.name}: nv {robot.nv}, {batch} random states, largest error over all "
        "entries"
    )
    columns = ("quantity", "against", "error", "at most", "")
    console().print(table(title, columns, shown))
    for name, reason in unread.items():
        paragraph(f"{name}: {reason}", "yellow")
    bad = [r for r in rows if not r.holds]
    verdict = f"{len(bad)} of {len(rows)} differ" if bad else f"all {len(rows)} agree"
    console().print(f"[bold {'red' if bad else 'green'}]{verdict}[/]")
