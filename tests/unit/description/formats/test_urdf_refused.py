"""The URDF parser: what it refuses, in which words, and that it never breaks."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramidyn.description.formats.urdf import parse_urdf
from ramidyn.errors import Error, ModelError, UnsupportedJoint
from support.urdf import (
    CHAIN,
    INERTIA,
    LIMIT,
    LOOP,
    joint,
    links,
    one_inertial,
    parse,
    robot,
)

# ------------------------------------------------------------ what is refused


BAD_GRAPHS = [
    ("", "r.urdf:1: robot 'r': a robot without links; expected at least one <link>"),
    (
        links("a a"),
        "r.urdf:2: link 'a': duplicate link name, first used on line",
    ),
    (
        links("a b c") + joint("j", "a", "b") + joint("j", "b", "c"),
        "joint 'j': duplicate joint name, first used on line 2; names must",
    ),
    (2 * links("a" * 257), "aaa... (257 characters)': duplicate link name, first"),
    ("<link/>", "r.urdf:2: link: no attribute 'name'; it is required"),
    (
        links("base_link b") + joint("j", "base_lnk", "b"),
        "joint 'j': parent: no link 'base_lnk' in the file. Close: 'base_link'. All 2:",
    ),
    (links("a b") + joint("j", "a", "x"), "joint 'j': child: no link 'x' in the file."),
    (
        links("a b") + '<joint name="j" type="fixed"><child link="b"/></joint>',
        "joint 'j': no <parent>; expected <parent link=\"...\"/>",
    ),
    (
        links("a b")
        + '<joint name="j" type="fixed"><parent/><child link="b"/></joint>',
        "joint 'j': parent: no attribute 'link'; it is required",
    ),
    (links("a") + joint("j", "a", "a"), "joint 'j': joins link 'a' to itself"),
    (
        links("a b c") + joint("j", "a", "b"),
        "robot 'r': 2 links without a parent joint: 'a', 'c'; expected one root link",
    ),
    (
        links("a b c") + joint("j", "a", "c") + joint("k", "b", "c"),
        "joint 'k': link 'c' has two parents, 'a' and 'b' (joint 'j' moves it too);",
    ),
    (
        links("a b") + joint("j", "a", "b") + joint("k", "b", "a"),
        "robot 'r': a cycle of links, child to parent: 'a' -> 'b' -> 'a'",
    ),
    (
        links("a b c d")
        + joint("j", "b", "c")
        + joint("k", "c", "b")
        + joint("l", "b", "d"),
        "robot 'r': a cycle of links, child to parent: 'b' -> 'c' -> 'b'",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_GRAPHS)
def test_what_is_no_tree_is_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        parse(text)


BAD_JOINTS = [
    (
        LIMIT + '<axis xyz="0 0 0"/>',
        "axis: a zero axis, xyz='0 0 0'; expected a direction",
    ),
    (
        LIMIT + '<axis xyz="0 nan 0"/>',
        "axis: xyz: cannot read 'nan' in '0 nan 0'; expec",
    ),
    (LIMIT + '<axis xyz="0 1"/>', "axis: xyz='0 1' has 2 numbers; expected 3 numbers"),
    (LIMIT + "<axis/>", "axis: no attribute 'xyz'; it is required"),
    (
        '<limit lower="2" upper="1"/>',
        "limit: lower=2 is above upper=1; expected lower <=",
    ),
    (
        '<limit lower="0" upper="inf"/>',
        "limit: upper: cannot read 'inf'; expected a fin",
    ),
    (
        LIMIT + '<origin xyz="1.0abc 0 0"/>',
        "origin: xyz: cannot read '1.0abc' in '1.0abc",
    ),
    (
        LIMIT + '<origin rpy="0 0 1e101"/>',
        "origin: rpy='1e101' is beyond 1e+100; expec",
    ),
    (
        LIMIT + '<origin xyz="${x} 0 0"/>',
        "origin: xyz: cannot read '${x} 0 0'; it is left",
    ),
    (LIMIT + '<dynamics damping=""/>', "dynamics: an empty attribute 'damping'; it is"),
    (LIMIT + '<mimic multiplier="2"/>', "mimic: no attribute 'joint'; it is required"),
    (LIMIT + '<mimic joint="j"/>', "mimics itself: 'j' -> 'j'; expected a joint that"),
    (
        LIMIT + '<mimic joint="weld"/>',
        "mimics 'weld', a fixed joint; expected a revolute",
    ),
    (
        LIMIT + '<mimic joint="ball"/>',
        "mimics 'ball', a spherical joint; expected a rev",
    ),
    (
        LIMIT + '<mimic joint="k" offset="x"/>',
        "mimic: offset: cannot read 'x'; expected",
    ),
]


@pytest.mark.parametrize(("inner", "message"), BAD_JOINTS)
def test_bad_joints_are_refused_by_name(inner: str, message: str) -> None:
    with pytest.raises(ModelError, match=re.escape("r.urdf:3: joint 'j': " + message)):
        parse(
            links("a b c d e"),
            joint("j", "a", "b", inner),
            joint("k", "b", "c", LIMIT + '<mimic joint="j"/>'),
            joint("weld", "c", "d", "", "fixed"),
            joint("ball", "d", "e", "", "spherical"),
        )


def test_circles_of_mimics_are_refused() -> None:
    mimics = {"j1": "j2", "j2": "j3", "j3": "j4", "j4": "j2"}
    parts = [
        joint(name, f"l{i}", f"l{i + 1}", LIMIT + f'<mimic joint="{of}"/>')
        for i, (name, of) in enumerate(mimics.items())
    ]
    expected = (
        "joint 'j2': mimics itself: 'j2' -> 'j3' -> 'j4' -> 'j2'; expected a joint"
    )
    with pytest.raises(ModelError, match=expected):
        parse(links("l0 l1 l2 l3 l4"), *parts)


def test_only_one_coordinate_can_mimic() -> None:
    parts = joint("j", "a", "b", '<mimic joint="k"/>', "floating")
    with pytest.raises(
        ModelError, match="joint 'j': mimic: a floating joint cannot mimi"
    ):
        parse(links("a b c"), parts, joint("k", "b", "c"))


@pytest.mark.parametrize("type_", ["screw", "Revolute", "universal"])
def test_unknown_joint_types_are_refused_with_the_known(type_: str) -> None:
    expected = (
        f"r.urdf:3: joint 'j': type '{type_}' is not supported; expected one of "
        "'revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar', "
    )
    with pytest.raises(UnsupportedJoint, match=expected):
        parse(links("a b"), joint("j", "a", "b", type_=type_))
    with pytest.raises(
        ModelError, match="joint 'j': no attribute 'type'; it is required"
    ):
        parse(links("a b"), joint("j", "a", "b").replace(' type="revolute"', ""))


BAD_INERTIALS = [
    (
        f'<mass value="-1"/>{INERTIA}',
        "mass: a negative mass, -1 kg; expected 0 or more",
    ),
    (
        f'<mass value="nan"/>{INERTIA}',
        "mass: value: cannot read 'nan'; expected a fini",
    ),
    (
        f'<mass value="1e200"/>{INERTIA}',
        "mass: value='1e200' is beyond 1e+100; expected",
    ),
    (f"<mass/>{INERTIA}", "mass: no attribute 'value'; it is required"),
    (INERTIA, 'inertial: no <mass>; expected <mass value="..."/>'),
    (
        '<mass value="1"/><inertia ixx="1" iyy="1"/>',
        "inertia: no attribute 'izz'; it is",
    ),
    (
        '<mass value="1"/>' + INERTIA.replace('ixy="0"', 'ixy="0 1"'),
        "inertia: ixy: cannot read '0 1'; expected a finite number",
    ),
]


@pytest.mark.parametrize(("inner", "message"), BAD_INERTIALS)
def test_bad_inertials_are_refused_by_link(inner: str, message: str) -> None:
    full = "r.urdf:2: link 'a': "
    with pytest.raises(ModelError, match=re.escape(full) + ".*" + re.escape(message)):
        one_inertial(inner)


BAD_LOOPS = [
    (
        LOOP.format("helical"),
        "loop 'l': type is 'helical'; a loop can be closed by: weld, revolute, ",
    ),
    (LOOP.format("weld").replace('"c"', '"x"'), "loop 'l': body_b: no link 'x' in the"),
    (LOOP.format("weld").replace('"c"', '"a"'), "loop 'l': joins link 'a' to itself"),
    (
        LOOP.format("weld").replace("body_b", "b"),
        "loop 'l': no <body_b>; expected <body_b",
    ),
    (LOOP.format("distance"), "loop 'l': no attribute 'length'; it is required"),
    (LOOP.format('distance" length="0'), "loop 'l': length is 0; expected more than 0"),
    (LOOP.format('weld" length="1'), "loop 'l': only a 'distance' loop has a length"),
    (
        LOOP.format("weld").replace('"c"', '"world"').replace('"a"', '"world"'),
        "loop 'l': joins link 'world' to itself",
    ),
    (
        LOOP.format("weld").replace("1 2 3", "nan 0 0"),
        "loop 'l': body_a: xyz: cannot read 'nan' in 'nan 0 0'; expected a finite",
    ),
    (
        '<loop name="l" type="coupling" joint="j2" follows="j3"/>',
        "loop 'l': no moving joint 'j3' in the file. All 2: 'j1', 'j2'.",
    ),
    (
        '<loop name="l" type="coupling" joint="j2" follows="j2"/>',
        "loop 'l' couples joint 'j2' to itself",
    ),
    ('<loop name="l" type="coupling"/>', "loop 'l': no attribute 'joint'; it is"),
    (
        '<loop name="l" type="coupling" joint="j2" coefficients="x"/>',
        "loop 'l': coefficients: cannot read 'x'; expected a finite number",
    ),
    (LOOP.format("weld") * 2, "loop 'l': duplicate loop name"),
]


@pytest.mark.parametrize(("loop", "message"), BAD_LOOPS)
def test_bad_loops_are_refused_by_name(loop: str, message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        parse(CHAIN, loop)


def test_couplings_are_of_joints_with_one_coordinate() -> None:
    ball = joint("ball", "c", "d", "", "spherical")
    loop = '<loop name="l" type="coupling" joint="j1" follows="ball"/>'
    message = "loop 'l' couples joint 'ball', which is spherical; expected a joint with"
    with pytest.raises(ModelError, match=message):
        parse(CHAIN, links("d"), ball, loop)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "<mujoco/>",
            "r.urdf:1: mujoco: not a URDF file; expected the root element <rob",
        ),
        (
            robot('<xacro:arm side="l"/>'),
            "r.urdf:2: xacro:arm: left over from xacro: run",
        ),
        (
            robot('<link name="${p}_a"/>'),
            "link '${p}_a': name: cannot read '${p}_a'; it",
        ),
        (
            robot(links("a")) + "junk",
            "r.urdf:3:9: content after the end of <robot>",
        ),
        (
            robot('<link name="a" name="b"/>'),
            "r.urdf:2:16: not well-formed XML: duplicate",
        ),
    ],
)
def test_what_is_no_urdf_is_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        parse_urdf(text, "r.urdf")


# ------------------------------------------------------------ fuzzing


SEED = robot(
    '<link name="a"><inertial><origin xyz="1 2 3" rpy=".1 .2 .3"/><mass value="1"/>'
    + INERTIA
    + "</inertial></link>",
    links("b c d e"),
    joint("j1", "a", "b", LIMIT + '<origin xyz="1 0 0"/><axis xyz="0 0 1"/>'),
    joint("j2", "b", "c", LIMIT + '<mimic joint="j1" multiplier="2" offset="1"/>'),
    joint("j3", "c", "d", '<dynamics damping="1" friction="2"/>', "continuous"),
    joint("j4", "a", "e", "", "fixed"),
    '<loop name="l" type="weld"><body_a link="d"/><body_b link="e"/></loop>',
)
TOKENS = [
    *re.findall(r"</?\w+|\w+=|\"[^\"]*\"|/?>", SEED),
    *(
        '"nan"',
        '"-1"',
        '"0 0 0"',
        '"1e308"',
        '"5e-324"',
        '"1e100 1e100 1e100"',
        '"${x}"',
    ),
    *("<!DOCTYPE a [", "<![CDATA[", "<!--", "-->", "&x;", "&#0;", "\0", "\ud800", "é"),
]
HURRIED = settings(
    max_examples=200,
    deadline=2000,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def only_our_errors(text: str) -> None:
    """Parse: a robot of finite numbers comes out, or an error of ours."""
    try:
        description = parse_urdf(text, "fuzz.urdf")
    except Error:
        return
    for body in description.bodies:
        assert np.isfinite(body.placement.R).all()
        assert np.isfinite(body.placement.p).all()
        if body.inertial is not None:
            assert body.inertial.mass >= 0
            assert np.isfinite(body.inertial.inertia).all()
        for found in body.joints:
            assert np.linalg.norm(found.axis) == pytest.approx(1.0)


@HURRIED
@given(st.data())
def test_mutated_robots_raise_nothing_but_our_errors(data: st.DataObject) -> None:
    tokens = re.findall(r"\s+|</?\w+|\w+=|\"[^\"]*\"|/?>|.", SEED)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(tokens) - 1))
        end = at + data.draw(st.integers(0, 3))
        tokens[at:end] = data.draw(st.lists(st.sampled_from(TOKENS), max_size=3))
        tokens = tokens or ["<"]
    only_our_errors("".join(tokens))


@HURRIED
@given(st.sampled_from(re.findall(r'"[^"]*"', SEED)), st.sampled_from(TOKENS))
def test_swapped_values_raise_nothing_but_our_errors(old: str, new: str) -> None:
    only_our_errors(SEED.replace(old, new))


@HURRIED
@given(st.one_of(st.text(), st.binary().map(lambda b: "<" + b.decode("latin-1"))))
def test_random_text_raises_nothing_but_our_errors(text: str) -> None:
    only_our_errors(text)
    only_our_errors(robot(text))


def test_the_seed_of_the_fuzzing_loads() -> None:
    assert len(parse_urdf(SEED, "seed.urdf").bodies) == 5
