"""How close to the processor's peak a batch runs, with one thread and with two.

    python benchmarks/throughput.py [--quick] [--json]

The program multiplies a chain of 6x6 matrices: about 20,000 multiply-adds per state,
for 4,096 states. The peak is a loop of independent fused multiply-adds, measured in the
same run. The promises: at least 40% of the peak; two threads at least 1.7 times one;
batch-first arrays at most 1.25 times the time of batch-last ones.

Then forward dynamics of robots: the instructions of a state and its share of the peak,
twice: by the operations of the program, and by those that run, which include those
inside of sines and products that are computed twice because that is faster. Both are
read from the machine code (x86 only), calls weighted.
"""

from __future__ import annotations

import ctypes
import re

import numpy as np
from machine import best, options, report
from robots import sources

import ramidyn
from ramidyn.backend.llvm.jit import LoadedCode, compile_objects
from ramidyn.backend.llvm.target import host
from ramidyn.symbolic.expr import region

BATCH, FACTORS = 4096, 94
FRACTION, THREADS, LAYOUT = 0.40, 1.7, 1.25


def chain(A, B):
    """Return the product A B A B ... scaled to stay of order one."""
    product = A
    for k in range(FACTORS):
        region(f"factor {k}")
        product = product @ (B if k % 2 == 0 else A)
    return product


def peak(seconds: float) -> float:
    """Return the flop/s of a loop of independent fused multiply-adds."""
    lanes, chains, rounds = host().lanes("float64"), 12, 1_000_000
    V, N = f"<{lanes} x double>", f"v{lanes}f64"
    body, phis = [], []
    for k in range(chains):
        phis.append(f"%x{k} = phi {V} [ zeroinitializer, %entry ], [ %y{k}, %loop ]")
        body.append(f"%y{k} = call {V} @llvm.fma.{N}({V} %x{k}, {V} %m, {V} %a)")
    total = [f"%s0 = fadd {V} %y0, %y1"]
    total += [f"%s{k} = fadd {V} %s{k - 1}, %y{k + 1}" for k in range(1, chains - 1)]
    ir = f"""
    define double @loop(double %z) {{
    entry:
      %i0 = insertelement {V} undef, double %z, i32 0
      %m = shufflevector {V} %i0, {V} undef, <{lanes} x i32> zeroinitializer
      %a = fadd {V} %m, %m
      br label %loop
    loop:
      %n = phi i64 [ 0, %entry ], [ %n1, %loop ]
      {chr(10).join(phis)}
      {chr(10).join(body)}
      %n1 = add i64 %n, 1
      %more = icmp ult i64 %n1, {rounds}
      br i1 %more, label %loop, label %done
    done:
      {chr(10).join(total)}
      %r = extractelement {V} %s{chains - 2}, i32 0
      ret double %r
    }}"""
    (code,) = compile_objects([lambda: ir], host())
    loaded = LoadedCode([(code, ["loop"])], host())
    loop = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.addresses[0])
    return 2 * lanes * chains * rounds / best(lambda: loop(0.5), seconds)


FLOPS = {
    re.compile(r"vfn?m(add|sub)\d+p"): 2,
    re.compile(r"v(mul|add|sub|div)p"): 1,
}
"""of vector instructions, in each lane"""


def executed(assembly: str) -> tuple[int, int]:
    """Return how many instructions run for a tile, and their flops in each lane.

    A function that cuts call runs as far as its first return: the rest is for angles
    that are very large.
    """
    called: dict[str, tuple[int, int]] = {}
    total = np.zeros(2, int)
    for part in assembly.split(".file")[1:]:
        bodies = re.split(r"^([a-z]\w*):$", part, flags=re.MULTILINE)
        for name, body in zip(bodies[1::2], bodies[2::2], strict=True):
            lines = [x.split("#")[0].split() for x in body.splitlines()]
            run = [x for x in lines if x and x[0][0] != "." and x[0][-1] != ":"]
            if ["retq"] not in run:  # constants
                continue
            run = run[: run.index(["retq"]) + 1]
            counts = np.array([len(run), 0])
            for op, *arguments in run:
                counts[1] += next((n for x, n in FLOPS.items() if x.match(op)), 0)
                if op == "callq" and arguments[0] in called:
                    counts += called[arguments[0]]
            if "cut" in name:
                total += counts
            else:
                called[name] = (int(counts[0]), int(counts[1]))
    return int(total[0]), int(total[1])


def of_robots(
    seconds: float, batch: int, highest: float
) -> dict[str, dict[str, float]]:
    """Return the share of the peak that forward dynamics of robots reach."""
    rows: dict[str, dict[str, float]] = {}
    rng = np.random.default_rng(0)
    for name, source in sources().items():
        robot = source.load()
        f = ramidyn.compile(ramidyn.forward_dynamics, robot)
        q = robot.random_configuration(rng=rng, batch=batch)
        qd, tau = rng.normal(size=(2, batch, robot.nv))
        out = f(q, qd, tau)
        rate = batch / best(lambda f=f, x=(q, qd, tau), o=out: f(*x, out=o), seconds)
        instructions, flops = executed(f.assembly) if host().is_x86 else (0, 0)
        rows[name] = {
            "us": 1e6 / rate,
            "fraction_of_peak": f.ops.total * rate / highest,
            "executed_fraction": flops * rate / highest,
            "instructions": instructions / f.lanes,
        }
    return rows


def main() -> None:
    args = options(__doc__).parse_args()
    seconds, batch = (0.3, 512) if args.quick else (4.0, BATCH)
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, batch, 6, 6)) / 2.4
    shapes = {"A": (6, 6), "B": (6, 6)}
    first = ramidyn.kernel(chain, shapes)
    last = ramidyn.kernel(chain, shapes, layout="batch_last")
    two = ramidyn.kernel(chain, shapes, threads=2)
    out = first(A, B)
    Al, Bl = (np.ascontiguousarray(np.moveaxis(x, 0, -1)) for x in (A, B))
    out_last = last(Al, Bl)
    assert np.array_equal(np.moveaxis(out_last, -1, 0), out)
    times = {
        "batch_first": best(lambda: first(A, B, out=out), seconds),
        "batch_last": best(lambda: last(Al, Bl, out=out_last), seconds),
        "two_threads": best(lambda: two(A, B, out=out), seconds),
    }
    flops = first.ops.total * batch
    highest = peak(seconds)
    result = {
        "operations": first.ops.total,
        "batch": batch,
        "peak_gflops": highest / 1e9,
        "gflops": flops / times["batch_first"] / 1e9,
        "fraction_of_peak": flops / times["batch_first"] / highest,
        "threads_ratio": times["batch_first"] / times["two_threads"],
        "layout_ratio": times["batch_first"] / times["batch_last"],
        "robots": of_robots(seconds / 2, batch, highest),
    }
    report(result, args.json)
    if args.json:
        return
    print(f"{first.ops.total:,} operations a state, {batch:,} states")
    print(
        f"{result['gflops']:.1f} of {result['peak_gflops']:.1f} Gflop/s: "
        f"{result['fraction_of_peak']:.0%} of the peak (promise: {FRACTION:.0%})"
    )
    print(f"two threads: {result['threads_ratio']:.2f} x (promise: {THREADS})")
    print(f"batch-first / batch-last: {result['layout_ratio']:.2f} (at most {LAYOUT})")
    print("forward dynamics; share of the peak by the program, and executed")
    for name, row in result["robots"].items():
        print(
            f"{name:11} {row['us']:6.3f} us, {row['fraction_of_peak']:.0%}, "
            f"{row['executed_fraction']:.0%}; {row['instructions']:,.0f} instructions"
        )


if __name__ == "__main__":
    main()
