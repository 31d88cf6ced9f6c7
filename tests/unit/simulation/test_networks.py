"""Networks as policies: their outputs equal PyTorch's, whatever runs them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import ArgumentError, ShapeError, math, policies
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.robot import Robot
from ramidyn.symbolic.networks import WRITTEN_OUT

DT, STEPS, BATCH = 1e-3, 4, 11
EXACT = 1e-12

pytestmark = pytest.mark.filterwarnings("ignore:.* is too long for this motion")


@pytest.fixture(scope="module")
def arm() -> Robot:
    builder, parent = RobotBuilder("arm"), "world"
    rod = Inertia.from_box(1.0, (0.05, 0.05, 0.3), at=(0, 0, 0.15))
    for k, axis in enumerate(((0, 0, 1), (0, 1, 0), (1, 0, 0))):
        joint = Joint.revolute(axis)
        builder.add(Body(f"link{k}", rod), parent, joint, (0, 0, 0.3))
        parent = f"link{k}"
    return Robot.from_description(builder.description())


def observe(q: Any, qd: Any) -> Any:
    return np.concatenate([q, qd])


def pairs(*sizes: int) -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(7)
    return [
        (rng.normal(size=(m, n)) / np.sqrt(n), 0.1 * rng.normal(size=m))
        for n, m in pairwise(sizes)
    ]


def forward(layers: list[tuple[Any, Any]], x: Any) -> Any:
    for k, (W, b) in enumerate(layers):
        x = x @ W.T + b
        if k < len(layers) - 1:
            x = np.tanh(x)
    return x


def states() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(BATCH, 3)), rng.normal(size=(BATCH, 3))


def check(arm: Robot, layers: list[tuple[Any, Any]], **options: Any) -> None:
    policy = policies.network(layers, observe)
    tolerance = EXACT if options.get("dtype") != "float32" else 2e-5
    options |= {"policy": policy, "inputs": policy.inputs, "record": ["tau"]}
    run = arm.rollout(*states(), dt=DT, steps=STEPS, **options)
    seen = np.concatenate([run.q, run.qd], axis=-1).astype(float)
    np.testing.assert_allclose(run.tau, forward(layers, seen), atol=tolerance)
    alone = arm.rollout(*(x[3] for x in states()), dt=DT, steps=STEPS, **options)
    np.testing.assert_allclose(alone.tau, run.tau[3], atol=tolerance)


@pytest.mark.parametrize(
    "dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)]
)
def test_a_network_computes_what_its_arrays_mean(arm: Robot, dtype: str) -> None:
    check(arm, pairs(6, 16, 9, 3), dtype=dtype)


@pytest.mark.slow
def test_large_layers_run_as_loops(arm: Robot) -> None:
    width = 130
    assert width**2 > WRITTEN_OUT
    check(arm, pairs(6, width, width, 3))


def test_other_weights_need_no_compiling(arm: Robot) -> None:
    layers = pairs(6, 16, 3)
    policy = policies.network(layers, observe)
    other = [(2.0 * W, -b) for W, b in layers]
    options: dict[str, Any] = {"dt": DT, "steps": 2, "record": ["tau"]}
    arm.rollout(*states(), policy=policy, inputs=policy.inputs, **options)
    known = len(arm.__dict__["_rollouts"])
    inputs = policy.inputs_of(other)
    run = arm.rollout(*states(), policy=policy, inputs=inputs, **options)
    assert len(arm.__dict__["_rollouts"]) == known
    seen = np.concatenate([run.q, run.qd], axis=-1)
    np.testing.assert_allclose(run.tau, forward(other, seen), atol=EXACT)
    message = r"the other network has layers .*; expected .*\(16, 6\)"
    with pytest.raises(ArgumentError, match=message):
        policy.inputs_of(pairs(6, 12, 3))


def test_a_sequential_of_pytorch_is_a_policy(arm: Robot) -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    parts = [nn.Linear(6, 12), nn.LayerNorm(12), nn.ELU(0.7), nn.Linear(12, 8)]
    parts += [nn.Softplus(), nn.Identity(), nn.Linear(8, 8, bias=False), nn.ReLU()]
    model = nn.Sequential(*parts, nn.Linear(8, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    policy = policies.network(model, observe, lambda y, qd: {"tau": y - 0.1 * qd})
    run = arm.rollout(
        *states(),
        dt=DT,
        steps=STEPS,
        policy=policy,
        inputs=policy.inputs,
        record=["tau"],
    )
    seen = torch.tensor(np.concatenate([run.q, run.qd], axis=-1))
    expected = model(seen).detach().numpy() - 0.1 * run.qd
    np.testing.assert_allclose(run.tau, expected, atol=EXACT)
    assert repr(policy) == "Network network: 6 x 12 x 8 x 8 x 5 x 3"


def test_matrices_that_all_share_are_used_in_any_way(arm: Robot) -> None:
    """Entries of a table are arguments of loops, records and operands."""
    A = np.random.default_rng(2).normal(size=(6, 6)) / 20

    def policy(q: Any, qd: Any, A: Any) -> Any:
        x = ramidyn.repeat(lambda x: 0.5 * x + A @ x, observe(q, qd), times=3)
        return x[:3] * A[0, 0]

    options: dict[str, Any] = {
        "policy": policy,
        "inputs": {"A": policies.shared(A.T.T)},
    }
    options |= {"record": {"tau": "tau", "row": lambda A: A[1]}}
    run = arm.rollout(*states(), dt=DT, steps=STEPS, **options)
    np.testing.assert_array_equal(run.row, np.broadcast_to(A[1], run.row.shape))
    x = np.concatenate([run.q, run.qd], axis=-1)
    for _ in range(3):
        x = 0.5 * x + x @ A.T
    np.testing.assert_allclose(run.tau, x[..., :3] * A[0, 0], atol=EXACT)
    turned = np.asfortranarray(A)
    options["inputs"] = {"A": policies.shared(turned)}
    same = arm.rollout(*states(), dt=DT, steps=STEPS, threads=2, **options)
    np.testing.assert_array_equal(same.q, run.q)


def test_each_state_may_have_weights_of_its_own(arm: Robot) -> None:
    gains = np.random.default_rng(4).normal(size=(BATCH, 3, 6))

    def policy(q: Any, qd: Any, gains: Any) -> Any:
        return math.matmul(gains, observe(q, qd))

    inputs = {"gains": policies.per_state(gains)}
    run = arm.rollout(
        *states(), dt=DT, steps=STEPS, policy=policy, inputs=inputs, record=["tau"]
    )
    seen = np.concatenate([run.q, run.qd], axis=-1)
    expected = np.einsum("bij,bsj->bsi", gains, seen)
    np.testing.assert_allclose(run.tau, expected, atol=EXACT)


def test_gradients_by_weights_are_those_of_differences(arm: Robot) -> None:
    layers = pairs(6, 12, 3)
    policy = policies.network(layers, observe)
    options: dict[str, Any] = {"dt": DT, "steps": STEPS, "policy": policy}
    options["total"] = {"cost": lambda q, tau: q @ q + tau @ tau}
    run = arm.rollout(
        *states(),
        inputs=policy.inputs,
        gradient_of="cost",
        wrt="network_0_0",
        **options,
    )
    costs: list[Any] = []
    for step in (1e-5, -1e-5):
        W = layers[0][0].copy()
        W[4, 2] += step
        inputs = {**policy.inputs, "network_0_0": policies.shared(W)}
        costs.append(arm.rollout(*states(), inputs=inputs, **options).cost)
    expected = (costs[0] - costs[1]) / 2e-5
    found = run.gradients["network_0_0"]
    assert found.shape == (BATCH, 12, 6)
    np.testing.assert_allclose(found[:, 4, 2], expected, rtol=1e-6, atol=1e-8)


X = np.array([-40.0, -1.5, -1e-3, 0.0, 1e-3, 0.7, 40.0])


@pytest.mark.parametrize("name", ["relu", "elu", "softplus", "layer_norm"])
def test_functions_of_networks_are_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    f: Any = getattr(math, name)
    of = torch.nn.functional
    given = torch.tensor(X)
    expected = of.layer_norm(given, (len(X),)) if name == "layer_norm" else None
    expected = getattr(of, name)(given) if expected is None else expected
    native = ramidyn.kernel(f, {"x": len(X)}, name=name)(X)
    for found in (f(X), native):
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-14, rtol=1e-14)


def test_matmul_of_symbols_is_that_of_numbers() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(11, 5)), rng.normal(size=(5, 2))
    product = ramidyn.kernel(math.matmul, {"A": A.shape, "x": B.shape}, name="product")
    np.testing.assert_allclose(product(A, B), A @ B, atol=1e-14)
    np.testing.assert_array_equal(math.matmul(A, B), A @ B)
    with pytest.raises(
        ShapeError, match=r"matmul got shapes \(11, 5\) and \(2, 5\); e"
    ):
        math.matmul(A, B.T)
    with pytest.raises(
        ShapeError, match=r"layer_norm got shape \(5, 2\); expected a v"
    ):
        math.layer_norm(B)


BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (3, {}, ArgumentError, r"model is 3; expected a torch.nn.Sequential or a list of"),
    ([], {}, ArgumentError, r"model is \[\]; expected a torch.nn.Sequential"),
    (
        [(np.ones((4, 6)), np.ones(4)), (np.ones((3, 5)), np.ones(3))],
        {},
        ShapeError,
        "layer 2 takes 5 numbers; the layer before it returns 4",
    ),
    (
        [(np.ones((4, 6)), np.ones(3))],
        {},
        ShapeError,
        r"layer 0 has arrays of shapes \(4, 6\) and \(3,\); expected W \(outputs, inpu",
    ),
    (
        pairs(6, 3),
        {"activation": "tahn"},
        ArgumentError,
        r"activation is 'tahn' \(did you mean 'tanh'\?\); possible: tanh, relu, elu",
    ),
    ([np.tanh], {}, ArgumentError, "layer 0 is <ufunc 'tanh'>; possible: .W, b., and"),
    (pairs(6, 3), {"name": "a b"}, ArgumentError, "name is 'a b'; expected a Python"),
    (pairs(6, 3), {"act": 3}, ArgumentError, "act is 3; expected a function"),
]


@pytest.mark.parametrize(("model", "options", "error", "message"), BAD)
def test_networks_that_do_not_fit_are_refused(
    model: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        policies.network(model, observe, **options)


def test_a_network_that_sees_too_little_is_refused(arm: Robot) -> None:
    policy = policies.network(pairs(6, 3), lambda q: q)
    message = r"observe returns shape \(3,\); the first layer takes \(6,\)"
    with pytest.raises(ShapeError, match=message):
        arm.rollout(np.zeros(3), steps=1, policy=policy, inputs=policy.inputs)
