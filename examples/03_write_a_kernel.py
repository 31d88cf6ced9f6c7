"""Write a custom kernel: any function of scalars and arrays compiles.

Prints its operation count, the difference between NumPy and native code, and how much
faster a batch runs than the same formula in NumPy.
"""

import time

import numpy as np

import ramidyn


def rotate(q, p, sqrt=ramidyn.math.sqrt):
    """Rotate a point p by a quaternion q = (w, x, y, z) that need not be normalized."""
    w, x, y, z = q / sqrt(q @ q)
    u = np.array([x, y, z])
    t = 2 * cross(u, p)
    return p + w * t + cross(u, t)


def cross(a, b):
    """Return a × b of numbers, arrays or symbols."""
    return np.array(
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    )


def main() -> None:
    """Run the example."""
    kernel = ramidyn.kernel(rotate, {"q": 4, "p": 3})
    print(kernel)

    rng = np.random.default_rng(0)
    q, p = rng.normal(size=(20_000, 4)), rng.normal(size=(20_000, 3))
    ours = kernel(q, p)
    theirs = np.array([rotate(a, b, np.sqrt) for a, b in zip(q, p, strict=True)])
    print(f"largest difference: {np.abs(ours - theirs).max():.1e}")

    start = time.perf_counter()
    kernel(q, p, out=ours)
    compiled = time.perf_counter() - start
    start = time.perf_counter()
    for a, b in zip(q[:500], p[:500], strict=True):
        rotate(a, b, np.sqrt)
    looped = (time.perf_counter() - start) * len(q) / 500
    print(f"a batch is {looped / compiled:,.0f} times faster than a loop over NumPy")


if __name__ == "__main__":
    main()
