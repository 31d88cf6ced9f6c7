"""Ctrl-C during a long batch is answered between slices of it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from itertools import pairwise

import pytest

from ramidyn.backend.calls import runnable as native
from ramidyn.backend.calls.runnable import Pace
from support.affine import affine_kernel

LIMIT = 120.0  # seconds, with the start of Python; the batch would take far longer

SCRIPT = """
    import os, signal, sys, threading, time
    import numpy as np
    import ramidyn

    def slow(x):
        for _ in range(300):
            x = ramidyn.math.exp(-x * x)
        return x

    # A shell ignores Ctrl-C on behalf of what it starts in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    f = ramidyn.kernel(slow, {"x": ()}, threads=int(sys.argv[1]))
    states = 2**27  # a quarter of an hour; 1 GB, of which little is touched
    x = np.broadcast_to(np.float64(0.25), (states,))
    expected = f(x[:1])[0]
    out = np.zeros(states)

    def interrupt():
        while not out[0]:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        f(x, out=out)
    except KeyboardInterrupt:
        pass
    else:
        sys.exit("not interrupted")
    some = out[: 2**22]
    written = int((some != 0).sum())
    assert written, "nothing was written"
    assert (some[some != 0] == expected).all(), "something else was written"
    if sys.argv[1] == "1":
        assert (some[:written] == expected).all(), "there are gaps"
    time.sleep(0.2)
    assert int((some != 0).sum()) == written, "somebody still writes"
    f(x[:100], out=out[:100])  # and it works as before
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to oneself on Windows")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("is_plain", [False, True])
def test_an_interrupt_ends_a_long_batch_and_leaves_what_is_done(
    threads: int, is_plain: bool
) -> None:
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(threads)],
        env={**os.environ, "RAMIDYN_PLAIN_CALLS": str(int(is_plain))},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert found.stdout == "interrupted\n", found.stderr


def test_a_pace_comes_near_a_slice_and_keeps_below_two() -> None:
    pace = Pace(affine_kernel([[1.0]], [0.0], lanes=4))
    rate = 5e7  # states a second
    sizes = [pace.states]
    for _ in range(20):
        pace.learn(pace.states, pace.states / rate)
        sizes.append(pace.states)
    assert all(a <= b <= 8 * a for a, b in pairwise(sizes))
    assert 0.9 * native.SLICE < sizes[-1] / rate <= native.SLICE
    for _ in range(20):  # the same states take ten times as long
        pace.learn(pace.states, 10 * pace.states / rate)
    assert 10 * pace.states / rate <= 2 * native.SLICE


def test_a_pace_is_never_less_than_a_group() -> None:
    pace = Pace(affine_kernel([[1.0]], [0.0], lanes=4))
    pace.learn(pace.states, 1e9)
    assert pace.states == 4 * native.TILES
