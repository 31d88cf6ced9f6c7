"""Memory of large results is used again, within a bound, and never while it is held."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from ramidyn.backend.calls.result_memory import HUGE, LARGE, ResultMemory, kept_bytes
from ramidyn.errors import ArgumentError
from ramidyn.function import Function
from ramidyn.kernels import kernel

BATCH = 2**15


@pytest.fixture(scope="module")
def squared() -> Function:
    """A function whose results are large: 16 MB."""
    return kernel(lambda x: np.outer(x, x), {"x": 8}, name="squared")


def place(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def test_a_large_result_that_nobody_has_is_used_again(squared: Function) -> None:
    x = np.arange(8.0 * BATCH).reshape(BATCH, 8)
    first = squared(x)
    at, expected = place(first), first[5].copy()
    del first
    again = squared(x)
    assert place(again) == at
    np.testing.assert_array_equal(again[5], expected)
    np.testing.assert_array_equal(again[5], np.outer(x[5], x[5]))
    assert again.flags.writeable
    assert again.flags.c_contiguous


@pytest.mark.parametrize(
    "hold",
    [lambda x: x, lambda x: x[3:5], memoryview, lambda x: x.T],
    ids=["a name", "a view", "a memoryview", "transposed"],
)
def test_a_large_result_that_is_held_keeps_its_values(
    squared: Function, hold: Any
) -> None:
    held = hold(squared(np.ones((BATCH, 8))))
    for _ in range(3):
        squared(np.full((BATCH, 8), 2.0))
    assert np.asarray(held).max() == 1.0


def test_threads_never_share_a_result(squared: Function) -> None:
    wrong: list[float] = []

    def work(value: float) -> None:
        x = np.full((BATCH, 8), value)
        for _ in range(5):
            found = squared(x)
            if not (found == value * value).all():
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(k + 1.0,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_is_kept_is_bounded() -> None:
    memory = ResultMemory(most=3 * HUGE)
    arrays = [memory.empty((HUGE // 8,), "float64") for _ in range(5)]
    assert memory.kept == 0
    arrays.clear()
    assert memory.kept == 3 * HUGE
    memory.empty(2 * HUGE, "uint8")  # larger than each of them
    assert memory.kept == 3 * HUGE


def test_a_block_is_not_used_for_something_much_smaller() -> None:
    memory = ResultMemory(most=100 * HUGE)
    large = memory.empty((20 * HUGE,), "uint8")
    at = place(large)
    del large
    small = memory.empty((LARGE,), "uint8")
    assert place(small) != at
    assert memory.kept == 20 * HUGE


def test_small_results_and_a_bound_of_zero_are_numpys() -> None:
    assert ResultMemory(0).empty((LARGE,), "float64").base is None
    assert ResultMemory(10 * HUGE).empty((3, 4), "float32").base is None


def test_the_bound_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAMIDYN_KEPT_MB", raising=False)
    assert kept_bytes() == 256 * 2**20
    monkeypatch.setenv("RAMIDYN_KEPT_MB", "1.5")
    assert kept_bytes() == 3 * 2**19
    for text in ("much", "-1", "inf", "nan"):
        monkeypatch.setenv("RAMIDYN_KEPT_MB", text)
        with pytest.raises(ArgumentError, match=f"RAMIDYN_KEPT_MB is '{text}'; expec"):
            kept_bytes()


def test_results_that_outlive_everything_do_no_harm() -> None:
    code = """
import numpy as np
from ramidyn.backend.calls.result_memory import empty
held = empty((2**22,), "float64")
held[:] = 1.0
print(held.sum())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    assert done.stdout == "4194304.0\n"
    assert done.stderr == ""
