"""A compiled function in Dask, as it is: blocks, gufuncs and futures on two workers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import robots

da: Any = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def robot() -> ramidyn.Robot:
    return robots.humanoid30()


@pytest.fixture(scope="module")
def function(robot: ramidyn.Robot) -> ramidyn.Function:
    return ramidyn.compile(ramidyn.inverse_dynamics, robot)


@pytest.fixture(scope="module")
def states(robot: ramidyn.Robot) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, batch=10_000)
    return [q, *rng.normal(size=(2, len(q), robot.nv))]


def chunked(states: list[np.ndarray]) -> list[Any]:
    return [da.from_array(a, chunks=(1700, -1)) for a in states]


def test_blocks_on_two_workers_equal_one_call(
    client: Any, function: ramidyn.Function, states: list[np.ndarray]
) -> None:
    q, qd, qdd = chunked(states)
    tau = da.map_blocks(function, q, qd, qdd, dtype=float, chunks=qd.chunks)
    np.testing.assert_array_equal(client.compute(tau).result(), function(*states))


def test_a_gufunc_on_two_workers_equals_one_call(
    client: Any, function: ramidyn.Function, states: list[np.ndarray]
) -> None:
    tau = da.apply_gufunc(
        function, "(q),(v),(v)->(v)", *chunked(states), output_dtypes=float
    )
    np.testing.assert_array_equal(client.compute(tau).result(), function(*states))


def test_futures_equal_calls(
    client: Any, function: ramidyn.Function, states: list[np.ndarray]
) -> None:
    rows = [[a[k : k + 500] for a in states] for k in range(0, 3000, 500)]
    futures = [client.submit(function, *row, pure=False) for row in rows]
    for future, row in zip(futures, rows, strict=True):
        np.testing.assert_array_equal(future.result(), function(*row))


def test_a_worker_compiles_once_and_takes_code_from_the_shared_cache(
    client: Any, function: ramidyn.Function, states: list[np.ndarray]
) -> None:
    function.prepare()
    sent = pickle.dumps(function)
    q, qd, qdd = (a[:64] for a in states)

    def probe() -> tuple[bool, bool]:
        first, second = pickle.loads(sent), pickle.loads(sent)
        first(q, qd, qdd)
        return first._compilation is second._compilation, first.cached

    assert set(client.run(probe).values()) == {(True, True)}


def test_a_function_has_one_thread_unless_asked(function: ramidyn.Function) -> None:
    assert function._compilation.options.threads == 1
