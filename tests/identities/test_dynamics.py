"""Laws of dynamics that hold on any robot, checked on trees with every joint type."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ramidyn.algorithms.ltdl import elimination_parents, filled_matrix, ltdl, ltl, solve
from ramidyn.catalog.paper_robots import chain, random_tree
from ramidyn.compiler import program_of
from ramidyn.description.pose import Array
from ramidyn.errors import ArgumentError
from ramidyn.quantities import dynamics, mass_matrix, momentum_energy
from ramidyn.quantities.frames import jacobian
from ramidyn.robot import Robot
from ramidyn.symbolic.count import count
from ramidyn.symbolic.interpreter import evaluate
from ramidyn.symbolic.trace import trace
from ramidyn.tracing.context import EXPRESSED_IN
from support.close import assert_close
from support.states import CASES, case, rate, state, value

FORWARD = dynamics.forward_dynamics
TREES = [name for name in CASES if name != "coupled"]


def test_forward_dynamics_inverts_inverse_dynamics(
    robot: Robot, now: dict[str, Array]
) -> None:
    tau = value(robot, dynamics.inverse_dynamics, **now)
    for algorithm in ("aba", "ltdl"):
        qdd = value(robot, FORWARD(algorithm=algorithm), **now, tau=tau)
        assert_close(qdd, now["qdd"])


def test_inverse_dynamics_is_mass_times_acceleration_plus_bias(
    robot: Robot, now: dict[str, Array]
) -> None:
    M = value(robot, mass_matrix.mass_matrix, **now)
    bias = value(robot, dynamics.bias_forces, **now)
    assert_close(value(robot, dynamics.inverse_dynamics, **now), M @ now["qdd"] + bias)


def test_bias_is_gravity_when_nothing_moves(
    robot: Robot, now: dict[str, Array]
) -> None:
    rest = {**now, "qd": np.zeros(robot.nv)}
    gravity = value(robot, dynamics.gravity_forces, **now)
    assert_close(value(robot, dynamics.bias_forces, **rest), gravity)
    assert np.abs(gravity).max() > 1.0


def test_mass_matrix_is_symmetric_and_positive(
    robot: Robot, now: dict[str, Array]
) -> None:
    M = value(robot, mass_matrix.mass_matrix, **now)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_both_ways_to_the_mass_matrix_agree(
    robot: Robot, now: dict[str, Array]
) -> None:
    one = value(robot, mass_matrix.mass_matrix(algorithm="crba"), **now)
    other = value(robot, mass_matrix.mass_matrix(algorithm="crba_root"), **now)
    assert_close(one, other)


def test_power_is_the_rate_of_energy(robot: Robot, now: dict[str, Array]) -> None:
    tau = value(robot, dynamics.inverse_dynamics, **now)
    energies = (momentum_energy.kinetic_energy, momentum_energy.potential_energy)
    total = sum(rate(robot, e, **now) for e in energies)
    assert_close(np.asarray(total), np.asarray(tau @ now["qd"]))


def test_a_free_robot_keeps_its_momentum(rng: np.random.Generator) -> None:
    robot = case("floating_base")
    weightless = Robot.from_description(
        replace(robot.description, gravity=(0.0, 0.0, 0.0)), conventions="featherstone"
    )
    now = state(weightless, rng)
    tau = np.concatenate([np.zeros(6), rng.normal(size=weightless.nv - 6)])
    qdd = value(weightless, FORWARD(algorithm="aba"), **now, tau=tau)
    momentum = momentum_energy.centroidal_momentum
    change = rate(weightless, momentum, q=now["q"], qd=now["qd"], qdd=qdd)
    assert_close(change, np.zeros(6))
    assert np.abs(value(weightless, momentum, **now)).max() > 1.0


@pytest.mark.parametrize("axes", EXPRESSED_IN)
@pytest.mark.parametrize("name", CASES)
def test_external_forces_act_through_the_jacobian(
    name: str, axes: str, rng: np.random.Generator
) -> None:
    robot = case(name)
    now = state(robot, rng)
    frames = (robot.body_names[3], robot.body_names[-1])
    wrenches = rng.normal(size=(2, 6))
    loaded = dynamics.inverse_dynamics(external=frames, expressed_in=axes)
    tau = value(robot, loaded, **now, external=wrenches)
    for frame, f in zip(frames, wrenches, strict=True):
        J = value(robot, jacobian(frame, expressed_in=axes), **now)
        tau = tau + J.T @ f
    assert_close(tau, value(robot, dynamics.inverse_dynamics, **now))
    applied = FORWARD(external=frames, expressed_in=axes, algorithm="ltdl")
    tau = value(robot, loaded, **now, external=wrenches)
    qdd = value(robot, applied, **now, tau=tau, external=wrenches)
    assert_close(qdd, now["qdd"])


@pytest.mark.parametrize("name", TREES)
def test_factors_rebuild_the_mass_matrix_without_fill_in(
    name: str, rng: np.random.Generator
) -> None:
    robot = case(name)
    q = state(robot, rng)["q"]
    M = value(robot, mass_matrix.mass_matrix, q=q)
    parents = robot.tree.dof_parents
    order = [b.joint.v_index + k for b in robot.tree.bodies for k in range(b.joint.nv)]
    M = M[np.ix_(order, order)]
    n = len(parents)
    pattern = [(i, j) for i in range(n) for j in range(i + 1) if M[i, j] != 0.0]
    assert set(pattern) <= set(filled_matrix({}, parents)) | {(i, i) for i in range(n)}

    def factor(H):
        entries = {p: H[p] for p in pattern}
        L, D = ltdl(filled_matrix(entries, parents), parents)
        C = ltl(filled_matrix(entries, parents), parents)
        b = {k: H[k, k] for k in range(n)}
        x = solve(L, D, b, parents)
        out = {"L": np.eye(n, dtype=object), "D": [D[k] for k in range(n)]}
        out["C"] = np.zeros((n, n), dtype=object)
        for key, e in L.items():
            out["L"][key] = e
        for key, e in C.items():
            out["C"][key] = e
        out["x"] = [x[k] for k in range(n)]
        return out

    made = evaluate(trace(factor, {"H": (n, n)}), {"H": M})
    L, D, C = made["L"], made["D"], made["C"]
    assert_close(L.T @ np.diag(D) @ L, M)
    assert_close(C.T @ C, M)
    assert_close(M @ made["x"], np.diag(M).copy())


def test_elimination_tree_of_a_tree_is_the_tree() -> None:
    parents = Robot.from_description(random_tree(20, 4)).tree.dof_parents
    pattern = list(filled_matrix({}, parents))
    assert elimination_parents(pattern, len(parents)) == parents


def test_every_further_link_costs_aba_the_same() -> None:
    def cost(n: int) -> int:
        robot = Robot.from_description(chain(n, "general"))
        return count(program_of(FORWARD(algorithm="aba"), robot)).total

    steps = np.diff([cost(n) for n in (12, 16, 20, 24)])
    assert np.ptp(steps) < 0.02 * steps.mean()


@pytest.mark.parametrize("algorithm", ["aba", "ltdl"])
@pytest.mark.parametrize("key", ["q", "qd", "tau"])
def test_nan_in_gives_nan_out(
    key: str, algorithm: str, rng: np.random.Generator
) -> None:
    robot = Robot.from_description(chain(5, "general"))
    now = {**state(robot, rng), "tau": rng.normal(size=robot.nv)}
    now[key][2] = np.nan
    assert np.isnan(value(robot, FORWARD(algorithm=algorithm), **now)).all()


def test_unknown_algorithms_are_named() -> None:
    robot = case("forest")
    with pytest.raises(ArgumentError, match="'abba'; possible: 'auto', 'aba', 'ltdl'"):
        program_of(FORWARD(algorithm="abba"), robot)
    with pytest.raises(ArgumentError, match="possible: 'auto', 'crba', 'crba_root'"):
        program_of(mass_matrix.mass_matrix(algorithm="x"), robot)
