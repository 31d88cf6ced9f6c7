"""The SDF parser: what it refuses and warns of, and in which words."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ramidyn
from ramidyn.description.formats.sdf import parse_sdf
from ramidyn.errors import Error, ModelError, UnsupportedJoint
from support.sdf import AXIS, INERTIAL, joint, link, links, parse, sdf


def loop(inner: str, type_: str) -> str:
    """Two links on the world, and a joint of a type between them."""
    return (
        links("a b")
        + joint("j", "world", "a")
        + joint("k", "world", "b")
        + joint("l", "a", "b", inner, type_)
    )


BAD_MODELS = {
    "no links": ("", "m.sdf:1: model 'm': a model without links; expected at least"),
    "two links of one name": (
        links("a a"),
        "m.sdf:2: link 'a': duplicate link name, first used on line 2",
    ),
    "a joint with the name of a link": (
        links("a b") + joint("b", "a", "b"),
        "joint 'b': duplicate name: the link on line 2 has it too",
    ),
    "a reserved name": (links("world"), "link 'world': a reserved name; choose anoth"),
    "include": (
        "<include><uri>model://wheel</uri></include>",
        "m.sdf:2: model 'm': include: includes 'model://wheel'; includes are not "
        "supported: expand them first (gz sdf -p does)",
    ),
    "nested model": (
        links("a") + '<model name="hand"/>',
        "model 'hand': a nested model; nested models are not supported: merge its",
    ),
    "a name in a nested model": (
        links("a") + joint("j", "a", "hand::palm"),
        "joint 'j': 'hand::palm' is in a nested model; nested models are not",
    ),
    "unknown parent": (
        links("base b") + joint("j", "bse", "b"),
        "joint 'j': no link, joint or frame 'bse' in the model. Close: 'base'",
    ),
    "no parent": (
        links("a") + '<joint name="j" type="fixed"><child>a</child></joint>',
        "m.sdf:2: joint 'j': no <parent>; it is required",
    ),
    "empty child": (links("a") + joint("j", "a", " "), "child: an empty element; a"),
    "the world as child": (
        links("a") + joint("j", "a", "world"),
        "the world cannot be the child of a joint",
    ),
    "itself": (links("a") + joint("j", "a", "a"), "joins link 'a' to itself"),
    "unknown relative_to": (
        link("a", '<pose relative_to="x">0 0 0 0 0 0</pose>'),
        "link 'a': no link, joint or frame 'x' in the model. All 1: 'a'",
    ),
    "cycle of poses": (
        link("a", '<pose relative_to="b"/>') + link("b", '<pose relative_to="a"/>'),
        "a cycle of poses: 'a' -> 'b' -> 'a'",
    ),
    "cycle of attached frames": (
        links("a")
        + '<frame name="f" attached_to="g"><pose relative_to="a"/></frame>'
        + '<frame name="g" attached_to="f"><pose relative_to="a"/></frame>',
        "a cycle of attached frames: 'f' -> 'g' -> 'f'",
    ),
    "frame attribute": (
        link("a", '<pose frame="b">0 0 0 0 0 0</pose>'),
        "link 'a': pose: frame='b' has no defined meaning; name the frame with",
    ),
    "five numbers": (
        link("a", "<pose>1 2 3 4 5</pose>"),
        "m.sdf:2: link 'a': pose: '1 2 3 4 5' has 5 numbers; expected 6 numbers",
    ),
    "no number": (
        link("a", "<pose>1 2 3 4 5 x</pose>"),
        "link 'a': pose: cannot read 'x' in '1 2 3 4 5 x'; expected a finite number",
    ),
    "NaN": (link("a", "<pose>nan 2 3 4 5 6</pose>"), "pose: cannot read 'nan' in"),
    "rotation format": (
        link("a", '<pose rotation_format="matrix">1</pose>'),
        "rotation_format is 'matrix'; expected one of 'euler_rpy', 'quat_xyzw'",
    ),
    "zero quaternion": (
        link("a", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>'),
        "a quaternion of zeros; expected a rotation",
    ),
    "degrees": (
        link("a", '<pose degrees="yes">0 0 0 0 0 1</pose>'),
        "link 'a': pose: cannot read 'yes'; expected true or false",
    ),
    "model relative to a frame": (
        links("a") + '<pose relative_to="table">0 0 0 0 0 0</pose>',
        "model 'm': pose: relative to 'table'; expected the world",
    ),
    "negative mass": (
        '<link name="a"><inertial><mass>-1</mass></inertial></link>',
        "link 'a': inertial mass: a negative mass, -1 kg; expected 0 or more",
    ),
    "no mass given": (
        '<link name="a"><inertial><mass/></inertial></link>',
        "link 'a': inertial mass: an empty element; a value is required",
    ),
    "xacro": (
        '<link name="a"><inertial><mass>${m}</mass></inertial></link>',
        "cannot read '${m}'; it is left over from xacro",
    ),
    "too large": (
        '<link name="a"><inertial><mass>1e200</mass></inertial></link>',
        "inertial mass: '1e200' is beyond 1e+100; expected a number that a robot can",
    ),
    "auto": (
        '<link name="a"><inertial auto="true"/></link>',
        "auto=true computes the inertia from collision shapes, which is not supported",
    ),
    "inertial relative to": (
        '<link name="a"><inertial><pose relative_to="b"/></inertial></link>',
        "relative_to is not allowed here; an inertial is in its link's frame",
    ),
    "no axis": (
        links("a b") + joint("j", "a", "b", ""),
        "joint 'j': no <axis>; it is required",
    ),
    "zero axis": (
        links("a b") + joint("j", "a", "b", "<axis><xyz>0 0 0</xyz></axis>"),
        "joint 'j': axis xyz: a zero axis; expected a direction",
    ),
    "unknown expressed_in": (
        links("a b")
        + joint("j", "a", "b", '<axis><xyz expressed_in="x">0 0 1</xyz></axis>'),
        "joint 'j': no link, joint or frame 'x' in the model.",
    ),
    "limits": (
        links("a b")
        + joint(
            "j",
            "a",
            "b",
            "<axis><limit><lower>2</lower><upper>1</upper></limit></axis>",
        ),
        "axis limit: lower=2 is above upper=1; expected lower <= upper",
    ),
    "parallel axes": (
        links("a b")
        + joint("j", "a", "b", AXIS + AXIS.replace("axis", "axis2"), "universal"),
        "axis and axis2 are parallel; expected two directions",
    ),
    "thread_pitch": (
        links("a b")
        + joint("j", "a", "b", AXIS + "<thread_pitch>1</thread_pitch>", "screw"),
        "joint 'j': no <screw_thread_pitch> [m per turn]; <thread_pitch>, which",
    ),
    "mimics nothing": (
        links("a b") + joint("j", "a", "b", '<axis><mimic joint="x"/></axis>'),
        "joint 'j': mimics a joint that does not exist: no joint 'x' in the model.",
    ),
    "mimics a ball": (
        links("a b c")
        + joint("j", "a", "b", "", "ball")
        + joint("k", "b", "c", '<axis><mimic joint="j"/></axis>'),
        "joint 'k': mimics 'j'; both must be revolute, continuous or prismatic",
    ),
    "mimics itself": (
        links("a b") + joint("j", "a", "b", '<axis><mimic joint="j"/></axis>'),
        "mimics itself: 'j' -> 'j'",
    ),
    "mimics a second axis": (
        links("a b")
        + joint("j", "a", "b", '<axis><mimic joint="j" axis="axis2"/></axis>'),
        "only the first axis of a joint can be mimicked",
    ),
    "gearbox without joints": (
        links("a b c")
        + joint("j", "a", "b")
        + joint("k", "b", "c")
        + joint(
            "g",
            "b",
            "c",
            "<gearbox_reference_body>a</gearbox_reference_body>"
            + AXIS
            + AXIS.replace("axis", "axis2"),
            "gearbox",
        ),
        "no revolute joint between 'a' (the reference body) and 'c' turns about the",
    ),
}


@pytest.mark.parametrize("case", BAD_MODELS)
def test_a_broken_model_is_refused_with_its_place(case: str) -> None:
    text, message = BAD_MODELS[case]
    with pytest.raises(ModelError, match=re.escape(message)) as error:
        parse(text)
    assert re.match(r"m\.sdf:\d+", str(error.value))


UNSUPPORTED = {
    "type": (
        links("a b") + joint("j", "a", "b", "", "piston"),
        "m.sdf:2: joint 'j': type 'piston' is not supported; expected one of",
    ),
    "screw in a loop": (
        loop(AXIS + "<screw_thread_pitch>1</screw_thread_pitch>", "screw"),
        "joint 'l': a screw cannot close a loop; order the joints so that another",
    ),
    "oblique universal in a loop": (
        loop(AXIS + "<axis2><xyz>1 1 0</xyz></axis2>", "universal"),
        "joint 'l': closes a loop with axes that are not perpendicular; order",
    ),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_unsupported_joints_are_named(case: str) -> None:
    text, message = UNSUPPORTED[case]
    with pytest.raises(UnsupportedJoint, match=re.escape(message)):
        parse(text)


BAD_FILES = {
    "root": ("<robot/>", "m.sdf:1: robot: not an SDF file; expected the root element"),
    "no version": ("<sdf/>", "m.sdf:1: sdf: no attribute 'version'; it is required"),
    "version 2": ('<sdf version="2.0"/>', "version is '2.0'; expected 1.4 or a later"),
    "version 1.3": ('<sdf version="1.3"/>', "version is '1.3'; expected 1.4 or a lat"),
    "version x": ('<sdf version="new"/>', "version is 'new'; expected 1.4 or a later"),
    "no model": ('<sdf version="1.6"/>', "sdf: no <model>; expected one"),
    "two models": (
        '<sdf version="1.6"><model name="a"/><model name="b"/></sdf>',
        "sdf: 2 models: 'a', 'b'; expected one in a file",
    ),
    "include in the world": (
        '<sdf version="1.6"><world name="w"><include><uri>model://sun</uri></include>'
        "</world></sdf>",
        "include: includes 'model://sun'; includes are not supported",
    ),
    "canonical link": (
        sdf(links("a"), model='canonical_link="x"'),
        "model 'm': no link 'x' in the model. All 1: 'a'",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_file_that_is_not_one_model_is_refused(case: str) -> None:
    text, message = BAD_FILES[case]
    with pytest.raises(ModelError, match=re.escape(message)):
        parse_sdf(text, "m.sdf")


WARNED = {
    "no inertial": (
        '<link name="a"/>',
        "m.sdf:2: link 'a': no <inertial>; SDF's default is used: 1 kg, and 1 kg m²",
    ),
    "no mass": (
        '<link name="a"><inertial/></link>',
        "link 'a': no <mass>; SDF's default is 1 kg",
    ),
    "no inertia": (
        '<link name="a"><inertial><mass>1</mass></inertial></link>',
        "link 'a': no <inertia>; SDF's default is 1 kg m² about every axis",
    ),
    "unphysical": (
        f'<link name="a">{INERTIAL.replace("<ixx>1", "<ixx>3")}</link>',
        "link 'a': the inertia violates the triangle inequality",
    ),
    "gravity off": (
        link("a", "<gravity>false</gravity>"),
        "link 'a': gravity acts on it nevertheless",
    ),
    "added mass": (
        '<link name="a"><inertial><mass>1</mass><fluid_added_mass/></inertial></link>',
        "link 'a': fluid_added_mass is ignored",
    ),
    "axis of a ball": (
        links("a b") + joint("j", "a", "b", AXIS, "ball"),
        "joint 'j': axis: ignored; a ball joint does not have it",
    ),
    "reversed ball": (
        links("a b") + joint("k", "world", "b") + joint("j", "a", "b", "", "ball"),
        "joint 'j': hangs in the tree by its child link; q is the orientation of its "
        "parent link in its child link",
    ),
    "spring in a loop": (
        loop("<axis><dynamics><damping>1</damping></dynamics></axis>", "revolute"),
        "joint 'l': closes a loop; its damping, friction and spring are ignored",
    ),
    "unknown element": (
        link("a", "<wheel/>"),
        "link 'a': unknown element <wheel> ignored",
    ),
    "second axis": (
        links("a b")
        + joint(
            "j",
            "a",
            "b",
            f"{AXIS}<axis2><xyz>1 0 0</xyz><dynamics><damping>1</damping></dynamics>"
            "</axis2>",
            "universal",
        ),
        "joint 'j': damping and stiffness of one axis are used for both",
    ),
}


@pytest.mark.parametrize("case", WARNED)
def test_what_is_not_as_it_seems_is_a_warning(case: str) -> None:
    text, message = WARNED[case]
    warnings = parse(text).warnings
    assert any(message in w for w in warnings), warnings


def test_a_file_is_told_by_its_first_element(tmp_path) -> None:
    path = tmp_path / "arm.sdf"
    path.write_text(sdf(links("a")))
    assert ramidyn.load(path, root="fixed").nq == 0
    with pytest.raises(ModelError, match=r"expected <robot> \(URDF\), <mujoco> \(MJCF"):
        ramidyn.load("<world/>")


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(cut=st.integers(0, 600), junk=st.sampled_from(["", "<", "&", "\0", "ä", "-"]))
def test_a_mangled_file_raises_our_error_or_loads(cut: int, junk: str) -> None:
    text = sdf(
        link("a", "<pose>0 0 1 0 0 0</pose>"), links("b c"), joint("j", "a", "b"),
        joint("k", "b", "c", AXIS, "prismatic"), joint("l", "a", "c", "", "ball"),
    )  # fmt: skip
    message = "m.sdf"
    try:
        parse_sdf(text[:cut] + junk + text[cut + len(junk) :], "m.sdf")
    except Error as e:
        message = str(e)
    assert message.startswith("m.sdf")
