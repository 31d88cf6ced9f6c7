"""Fork while another thread traces, simplifies, generates and links code."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable

import numpy as np

import ramidyn
from ramidyn.function import Function

CHILDREN, HANG_SECONDS = 3, 120.0
ROBOT = ramidyn.robots.chain(5)
STATE = [np.linspace(0.1, 0.9, 5) * k for k in (1, 2, 3)]


def new() -> Function:
    return ramidyn.compile(ramidyn.forward_dynamics(algorithm="aba"), ROBOT)


def ends_well(work: Callable[[], None]) -> bool:
    """Run in a child; a generous limit says that it hangs, and where."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("the child hangs", file=sys.stderr)
    return False


def main() -> None:
    # A fork with threads is the point.
    warnings.simplefilter("ignore", DeprecationWarning)
    os.environ["RAMIDYN_CACHE_DIR"] = "off"
    expected = new()(*STATE)
    current, over = [new()], threading.Event()

    def compile_for_ever() -> None:
        while not over.is_set():
            current[0] = new()
            current[0].prepare()

    def work() -> None:
        # What the thread was working on, and something new; tracing needs a lock too.
        for f in (current[0], new()):
            np.testing.assert_array_equal(f(*STATE), expected)
        assert gc.isenabled()

    thread = threading.Thread(target=compile_for_ever, daemon=True)
    thread.start()
    pause = random.Random(3)
    for _ in range(CHILDREN):
        time.sleep(pause.uniform(0, 0.15))
        assert ends_well(work)
    over.set()
    thread.join()
    np.testing.assert_array_equal(current[0](*STATE), expected)
    print("all children compiled")


if __name__ == "__main__":
    main()
