"""Compiled functions inside PyTorch: the same numbers, and exact derivatives."""

from __future__ import annotations

import concurrent.futures
import inspect
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.robot import Robot
from support.library_robots import (
    DYNAMICS,
    EXACT,
    ROBOTS,
    arm,
    check_jacobians,
    closed,
    states,
)

torch: Any = pytest.importorskip("torch", reason="torch is absent")
func, gradcheck = torch.func, torch.autograd.gradcheck

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore::FutureWarning:torch"),
]
BACKENDS = ["eager", "aot_eager", "inductor"]


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    torch.compiler.reset()


@pytest.fixture(params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> Robot:
    return ROBOTS[request.param]()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "inductor":
        cpp = pytest.importorskip("torch._inductor.cpp_builder", reason="no inductor")
        try:
            cpp.get_cpp_compiler()
        except RuntimeError:
            pytest.skip("no C++ compiler, which inductor needs")
    return request.param


def tensors(arrays: list[Any], requires_grad: bool = False) -> list[Any]:
    return [torch.tensor(x, requires_grad=requires_grad) for x in arrays]


def equal(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found.numpy(force=True), np.asarray(expected))


# ------------------------------------------------------------ the same numbers


@pytest.mark.parametrize("quantity", DYNAMICS)
def test_calls_and_vmap_give_the_numbers_of_numpy(
    robot: Robot, quantity: str, rng: np.random.Generator
) -> None:
    own = getattr(robot, quantity)
    f = ramidyn.to_torch(own)
    batch = states(robot, rng, 9)
    one = [x[0] for x in batch]
    equal(f(*tensors(one)), own(*one))
    equal(f(*tensors(batch)), own(*batch))
    equal(func.vmap(f)(*tensors(batch)), own(*batch))


def test_compiled_functions_give_the_numbers_of_numpy(
    backend: str, rng: np.random.Generator
) -> None:
    own = arm().forward_dynamics
    f = ramidyn.to_torch(own)
    batch = states(arm(), rng, 9)
    compiled = torch.compile(
        lambda q, qd, tau: 2.0 * f(q, qd, tau), backend=backend, fullgraph=True
    )
    equal(compiled(*tensors(batch)), 2.0 * own(*batch))
    one = [x[0] for x in batch]
    equal(compiled(*tensors(one)), 2.0 * own(*one))


def test_one_compiled_graph_takes_batches_of_any_size(rng: np.random.Generator) -> None:
    own = arm().forward_dynamics
    graphs: list[Any] = []

    def counted(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    f = torch.compile(ramidyn.to_torch(own), backend=counted, dynamic=True)
    for size in (9, 4, 100):
        batch = states(arm(), rng, size)
        equal(f(*tensors(batch)), own(*batch))
    assert len(graphs) == 1


def test_axes_of_vmap_may_be_anywhere_and_nested(rng: np.random.Generator) -> None:
    own = arm().forward_dynamics
    f = ramidyn.to_torch(own)
    Q, QD, TAU = states(arm(), rng, 5)
    q, qd, tau = tensors([Q, QD, TAU])
    equal(func.vmap(f, in_dims=(1, None, 0))(q.T, qd[0], tau), own(Q, QD[0], TAU))
    nested = func.vmap(func.vmap(f, (None, 0, None)), (0, None, 0), out_dims=1)
    expected = [own(a, QD, b) for a, b in zip(Q, TAU, strict=True)]
    equal(nested(q, qd, tau), np.stack(expected, 1))
    slopes = func.vmap(func.jacrev(f), in_dims=(1, None, 0))(q.T, qd[0], tau)
    for k in range(5):
        one = func.jacfwd(f)(q[k], qd[0], tau[k])
        torch.testing.assert_close(slopes[k], one, rtol=EXACT, atol=EXACT)


def test_an_exported_program_runs_and_is_mapped(rng: np.random.Generator) -> None:
    own = arm().forward_dynamics
    f = ramidyn.to_torch(own)

    class Dynamics(torch.nn.Module):
        def forward(self, q: Any, qd: Any, tau: Any) -> Any:
            return f(q, qd, tau)

    batch = states(arm(), rng, 4)
    one = [x[0] for x in batch]
    exported = torch.export.export(Dynamics(), tuple(tensors(one))).module()
    equal(exported(*tensors(one)), own(*one))
    call = torch.ops.ramidyn.call.default
    name = next(n.args[0] for n in exported.graph.nodes if n.target is call)
    mapped = func.vmap(lambda *x: call(name, list(x))[0], in_dims=(0, None, 0))
    q, qd, tau = tensors(batch)
    equal(mapped(q, qd[0], tau), own(batch[0], one[1], batch[2]))


def test_memory_is_shared_contiguous_or_not(rng: np.random.Generator) -> None:
    own = arm().forward_dynamics
    f = ramidyn.to_torch(own)
    Q, QD, TAU = states(arm(), rng, 6)
    expected = own(Q, QD[0], TAU)
    q, qd, tau = tensors([Q, QD, TAU])
    wide = torch.empty(6, 8, dtype=torch.float64)
    wide[:, ::3] = q
    across = tau.T.contiguous().T
    equal(f(wide[:, ::3], qd[0].expand(6, 3), across), expected)
    equal(f(wide[:, ::3], qd[:1], tau), expected)
    backward = torch.complex(q, -q).conj().imag  # negated when it is read
    assert backward.is_neg()
    equal(f(backward, qd[0], tau), expected)


def test_no_input_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = ramidyn.kernel(lambda x: 2.0 * x, {"x": 2}, name="twice")
    f = ramidyn.to_torch(twice)
    x = torch.ones(4, 2, dtype=torch.float64)
    f(x)
    from ramidyn.interop import torch_operator  # noqa: PLC0415  imports PyTorch

    seen: list[int] = []

    def spied(array: Any) -> Any:
        seen.append(array.__array_interface__["data"][0])
        return array

    compiled = dict.fromkeys(torch_operator._compiled, spied)
    monkeypatch.setattr(torch_operator, "_compiled", compiled)
    f(x)
    assert seen == [x.data_ptr()]


def test_an_empty_batch_gives_an_empty_result() -> None:
    f = ramidyn.to_torch(arm().mass_matrix)
    x = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)
    assert f(x).shape == (0, 3, 3)
    assert torch.autograd.grad(f(x).sum(), x)[0].shape == (0, 3)


def test_the_dtype_is_that_of_the_inputs(rng: np.random.Generator) -> None:
    f = ramidyn.to_torch(arm().forward_dynamics)
    batch = [x.astype(np.float32) for x in states(arm(), rng, 6)]
    own = ramidyn.compile(ramidyn.forward_dynamics, arm(), dtype="float32")
    q, qd, tau = tensors(batch, requires_grad=True)
    found = f(q, qd, tau)
    assert found.dtype == torch.float32
    equal(found, own(*batch))
    found.sum().backward()
    assert q.grad.dtype == torch.float32
    assert f(q, qd, tau.double()).dtype == torch.float64


def test_several_outputs_are_a_named_tuple_and_numbers_are_taken(backend: str) -> None:
    both = ramidyn.kernel(
        lambda x, dt: {"area": x * x, "twice": dt * x}, {"x": 2, "dt": ()}, name="both"
    )
    f = ramidyn.to_torch(both)
    compiled = torch.compile(f, backend=backend, fullgraph=True)
    for call in (f, compiled):
        found = call(torch.tensor([1.0, 2.0]), dt=2)
        assert found.area.dtype == torch.float32
        equal(found.area, [1.0, 4.0])
        equal(found.twice, [2.0, 4.0])
    assert f(torch.ones(2, dtype=torch.float64), 0.1).twice[0] == 0.1


def test_arrays_lists_and_integers_are_taken() -> None:
    f, own = ramidyn.to_torch(arm().inverse_dynamics), arm().inverse_dynamics
    x, whole = np.array([0.5, 1.0, 2.0]), [0, 1, 1]
    expected = own(whole, x, x)
    still = x.copy()
    still.flags.writeable = False
    for q in (whole, tuple(whole), *(np.array(whole, k) for k in ("i8", "u4", "?"))):
        equal(f(q, still, x[::-1][::-1]), expected)
    for kind in (torch.int64, torch.uint8, torch.bool):
        q = torch.tensor(whole, dtype=kind)
        equal(f(q, x, list(x)), expected)
        equal(torch.func.vmap(f)(q[None], *tensors([x[None], x[None]]))[0], expected)
    single = torch.tensor(x, dtype=torch.float32, requires_grad=True)
    found = f(whole, list(x), single)
    assert found.dtype == torch.float32
    found.sum().backward()
    assert single.grad is not None
    assert f(whole, x, single).dtype == torch.float64
    assert f(whole, x.astype(np.float32), whole).dtype == torch.float32


def test_functions_are_pickled_with_what_they_are_of(rng: np.random.Generator) -> None:
    q, frame = tensors([rng.normal(size=3)])[0], arm().body_names[-1]
    own = ramidyn.compile(ramidyn.mass_matrix, arm())
    for f, given in ((arm().mass_matrix, ()), (own, ()), (arm().pose, (frame,))):
        here = ramidyn.to_torch(f)
        there = pickle.loads(pickle.dumps(here))
        equal(there(q, *given), here(q, *given))
        assert inspect.signature(there) == inspect.signature(here)


def test_methods_of_frames_take_the_frame(rng: np.random.Generator) -> None:
    frame, q = arm().body_names[-1], rng.normal(size=3)
    pose = ramidyn.to_torch(arm().pose)
    expected = arm().pose(q, frame)
    equal(pose(torch.tensor(q), frame=frame), expected)
    compiled = torch.compile(
        lambda q: pose(q, frame), backend="aot_eager", fullgraph=True
    )
    equal(compiled(torch.tensor(q)), expected)


def test_threads_may_call_at_the_same_time(rng: np.random.Generator) -> None:
    own = arm().forward_dynamics
    f = ramidyn.to_torch(own)
    given = [states(arm(), rng, 500) for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda x: f(*tensors(x)), given))
    for x, y in zip(given, found, strict=True):
        equal(y, own(*x))


def test_the_same_function_is_made_once() -> None:
    assert ramidyn.to_torch(arm().mass_matrix) is ramidyn.to_torch(arm().mass_matrix)
    assert ramidyn.to_torch(arm().pose) is ramidyn.to_torch(arm().pose)


def test_the_operator_passes_the_checks_of_pytorch(rng: np.random.Generator) -> None:
    from ramidyn.interop import torch_operator  # noqa: PLC0415  imports PyTorch

    x = tensors(states(arm(), rng, 4))
    own = arm().forward_dynamics
    ramidyn.to_torch(own)(*x)
    name = next(n for n in torch_operator._functions if n.startswith(own.name))
    found = torch.library.opcheck(torch.ops.ramidyn.call.default, (name, x))
    assert set(found.values()) == {"SUCCESS"}


def test_plain_functions_read_tensors(rng: np.random.Generator) -> None:
    own = arm().forward_dynamics
    x = states(arm(), rng, 3)
    for found in (own(*tensors(x)), own(torch.tensor(x[0]), *x[1:])):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, own(*x))
    q = torch.tensor(x[0], requires_grad=True)
    with pytest.raises(ramidyn.ShapeError, match=r"requires gradients .*to_torch\(f\)"):
        own(q, *x[1:])
    with pytest.raises(ramidyn.ShapeError, match="is not in CPU memory"):
        own(torch.zeros(3, device="meta"), *x[1:])


# ------------------------------------------------------------ derivatives


@pytest.mark.parametrize("quantity", DYNAMICS)
def test_derivatives_are_those_of_complex_steps(
    robot: Robot, quantity: str, rng: np.random.Generator
) -> None:
    f = ramidyn.to_torch(getattr(robot, quantity))
    x = [x[0] for x in states(robot, rng, 1)]
    reverse = func.jacrev(f, argnums=(0, 1, 2))(*tensors(x))
    forward = func.jacfwd(f, argnums=(0, 1, 2))(*tensors(x))
    check_jacobians(robot, quantity, x, forward, reverse)


@pytest.mark.parametrize("quantity", DYNAMICS)
def test_dynamics_pass_the_checks_of_pytorch(
    robot: Robot, quantity: str, rng: np.random.Generator
) -> None:
    f = ramidyn.to_torch(getattr(robot, quantity))
    x = tensors([x[0] for x in states(robot, rng, 1)], requires_grad=True)
    assert gradcheck(f, x, check_forward_ad=True)
    if robot is not closed():
        assert torch.autograd.gradgradcheck(f, x)


def test_poses_pass_the_checks_of_pytorch(rng: np.random.Generator) -> None:
    pose, frame = ramidyn.to_torch(arm().pose), arm().body_names[-1]
    x = torch.tensor(rng.normal(size=3), requires_grad=True)
    assert gradcheck(lambda q: pose(q, frame), x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(
        lambda q: pose(q, frame), x, check_fwd_over_rev=True
    )


def test_gradients_of_shared_inputs_add_up(rng: np.random.Generator) -> None:
    f = ramidyn.to_torch(arm().forward_dynamics)
    Q, QD, TAU = tensors(states(arm(), rng, 2), requires_grad=True)
    qd = QD[0].detach().requires_grad_()
    assert gradcheck(f, (Q, qd, TAU))
    assert torch.autograd.gradgradcheck(f, (Q, qd, TAU))


def test_only_what_requires_gradients_gets_them(rng: np.random.Generator) -> None:
    f = ramidyn.to_torch(arm().forward_dynamics)
    q, qd, tau = tensors([x[0] for x in states(arm(), rng, 1)])
    assert not f(q, qd, tau).requires_grad
    tau.requires_grad_()
    out = f(q, qd, tau)
    out.sum().backward()
    expected = torch.linalg.solve(
        torch.tensor(arm().mass_matrix(q.numpy())), torch.ones(3, dtype=torch.float64)
    )
    torch.testing.assert_close(tau.grad, expected, rtol=1e-9, atol=1e-9)
    assert q.grad is None
    with torch.no_grad():
        assert not f(q, qd, tau).requires_grad
    assert not f(q, qd, tau.detach()).requires_grad
    with torch.inference_mode():
        equal(f(q, qd, tau), out.detach())


def test_an_input_changed_before_backward_is_an_error(rng: np.random.Generator) -> None:
    f = ramidyn.to_torch(arm().forward_dynamics)
    q, qd, tau = tensors([x[0] for x in states(arm(), rng, 1)])
    out = f(q, qd, tau.requires_grad_())
    q += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_unused_outputs_need_no_gradient() -> None:
    both = ramidyn.kernel(
        lambda x: {"square": x * x, "cube": x * x * x}, {"x": 2}, name="powers"
    )
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    ramidyn.to_torch(both)(x).cube.sum().backward()
    equal(x.grad, [12.0, 27.0])


def test_compiled_gradients_are_those_of_eager_calls(
    robot: Robot, backend: str, rng: np.random.Generator
) -> None:
    f = ramidyn.to_torch(robot.forward_dynamics)

    def cost(q: Any, qd: Any, tau: Any) -> Any:
        return (f(q, qd, tau) * torch.sin(q.sum())).square().sum()

    batch = [x[0] for x in states(robot, rng, 1)]
    eager, own = tensors(batch, requires_grad=True), tensors(batch, requires_grad=True)
    cost(*eager).backward()
    torch.compile(cost, backend=backend, fullgraph=True)(*own).backward()
    for x, y in zip(own, eager, strict=True):
        torch.testing.assert_close(x.grad, y.grad, rtol=EXACT, atol=EXACT)


def test_transformations_inside_compiled_functions(
    backend: str, rng: np.random.Generator
) -> None:
    f = ramidyn.to_torch(arm().forward_dynamics)
    q, qd, tau = tensors(states(arm(), rng, 4))

    def total(q: Any) -> Any:
        return (f(q, qd[0], tau[0]) * q).sum()

    def slopes(q: Any) -> Any:
        return func.vmap(func.grad(total))(q)

    def move(q: Any, v: Any) -> Any:  # the other summand: a tangent lost is no error
        return func.jvp(lambda q: f(q, qd[0], tau[0]) + q, (q,), (v,))[1]

    for call, x in ((slopes, (q,)), (move, (q[0], qd[1]))):
        found = torch.compile(call, backend=backend, fullgraph=True)(*x)
        torch.testing.assert_close(found, call(*x), rtol=EXACT, atol=EXACT)
    assert (move(q[0], qd[1]) - qd[1]).abs().max() > 1e-3


def test_hessians_are_symmetric(rng: np.random.Generator) -> None:
    energy = ramidyn.to_torch(arm().kinetic_energy)
    q, qd, _ = tensors([x[0] for x in states(arm(), rng, 1)])
    ((qq, qv), (vq, vv)) = func.hessian(energy, argnums=(0, 1))(q, qd)
    mass = torch.tensor(arm().mass_matrix(q.numpy()))
    close = {"rtol": EXACT, "atol": EXACT}
    torch.testing.assert_close(vv, mass, **close)
    torch.testing.assert_close(qq, qq.T, **close)
    torch.testing.assert_close(qv, vq.T, **close)
    torch.testing.assert_close(func.jacrev(func.jacrev(energy))(q, qd), qq, **close)


def test_a_rollout_has_its_gradient(rng: np.random.Generator) -> None:
    f = ramidyn.to_torch(arm().forward_dynamics)
    q0, qd0, tau0 = tensors([x[0] for x in states(arm(), rng, 1)], requires_grad=True)

    def end(q: Any, qd: Any, tau: Any) -> Any:
        for _ in range(5):
            qd = qd + 0.01 * f(q, qd, tau)
            q = q + 0.01 * qd
        return q

    assert gradcheck(end, (q0, qd0, tau0))


def test_kept_graphs_run_in_another_process() -> None:
    """A graph from the disk names functions that were never traced there."""
    from ramidyn.interop import torch_operator  # noqa: PLC0415  imports PyTorch

    f = ramidyn.to_torch(arm().mass_matrix)
    q = torch.ones(3, dtype=torch.float64, requires_grad=True)
    f(q).sum().backward()
    known = next(n for n in torch_operator._functions if n.startswith("mass_matrix"))
    torch_operator._functions.pop(f"{known} vjp 0", None)
    weights = torch.ones(3, 3, dtype=torch.float64)
    (again,) = torch.ops.ramidyn.call(f"{known} vjp 0", [q.detach(), weights])
    equal(again, q.grad)
    with pytest.raises(ramidyn.Error, match="'other' is not loaded in this process"):
        torch.ops.ramidyn.call("other", [weights])


# ------------------------------------------------------------ mistakes


def test_a_wrong_shape_is_refused_when_a_graph_is_traced(backend: str) -> None:
    f = ramidyn.to_torch(arm().mass_matrix)
    message = r"q has shape \(4,\); kernel .* needs \(3,\) or \(batch, 3\)"
    with pytest.raises(ramidyn.ShapeError, match=f"^{message}"):
        f(torch.zeros(4))
    with pytest.raises(Exception, match=message):
        torch.compile(f, backend=backend)(torch.zeros(4))
    with pytest.raises(ramidyn.ShapeError, match="batch sizes differ: q 2, qd 3"):
        ramidyn.to_torch(arm().kinetic_energy)(torch.zeros(2, 3), torch.zeros(3, 3))


@pytest.mark.parametrize(
    ("value", "given"),
    [
        (torch.zeros(3, dtype=torch.complex128), "a tensor of torch.complex128"),
        (torch.zeros(3, dtype=torch.bfloat16), "a tensor of torch.bfloat16"),
        (np.zeros(3, np.float16), "ndarray of float16"),
        (np.zeros(3, complex), "ndarray of complex128"),
        (["a", "b", "c"], "list of <U1"),
        ([[0.0], [0.0, 1.0]], "not an array: setting an array element"),
        (None, "NoneType of object"),
    ],
)
def test_other_types_are_refused(value: Any, given: str) -> None:
    f = ramidyn.to_torch(arm().mass_matrix)
    with pytest.raises(
        ramidyn.ShapeError,
        match=f"^q is {given}.* in PyTorch needs float32, float64",
    ):
        f(value)


def test_sparse_tensors_are_refused() -> None:
    f = ramidyn.to_torch(arm().mass_matrix)
    with pytest.raises(
        ramidyn.ShapeError, match=r"torch.sparse_coo; pass q.to_dense\("
    ):
        f(torch.zeros(3).to_sparse())


def test_other_devices_are_refused_and_meta_tensors_have_shapes() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415

    f = ramidyn.to_torch(arm().mass_matrix)
    with FakeTensorMode():
        q = torch.empty(3, device="cuda")
        with pytest.raises(
            ramidyn.ArgumentError,
            match=r"q is on device 'cuda:0', but .* runs on the CPU only; pass q.cpu",
        ):
            f(q)
    assert f(torch.zeros(5, 3, device="meta")).shape == (5, 3, 3)
    g = ramidyn.to_torch(arm().inverse_dynamics)
    on, off = torch.zeros(3, device="meta"), torch.zeros(3)
    assert g(on, on, [0, 0, 0]).device.type == "meta"
    with pytest.raises(
        ramidyn.ArgumentError,
        match=r"^qdd is on device 'meta' and q on 'cpu'; .* all tensors on one device",
    ):
        g(off, off, on)


def test_out_and_functions_without_inputs_are_refused() -> None:
    f = ramidyn.to_torch(arm().mass_matrix)
    with pytest.raises(ramidyn.ArgumentError, match="PyTorch functions do not support"):
        f(torch.zeros(3), out=torch.zeros(3, 3))
    constant = ramidyn.kernel(lambda: np.ones(2), {}, name="constant")
    with pytest.raises(ramidyn.ArgumentError, match="'constant' has no inputs"):
        ramidyn.to_torch(constant)()


def test_what_is_not_compiled_is_refused() -> None:
    with pytest.raises(
        ramidyn.ArgumentError, match="expected a compiled function, such"
    ):
        ramidyn.to_torch(ramidyn.mass_matrix)
    last = ramidyn.compile(ramidyn.mass_matrix, arm(), layout="batch_last")
    with pytest.raises(ramidyn.ArgumentError, match="in PyTorch batch axes come first"):
        ramidyn.to_torch(last)


def test_a_missing_package_names_the_command() -> None:
    code = (
        "import sys; sys.modules['torch'] = None; import ramidyn\n"
        "try: ramidyn.to_torch(ramidyn.robots.chain(1).mass_matrix)\n"
        "except ramidyn.Error as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == 'to_torch needs PyTorch: pip install "ramidyn[torch]"\n'
