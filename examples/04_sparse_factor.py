"""Factor a mass matrix along its tree: M = LᵀDL without fill-in, for any size.

Prints the nonzeros of M, the operations of the sparse and the full factorization, the
error of a solve, and the log-determinant, compared with NumPy's.
"""

import numpy as np

import ramidyn
from ramidyn import robots
from ramidyn.linalg import D1, D2


def main() -> None:
    """Run the example."""
    robot = robots.humanoid30("plain")
    parents = robot.tree.dof_parents
    n, d1, d2 = robot.nv, D1(parents), D2(parents)
    print(f"{n + 2 * d1} of {n * n} entries of M can be nonzero")
    print(f"to factor: {d1 + 2 * d2:,} operations; a full matrix: {full(n):,}")

    M = robot.mass_matrix(robot.random_configuration(rng=0))
    factor = ramidyn.linalg.ltdl(M, parents)
    b = np.arange(1.0, n + 1)
    x = factor.solve(b)
    print(f"residual of a solve: {np.abs(M @ x - b).max():.1e}")
    print(f"log det M: {factor.logdet():.6f}, NumPy {np.linalg.slogdet(M)[1]:.6f}")

    # A swarm of 2,000 arms with three joints each: nothing is compiled for it.
    arms = 2000
    parents = [-1 if k % 3 == 0 else k - 1 for k in range(3 * arms)]
    block = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.7], [0.5, 0.7, 2.0]])
    lower = np.concatenate([block[k][: k + 1] for k in range(3)])
    values = np.tile(lower, arms)
    swarm = ramidyn.linalg.ltdl(ramidyn.linalg.TreeMatrix(tuple(parents), values))
    print(f"a swarm of {3 * arms:,} joints, log det {swarm.logdet():.3f}")


def full(n: int) -> int:
    """Return the operations of LTDL on a full matrix."""
    return (n * n - n) // 2 + 2 * (n**3 - n) // 6


if __name__ == "__main__":
    main()
