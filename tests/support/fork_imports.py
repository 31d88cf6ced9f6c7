"""Fork while another thread imports what makes code, which takes a while."""

from __future__ import annotations

import importlib.abc
import os
import sys
import threading
import time
import warnings

import numpy as np

import ramidyn
from support.fork_compiles import ends_well

SECONDS = 0.5


class Slow(importlib.abc.MetaPathFinder):
    """Takes a while to find one module."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.begun = threading.Event()

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == self.name:
            self.begun.set()
            time.sleep(SECONDS)


def main() -> None:
    # A fork with threads is the point.
    warnings.simplefilter("ignore", DeprecationWarning)
    os.environ["RAMIDYN_CACHE_DIR"] = "off"
    robot = ramidyn.robots.chain(5)
    state = np.linspace(0.1, 0.9, 15).reshape(3, 5)
    function = ramidyn.compile(ramidyn.forward_dynamics, robot)
    slow = Slow(f"ramidyn.backend.{sys.argv[1]}")
    sys.meta_path.insert(0, slow)
    thread = threading.Thread(target=lambda: function(*state))
    thread.start()
    assert slow.begun.wait(60)

    def work() -> None:
        ramidyn.compile(ramidyn.forward_dynamics(algorithm="aba"), robot)(*state)

    assert ends_well(work)
    thread.join()
    print("the child compiled")


if __name__ == "__main__":
    main()
