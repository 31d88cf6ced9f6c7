"""Call a robot and a kernel in many ways; print how calls are made, and results."""

from __future__ import annotations

import pickle
import threading

import numpy as np

import ramidyn
from ramidyn.backend.calls.vectorcall import Plain
from ramidyn.catalog.paper_robots import humanoid30
from ramidyn.function import Function


def show(*results: object) -> None:
    for result in results:
        print([x.hex() for x in np.ravel(np.asarray(result)).tolist()])


def main() -> None:
    print("calls are plain" if issubclass(Function, Plain) else "calls are emitted")
    norm = ramidyn.kernel(lambda x, s: s * ramidyn.math.sqrt(x @ x), {"x": 3, "s": ()})
    x = np.array([2.0, 3.0, 6.0])
    show(norm(x, np.array(2.0)), norm([2, 3, 6], 2), norm(x=x, s=np.ones(5)))
    out = np.empty(2)
    show(norm(np.stack([x, -x]), np.array(0.5), out=out), out)
    show(pickle.loads(pickle.dumps(norm))(x, np.array(2.0)))
    robot = ramidyn.Robot.from_description(humanoid30())
    q, v = np.tile(robot.neutral(), (7, 1)), np.linspace(-1, 1, 7 * robot.nv)
    results: list[object] = []
    threads = [
        threading.Thread(
            target=lambda: results.append(robot.bias_forces(q, v.reshape(7, -1)))
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    show(*results)
    for values in ((), (x,), (x, np.ones((2, 2))), ("x", 1), (None, None)):
        try:
            norm(*values)
        except (TypeError, ramidyn.Error) as error:
            print(type(error).__name__, error)


if __name__ == "__main__":
    main()
