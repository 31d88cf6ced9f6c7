"""Turn a body's inertia into an input: one kernel for every payload.

Prints the torques that hold an arm with payloads of 0 to 2 kg, from one compiled
function and from a new robot for each payload.
"""

import numpy as np

import ramidyn
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

JOINT = Joint.revolute


def arm(payload: float) -> ramidyn.Robot:
    """Return a two-link arm with a payload on its hand."""
    link = Inertia.from_capsule(2.0, radius=0.04, length=0.4, at=(0, 0, 0.2))
    builder = RobotBuilder("arm")
    builder.add(Body("upper", link), joint=JOINT((0, 1, 0), name="shoulder"))
    builder.add(
        Body("lower", link), "upper", JOINT((0, 1, 0), name="elbow"), (0, 0, 0.4)
    )
    load = Inertia.from_sphere(max(payload, 1e-9), radius=0.05)
    hand = JOINT((0, 0, 1), name="wrist")
    builder.add(Body("hand", load), "lower", hand, (0, 0, 0.4))
    return builder.robot()


def main() -> None:
    """Run the example."""
    robot = arm(1.0)
    hold = ramidyn.compile(
        ramidyn.gravity_forces, robot, parameters=["inertia:hand", "gravity"]
    )
    print(hold)
    q = np.array([0.4, 0.8, 0.0])
    earth, moon = np.array([0.0, 0.0, -9.81]), np.array([0.0, 0.0, -1.62])
    for payload in (0.0, 0.5, 1.0, 2.0):
        # mass, mass times center, and the inertia about the origin: xx xy yy xz yz zz
        i = 0.4 * payload * 0.05**2
        inertia = np.array([payload, 0, 0, 0, i, 0, i, 0, 0, i])
        forces = hold(q, inertia, earth)
        again = arm(payload).gravity_forces(q)
        lunar = hold(q, inertia, moon)
        print(
            f"{payload:3.1f} kg: {forces.round(3)} N m, again {again.round(3)},", end=""
        )
        print(f" on the moon {lunar.round(3)}")


if __name__ == "__main__":
    main()
