"""Compile several quantities into one kernel and inspect the result.

Prints the operations of each quantity alone and of all together (shared parts are
computed once), the algorithm that "auto" chose, and the first lines of the program.
"""

import numpy as np

import ramidyn
from ramidyn import robots


def main() -> None:
    """Run the example."""
    robot = robots.humanoid30("plain")
    wanted = [ramidyn.mass_matrix, ramidyn.bias_forces, ramidyn.jacobian("left_hand")]

    total = 0
    for quantity in wanted:
        ops = ramidyn.count(quantity, robot)
        total += ops.total
        print(f"{quantity.name:20} {ops.total:6,}")
    fused = ramidyn.compile(wanted, robot)
    print(f"{'separately':20} {total:6,}")
    print(f"{'in one kernel':20} {fused.ops.total:6,}")

    q, qd = robot.random_configuration(rng=0), np.zeros(robot.nv)
    found = fused(q, qd)
    print("outputs:", ", ".join(f"{n} {x.shape}" for n, x in found._asdict().items()))

    for algorithm in ("aba", "ltdl"):
        ops = ramidyn.count(ramidyn.forward_dynamics(algorithm=algorithm), robot)
        print(f"forward dynamics by {algorithm:5} costs {ops.cost:6,} multiplications")

    lines = str(fused.program).splitlines()
    print(*lines[:5], f"... {len(fused.program.order):,} nodes", sep="\n")


if __name__ == "__main__":
    main()
