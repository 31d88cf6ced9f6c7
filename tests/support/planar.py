"""A four-bar and a slider-crank in the x-z plane, and their motion in closed form."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.description.pose import Pose
from ramidyn.mechanism.loops import add_loop
from ramidyn.robot import Robot
from support.loops import as_robot

UP = (0.0, -1.0, 0.0)
"""turns x towards z"""
CRANK, COUPLER, ROCKER, GROUND = 0.1, 0.3, 0.25, 0.3
MASSES = (0.5, 1.0, 0.8)
WIDTH, GRAVITY = 0.02, 9.81


def rod(mass: float, length: float) -> Inertia:
    return Inertia.from_box(mass, (length, WIDTH, WIDTH), at=(length / 2, 0, 0))


def pin_at(x: float) -> Pose:
    """Return a frame with z along the axis of the joints."""
    return Pose(np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]]), np.array([x, 0, 0]))


def open_bars() -> Robot:
    b = RobotBuilder("four_bar")
    b.add(
        Body("crank", rod(0.5, CRANK)), "world", Joint.revolute(UP, name="crank_joint")
    )
    joint = Joint.revolute(UP, name="coupler_joint")
    b.add(Body("coupler", rod(1.0, COUPLER)), "crank", joint, (CRANK, 0, 0))
    joint = Joint.revolute(UP, name="rocker_joint")
    b.add(Body("rocker", rod(0.8, ROCKER)), "world", joint, (GROUND, 0, 0))
    return as_robot(b.description())


def four_bar(joint: str = "revolute") -> Robot:
    at, to = pin_at(COUPLER), pin_at(ROCKER)
    return add_loop(
        open_bars(),
        "coupler",
        "rocker",
        joint=joint,
        placement_a=at,
        placement_b=to,
        name="pin",
    )


def four_bar_knee() -> Robot:
    """Return a leg with a four-bar knee on a floating base, and a foot beyond it."""
    b = RobotBuilder("leg")
    b.add(Body("base", Inertia.from_box(8.0, (0.3, 0.2, 0.1))), "world")

    def link(name: str, mass: float, length: float) -> Body:
        box = Inertia.from_box(mass, (length, 0.03, 0.03), at=(length / 2, 0.01, 0))
        return Body(name, box)

    def pin(name: str) -> Joint:
        return Joint.revolute(UP, name=name)

    b.add(link("hip", 1.0, 0.1), "base", Joint.revolute((1, 0, 0), name="hip_roll"))
    b.add(link("thigh", 3.0, 0.4), "hip", pin("hip_pitch"), (0.1, 0, 0))
    b.add(link("shank", 2.0, 0.4), "thigh", pin("knee"), (0.4, 0, 0))
    b.add(link("crank", 0.3, 0.06), "thigh", pin("motor"), (0.1, 0, 0.02))
    b.add(link("coupler", 0.4, 0.3), "crank", pin("coupler_joint"), (0.06, 0, 0))
    b.add(link("foot", 0.5, 0.1), "shank", pin("ankle"), (0.4, 0, 0))
    robot = b.robot(root="floating")
    return robot.add_loop(
        "coupler",
        "shank",
        joint="revolute",
        placement_a=pin_at(0.3),
        placement_b=pin_at(0.07),
        name="four_bar",
        check=False,
    )


def slider_crank() -> Robot:
    b = RobotBuilder("slider_crank")
    b.add(
        Body("crank", rod(0.5, CRANK)), "world", Joint.revolute(UP, name="crank_joint")
    )
    joint = Joint.revolute(UP, name="coupler_joint")
    b.add(Body("coupler", rod(1.0, COUPLER)), "crank", joint, (CRANK, 0, 0))
    slider = Body("slider", Inertia.from_box(0.8, (0.05, 0.05, 0.05)))
    b.add(slider, "world", Joint.prismatic((1, 0, 0), name="slider_joint"))
    robot = as_robot(b.description())
    return add_loop(
        robot,
        "coupler",
        "slider",
        joint="revolute",
        placement_a=pin_at(COUPLER),
        placement_b=pin_at(0.0),
        name="pin",
    )


def parallelogram(cranks: int = 3, rotors: int = 0) -> Robot:
    """Return equal cranks on one coupler: all but two of them are too many.

    Rotors turn on their own; nothing drives the cranks by them.
    """
    b = RobotBuilder("parallelogram")
    for k in range(rotors):
        rotor = Body(f"rotor{k}", Inertia.from_cylinder(0.2, 0.03, 0.02))
        joint = Joint.revolute((0, 0, 1), name=f"rotor{k}_joint")
        b.add(rotor, "world", joint, Pose.from_axis_angle((1, 0, 0), np.pi / 2))
    for k in range(cranks):
        joint = Joint.revolute(UP, name=f"crank{k}_joint")
        upright = Pose.from_axis_angle(UP, np.pi / 2, (0.3 * k, 0, 0))
        b.add(Body(f"crank{k}", rod(0.5, 0.2)), "world", joint, upright)
    joint = Joint.revolute(UP, name="coupler_joint")
    level = Pose.from_axis_angle(UP, -np.pi / 2, (0.2, 0, 0))
    b.add(Body("coupler", rod(1.0, 0.6)), "crank0", joint, level)
    robot = as_robot(b.description())
    for k in range(1, cranks):
        robot = add_loop(
            robot,
            "coupler",
            f"crank{k}",
            joint="revolute",
            placement_a=pin_at(0.3 * k),
            placement_b=pin_at(0.2),
            name=f"pin{k}",
        )
    return robot


def swung(robot: Robot, angle: float, rate: float) -> tuple[Any, Any]:
    """Return q and q̇ of a parallelogram with its cranks at an angle."""
    signs = [-1.0 if n == "coupler_joint" else 1.0 for n in robot.joint_names]
    return angle * np.array(signs), rate * np.array(signs)


def double_four_bar() -> Robot:
    """Return three upright bars of 1 m and two couplers: singular when it lies flat."""
    b = RobotBuilder("double_four_bar")
    bar = Inertia.from_box(1.0, (1.0, WIDTH, WIDTH), at=(0.5, 0, 0))
    for k in range(3):
        joint = Joint.revolute(UP, name=f"bar{k}_joint")
        upright = Pose.from_axis_angle(UP, np.pi / 2, (k, 0, 0))
        b.add(Body(f"bar{k}", bar), "world", joint, upright)
        if k < 2:
            joint = Joint.revolute(UP, name=f"coupler{k}_joint")
            level = Pose.from_axis_angle(UP, -np.pi / 2, (1.0, 0, 0))
            b.add(Body(f"coupler{k}", bar), f"bar{k}", joint, level)
    robot = as_robot(b.description())
    for k in range(2):
        ends, at = (f"coupler{k}", f"bar{k + 1}"), pin_at(1.0)
        robot = add_loop(
            robot,
            *ends,
            joint="revolute",
            placement_a=at,
            placement_b=at,
            name=f"pin{k}",
        )
    return robot


class Planar:
    """One degree of freedom: M(θ) θ̈ + ½ M' θ̇² + V' = τ, by derivatives of points."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def tip(self, t: Any) -> Any:
        return mpmath.mpc(0, 0) + CRANK * mpmath.expj(t)

    def pin(self, t: Any) -> Any:
        """Where coupler and rocker (or slider) meet, as x + i z."""
        C = self.tip(t)
        if self.kind == "slider_crank":
            return C.real + mpmath.sqrt(COUPLER**2 - C.imag**2)
        e = GROUND - C
        d2 = abs(e) ** 2
        a = (COUPLER**2 - ROCKER**2 + d2) / (2 * d2)
        b = mpmath.sqrt(COUPLER**2 / d2 - a * a)
        return C + e * (a + 1j * b)

    def angles(self, t: Any) -> tuple[Any, Any]:
        """The directions of the coupler and the rocker."""
        P = self.pin(t)
        return mpmath.arg(P - self.tip(t)), mpmath.arg(P - GROUND)

    def q(self, t: Any) -> Any:
        coupler, rocker = self.angles(t)
        last = self.pin(t) if self.kind == "slider_crank" else rocker
        return [mpmath.mpf(t), coupler - t, mpmath.re(last)]

    def inertia(self, t: Any) -> Any:
        """M(θ): twice the kinetic energy at θ̇ = 1."""
        moments = [m * WIDTH**2 / 12 for m in MASSES]
        slope = lambda f: mpmath.diff(f, t)  # noqa: E731
        crank = MASSES[0] * CRANK**2 / 3 + moments[0]
        middle = lambda x: (self.tip(x) + self.pin(x)) / 2  # noqa: E731
        coupler = MASSES[1] * abs(slope(middle)) ** 2 + slope(
            lambda x: self.angles(x)[0]
        ) ** 2 * (MASSES[1] * COUPLER**2 / 12 + moments[1])
        if self.kind == "slider_crank":
            return crank + coupler + MASSES[2] * abs(slope(self.pin)) ** 2
        rocker = MASSES[2] * ROCKER**2 / 3 + moments[2]
        return crank + coupler + rocker * slope(lambda x: self.angles(x)[1]) ** 2

    def potential(self, t: Any) -> Any:
        C, P = self.tip(t), self.pin(t)
        heights = [C.imag / 2, (C + P).imag / 2 if hasattr(P, "imag") else C.imag / 2]
        heights.append(0 if self.kind == "slider_crank" else P.imag / 2)
        return GRAVITY * sum(m * h for m, h in zip(MASSES, heights, strict=True))

    def state(self, t: float, td: float) -> tuple[Any, Any]:
        """q and q̇ at crank angle t and rate td."""
        rates = [mpmath.diff(lambda x, k=k: self.q(x)[k], t) * td for k in range(3)]
        return np.array(self.q(t), dtype=float), np.array(rates, dtype=float)

    def acceleration(self, t: float, td: float, tau: float) -> Any:
        """q̈ under a torque on the crank."""
        with mpmath.workdps(30):
            slope = mpmath.diff(self.inertia, t)
            force = tau - slope * td**2 / 2 - mpmath.diff(self.potential, t)
            tdd = force / self.inertia(t)
            out = []
            for k in range(3):
                f = lambda x, k=k: self.q(x)[k]  # noqa: E731
                out.append(mpmath.diff(f, t) * tdd + mpmath.diff(f, t, 2) * td**2)
        return np.array(out, dtype=float)
