"""Cuts that carry inputs and results of other tiles change no bit of any result."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import robots
from ramidyn.backend.llvm import ferries
from ramidyn.backend.llvm.ferries import columns
from ramidyn.backend.runtime.memory_layout import Kernel
from ramidyn.backend.runtime.tile_groups import ENOUGH
from ramidyn.backend.runtime.tiles import COLUMNS
from ramidyn.description.pose import Array
from ramidyn.function import Function, calls_of
from ramidyn.robot import Robot

LANES = [2, 4, 8, 16]


def dynamics(robot: Robot, **options: Any) -> Function:
    return ramidyn.compile(ramidyn.forward_dynamics, robot, **options)


def states(robot: Robot, batch: int, dtype: str = "float64") -> list[Array]:
    rng = np.random.default_rng(batch)
    q = robot.random_configuration(rng, batch=batch)
    return [a.astype(dtype) for a in (q, *rng.normal(size=(2, batch, robot.nv)))]


def one_by_one(f: Function, arrays: list[Array]) -> Array:
    """Return the results of single tiles, which carry nothing for others."""
    n = f.lanes
    parts = [f(*(a[k : k + n] for a in arrays)) for k in range(0, len(arrays[0]), n)]
    return np.concatenate(parts)


def carriers(f: Function) -> tuple[int, int]:
    return f._compilation.schedule(f.lanes).carriers


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", LANES)
def test_results_are_those_of_single_tiles(lanes: int, dtype: str) -> None:
    robot = robots.humanoid30()
    f = dynamics(robot, lanes=lanes, dtype=dtype)
    assert min(carriers(f)) > 0
    for batch in (lanes + 1, 2 * lanes, 9 * lanes - 1, 20 * lanes):
        arrays = states(robot, batch, dtype)
        np.testing.assert_array_equal(f(*arrays), one_by_one(f, arrays))


@pytest.mark.parametrize("bodies", [4, 5, 6, 7, 9])
def test_rows_of_any_length_are_carried(bodies: int) -> None:
    """Of one cut, which brings and takes."""
    robot = robots.chain(bodies, "plain")
    f = dynamics(robot, lanes=4)
    bring, take = carriers(f)
    assert bring == take > 0
    arrays = states(robot, 43)
    np.testing.assert_array_equal(f(*arrays), one_by_one(f, arrays))


def apart(a: Array) -> Array:
    """Return the same rows, not one behind the other."""
    return np.repeat(a, 2, axis=0)[::2]


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("layout", ["rows apart", "columns", "one state"])
def test_arrays_of_other_layouts_are_packed(k: int, layout: str) -> None:
    robot = robots.humanoid30()
    f = dynamics(robot)
    arrays = states(robot, 9 * f.lanes + 3)
    if layout == "one state":
        arrays[k] = np.broadcast_to(arrays[k][0], arrays[k].shape)
    expected = one_by_one(f, [a.copy() for a in arrays])
    change = {"rows apart": apart, "columns": np.asfortranarray}
    arrays[k] = change.get(layout, lambda a: a)(arrays[k])
    np.testing.assert_array_equal(f(*arrays), expected)


@pytest.mark.parametrize("batch", [16, 45, 64, 131])
def test_nothing_is_written_beside_the_results(batch: int) -> None:
    robot = robots.humanoid30()
    f = dynamics(robot)
    arrays = states(robot, batch)
    whole = np.full((batch + 2, robot.nv), 7.0)
    f(*arrays, out=whole[1:-1])
    np.testing.assert_array_equal(whole[1:-1], one_by_one(f, arrays))
    assert (whole[[0, -1]] == 7.0).all()
    wide = np.full((batch, robot.nv + 2), 7.0)  # their rows are not dense
    f(*arrays, out=wide[:, 1:-1])
    np.testing.assert_array_equal(wide[:, 1:-1], whole[1:-1])
    assert (wide[:, [0, -1]] == 7.0).all()


@pytest.mark.parametrize(
    ("tiles", "close", "times"),
    [(1, True, 0), (ENOUGH - 1, True, 0), (ENOUGH, True, ENOUGH), (ENOUGH, False, 0)],
)
def test_cuts_carry_rows_of_enough_tiles_side_by_side(
    tiles: int, close: bool, times: int
) -> None:
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
    run: list[str] = []

    def told(name: str, address: int) -> Any:
        cut = kind(address)

        def instead(*given: int) -> None:
            run.append(name)
            cut(*given)

        return kind(instead)

    robot = robots.humanoid30()
    f = dynamics(robot)
    arrays = states(robot, tiles * f.lanes)
    expected = f(*arrays)
    calls = calls_of(f._compilation)
    block = calls.loaded("batch").block
    cuts = [told(word.name, block[word]) for word in (Kernel.BRING, Kernel.TAKE)]
    addresses = [ctypes.cast(cut, ctypes.c_void_p).value for cut in cuts]
    block[Kernel.BRING], block[Kernel.TAKE] = addresses
    out = np.empty(expected.shape, order="C" if close else "F")
    if not close:
        arrays[0] = np.asfortranarray(arrays[0])
    calls.slow((*arrays, out))
    np.testing.assert_array_equal(out, expected)
    assert (run.count("BRING"), run.count("TAKE")) == (times, times)


@pytest.mark.parametrize("robot", [robots.humanoid30(), robots.chain(6)], ids=str)
def test_a_result_may_replace_an_input(robot: Robot) -> None:
    f = dynamics(robot)
    q, qd, tau = arrays = states(robot, 11 * f.lanes + 5)
    expected = one_by_one(f, arrays)
    f(q, qd, tau, out=tau)
    np.testing.assert_array_equal(tau, expected)


def test_what_users_read_is_the_code_of_a_single_tile() -> None:
    robot = robots.chain(6)
    f = dynamics(robot)
    plan = f._compilation.schedule(f.lanes)
    (ferry,) = plan.ferries
    assert ferry.order == plan.cuts[0].order
    assert (ferry.come, len(ferry.leave[0])) == ((6, 6, 6), 6)
    assert ferries.BRING not in f.ir


def test_few_numbers_and_too_many_are_packed() -> None:
    assert carriers(dynamics(robots.chain(3))) == (-1, -1)
    mass_matrix = ramidyn.compile(ramidyn.mass_matrix, robots.humanoid30())
    bring, take = carriers(mass_matrix)
    assert bring > 0
    assert take == -1
    # Its 16 entries are more than its workspace has slots.
    assert carriers(ramidyn.compile(ramidyn.mass_matrix, robots.chain(4)))[1] == -1


@pytest.mark.parametrize("size", range(COLUMNS, 20))
def test_all_columns_are_moved(size: int) -> None:
    moved = {c + k for c in columns(size) for k in range(COLUMNS)}
    assert moved == set(range(size))


def test_a_kernel_may_have_many_outputs() -> None:
    """More than the block has room for: they are unpacked, and its input comes."""

    def many(x: Any) -> dict[str, Any]:
        return {f"y{k}": x * float(k) + x[0] for k in range(40)}

    f = ramidyn.kernel(many, {"x": 8})
    assert carriers(f) == (1, -1)
    x = np.random.default_rng(0).normal(size=(5 * f.lanes + 3, 8))
    for k in range(40):
        found = getattr(f(x), f"y{k}")
        np.testing.assert_allclose(found, x * k + x[:, :1], rtol=1e-14, atol=1e-14)
