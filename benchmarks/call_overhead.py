"""What one call from Python costs: arrays of 50 numbers, a kernel that does nothing.

    python benchmarks/call_overhead.py [--quick] [--json]

All figures are from one run and are compared with numpy.empty(50), the least that a
NumPy function costs. The promise: four arrays with ``out=`` at most 2.5 times that.
Numbers, lists and arrays of other dtypes are compared with float64 arrays; methods of
frames with the compiled function.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import pickle
import timeit
from collections.abc import Callable

import numpy as np

import ramidyn
from ramidyn.backend.calls.callable import Signature, make_callable
from ramidyn.backend.calls.vectorcall import Vectorcall, attach, use_vectorcall
from ramidyn.backend.llvm.build import NativeKernel
from ramidyn.backend.llvm.jit import LoadedCode, compile_objects
from ramidyn.backend.llvm.target import host

N = 50
PROMISE = 2.5
NOTHING = "define void @cut(ptr %w, ptr %o, ptr %libm) { ret void }"


@use_vectorcall
class Function(Vectorcall):
    """An instance that is called."""

    def __init__(self, call: Callable[..., object]) -> None:
        attach(self, call)


def trivial(*shapes: tuple[int, ...], outputs: int = 1) -> Callable[..., object]:
    """Return a callable whose kernel returns at once: what is left is the call."""
    loaded = LoadedCode(
        [(compile_objects([lambda: NOTHING], host())[0], ["cut"])], host()
    )
    signature = Signature(
        "f",
        tuple((f"x{k}", shape) for k, shape in enumerate(shapes)),
        tuple((f"y{k}", (N,)) for k in range(outputs)),
    )

    def kernel_for(kind: str) -> NativeKernel:
        lanes = 1 if kind == "single" else host().lanes("float64")
        first = sum(math.prod(shape) for shape in shapes)
        places = tuple(range(first, first + outputs * N))
        slots = first + outputs * N
        return NativeKernel(lanes, tuple(loaded.addresses), slots, places, loaded)

    return make_callable(signature, kernel_for, (ctypes.c_void_p * 1)())


def cases() -> dict[str, Callable[[int], float]]:
    """Return what is timed: seconds for a number of calls."""
    a, b, c, d = np.random.default_rng(0).normal(size=(4, N))
    out, pair = np.empty(N), (np.empty(N), np.empty(N))
    A, B, C, D = (np.ones((8, N)) for _ in range(4))
    batch_out = np.empty((8, N))
    vectors = [(N,)] * 4
    four, one, two = trivial(*vectors), trivial((N,)), trivial(*vectors, outputs=2)
    three, scaled = trivial(*vectors, outputs=3), trivial((N,), ())
    function, class_ = Function(four), type("Class", (), {"__call__": four})()
    listed, ints = a.tolist(), list(range(N))
    robot = ramidyn.robots.humanoid30()
    q, qd, qdd = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
    frame = robot.body_names[-1]
    jacobian = ramidyn.compile(ramidyn.jacobian(frame), robot)
    acceleration = ramidyn.compile(ramidyn.acceleration(frame), robot)
    J, six = jacobian(q), acceleration(q, qd, qdd)
    names = {
        "numpy.empty(50)": "empty(N)",
        "four arrays, out=": "four(a, b, c, d, out=out)",
        "four arrays": "four(a, b, c, d)",
        "one array, out=": "one(a, out=out)",
        "four arrays, two outputs, out=": "two(a, b, c, d, out=pair)",
        "four arrays, two outputs": "two(a, b, c, d)",
        "four arrays, three outputs": "three(a, b, c, d)",
        "four arrays, out=, of a Vectorcall": "function(a, b, c, d, out=out)",
        "four arrays, out=, __call__ of a class": "class_(a, b, c, d, out=out)",
        "four arrays by name, out=": "four(x0=a, x1=b, x2=c, x3=d, out=out)",
        "batch of 8, out=": "four(A, B, C, D, out=batch_out)",
        "batch of 8": "four(A, B, C, D)",
        "batch of 8, two outputs": "two(A, B, C, D)",
        "a scalar as a 0-d array, out=": "scaled(a, scalar, out=out)",
        "a scalar as a float": "scaled(a, 1e-3, out=out)",
        "a scalar as an int": "scaled(a, 2, out=out)",
        "a scalar as a numpy.float64": "scaled(a, wide, out=out)",
        "a scalar as a numpy.float32": "scaled(a, narrow, out=out)",
        "a scalar as a numpy.int64": "scaled(a, whole, out=out)",
        "a scalar as a 0-d array of ints": "scaled(a, zero, out=out)",
        "one of four a list, out=": "four(listed, b, c, d, out=out)",
        "one of four a list of ints, out=": "four(ints, b, c, d, out=out)",
        "one of four a tuple, out=": "four(tupled, b, c, d, out=out)",
        "one of four float32, out=": "four(short, b, c, d, out=out)",
        "one of four of ints, out=": "four(counts, b, c, d, out=out)",
        "one of four unpickled, out=": "four(copied, b, c, d, out=out)",
        "all four lists, out=": "four(listed, listed, listed, listed, out=out)",
        "all four float32, out=": "four(short, short, short, short, out=out)",
        "a list of 8 lists, out=": "one(lists, out=batch_out)",
        "overlapping arrays, out=": "four(A, B, C, D, out=A[::-1])",
        "jacobian compiled, out=": "jacobian(q, out=J)",
        "robot.jacobian, frame": "robot.jacobian(q, frame, out=J)",
        "robot.jacobian, frame=": "robot.jacobian(q, frame=frame, out=J)",
        "robot.jacobian, frame, expressed_in=": (
            'robot.jacobian(q, frame, expressed_in="world", out=J)'
        ),
        "acceleration compiled, out=": "acceleration(q, qd, qdd, out=six)",
        "robot.acceleration, frame": "robot.acceleration(q, qd, qdd, frame, out=six)",
        "robot.normalize, out=": "robot.normalize(q, out=q)",
        "robot.integrate, a float, out=": "robot.integrate(q, qd, 1e-3, out=q)",
        "robot.integrate, no time, out=": "robot.integrate(q, qd, out=q)",
        "robot.convert_q": 'robot.convert_q(q, to="mujoco")',
    }
    space = {
        **locals(),
        **{"empty": np.empty, "N": N, "tupled": tuple(listed), "lists": A.tolist()},
        **{"scalar": np.array(1e-3), "wide": np.float64(2), "narrow": np.float32(2)},
        **{"whole": np.int64(2), "zero": np.array(2), "short": a.astype(np.float32)},
        **{"counts": np.arange(N), "copied": pickle.loads(pickle.dumps(a))},
    }
    timers = {name: timeit.Timer(code, globals=space) for name, code in names.items()}
    for timer in timers.values():
        timer.timeit(2)  # compiles
    return {name: timer.timeit for name, timer in timers.items()}


def measure(quick: bool) -> dict[str, float]:
    """Return the nanoseconds of one call, for each case; the cases take turns."""
    # Many short turns: other programs disturb some of them, for all cases alike.
    rounds, calls = (40, 300) if quick else (300, 500)
    timed = cases()
    best = dict.fromkeys(timed, float("inf"))
    for _ in range(rounds):
        for name, run in timed.items():
            count = calls // 50 if best[name] > 10_000 else calls
            best[name] = min(best[name], run(count) / count * 1e9)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    times = measure(options.quick)
    unit = times["numpy.empty(50)"]
    ratios = {name: ns / unit for name, ns in times.items()}
    kept = ratios["four arrays, out="] <= PROMISE
    if options.json:
        report = {
            "nanoseconds": times,
            "ratios": ratios,
            "promise": PROMISE,
            "kept": kept,
        }
        print(json.dumps(report, indent=2))
        return
    print(f"{'one call':44s}{'ns':>9s}{'x numpy.empty(50)':>20s}")
    for name, ns in times.items():
        print(f"{name:44s}{ns:9.0f}{ratios[name]:20.2f}")
    verdict = "yes" if kept else "NO"
    print(f"four arrays with out= at most {PROMISE} x numpy.empty(50): {verdict}")


if __name__ == "__main__":
    main()
