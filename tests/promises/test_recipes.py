"""The recipes in CONTRIBUTING.md work, and name every file that is to be edited."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest

import ramidyn
from ramidyn.algorithms.forces.applied import Applied, ForceScene
from ramidyn.algorithms.forces.elements import FORCES
from ramidyn.algorithms.integrators import (
    INTEGRATORS,
    Advanced,
    Integrator,
    StepEquations,
    StepState,
)
from ramidyn.description.forces import element, fields
from ramidyn.methods import computed
from ramidyn.quantities import dynamics
from ramidyn.quantities.registry import MODULES, QUANTITIES
from ramidyn.robot import Robot
from ramidyn.tracing.context import Context, array
from ramidyn.tracing.quantity import METHOD_DOCSTRINGS, quantity
from ramidyn.tree import force_checks
from support.close import assert_close

SRC = Path(ramidyn.__file__).parent
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES: dict[str, str] = dict(
    re.findall(r"^### (Add .+?) \(.*?\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S)
)
EXAMPLES = {
    "Add a quantity": ["energy_regressor"],
    "Add a joint type": ["helical"],
    "Add a force": ["TorsionSpring", "JointFriction"],
    "Add a contact shape": ["ContactBox"],
    "Add an integrator": ["rk4"],
}
USERS = ("catalog/", "papers/")
"""robots that have such joints and forces, and what is computed of them"""


def files_of(recipe: str) -> set[str]:
    return set(re.findall(r"`([\w/]+\.(?:py|md))`", RECIPES[recipe]))


@cache
def words_of(path: Path) -> frozenset[str]:
    """Return the names in a module's code, and its strings."""
    parts = ("id", "attr", "name", "value")
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    found = (getattr(node, part, None) for node in nodes for part in parts)
    return frozenset(x for x in found if isinstance(x, str))


def files_with(name: str) -> set[str]:
    """Return the modules whose code contains a name, or a string that is the name."""
    paths = SRC.rglob("*.py")
    return {str(path.relative_to(SRC)) for path in paths if name in words_of(path)}


def test_every_recipe_has_an_example() -> None:
    assert RECIPES.keys() == EXAMPLES.keys()


@pytest.mark.parametrize("recipe", RECIPES)
def test_files_and_tables_of_a_recipe_exist(recipe: str) -> None:
    for name in files_of(recipe):
        assert (SRC / name).is_file() or (ROOT / name).is_file(), name
    for name, words in re.findall(
        r"`([\w/]+\.py)`([^`]*`[A-Z_]{4,}`)", RECIPES[recipe]
    ):
        table = words.split("`")[1]
        assert re.search(rf"^{table}\b", (SRC / name).read_text(), re.M), table


@pytest.mark.parametrize("recipe", EXAMPLES)
def test_a_recipe_names_every_file_of_its_examples(recipe: str) -> None:
    files = [files_with(name) for name in EXAMPLES[recipe]]
    found = {name for name in set().union(*files) if not name.startswith(USERS)}
    assert found == {name for name in files_of(recipe) if (SRC / name).is_file()}


# ------------------------------------------------------------ the recipes, followed


@quantity("q", "qd")
def scaled_velocity(context: Context, factor: float = 2.0) -> Any:
    """Velocities times a factor."""
    return array(context.inputs["qd"] * factor)


def test_a_quantity_is_a_function_an_entry_and_a_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scaled_velocity_(self: Robot, q: Any, qd: Any, *, factor: float = 2.0) -> Any:
        """Return velocities times a factor."""
        raise AssertionError((self, q, qd, factor))  # @computed replaces the body

    name = scaled_velocity_.__name__ = "scaled_velocity"
    monkeypatch.setitem(METHOD_DOCSTRINGS, name, "")
    monkeypatch.setattr(dynamics, name, scaled_velocity, raising=False)
    monkeypatch.setitem(MODULES, name, "dynamics")
    monkeypatch.setattr(Robot, name, computed(scaled_velocity_), raising=False)
    robot: Any = ramidyn.robots.chain(2)
    q, qd = np.zeros(2), np.array([0.1, 0.2])
    assert_close(robot.scaled_velocity(q, qd), 2.0 * qd)
    assert_close(robot.scaled_velocity(q, qd, factor=3.0), 3.0 * qd)
    compiled = ramidyn.compile(QUANTITIES[name](factor=4.0), robot)
    assert_close(compiled(q, qd), 4.0 * qd)
    assert "velocities times a factor" in robot.scaled_velocity.__doc__


@final
@dataclass(frozen=True, slots=True)
class JointDrag:
    """A drag that grows with the square of the velocity."""

    joint: str = fields.joint()
    drag: float = fields.parameter("N m s²/rad² or N s²/m²")
    name: str = fields.label()


def joint_drag(scene: ForceScene, element: Any, applied: Applied) -> None:
    """Add −d q̇ |q̇|."""
    d = scene.number(element, "drag")
    for i in scene.joint_bodies(element.joint):
        applied.turn(i, tuple(-(d * v * (v * v).sqrt()) for v in scene.qd[i]))


def test_a_force_is_a_class_and_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = (*element.KINDS, JointDrag)
    monkeypatch.setattr(element, "KINDS", kinds)
    monkeypatch.setattr(force_checks, "KINDS", kinds)
    monkeypatch.setitem(FORCES, JointDrag, joint_drag)
    robot = ramidyn.robots.chain(2)
    _, second = robot.joint_names
    drag: Any = JointDrag(second, 0.7)
    q, qd, tau = np.array([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]])
    slowed = np.array([0.0, 0.7 * 0.4**2])
    expected = robot.forward_dynamics(q, qd, tau + slowed)
    assert_close(robot.add_force(drag).forward_dynamics(q, qd, tau), expected)
    with pytest.raises(ramidyn.UnknownName, match="no joint 'knee'"):
        robot.add_force(JointDrag("knee", 0.7))  # type: ignore[arg-type]
    assert "joint_drag0" in str(robot.add_force(drag).forces)


def midpoint(equations: StepEquations, start: StepState) -> Advanced:
    """Step with the rates in the middle."""
    qd, dt = start["qd"], start["dt"]
    half, h = 0.5 * dt, equations.acceleration(start)
    there, u = equations.reach(start, qd, half, qd + half * h)
    rate, change = equations.tangent_rate(u, there["qd"]), equations.acceleration(there)
    end, _ = equations.reach(start, rate, dt, qd + dt * change)
    return end, [(there, there["qd"])]


def test_an_integrator_is_a_function_and_an_entry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(
        INTEGRATORS, "midpoint", Integrator(midpoint, 2, 1e-3, stages=2)
    )
    robot = ramidyn.robots.chain(2)
    q, qd, tau = np.array([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]])

    def end(integrator: str, steps: int) -> Any:
        dt = 0.1 / steps
        return robot.rollout(q, qd, tau, dt, steps=steps, integrator=integrator).q[-1]

    exact = end("rk4", 100)
    coarse, fine = (np.abs(end("midpoint", n) - exact).max() for n in (50, 100))
    assert fine < 1.2 * coarse / 4
    run = robot.simulate(q, qd, tau, 1e-3, duration=0.1, integrator="midpoint")
    assert_close(run.q[-1], end("midpoint", 100))
