"""Draw the force elements of docs/forces.md: force over deflection, speed or slip.

python examples/pictures/forces.py docs/images/forces.png
"""

import sys
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import ramidyn
from ramidyn import forces
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder

SOLID, DASHED, DOTTED = "-", "--", ":"
COLORS = {SOLID: "#2f6f9f", DASHED: "#d9822b", DOTTED: "#7a2e2e"}


def robot_with(joint: Joint) -> ramidyn.Robot:
    """Return one body on a joint."""
    builder = RobotBuilder("body")
    inertia = Inertia.from_box(1.0, (0.2, 0.3, 0.4))
    builder.add(Body("body", inertia), "world", joint)
    return builder.robot()


HINGE = robot_with(Joint.revolute((0, 1, 0), name="hinge", limits=(-1.0, 1.0)))
SLIDE = robot_with(Joint.prismatic((1, 0, 0), name="slide"))
LIFT = robot_with(Joint.prismatic((0, 0, 1), name="lift"))
FREE = robot_with(Joint.floating(name="free"))


def applied(
    robot: ramidyn.Robot, element: Any, q: Any, qd: Any, control: Any = None
) -> Any:
    """Return what an element applies to the robot at some states."""
    with_force = robot.add_force(element)
    q, qd = (np.reshape(x, (len(x), -1)).astype(float) for x in (q, qd))
    inputs = {} if control is None else {"control": control}
    return with_force.applied_forces(q, qd, **inputs)


def single(robot: ramidyn.Robot, element: Any, q: Any, qd: Any = None) -> Any:
    """Return the force along the one joint of a robot."""
    still = np.zeros_like(q) if qd is None else qd
    return applied(robot, element, q, still)[:, 0]


X = np.linspace(-1.5, 1.5, 301)
V = np.linspace(-0.1, 0.1, 301)
TOUCHING = np.linspace(-0.01, 0.03, 201)


def tire_forces(slip: Any, angle: Any) -> Any:
    """Return the force of a tire at 10 m/s, along its heading and across."""
    tire = forces.Tire("body", 0.5, 2e5, 0.0, 6e4, 5e4, friction=0.9)
    n = len(slip)
    q = np.tile([0.0, 0.0, 0.48, 0.0, 0.0, 0.0, 1.0], (n, 1))
    qd = np.zeros((n, 6))
    qd[:, 0], qd[:, 1] = 10.0, 10.0 * np.tan(angle)
    qd[:, 4] = 10.0 * (1.0 + slip) / 0.5
    return applied(FREE, tire, q, qd)[:, :2]


def curves() -> dict[str, Any]:
    """Return, for each element, the labels of its axes and its lines."""
    slip = np.linspace(-0.3, 0.3, 301)
    rest = np.zeros_like(slip)
    strut = {"stiffness": 10.0, "rest_length": 1.0}
    length = np.linspace(0.2, 2.0, 301)
    fast = np.full_like(TOUCHING, 0.3)
    point = forces.PointContact("body", 2e3, dissipation=1.0)
    sphere = forces.SphereContact("body", 0.1, 2e4, dissipation=1.0)
    servo = forces.PositionServo("hinge", 10.0, force_range=(-8.0, 8.0))
    zero = np.zeros((len(X), 1))
    turned = np.linspace(-3.0, 3.0, 301)
    return {
        "joint_spring": (
            ("q [rad]", "τ [N m]"),
            {"JointSpring": (X, single(HINGE, forces.JointSpring("hinge", 10.0), X))},
        ),
        "joint_damper": (
            ("q̇ [rad/s]", "τ [N m]"),
            {
                "JointDamper": (
                    X,
                    single(HINGE, forces.JointDamper("hinge", 2.0), 0 * X, X),
                )
            },
        ),
        "joint_friction": (
            ("q̇ [rad/s]", "τ [N m]"),
            {
                "transition_velocity 0.01": (
                    V,
                    single(HINGE, forces.JointFriction("hinge", 2.0), 0 * V, V),
                ),
                "0.03": (
                    V,
                    single(HINGE, forces.JointFriction("hinge", 2.0, 0.03), 0 * V, V),
                ),
            },
        ),
        "joint_limit": (
            ("q [rad]", "τ [N m]"),
            {
                "at rest": (X, single(HINGE, forces.JointLimit("hinge", 50.0, 0.5), X)),
                "q̇ = 1 rad/s": (
                    X,
                    single(HINGE, forces.JointLimit("hinge", 50.0, 0.5), X, 1 + 0 * X),
                ),
            },
        ),
        "tendon": (
            ("q [rad]", "τ [N m]"),
            {
                "slack from −0.3 to 0.5": (
                    X,
                    single(
                        HINGE,
                        forces.Tendon(
                            ("hinge",), (1.0,), 10.0, rest_length=(-0.3, 0.5)
                        ),
                        X,
                    ),
                )
            },
        ),
        "point_spring": (
            ("length [m]", "force on b [N]"),
            {
                label: (
                    length,
                    single(
                        SLIDE,
                        forces.PointSpring("world", "body", one_sided=side, **strut),
                        length,
                    ),
                )
                for label, side in (
                    ("both sides", None),
                    ("tension: a cable", "tension"),
                    ("compression: a stop", "compression"),
                )
            },
        ),
        "torsion_spring": (
            ("angle [rad]", "moment on b [N m]"),
            {
                "TorsionSpring": (
                    turned,
                    single(HINGE, forces.TorsionSpring("world", "body", 10.0), turned),
                )
            },
        ),
        "bushing": (
            ("offset along x [m]", "force on b [N]"),
            {
                "at rest": (
                    X,
                    single(SLIDE, forces.Bushing("world", "body", (10.0, 0.0, 0.0)), X),
                ),
                "ẋ = 1 m/s, damping 4": (
                    X,
                    single(
                        SLIDE,
                        forces.Bushing("world", "body", (10.0, 0, 0), (4.0, 0, 0)),
                        X,
                        1.0 + 0 * X,
                    ),
                ),
            },
        ),
        "position_servo": (
            ("q [rad]", "τ [N m]"),
            {
                "control 0": (X, applied(HINGE, servo, X, zero, zero)[:, 0]),
                "control 0.5": (X, applied(HINGE, servo, X, zero, zero + 0.5)[:, 0]),
            },
        ),
        "point_contact": (
            ("depth [m]", "normal force [N]"),
            {
                "at rest": (TOUCHING, single(LIFT, point, -TOUCHING)),
                "sinking in at 0.3 m/s": (
                    TOUCHING,
                    single(LIFT, point, -TOUCHING, -fast),
                ),
                "coming out": (TOUCHING, single(LIFT, point, -TOUCHING, fast)),
            },
        ),
        "sphere_contact": (
            ("depth [m]", "normal force [N]"),
            {
                "at rest": (TOUCHING, single(LIFT, sphere, 0.1 - TOUCHING)),
                "sinking in at 0.3 m/s": (
                    TOUCHING,
                    single(LIFT, sphere, 0.1 - TOUCHING, -fast),
                ),
                "coming out": (TOUCHING, single(LIFT, sphere, 0.1 - TOUCHING, fast)),
            },
        ),
        "tire": (
            ("slip, or tan of the slip angle", "force [N]"),
            {
                "along, no slip angle": (slip, tire_forces(slip, rest)[:, 0]),
                "along, slip angle 0.1 rad": (
                    slip,
                    tire_forces(slip, rest + 0.1)[:, 0],
                ),
                "across, no slip": (np.tan(slip), tire_forces(rest, slip)[:, 1]),
            },
        ),
    }


def main() -> None:
    """Draw every element in its own panel."""
    panels = curves()
    figure = Figure(figsize=(13, 9.5), layout="constrained")
    for axis, (name, ((x, y), lines)) in zip(
        figure.subplots(3, 4).flat, panels.items(), strict=True
    ):
        styles = (SOLID, DASHED, DOTTED)
        for (label, (a, b)), style in zip(lines.items(), styles, strict=False):
            axis.plot(a, b, style, color=COLORS[style], label=label, lw=2)
        title = "".join(word.capitalize() for word in name.split("_"))
        axis.set(xlabel=x, ylabel=y, title=title)
        axis.grid(alpha=0.3)
        if next(iter(lines)) != title:
            axis.legend(fontsize=8)
    figure.savefig(sys.argv[1], dpi=90)


if __name__ == "__main__":
    main()
