"""What sensors of a robot measure in a step, as symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ramidyn.algorithms.integrators import StepState
from ramidyn.description.forces.actuators import ACTUATORS
from ramidyn.description.sensors import Sensor
from ramidyn.errors import ArgumentError, unknown_name
from ramidyn.quantities.applied import applied_forces
from ramidyn.quantities.frames import acceleration, pose, velocity
from ramidyn.quantities.reactions import joint_wrenches
from ramidyn.symbolic import functions as math
from ramidyn.symbolic.parameters import parameters_of

if TYPE_CHECKING:
    from ramidyn.description.description import Description
    from ramidyn.robot import Robot
    from ramidyn.simulation.traced_step import TracedStep


def sensors_by_name(robot: Robot) -> dict[str, Sensor]:
    """Return the sensors of a robot whose frame, joint or actuator it still has."""
    model, description = robot.model, robot.model.description
    if description is None or not description.sensors:
        return {}
    joints = {j.name for j in model.joints if j.nq == j.nv == 1}
    drives = {f.name for f in model.forces if isinstance(f, ACTUATORS)}
    return {
        s.name: s
        for s in description.sensors
        if s.at in (model.frames if _is_at_frame(s) else {*joints, *drives})
    }


def with_sensor(robot: Robot, sensor: object) -> Description:
    """Return the description of a robot with one more sensor."""
    model, description = robot.model, robot.model.description
    assert description is not None
    if not isinstance(sensor, Sensor):
        raise ArgumentError(
            f"add_sensor: {sensor!r} given; expected a sensor, such as "
            'ramidyn.policies.Sensor("gyro", "body3", name="gyro")'
        )
    if sensor.name in sensors_by_name(robot):
        raise ArgumentError(
            f"robot {robot.name!r} has a sensor {sensor.name!r}; choose another name"
        )
    if _is_at_frame(sensor):
        model.frame(sensor.at)
    elif sensor.kind.startswith("joint"):
        joint = model.joint(sensor.at)
        if joint.nq != 1:
            raise ArgumentError(
                f"sensor {sensor.name!r} is at joint {sensor.at!r} with nq = "
                f"{joint.nq}; expected a joint with one coordinate"
            )
    else:
        drives = [f.name for f in model.forces if isinstance(f, ACTUATORS)]
        if sensor.at not in drives:
            raise unknown_name("actuator", sensor.at, f"robot {robot.name!r}", drives)
    return replace(description, sensors=(*description.sensors, sensor))


def _is_at_frame(sensor: Sensor) -> bool:
    return sensor.kind[:5] not in ("joint", "actua")


def measured(step: TracedStep, sensor: Sensor, known: StepState) -> Any:
    """Return what a sensor measures, up to its cutoff."""
    found = _measured(step, sensor, known)
    if not sensor.cutoff or sensor.kind == "framequat":
        return found
    return math.clip(found, -sensor.cutoff, sensor.cutoff)


def _measured(step: TracedStep, sensor: Sensor, known: StepState) -> Any:
    """Return what a sensor without a cutoff measures."""
    kind, robot = sensor.kind, step.robot
    if not _is_at_frame(sensor):
        return _joint_measured(step, sensor, known)
    R = step.evaluated(pose(sensor.at), known)  # noqa: N806  as in papers
    if kind == "framepos":
        return R[:3, 3]
    R = R[:3, :3]  # noqa: N806
    if kind == "framequat":
        return quaternion(R)
    if kind == "magnetometer":
        return R.T @ np.array(sensor.field)
    if kind == "accelerometer":
        a = step.evaluated(acceleration(sensor.at), known)
        gravity = known.get("gravity", _gravity(robot))
        return _halves(robot, a)[0] - R.T @ np.asarray(gravity)
    if kind in ("force", "torque"):
        return _wrench(step, sensor, R, known)
    linear, angular = _halves(robot, step.evaluated(velocity(sensor.at), known))
    local = angular if kind in ("gyro", "frameangvel") else linear
    return local if kind in ("gyro", "velocimeter") else R @ local


def _joint_measured(step: TracedStep, sensor: Sensor, known: StepState) -> Any:
    """Return what a sensor at a joint or an actuator measures."""
    robot, forces = step.robot, step.robot.model.forces
    at, gear = sensor.at, 1.0
    if sensor.kind.startswith("actuator"):
        drive: Any = next(f for f in forces if f.name == sensor.at)
        gear = float(np.ravel(drive.gear)[0])
        at = drive.joint
        if not at:
            raise ArgumentError(
                f"sensor {sensor.name!r} is at an actuator of a tendon; possible: "
                "actuators of joints"
            )
    joint = robot.joint(at)
    if sensor.kind == "jointactuatorfrc":
        drives = tuple(f.name for f in forces if isinstance(f, ACTUATORS))
        applied = step.evaluated(applied_forces(forces=drives), known)
        return applied[joint.v_index]
    is_position = sensor.kind.endswith("pos")
    value = known["q"][joint.q_index] if is_position else known["qd"][joint.v_index]
    return gear * value


def _wrench(step: TracedStep, sensor: Sensor, R: Any, known: StepState) -> Any:  # noqa: N803
    """Return the force or the torque of a parent on its child, at a frame."""
    robot = step.robot
    if robot.model.loops:
        raise ArgumentError(
            f"sensor {sensor.name!r} measures a {sensor.kind}, which is not computed "
            "for robots with loops"
        )
    how = joint_wrenches(**{**step.wrenches, "expressed_in": "world"})
    if step.wrenches and step.options.expressed_in != "world":
        raise ArgumentError(
            f"sensor {sensor.name!r} measures a {sensor.kind}; with external wrenches "
            "pass expressed_in='world'"
        )
    body = robot.model.frame(sensor.at).body
    force, torque = _halves(robot, step.evaluated(how, known)[body])
    if sensor.kind == "force":
        return R.T @ force
    p = step.evaluated(pose(sensor.at), known)[:3, 3]
    return R.T @ (torque - math.cross(p, force))


def _halves(robot: Robot, six: Any) -> tuple[Any, Any]:
    """Return the linear and the angular half of a 6-vector."""
    first, second = six[:3], six[3:]
    is_linear_first = robot.conventions.order == "linear_first"
    return (first, second) if is_linear_first else (second, first)


def _gravity(robot: Robot) -> tuple[float, float, float]:
    description = robot.model.description
    assert description is not None
    return description.gravity


def quaternion(R: Any) -> Any:  # noqa: N803  as in papers
    """Return (w, x, y, z) of a rotation matrix, w ≥ 0, from its largest entry."""
    t = [
        1.0 + R[0, 0] + R[1, 1] + R[2, 2],
        1.0 + R[0, 0] - R[1, 1] - R[2, 2],
        1.0 - R[0, 0] + R[1, 1] - R[2, 2],
        1.0 - R[0, 0] - R[1, 1] + R[2, 2],
    ]
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[1, 0] + R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2]
    rows = [[t[0], a, b, c], [a, t[1], d, e], [b, d, t[2], f], [c, e, f, t[3]]]
    best, largest = rows[0], t[0]
    for row, size in zip(rows[1:], t[1:], strict=True):
        is_larger = size > largest
        best = [math.where(is_larger, x, y) for x, y in zip(row, best, strict=True)]
        largest = math.where(is_larger, size, largest)
    scale = 0.5 / math.sqrt(largest)
    sign = math.where(best[0] < 0.0, -1.0, 1.0)
    return np.array([x * scale * sign for x in best], dtype=object)


def asked_sensors(robot: Robot, functions: Iterable[object]) -> tuple[Sensor, ...]:
    """Return the sensors of a robot that functions or records name."""
    known = sensors_by_name(robot)
    names = names_in(functions) if known else set[str]()
    return tuple(s for n, s in known.items() if n in names)


def names_in(functions: Iterable[object]) -> set[str]:
    """Return all names that functions ask for, and names of records."""
    names: set[str] = set()
    for one in functions:
        if callable(one):
            names.update(parameters_of(cast(Any, one)) or ())
        elif isinstance(one, str):
            names.add(one)
        elif isinstance(one, Mapping):
            names |= names_in(cast("Mapping[Any, Any]", one).values())
        elif isinstance(one, list | tuple):
            names |= names_in(cast("list[Any]", one))
    return names
