"""Several threads use something for the first time: it is made once."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import compiler, kernels
from ramidyn.backend.llvm import build as building
from ramidyn.catalog.paper_robots import humanoid30
from ramidyn.concurrency import MANY, kept, made_once, once, without_collection
from ramidyn.mechanism import states
from support.planar import four_bar

THREADS = 6


def all_at_once(work: Callable[[], Any]) -> list[Any]:
    """Run the same in several threads that start together."""
    start = threading.Barrier(THREADS)

    def run(_: int) -> Any:
        start.wait()
        return work()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def first_uses() -> dict[str, Callable[[ramidyn.Robot], Any]]:
    return {
        "a quantity": lambda r: r.mass_matrix(r.neutral()),
        "a quantity of a frame": lambda r: r.jacobian(r.neutral(), "world"),
        "integrate": lambda r: r.integrate(r.neutral(), np.zeros(r.nv), 0.1),
        "convert_q": lambda r: r.convert_q(r.neutral(), to="mujoco"),
    }


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is traced and built; each takes long enough to be met by all."""
    counts: Counter[str] = Counter()

    def counted(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            counts[name] += 1
            time.sleep(0.05)
            return original(*args, **named)

        return call

    compile_once = counted("traced", compiler.compilation_of)
    monkeypatch.setattr(compiler, "compilation_of", compile_once)
    monkeypatch.setattr(kernels, "kernel", counted("traced", kernels.kernel))
    monkeypatch.setattr(building, "build", counted("built", building.build))
    return counts


@pytest.mark.parametrize("use", first_uses())
def test_the_first_use_from_several_threads_compiles_once(
    made: Counter[str], use: str
) -> None:
    human = ramidyn.Robot.from_description(humanoid30())
    results = all_at_once(lambda: first_uses()[use](human))
    assert made == {"traced": 1, "built": 1}
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_the_first_look_at_loops_from_several_threads_compiles_once(
    made: Counter[str],
) -> None:
    mechanism = four_bar()
    all_at_once(lambda: states.kernels(mechanism).position(mechanism.neutral()))
    assert made == {"traced": 1, "built": 1}


def test_what_fails_is_tried_again_by_the_next_thread() -> None:
    tries = []

    def make() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("not yet")
        return "made"

    store: dict[str, str] = {}

    def work() -> str:
        try:
            return made_once(store, "key", make)
        except ValueError as error:
            return str(error)

    found = all_at_once(work)
    assert sorted(found) == ["made"] * (THREADS - 2) + ["not yet"] * 2
    assert len(tries) == 3


def test_a_thread_that_traces_may_use_what_another_one_makes() -> None:
    human = ramidyn.Robot.from_description(humanoid30())

    def traced(x: Any) -> Any:
        time.sleep(0.05)
        return x * len(human.bias_forces.program.outputs)

    def work() -> Any:
        return ramidyn.kernel(traced, {"x": ()})(np.array(1.0))

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(work)
        two = pool.submit(lambda: human.bias_forces)
        assert one.result(timeout=60) == 1.0
        assert two.result(timeout=60) is human.bias_forces


def test_a_property_made_once_is_found_on_its_class() -> None:
    class Thing:
        @once
        def value(self) -> object:
            """Return something new."""
            return object()

    thing = Thing()
    assert thing.value is thing.value
    assert Thing.value.__doc__ == "Return something new."


# ------------------------------------------------------------ the garbage collector


def test_the_collector_is_off_while_any_thread_wants_that() -> None:
    inside, leave = threading.Event(), threading.Event()

    def pause() -> None:
        with without_collection():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=pause)
    assert gc.isenabled()
    with without_collection():
        with without_collection():
            thread.start()
            inside.wait()
        assert not gc.isenabled()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with without_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("is_frozen", [False, True])
def test_many_new_objects_are_old_after_a_pause(is_frozen: bool) -> None:
    before = gc.get_freeze_count()
    if is_frozen:
        gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with without_collection():
            objects = [[k] for k in range(2 * MANY)]
        assert gc.get_freeze_count() == frozen  # what users have frozen stays so
        young = {id(o) for o in gc.get_objects(generation=0)}
        if not is_frozen:
            assert not young.intersection(map(id, objects))
    finally:
        gc.unfreeze()
    assert before == 0


def test_threads_keep_values_in_one_table() -> None:
    known: OrderedDict[int, int] = OrderedDict()

    def work() -> bool:
        keys = range(20)  # more than are kept
        return all(kept(known, k, lambda k=k: -k) == -k for k in [*keys] * 1000)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        assert all(all_at_once(work))
    finally:
        sys.setswitchinterval(interval)
