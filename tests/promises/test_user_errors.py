"""Mistakes that users make first: each message says what to write instead."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np
import pytest

import ramidyn
from ramidyn.catalog.paper_robots import chain

ROBOT = ramidyn.Robot.from_description(chain(2))
Q = np.zeros(2)
USE_FORWARD_DYNAMICS = (
    "call robot.forward_dynamics(q, qd, tau), or the function that "
    "ramidyn.compile(ramidyn.forward_dynamics, robot) returns"
)
USE_JACOBIAN = (
    'call robot.jacobian(q, "hand"), or the function that '
    'ramidyn.compile(ramidyn.jacobian("hand"), robot) returns'
)


def argument_error(message: str) -> Any:
    return pytest.raises(ramidyn.ArgumentError, match=f"^{re.escape(message)}$")


def test_a_frame_is_a_name() -> None:
    given: Any = 5
    with argument_error(
        "frame is 5; expected a name, such as one of robot.frame_names"
    ):
        ROBOT.pose(Q, given)


def test_a_quantity_is_not_called_with_a_robot_and_arrays() -> None:
    with argument_error(
        "ramidyn.forward_dynamics takes only options (algorithm, external, "
        "expressed_in, damping); " + USE_FORWARD_DYNAMICS
    ):
        ramidyn.forward_dynamics(ROBOT, Q, Q, Q)
    with argument_error(
        f"ramidyn.jacobian takes only options (frame, expressed_in); {USE_JACOBIAN}"
    ):
        ramidyn.jacobian(ROBOT, "body1")
    with argument_error(
        "ramidyn.kinetic_energy takes only options (there are none); call "
        "robot.kinetic_energy(q, qd), or the function that "
        "ramidyn.compile(ramidyn.kinetic_energy, robot) returns"
    ):
        ramidyn.kinetic_energy(Q, Q)


def test_a_missing_frame_is_named_where_a_quantity_is_compiled_or_called() -> None:
    message = f"jacobian is missing argument 'frame'; {USE_JACOBIAN}"
    with argument_error(message):
        ramidyn.compile(ramidyn.jacobian, ROBOT)
    method: Any = ROBOT.jacobian
    with argument_error(
        "robot.jacobian is missing argument 'frame'; it takes q, frame, "
        "expressed_in=, dtype=, threads=, out="
    ):
        method(Q)


def test_parameters_are_a_list() -> None:
    with argument_error(
        "parameters is 'gravity'; expected a list of names, such as ['gravity']"
    ):
        ramidyn.compile(ramidyn.forward_dynamics, ROBOT, parameters="gravity")


def test_an_unknown_option_lists_the_options() -> None:
    with argument_error(
        "forward_dynamics has no option 'algoritm'; options: algorithm, external, "
        "expressed_in, damping"
    ):
        ramidyn.forward_dynamics(algoritm="aba")
    robot: Any = ROBOT
    with argument_error(
        "robot.jacobian has no argument 'axes'; it takes q, frame, expressed_in=, "
        "dtype=, threads=, out="
    ):
        robot.jacobian(Q, "body1", axes="world")
    with argument_error(
        "robot.convert_q has no argument 'into' (did you mean 'to'?); it takes q, "
        "to=, from_=, dtype=, threads=, out="
    ):
        robot.convert_q(Q, into="mujoco")


def test_an_unknown_keyword_of_a_method_lists_the_options() -> None:
    robot: Any = ROBOT
    for _ in range(2):  # before and after it is compiled
        with argument_error(
            "robot.forward_dynamics has no argument 'algo' (did you mean "
            "'algorithm'?); it takes q, qd, tau, algorithm=, external=, "
            "expressed_in=, damping=, dtype=, threads=, out="
        ):
            robot.forward_dynamics(Q, Q, Q, algo="aba")
        robot.forward_dynamics(Q, Q, Q)


def test_a_missing_argument_is_named_without_an_algorithm() -> None:
    robot: Any = ROBOT
    for _ in range(2):
        with argument_error(
            "robot.mass_matrix is missing argument 'q'; it takes q, algorithm=, "
            "dtype=, threads=, out="
        ):
            robot.mass_matrix()
        robot.mass_matrix(Q)


def test_too_many_arguments_are_counted() -> None:
    robot: Any = ROBOT
    with argument_error(
        "robot.pose takes at most 2 arguments by position (q, frame); 3 were given"
    ):
        robot.pose(Q, "body1", "world")
    with argument_error(
        "robot.mass_matrix takes at most 1 argument by position (q); 2 were given"
    ):
        robot.mass_matrix(Q, Q)
    with argument_error("robot.bias_forces got 'qd' twice: by position and by name"):
        robot.bias_forces(Q, Q, qd=Q)


def test_a_wrong_shape_is_reported_with_the_name_of_the_method() -> None:
    with pytest.raises(ramidyn.ShapeError, match=r"^q has .*'robot.mass_matrix' needs"):
        ROBOT.mass_matrix([1.0])


def test_arrays_come_before_options() -> None:
    method: Any = ROBOT.pose
    with argument_error(
        "robot.pose: q is 'body1'; expected an array; the arguments are q, frame, "
        "dtype=, threads=, out="
    ):
        method("body1", Q)


class LocalWorldAligned:
    """What `pinocchio.LOCAL_WORLD_ALIGNED` is: a member of an enumeration."""

    name = "LOCAL_WORLD_ALIGNED"


@pytest.mark.parametrize("word", ["LOCAL_WORLD_ALIGNED", LocalWorldAligned()])
def test_pinocchios_names_of_axes_are_understood(word: Any) -> None:
    expected = ramidyn.jacobian("body1", "local_world_aligned")
    assert ramidyn.jacobian("body1", expressed_in=word) == expected
    task = ramidyn.tasks.Task("body1", expressed_in=word)
    assert task == ramidyn.tasks.Task("body1", expressed_in="local_world_aligned")


@pytest.mark.oracle
def test_pinocchios_own_reference_frames_are_understood() -> None:
    pinocchio = pytest.importorskip("pinocchio", reason="pinocchio is absent")
    expected = ROBOT.jacobian(Q, "body1", "world")
    given = ROBOT.jacobian(Q, "body1", pinocchio.WORLD)
    np.testing.assert_array_equal(given, expected)


def test_other_axes_are_listed() -> None:
    possible = "possible: 'local', 'world', 'local_world_aligned'"
    with argument_error(f"expressed_in is 'base'; {possible}"):
        ramidyn.jacobian("body1", "base")
    with argument_error(f"task 'body1': expressed_in is 'base'; {possible}"):
        ramidyn.tasks.Task("body1", expressed_in="base")


def test_tasks_are_one_list() -> None:
    given: Any = [[ramidyn.tasks.Task("body1", "x")]]
    with argument_error(
        "tasks contains a nested list: [Task(frame='body1', rows='x', "
        "expressed_in='local')]; expected one list of frame names and tasks (only "
        "ramidyn.control.OperationalSpace takes levels)"
    ):
        ROBOT.task_jacobian(Q, given)


class OtherArray:
    """An array of another library, as NumPy sees it."""

    def __init__(self, values: list[float] | None) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.values is None:
            raise RuntimeError("no numbers")
        return np.array(self.values, dtype)


def test_arrays_of_other_libraries_are_read() -> None:
    given: Any = OtherArray([0.5, 1.0])
    expected = ROBOT.mass_matrix(np.array([0.5, 1.0]))
    np.testing.assert_array_equal(ROBOT.mass_matrix(given), expected)


@pytest.mark.parametrize(
    ("library", "message"),
    [
        ("jax.core", "q is a JAX tracer, which has no numbers yet; .* ramidyn.to_jax"),
        ("torch", "q is a PyTorch tensor that NumPy cannot read, .* tensor.detach"),
    ],
)
def test_arrays_without_numbers_are_told_how_to_get_some(
    library: str, message: str
) -> None:
    made: Any = type("Other", (OtherArray,), {"__module__": library})(None)
    with pytest.raises(ramidyn.ShapeError, match=f"^{message}"):
        ROBOT.mass_matrix(made)


def test_a_jax_array_is_read_and_a_tracer_is_explained() -> None:
    jax = pytest.importorskip("jax", reason="jax is absent")
    given = jax.numpy.zeros(2)
    for _ in range(2):  # jax.numpy has float32
        found = ROBOT.mass_matrix(given)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, ROBOT.mass_matrix(Q), rtol=1e-5)
    with pytest.raises(ramidyn.ShapeError, match="q is a JAX tracer"):
        jax.jit(ROBOT.mass_matrix)(given)


ODD: Any = np.ones(3)
MODEL = '<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ramidyn.load(MODEL, passive=ODD),
            r"passive is array\(.*\); possible: True, False, None",
        ),
        (
            lambda: ramidyn.load(MODEL, include_directory=ODD),
            r"include_directory is array\(.*\); expected a directory",
        ),
        (
            lambda: ramidyn.load(MODEL, joint_order=ODD),
            "no joint '1.0' in joint_order",
        ),
        (
            lambda: ROBOT.pin("body1", Q, check=ODD),
            r"check is array\(.*\); possible: True, False",
        ),
        (
            lambda: ramidyn.compile(ramidyn.mass_matrix, ROBOT).prepare(single=ODD),
            r"single is array\(.*\); possible: True, False",
        ),
        (
            lambda: ROBOT.propagator(Q, "body1", ODD),
            r"frame is array\(.*\); expected a name, such as one of robot.frame_names",
        ),
        (
            lambda: ROBOT.add_hard_limits(joints=ODD),
            r"add_hard_limits: joints is array\(.*\); expected a list of names",
        ),
        (
            lambda: ROBOT.add_dry_friction(force=ODD),
            r"force is \(1.0, 1.0, 1.0\); expected a number",
        ),
        (
            lambda: ramidyn.Pose.from_axis_angle((0, 0, 1), float("nan")),
            r"angle: nan given; expected a finite number \[rad\]",
        ),
        (
            lambda: ramidyn.Pose.from_quaternion(cast("Any", "x"), order="wxyz"),
            "the quaternion: 'x' given; expected numbers",
        ),
        (
            lambda: ramidyn.Pose.identity().apply(cast("Any", 5)),
            "point: 5 given; expected 3 numbers",
        ),
        (
            lambda: ramidyn.Pose.identity().q(order=ODD),
            r"order is array\(.*\); possible: 'xyzw'",
        ),
        (
            lambda: ramidyn.builder.Body("b", frames=cast("Any", 5)),
            "body 'b': frames is 5; expected a dictionary of placements by name",
        ),
        (
            lambda: ramidyn.tasks.Posture(cast("Any", 5)),
            "joints of Posture is 5; expected a list of names",
        ),
        (
            lambda: ramidyn.tasks.Direction("hand", cast("Any", "x")),
            r"axis of Direction\('hand'\) is 'x'; expected three numbers, not all zero",
        ),
        (
            lambda: ramidyn.tasks.kinematic_step(cast("Any", 5), "hand"),
            "robot is 5; expected a Robot",
        ),
        (
            lambda: ROBOT.write_inertials("robot.urdf", cast("Any", 5)),
            "path is 5; expected the path of a file",
        ),
    ],
)
def test_a_value_of_another_kind_is_named(call: Any, message: str) -> None:
    with pytest.raises(ramidyn.Error, match=message):
        call()
