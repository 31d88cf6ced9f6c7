"""Sensors: what they measure, and where. Rollouts compute them; see `Robot.sensors`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, final

from ramidyn.errors import ArgumentError, did_you_mean


class SensorKind(NamedTuple):
    """What there is to know about a kind of sensor."""

    at: str
    """what it names: a frame, a joint or an actuator"""
    is_of_motion: bool
    """whether q and q̇ suffice; others need accelerations"""


FRAME, JOINT, ACTUATOR = "frame", "joint", "actuator"
SENSOR_KINDS: Final = {
    "framepos": SensorKind(FRAME, True),
    "framequat": SensorKind(FRAME, True),
    "framelinvel": SensorKind(FRAME, True),
    "frameangvel": SensorKind(FRAME, True),
    "gyro": SensorKind(FRAME, True),
    "velocimeter": SensorKind(FRAME, True),
    "magnetometer": SensorKind(FRAME, True),
    "jointpos": SensorKind(JOINT, True),
    "jointvel": SensorKind(JOINT, True),
    "actuatorpos": SensorKind(ACTUATOR, True),
    "actuatorvel": SensorKind(ACTUATOR, True),
    "accelerometer": SensorKind(FRAME, False),
    "force": SensorKind(FRAME, False),
    "torque": SensorKind(FRAME, False),
    "jointactuatorfrc": SensorKind(JOINT, False),
}
MAGNETIC_FIELD: Final = (0.0, -0.5, 0.0)
"""MuJoCo's, where a file has none"""


@final
@dataclass(frozen=True, slots=True)
class Sensor:
    """A sensor of a robot, in the words of MJCF.

    Axes are the frame's own unless said otherwise:

        framepos, framequat         position [m], quaternion (w, x, y, z), in the world
        framelinvel, frameangvel    velocity in world axes [m/s, rad/s]
        gyro, velocimeter           angular and linear velocity [rad/s, m/s]
        accelerometer               specific force: acceleration minus gravity [m/s²]
        magnetometer                ``field``, which is in the world
        force, torque               of the parent on the frame's body [N, N m]
        jointpos, jointvel          of a joint with one coordinate
        actuatorpos, actuatorvel    the same times the gear of an actuator
        jointactuatorfrc            force of all actuators along a joint [N m, N]

    Args:
        kind: one of these.
        at: the frame, the joint or the actuator.
        name: name of the sensor, by which functions of rollouts take it.
        field: of a magnetometer.
        cutoff: largest absolute value of what is measured; 0: there is none.
    """

    kind: str
    at: str
    name: str
    field: tuple[float, float, float] = MAGNETIC_FIELD
    cutoff: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in SENSOR_KINDS:
            raise ArgumentError(
                f"kind is {self.kind!r}{did_you_mean(self.kind, SENSOR_KINDS)}; "
                f"possible: {', '.join(SENSOR_KINDS)}"
            )
        if not isinstance(self.name, str) or not self.name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"name is {self.name!r}; expected a name")
        if not self.cutoff >= 0.0:
            raise ArgumentError(f"cutoff is {self.cutoff!r}; expected 0 or more")

    @property
    def is_of_motion(self) -> bool:
        """Whether q and q̇ suffice; others need accelerations."""
        return SENSOR_KINDS[self.kind].is_of_motion
