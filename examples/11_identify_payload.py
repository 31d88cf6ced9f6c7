"""Identify a payload and joint friction from noisy torques.

Prints how many parameters of an arm can be identified, the condition numbers of a poor
and of a rich excitation, and the estimates from each next to the true values: the mass
and center of a payload, and the damping and friction of the joints.
"""

import numpy as np

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

TERMS = ("damping", "friction")


def arm(payload: float) -> ramidyn.Robot:
    """Return an arm of three joints, with a payload that it is fixed to."""
    link = Inertia.from_capsule(2.0, radius=0.05, length=0.4, at=(0, 0, 0.2))
    load = Inertia.from_box(payload, (0.1, 0.2, 0.1), at=(0.03, -0.02, 0.05))
    builder, parent = RobotBuilder("arm"), "world"
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (1, 0, 0)]):
        joint = Joint.revolute(axis, damping=0.8 + 0.2 * k, friction=0.5)
        builder.add(Body(f"link{k}", link), parent, joint, (0, 0, 0.4))
        parent = f"link{k}"
    builder.add(Body("load", load), parent, placement=(0, 0, 0.4))
    return builder.robot()


def motion(nv: int, size: float) -> tuple[np.ndarray, ...]:
    """Return q, qd and qdd along sums of five sines, of a size in radians."""
    rng, t = np.random.default_rng(4), np.linspace(0.0, 10.0, 1000)[:, None, None]
    w, (a, phase) = 0.8 * np.arange(1, 6), rng.normal(size=(2, nv, 5))
    a, s, c = size * a / w, np.sin(w * t + phase), np.cos(w * t + phase)
    return (a * s).sum(-1), (a * w * c).sum(-1), (-a * w**2 * s).sum(-1)


def main() -> None:
    """Run the example."""
    known, loaded = arm(0.0), arm(1.5)
    print(f"{loaded.base_parameters().rank} of 30 parameters can be told apart")
    truth = loaded.inertial_parameters(["load"], TERMS)
    report("truth", truth)
    noise = 0.1 * np.random.default_rng(5).normal(size=(1000, loaded.nv))
    for size in (0.05, 1.0):
        state = motion(loaded.nv, size)
        Y = loaded.regressor(*state, bodies=["load"], joint_terms=TERMS)
        tau = loaded.inverse_dynamics(*state) + Y[..., 10:] @ truth[10:] + noise
        A, b = np.concatenate(Y), (tau - known.inverse_dynamics(*state)).ravel()
        found = np.linalg.lstsq(A, b, rcond=None)[0]
        report(f"condition {np.linalg.cond(A):.0f}", found)


def report(title: str, p: np.ndarray) -> None:
    """Print mass and center of the payload, damping and friction of the joints."""
    parts = [x.round(2) for x in (p[:1], p[1:4] / p[0], p[10:13], p[13:])]
    print("{}: {} kg at {} m, damping {}, friction {}".format(title, *parts))


if __name__ == "__main__":
    main()
