"""Draw a cart-pole before and after learning: python learned_policy.py picture.png."""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from ramidyn import policies

here = Path(__file__).parent.parent
names = runpy.run_path(str(here / "18_learned_policy.py"))
robot, policy, mean = names["robot"], names["policy"], names["mean"]
rng = np.random.default_rng(5)
q = rng.uniform(-0.1, 0.1, size=(40, 2))
options = {"dt": 0.02, "steps": 125, "policy": policy, "seed": 7}
figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for axis, title, factor in zip(axes, ("before", "after"), (0.0, 1.0), strict=True):
    inputs = {n: policies.shared(factor * x) for n, x in mean.items()}
    run = robot.rollout(q, inputs=inputs, **options)
    axis.plot(run.times, np.clip(run.q[..., 1], -1.6, 1.6).T, color="C0", lw=0.7)
    axis.set(title=title, xlabel="time [s]", ylim=(-1.6, 1.6))
    axis.grid(alpha=0.3)
axes[0].set_ylabel("angle of the pole [rad]")
figure.savefig(sys.argv[1], dpi=110)
