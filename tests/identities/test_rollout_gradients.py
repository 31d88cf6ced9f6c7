"""Gradients of rollouts equal differences, and steps that PyTorch differentiates."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.simulation.run import Run
from support import planar

DT, STEPS = 0.01, 12
CLOSE = 1e-9
"""of directional derivatives, relative to the largest of their terms"""


@pytest.fixture(autouse=True)
def long_steps() -> Any:
    with warnings.catch_warnings():  # motions that are not resolved serve as well
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def arm(root: str = "fixed") -> Any:
    builder, parent = RobotBuilder("arm"), "world"
    for k, axis in enumerate(((0, 0, 1), (0, 1, 0), (1, 0.3, 0))):
        box = Inertia.from_box(2.0 - 0.4 * k, (0.1, 0.15, 0.4), at=(0.0, 0.02, 0.2))
        joint = Joint.spherical() if k == 2 else Joint.revolute(axis)
        if k == 0 and root == "floating":
            joint = Joint.floating()
        builder.add(Body(f"link{k}", box), parent, joint, (0.0, 0.1, 0.4))
        parent = f"link{k}"
    return builder.robot()


def cost(q: Any, qd: Any, tau: Any, weight: Any, time: Any) -> Any:
    return weight * (q @ q) * (1.0 + time) + 0.1 * (qd @ qd) + 0.01 * (tau @ tau)


def difference(f: Any, h: float = 5e-3) -> float:
    """Return df/dh at zero by extrapolated central differences."""
    slopes = [(f(h / 2**k) - f(-h / 2**k)) / (2 * h / 2**k) for k in range(5)]
    for order in range(1, 5):
        pairs = zip(slopes[1:], slopes, strict=False)
        slopes = [a + (a - b) / (4**order - 1) for a, b in pairs]
    return slopes[0]


def check(
    robot: Any, rng: np.random.Generator, batch: int | None, **options: Any
) -> Run:
    """Compare the gradient along a random direction, and return the run."""
    lead = () if batch is None else (batch,)
    nv = robot.nv
    neutral = np.broadcast_to(robot.neutral(), (*lead, robot.nq))
    q = robot.integrate(neutral, 0.3 * rng.normal(size=(*lead, nv)), 1.0)
    along = rng.normal(size=(*lead, nv))
    given = {
        "qd": rng.normal(size=(*lead, nv)),
        "tau": rng.normal(size=(*lead, STEPS, nv)),
        "weight": np.array(0.7),
        "gravity": np.array([0.1, 0.4, -9.81]),
    }
    moves = {name: rng.normal(size=x.shape) for name, x in given.items()}

    def run(h: float, **further: Any) -> Run:
        at = {name: x + h * moves[name] for name, x in given.items()}
        return robot.rollout(
            robot.integrate(q, along, h),
            at["qd"],
            None if "policy" in options else at["tau"],
            DT,
            steps=STEPS,
            inputs={"weight": at["weight"]},
            parameters={"gravity": at["gravity"]},
            total={"cost": cost},
            **options,
            **further,
        )

    wrt = [n for n in given if n != "tau" or "policy" not in options]
    found = run(0.0, gradient_of="cost", wrt=("q", *wrt))
    plain = run(0.0)
    np.testing.assert_allclose(found.q, plain.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.cost, plain.cost, rtol=1e-12)
    rate = robot.configuration_rate(q, along)
    slope = float(np.sum(found.gradients["q"] * rate))
    slope += sum(float(np.sum(found.gradients[n] * moves[n])) for n in wrt)
    size = sum(float(np.abs(found.gradients[n]).max()) for n in ("q", *wrt))
    numerical = difference(lambda h: float(np.sum(run(h).cost)))
    assert numerical == pytest.approx(slope, rel=CLOSE, abs=CLOSE * size)
    return found


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("root", ["fixed", "floating"])
def test_gradients_equal_differences(
    root: str, batch: int | None, rng: np.random.Generator
) -> None:
    run = check(arm(root), rng, batch)
    lead = () if batch is None else (batch,)
    assert run.gradients["tau"].shape == (*lead, STEPS, arm(root).nv)
    assert run.gradients["gravity"].shape == (*lead, 3)


@pytest.mark.parametrize("integrator", ["rk4", "implicit"])
def test_other_integrators(integrator: str, rng: np.random.Generator) -> None:
    check(arm(), rng, 2, integrator=integrator)


def test_policies_and_records(rng: np.random.Generator) -> None:
    def policy(q: Any, qd: Any, weight: Any) -> Any:
        return -0.3 * weight * np.array([*q[:2], *q[2:5]]) - 0.01 * qd

    check(arm(), rng, 2, policy=policy, record=["energy", "tau"], every=3)


@pytest.mark.parametrize("restart", [False, True])
def test_steps_at_which_motions_end_are_fixed(
    restart: bool, rng: np.random.Generator
) -> None:
    robot = ramidyn.robots.chain(3)
    run = check(robot, rng, 5, until=lambda time: time > 0.055, restart=restart)
    if restart:
        assert (run.ended == 7).all()
    else:
        assert not run.gradients["tau"][:, 7:].any()


def test_weights_of_states(rng: np.random.Generator) -> None:
    robot, steps = ramidyn.robots.chain(3), 6
    tau, moves = rng.normal(size=(2, 4, steps, 3))
    run = robot.rollout(np.zeros((4, 3)), None, tau, DT, every=2)
    weights = {"q": rng.normal(size=run.q.shape), "qd": rng.normal(size=run.qd.shape)}

    def at(h: float, **further: Any) -> Run:
        return robot.rollout(
            np.zeros((4, 3)), None, tau + h * moves, DT, every=2, **further
        )

    def along(h: float) -> float:
        there = at(h)
        return float(np.sum(there.q * weights["q"] + there.qd * weights["qd"]))

    found = at(0.0, gradient_of=weights, wrt="tau")
    slope = float(np.sum(found.gradients["tau"] * moves))
    assert difference(along) == pytest.approx(slope, rel=CLOSE)
    assert np.array_equal(found[1].gradients["tau"], found.gradients["tau"][1])


@pytest.mark.parametrize("stabilize", ["project", "baumgarte"])
def test_closed_loops(stabilize: str, rng: np.random.Generator) -> None:
    robot = planar.four_bar()
    q, qd = robot.assemble(robot.neutral()), np.zeros(robot.nv)
    tau, moves = rng.normal(size=(2, 5, robot.nv))

    def at(h: float, **further: Any) -> Run:
        return robot.rollout(
            q,
            qd,
            tau + h * moves,
            DT,
            stabilize=stabilize,
            total={"cost": lambda q, qd: q @ q + qd @ qd},
            **further,
        )

    found = at(0.0, gradient_of="cost", wrt="tau")
    slope = float(np.sum(found.gradients["tau"] * moves))
    numerical = difference(lambda h: float(at(h).cost))
    assert numerical == pytest.approx(slope, rel=1e-8, abs=1e-9)


def test_float32_and_threads(rng: np.random.Generator) -> None:
    robot = ramidyn.robots.chain(3)
    tau = rng.normal(size=(200, STEPS, 3))
    total = {"cost": lambda q, qd: q @ q + qd @ qd}
    options: Any = {"total": total, "gradient_of": "cost", "wrt": ("tau", "q")}
    q = rng.normal(size=(200, 3))
    double = robot.rollout(q, None, tau, DT, **options).gradients
    single = robot.rollout(q, None, tau, DT, dtype="float32", threads=2, **options)
    for name, x in single.gradients.items():
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, double[name], rtol=1e-2, atol=1e-3)


@pytest.mark.slow
def test_pytorch_step_by_step_gives_the_same_gradient(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    robot = ramidyn.robots.chain(4)
    q, qd = rng.normal(size=(2, 3, 4))
    tau = rng.normal(size=(3, STEPS, 4))
    dynamics = ramidyn.to_torch(robot.forward_dynamics)
    x, v, u = (torch.tensor(a, requires_grad=True) for a in (q, qd, tau))
    position, velocity, total = x, v, 0.0
    for k in range(STEPS):
        now = (position**2).sum() + (velocity**2).sum() * (1.0 + k * DT)
        total = total + now + (u[:, k] ** 2).sum()
        velocity = velocity + DT * dynamics(position, velocity, u[:, k])
        position = position + DT * velocity
    total.backward()
    run = robot.rollout(
        q,
        qd,
        tau,
        DT,
        total={
            "cost": lambda q, qd, tau, time: q @ q + qd @ qd * (1 + time) + tau @ tau
        },
        gradient_of="cost",
        wrt=("q", "qd", "tau"),
    )
    assert run.cost.sum() == pytest.approx(float(total.detach()), rel=1e-12)
    for name, there in (("q", x), ("qd", v), ("tau", u)):
        np.testing.assert_allclose(
            run.gradients[name], there.grad, rtol=CLOSE, atol=CLOSE
        )


def test_gradients_are_saved(tmp_path: Any) -> None:
    robot, tau = ramidyn.robots.chain(2), np.ones((3, 2))
    total = {"cost": lambda q: q @ q}
    options: Any = {"total": total, "gradient_of": {"cost": 2.0}, "wrt": "tau"}
    run = robot.rollout([0.1, 0.2], None, tau, **options)
    run.save(tmp_path / "run.npz")
    there = Run.load(tmp_path / "run.npz", robot)
    assert np.array_equal(there.gradients["tau"], run.gradients["tau"])
    half = robot.rollout([0.1, 0.2], None, tau, **{**options, "gradient_of": "cost"})
    np.testing.assert_allclose(2.0 * half.gradients["tau"], run.gradients["tau"])


def test_errors_say_what_is_possible() -> None:
    robot = ramidyn.robots.chain(2)

    def asked(**options: Any) -> Any:
        tau = np.zeros((3, 2))
        total = {"cost": lambda q: q @ q}
        return robot.rollout(np.zeros(2), None, tau, total=total, **options)

    for options, message in (
        ({"wrt": "tau"}, "wrt is 'tau', and gradient_of is not given"),
        ({"gradient_of": "cost"}, r"wrt is \(\); expected different names"),
        ({"gradient_of": "cost", "wrt": "x"}, "wrt names 'x', which is not an input"),
        ({"gradient_of": "price", "wrt": "tau"}, "gradient_of names 'price'; possible"),
        (
            {"gradient_of": {"q": np.ones((3, 2))}, "wrt": "tau"},
            r"weights 'q' of shape \(3, 2\); expected \(4, 2\) or \(batch, 4, 2\)",
        ),
        (
            {"gradient_of": {"qd": np.ones((4, 3))}, "wrt": "tau"},
            r"weights 'qd' of shape \(4, 3\); expected \(4, 2\)",
        ),
        ({"gradient_of": {"q": 1.0}, "wrt": "tau"}, "the shape of run.q"),
    ):
        with pytest.raises(ramidyn.ArgumentError, match=message):
            asked(**options)


@pytest.mark.parametrize("value", [None, "cheap"])
def test_a_cost_without_a_number_is_refused(value: Any) -> None:
    robot, total = ramidyn.robots.chain(2), {"cost": lambda q: value}  # noqa: ARG005
    with pytest.raises(
        ramidyn.ArgumentError, match=r"'cost' returns .*expected numbers"
    ):
        robot.rollout(np.zeros(2), steps=2, total=total, gradient_of="cost", wrt="q")


def test_no_states_have_no_gradients() -> None:
    robot, total = ramidyn.robots.chain(2), {"cost": lambda q: q @ q}
    options: Any = {"total": total, "gradient_of": "cost", "wrt": ["q", "tau"]}
    for _ in range(2):
        run = robot.rollout(np.zeros((0, 2)), None, np.zeros((3, 2)), **options)
        shapes = {name: x.shape for name, x in run.gradients.items()}
        assert shapes == {"q": (0, 2), "tau": (0, 3, 2)}


def test_rigid_contacts_have_no_gradient() -> None:
    limit = ramidyn.contacts.HardLimit("joint0", -1.0, 1.0)
    robot = ramidyn.robots.chain(2).add_contact(limit)
    with pytest.raises(ramidyn.ArgumentError, match="rollouts have no gradients"):
        robot.rollout(
            np.zeros(2),
            steps=2,
            total={"cost": lambda q: q @ q},
            gradient_of="cost",
            wrt="q",
        )


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("lead", [(), (3,)])
def test_tangents_are_adjoint_to_gradients(
    integrator: str, lead: tuple[int, ...]
) -> None:
    # w · (J v) = (Jᵀ w) · v
    robot, rng = ramidyn.robots.chain(3), np.random.default_rng(0)
    q, qd = 0.3 * rng.normal(size=(2, *lead, 3))
    tau = rng.normal(size=(*lead, 4, 3))
    moved = {"q": q.shape, "qd": qd.shape, "tau": tau.shape, "gravity": (3,)}
    tangents = {n: rng.normal(size=shape) for n, shape in moved.items()}
    weights = {"q": rng.normal(size=(*lead, 5, 3)), "cost": rng.normal(size=lead)}
    options: Any = {
        "integrator": integrator,
        "total": {"cost": lambda q, tau: q @ q + tau @ q},
        "parameters": {"gravity": [0.0, 0.1, -9.81]},
    }
    back = robot.rollout(q, qd, tau, gradient_of=weights, wrt=tuple(moved), **options)
    run = robot.rollout(q, qd, tau, tangents=tangents, **options)
    np.testing.assert_array_equal(run.q, back.q)
    there = sum(np.sum(w * run.tangents[n]) for n, w in weights.items())
    here = sum(np.sum(back.gradients[n] * v) for n, v in tangents.items())
    np.testing.assert_allclose(there, here, rtol=1e-9)


@pytest.mark.parametrize("restart", [False, True])
def test_tangents_are_differences_of_rollouts(restart: bool) -> None:
    robot, h = ramidyn.robots.chain(2), 1e-6
    q, v = np.array([0.3, -0.2]), np.array([1.0, 2.0])
    options: Any = {
        "steps": 6,
        "dt": 0.01,
        "until": lambda time: time > 0.025,
        "restart": restart,
        "total": {"cost": lambda q, qd: q @ q + qd @ qd},
    }
    run = robot.rollout(q, tangents={"q": v}, **options)
    up, down = (robot.rollout(q + s * h * v, **options) for s in (1.0, -1.0))
    for name in ("q", "qd", "cost"):
        change = (getattr(up, name) - getattr(down, name)) / (2.0 * h)
        np.testing.assert_allclose(run.tangents[name], change, rtol=1e-6, atol=1e-7)


def test_tangents_that_do_not_fit_are_refused() -> None:
    robot = ramidyn.robots.chain(2)
    for tangents, message in (
        ({"x": 1.0}, "tangents names 'x', which is not an input of this rollout"),
        ({"q": [np.nan, 0.0]}, "tangents 'q' has nan"),
        ({"q": np.zeros(3)}, r"q_tangent has shape \(3,\)"),
        (3, "tangents is 3; expected changes of inputs by name"),
    ):
        with pytest.raises(ramidyn.Error, match=message):
            robot.rollout(np.zeros(2), steps=2, tangents=tangents)  # type: ignore[arg-type]
