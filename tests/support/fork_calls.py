"""Call in a forked child: warm and cold kernels, with threads that the child lacks."""

from __future__ import annotations

import os
import threading
import warnings

import numpy as np

from support.affine import affine


def main() -> None:
    warnings.simplefilter(
        "ignore", DeprecationWarning
    )  # fork with threads is the point
    warm = affine({"x": (5,)}, {"y": (3,)}, threads=2)
    cold = affine({"x": (5,)}, {"y": (3,)}, threads=2)
    one, many = np.ones(5), np.ones((100_000, 5))
    for x in (one, many):
        warm.check(x)
    # A thread of the parent is compiling: its lock is taken, for ever, in the child.
    calls = getattr(cold.call, "__self__", None)
    taken = threading.Event()
    lock = calls.keepalive[0]._lock if calls is not None else threading.RLock()

    def hold() -> None:
        with lock:
            taken.set()
            threading.Event().wait()

    threading.Thread(target=hold, daemon=True).start()
    taken.wait()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for f in (warm, cold):
                for x in (one, many):
                    f.check(x)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for x in (one, many):
        warm.check(x)
    print("parent and child agree")


if __name__ == "__main__":
    main()
