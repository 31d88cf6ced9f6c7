"""Force elements as data: what they refuse, how they are named, edited and shown."""

from __future__ import annotations

import inspect
import math
import pickle
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn import forces
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.compiler import program_of
from ramidyn.description.description import Description
from ramidyn.errors import (
    ArgumentError,
    Error,
    ModelError,
    ModelWarning,
    ShapeError,
    TraceError,
    UnknownName,
)
from ramidyn.robot import Robot
from ramidyn.symbolic.interpreter import evaluate
from support.close import assert_close


def arm() -> Robot:
    """Return two links, a ball joint and a sliding one."""
    builder = RobotBuilder("arm")
    inertia = Inertia.from_box(1.0, (0.1, 0.2, 0.3), at=(0.1, 0.0, 0.2))
    joints = {
        "upper": Joint.revolute((0, 1, 0), limits=(-1.0, 2.0)),
        "lower": Joint.revolute((0, 1, 0)),
        "wrist": Joint.spherical(),
        "finger": Joint.prismatic((1, 0, 0), limits=(0.0, 0.1)),
    }
    parent = "world"
    for name, joint in joints.items():
        builder.add(Body(name, inertia), parent, joint, (0.3, 0.0, 0.1))
        parent = name
    return Robot.from_description(builder.description())


ARM = arm()
UPPER, LOWER, WRIST, FINGER = ARM.joint_names


REFUSED: dict[str, tuple[Any, type[Error], str]] = {
    "not an element": (3, ArgumentError, "add_force: 3 given; expected a force elem"),
    "unknown joint": (
        forces.JointSpring("elbow", 1.0, name="s"),
        UnknownName,
        "no joint 'elbow' in robot 'arm', for force 's'",
    ),
    "unknown body": (
        forces.PointSpring("world", "hand", 1.0, name="s"),
        UnknownName,
        "no body or frame 'hand' in robot 'arm', for force 's'",
    ),
    "unknown frame of a contact": (
        forces.PointContact("foot", 1.0),
        UnknownName,
        "no body or frame 'foot' in robot 'arm', for force 'point_contact0'",
    ),
    "unknown tendon": (
        forces.Motor(tendon="t"),
        UnknownName,
        "no tendon 't' in robot 'arm', for force 'motor0'",
    ),
    "frame instead of a body": (
        forces.GravityCompensation("world"),
        UnknownName,
        "no body 'world' in robot 'arm', for force 'gravity_compensation0'",
    ),
    "infinite stiffness": (
        forces.JointSpring(UPPER, math.inf),
        ArgumentError,
        "force 'joint_spring0': stiffness is inf; expected a finite number",
    ),
    "text for a number": (
        forces.JointDamper(UPPER, "much"),  # type: ignore[arg-type]
        ArgumentError,
        "force 'joint_damper0': damping is 'much'; expected a finite number",
    ),
    "wrong reference": (
        forces.JointSpring(WRIST, 1.0, (1.0, 2.0)),
        ArgumentError,
        r"reference is \(1.0, 2.0\); joint 'wrist_joint' \(spherical\) has 4 coord",
    ),
    "scalar reference": (
        forces.JointSpring(WRIST, 1.0, 0.5),
        ArgumentError,
        r"reference is 0.5; joint 'wrist_joint' \(spherical\) has 4 coordinates",
    ),
    "zero quaternion": (
        forces.JointSpring(WRIST, 1.0, (0.0, 0.0, 0.0, 0.0)),
        ArgumentError,
        "reference has a quaternion of zero length",
    ),
    "no transition": (
        forces.JointFriction(UPPER, 1.0, 0.0),
        ArgumentError,
        "transition_velocity is 0.0; expected more than 0",
    ),
    "limit of a ball joint": (
        forces.JointLimit(WRIST, 1.0),
        ModelError,
        "joint 'wrist_joint' is spherical; expected a joint with one coordinate",
    ),
    "limit without limits": (
        forces.JointLimit(LOWER, 1.0),
        ArgumentError,
        "joint 'lower_joint' has no limits; pass lower or upper",
    ),
    "limits in the wrong order": (
        forces.JointLimit(UPPER, 1.0, lower=2.0, upper=1.0),
        ArgumentError,
        "lower is 2 and upper is 1; expected lower < upper",
    ),
    "tendon without weights": (
        forces.Tendon((UPPER, LOWER), (1.0,)),
        ArgumentError,
        r"coefficients is \(1.0,\); expected one for each of its 2 joints",
    ),
    "tendon of one name": (
        forces.Tendon(UPPER, (1.0,)),  # type: ignore[arg-type]
        ArgumentError,
        "joints is 'upper_joint'; expected a tuple of names",
    ),
    "tendon's rest": (
        forces.Tendon((UPPER,), (1.0,), rest_length=(2.0, 1.0)),
        ArgumentError,
        r"rest_length is \(2.0, 1.0\); expected a number or \(shortest, longest\)",
    ),
    "motor of nothing": (
        forces.Motor(),
        ArgumentError,
        "force 'motor0': expected a joint or a tendon, and not both",
    ),
    "gear of a ball joint": (
        forces.Motor(WRIST),
        ArgumentError,
        "gear is 1.0; expected 3 numbers",
    ),
    "control range": (
        forces.Motor(UPPER, control_range=(1.0, -1.0)),
        ArgumentError,
        r"control_range is \(1.0, -1.0\); expected \(lower, upper\)",
    ),
    "armature": (
        forces.Motor(UPPER, armature=-1.0),
        ArgumentError,
        "armature is -1.0; expected at least 0",
    ),
    "two dampings": (
        forces.PositionServo(UPPER, 1.0, 2.0, damping_ratio=1.0),
        ArgumentError,
        "damping_ratio is 1.0; expected at least 0, and no damping besides",
    ),
    "range of actuators": (
        forces.ActuatorForceRange(UPPER, 2.0, 1.0),
        ArgumentError,
        "lower is 2 and upper is 1; expected lower <= upper",
    ),
    "range of actuators on nothing": (
        forces.ActuatorForceRange(lower=-1.0, upper=1.0),
        ArgumentError,
        "force 'actuator_force_range0': expected a joint or a tendon, and not both",
    ),
    "joints of compensation": (
        forces.GravityCompensation("upper", joints=UPPER),  # type: ignore[arg-type]
        ArgumentError,
        "joints is '.*'; expected a tuple of names",
    ),
    "one body": (
        forces.TorsionSpring("upper", "upper", 1.0),
        ModelError,
        "'upper' and 'upper' are fixed to each other; a force between them does noth",
    ),
    "side": (
        forces.PointSpring("world", "upper", 1.0, one_sided="left"),
        ArgumentError,
        "one_sided is 'left'; possible: 'tension', 'compression', None",
    ),
    "point": (
        forces.PointSpring("world", "upper", 1.0, point_a=(1.0, 2.0)),  # type: ignore[arg-type]
        ArgumentError,
        r"point_a is \(1.0, 2.0\); expected 3 numbers",
    ),
    "bushing": (
        forces.Bushing("world", "upper", stiffness=3.0),  # type: ignore[arg-type]
        ArgumentError,
        "stiffness is 3.0; expected 3 numbers",
    ),
    "ground on ground": (
        forces.PointContact("world", 1.0),
        ModelError,
        "'world' is fixed to the world and cannot touch it",
    ),
    "exponent": (
        forces.SphereContact("upper", 0.1, 1.0, exponent=0.5),
        ArgumentError,
        "exponent is 0.5; expected 1 or more",
    ),
    "normal": (
        forces.PointContact("upper", 1.0, normal=(0.0, 0.0, 0.0)),
        ArgumentError,
        r"normal is \(0.0, 0.0, 0.0\); expected a direction",
    ),
    "radius": (
        forces.Tire("upper", 0.0, 1.0),
        ArgumentError,
        "radius is 0.0; expected more than 0",
    ),
    "two grounds": (
        forces.PointContact("upper", 1.0, offset=1.0, height=lambda x, y: x + y),
        ArgumentError,
        "height is given, and normal or offset too; expected one ground",
    ),
    "height is a number": (
        forces.PointContact("upper", 1.0, height=2.0),  # type: ignore[arg-type]
        ArgumentError,
        "height is 2.0; expected a function of x and y",
    ),
    "height of the wrong shape": (
        forces.PointContact("upper", 1.0, height=lambda x, y: [x, y], name="c"),
        ShapeError,
        r"force 'c': height\(x, y\) has shape \(2,\); expected one number",
    ),
    "height that cannot be traced": (
        forces.PointContact("upper", 1.0, height=lambda x, y: math.sin(x) * y),
        Error,
        "sin",
    ),
    "function is a number": (
        forces.Custom(3),  # type: ignore[arg-type]
        ArgumentError,
        "force 'custom0': function is 3; expected a function of the state",
    ),
    "function without inputs": (
        forces.Custom(lambda state: state.qd, inputs={"wind": 3}),
        ArgumentError,
        r"the function takes \(state\); expected \(state, wind\)",
    ),
    "inputs": (
        forces.Custom(lambda state: state.qd, inputs=3),  # type: ignore[arg-type]
        ArgumentError,
        "inputs is 3; expected a dict of shapes by name",
    ),
    "name of an input": (
        forces.Custom(lambda state, tau: state.qd + tau, inputs={"tau": 3}),
        ArgumentError,
        "an input cannot be called 'tau'; expected an identifier",
    ),
    "shape of an input": (
        forces.Custom(lambda state, u: state.qd + u, inputs={"u": -1}),
        ArgumentError,
        "input 'u' has shape -1; expected an integer or a tuple of integers",
    ),
    "axes": (
        forces.Custom(lambda state: state.qd, expressed_in="here"),
        ArgumentError,
        "expressed_in is 'here'; possible: 'local', 'world', 'local_world_aligned'",
    ),
    "function returns nothing": (
        forces.Custom(lambda state: None, name="f"),  # noqa: ARG005
        TraceError,
        "force 'f': joint forces: the function returned None",
    ),
    "function returns the wrong shape": (
        forces.Custom(lambda state: state.qd[:2], name="f"),
        ShapeError,
        r"force 'f': joint forces: shape \(2,\) returned; expected \(6,\)",
    ),
    "function names an unknown frame": (
        forces.Custom(lambda state: {"hand": state.qd}, name="f"),
        UnknownName,
        "no body or frame 'hand' in robot 'arm', for force 'f'",
    ),
    "function asks for an unknown frame": (
        forces.Custom(lambda state: state.velocity("hand"), name="f"),
        UnknownName,
        "force 'f': no frame 'hand' in robot 'arm'",
    ),
    "function is not of symbols": (
        forces.Custom(lambda state: [math.exp(x) for x in state.qd], name="f"),
        Error,
        "force 'f'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_element_is_refused_in_words(case: str) -> None:
    element, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        ARM.add_force(element)


def test_range_of_a_tendon_without_zero_is_refused() -> None:
    robot = ARM.add_force(forces.Tendon((UPPER, LOWER), (1.0, 1.0), name="t"))
    text = "lower is 1 and upper is 2; expected lower <= 0 <= upper for a tendon"
    with pytest.raises(ArgumentError, match=text):
        robot.add_force(forces.ActuatorForceRange("", 1.0, 2.0, tendon="t"))


def test_negative_stiffness_is_warned_of() -> None:
    text = "force 'joint_spring0': stiffness is -2.0; a negative one adds energy"
    with pytest.warns(ModelWarning, match=text):
        ARM.add_force(forces.JointSpring(UPPER, -2.0))


def test_names_are_unique_and_given_where_there_is_none() -> None:
    spring = forces.JointSpring(UPPER, 2.0)
    robot = ARM.add_force(spring).add_force(spring).add_force(spring, "own")
    names = ["joint_spring0", "joint_spring1", "own"]
    assert [f.name for f in robot.forces] == names
    with pytest.raises(ModelError, match="force 'own' already exists in robot 'arm'"):
        robot.add_force(spring, name="own")
    with pytest.raises(ArgumentError, match="name is ''; expected the name of a force"):
        robot.add_force(spring, name="")
    robot = robot.remove_force("joint_spring0")
    assert [f.name for f in robot.forces] == names[1:]
    with pytest.raises(UnknownName, match="no force 'joint_spring0' in robot 'arm'"):
        robot.remove_force("joint_spring0")
    assert not ARM.forces


def test_inputs_that_are_shared_have_one_shape() -> None:
    robot = ARM.add_force(forces.Custom(lambda s, u: s.qd * u, inputs={"u": ()}))
    robot = robot.add_force(forces.Custom(lambda s, u: s.qd * u, inputs={"u": ()}))
    shapes = ramidyn.forward_dynamics.input_shapes(robot.model)
    assert list(shapes) == ["q", "qd", "tau", "u"]
    message = r"input 'u' has shape \(6,\), but shape \(\) in another force"
    with pytest.raises(ArgumentError, match=message):
        robot.add_force(forces.Custom(lambda s, u: s.qd * u, inputs={"u": 6}))


def test_tendon_that_is_pulled_cannot_be_removed() -> None:
    tendon = forces.Tendon((UPPER, LOWER), (1.0, -0.5), 2.0, name="t")
    robot = ARM.add_force(tendon).add_force(forces.Motor(tendon="t"), name="m")
    with pytest.raises(ModelError, match="force 't' cannot be removed: 'm' pulls on"):
        robot.remove_force("t")
    assert not robot.remove_force("m").remove_force("t").forces


def applied(robot: Robot, q: Any, qd: Any, **inputs: Any) -> Any:
    program = program_of(ramidyn.applied_forces, robot)
    return evaluate(program, {"q": q, "qd": qd, **inputs})["applied_forces"]


def test_locked_joints_take_their_forces_with_them(rng: np.random.Generator) -> None:
    robot = (
        ARM.add_force(forces.Tendon((UPPER, LOWER), (1.0, -0.5), 2.0), name="t")
        .add_force(forces.JointSpring(LOWER, 3.0))
        .add_force(forces.Motor(LOWER), name="gone")
        .add_force(forces.Motor(tendon="t"), name="pull")
        .add_force(forces.PointSpring("world", "finger", 4.0))
    )
    locked = robot.lock({LOWER: 0.4})
    kept = ["t", "pull", "point_spring0"]
    assert [f.name for f in locked.forces] == kept
    q, qd = robot.neutral(), rng.normal(size=6)
    q[0], q[1], qd[1] = 0.7, 0.4, 0.0
    whole = applied(robot, q, qd, control=np.array([0.0, 0.5]))
    rest = np.delete(np.arange(6), 1)
    left = applied(locked, np.delete(q, 1), qd[rest], control=np.array([0.5]))
    assert_close(left, whole[rest])


def test_attached_robot_brings_its_forces() -> None:
    part = ARM.add_force(forces.Tendon((UPPER,), (1.0,), 2.0), name="t")
    part = part.add_force(forces.Motor(tendon="t"), name="m")
    part = part.add_force(forces.PointSpring("world", "finger", 1.0), name="p")
    both = ARM.attach(part, "finger", prefix="b_")
    assert [f.name for f in both.forces] == ["b_t", "b_m", "b_p"]
    tendon, motor, spring = both.forces
    assert isinstance(tendon, forces.Tendon)
    assert isinstance(motor, forces.Motor)
    assert isinstance(spring, forces.PointSpring)
    assert tendon.joints == ("b_upper_joint",)
    assert motor.tendon == "b_t"
    assert (spring.frame_a, spring.frame_b) == ("b_world", "b_finger")
    assert both.frame("b_world").body == "finger"
    custom = ARM.add_force(forces.Custom(lambda s: s.qd), name="f")
    with pytest.raises(ModelError, match="attach: force 'f' is a function of the who"):
        ARM.attach(custom, "finger", prefix="b_")


def only(joint: Joint) -> Description:
    builder = RobotBuilder("one")
    builder.add(Body("body", Inertia.from_sphere(1.0, 0.1)), joint=joint)
    return builder.description()


def test_robot_shows_its_forces() -> None:
    robot = ARM.add_force(forces.JointSpring(UPPER, 20.0), name="spring")
    robot = robot.add_force(
        forces.PointSpring("world", "lower", 5.0, 0.1, 0.2), name="strut"
    )
    text = str(robot)
    assert "force spring JointSpring: upper_joint, stiffness 20 N m/rad" in text
    assert "force strut PointSpring: world ⟷ lower, stiffness 5 N/m" in text
    slide = Robot.from_description(only(Joint.prismatic(name="slide")))
    slide = slide.add_force(forces.JointSpring("slide", 20.0, 0.1), name="spring")
    assert "slide, stiffness 20 N/m, reference 0.1 m" in str(slide)
    plane = Robot.from_description(only(Joint.planar(name="plane")))
    plane = plane.add_force(forces.JointDamper("plane", 2.0), name="damper")
    assert "plane, damping 2 N m s/rad or N s/m" in str(plane)  # both hold
    assert ", 2 forces; " in repr(robot)
    for k in range(9):
        robot = robot.add_force(forces.JointDamper(LOWER, 0.1), name=f"d{k}")
    assert "9 forces JointDamper: 'd0', 'd1'" in str(robot)
    assert [f.name for f in pickle.loads(pickle.dumps(robot)).forces][-1] == "d8"


def test_armature_of_a_motor_joins_the_mass_matrix() -> None:
    robot = ARM.add_force(forces.Motor(UPPER, gear=3.0, armature=0.2))
    q = {"q": ARM.neutral()}
    before, after = (
        evaluate(program_of(ramidyn.mass_matrix, r), q)["mass_matrix"]
        for r in (ARM, robot)
    )
    assert_close(after - before, np.diag([9.0 * 0.2, 0, 0, 0, 0, 0]))


def test_numbers_of_forces_can_be_inputs(rng: np.random.Generator) -> None:
    robot = ARM.add_force(forces.JointSpring(UPPER, 20.0), name="spring")
    robot = robot.add_force(forces.JointFriction(LOWER, 2.0), name="rub")
    robot = robot.add_force(forces.Bushing("world", "lower"), name="bush")
    names = ["stiffness:spring", "friction:rub", "torsional_damping:bush"]
    program = program_of(ramidyn.applied_forces, robot, names)
    inputs = {"q": ARM.neutral(), "qd": rng.normal(size=6)}
    values = {names[0]: 30.0, names[1]: 0.0, names[2]: np.array([1.0, 2.0, 3.0])}
    (ours,) = evaluate(program, {**inputs, **values}).values()
    other = ARM.add_force(forces.JointSpring(UPPER, 30.0))
    bushing = forces.Bushing("world", "lower", torsional_damping=(1.0, 2.0, 3.0))
    assert_close(ours, applied(other.add_force(bushing), **inputs))
    with pytest.raises(ArgumentError, match="force 'rub' has no stiffness; possible"):
        program_of(ramidyn.applied_forces, robot, ["stiffness:rub"])
    with pytest.raises(UnknownName, match="no force 'x' in robot 'arm'"):
        program_of(ramidyn.applied_forces, robot, ["stiffness:x"])
    with pytest.raises(UnknownName, match="no force 'x' in robot 'arm'"):
        program_of(ramidyn.applied_forces(("x",)), robot)
    with pytest.raises(ArgumentError, match="forces is 3; expected a list of names"):
        ramidyn.applied_forces(3)


def test_spring_and_damper_of_a_joint_cost_four_operations() -> None:
    plain = ramidyn.robots.chain(6)
    robot = plain
    for name in plain.joint_names:
        robot = robot.add_force(forces.JointSpring(name, 10.0))
        robot = robot.add_force(forces.JointDamper(name, 0.1))
    before, after = (ramidyn.count(ramidyn.forward_dynamics, r) for r in (plain, robot))
    assert after.total - before.total <= 4 * 6


def test_signature_and_help_show_the_inputs_of_forces() -> None:
    robot = ARM.add_force(forces.Motor(UPPER), name="m")
    names = list(inspect.signature(robot.forward_dynamics).parameters)
    assert names[:4] == ["q", "qd", "tau", "control"]
    assert "control: (1,) or with a batch axis" in (
        robot.forward_dynamics.__doc__ or ""
    )
    assert "control" not in inspect.signature(ARM.forward_dynamics).parameters
    assert "control" not in inspect.signature(robot.mass_matrix).parameters
