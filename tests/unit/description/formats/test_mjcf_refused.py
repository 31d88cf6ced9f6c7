"""MJCF that cannot be loaded, or not all of it: what the errors and warnings say."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramidyn.description.formats.mjcf.parse import parse_mjcf
from ramidyn.errors import Error, ModelError, ModelWarning
from ramidyn.loading import load

LINK = '<geom size=".1"/>'
BODY = f'<body name="a"><joint name="j"/>{LINK}</body>'


def mjcf(body: str = BODY, before: str = "", after: str = "") -> str:
    return f"<mujoco>\n{before}<worldbody>\n{body}</worldbody>{after}</mujoco>"


def joint(attributes: str) -> str:
    return mjcf(f'<body name="a"><joint name="j" {attributes}/>{LINK}</body>')


def geom(attributes: str) -> str:
    return mjcf(f'<body name="a"><joint/><geom {attributes}/></body>')


def inertial(attributes: str) -> str:
    return mjcf(f'<body name="a"><joint/><inertial {attributes}/></body>')


def equality(text: str) -> str:
    return mjcf(after=f"<equality>{text}</equality>")


def many_replicates(depth: int) -> str:
    inside = BODY.replace(' name="a"', "").replace(' name="j"', "")
    for _ in range(depth):
        inside = f'<replicate count="1000">{inside}</replicate>'
    return mjcf(inside)


REFUSED = {
    "another root": ("<robot/>", "m.xml:1: robot: the root is <robot>; expected <muj"),
    "empty": ("", "m.xml: empty; expected URDF, MJCF or SDF"),
    "trailing junk": (mjcf() + "junk", "content after|not well-formed"),
    "unclosed": ("<mujoco><worldbody>", "not well-formed XML: no element found"),
    "entities": (
        '<!DOCTYPE m [<!ENTITY a "b">]>' + mjcf(),
        "a document type with entities or external references",
    ),
    "too deep": (
        mjcf("<body>" * 1100 + "</body>" * 1100),
        "elements nested deeper than 1000",
    ),
    "no body": (mjcf(""), "m.xml:1: mujoco: no body in the model; expected at least"),
    "unknown section": (
        mjcf(before="<defaults/>"),
        "m.xml:2: defaults: no element 'defaults' in the model; expected 'default'",
    ),
    "unknown element": (
        mjcf("<bodies/>"),
        "m.xml:3: worldbody bodies: no element 'bodies' in the model; expected 'body'",
    ),
    "two bodies of a name": (
        mjcf('<body name="a"/><body name="a"/>'),
        "m.xml:3: body 'a': duplicate body 'a'; names must be unique",
    ),
    "a body named world": (mjcf('<body name="world"/>'), "duplicate body 'world'"),
    "two joints of a name": (
        mjcf('<body><joint name="j"/><joint name="j"/></body>'),
        "joint 'j': duplicate joint 'j'; names must be unique",
    ),
    "two sites of a name": (
        mjcf('<body><site name="s"/><site name="s"/></body>'),
        "site 's': duplicate site 's'",
    ),
    "unknown joint type": (
        joint('type="screw"'),
        "joint 'j': type='screw'; expected 'free', 'ball', 'slide', 'hinge'",
    ),
    "zero axis": (
        joint('axis="0 0 0"'),
        "m.xml:3: joint 'j': axis='0 0 0': a zero vector has no direction",
    ),
    "NaN": (
        joint('pos="0 nan 0"'),
        "joint 'j': pos: cannot read 'nan' in '0 nan 0'; expected a finite number",
    ),
    "too few numbers": (joint('axis="0 1"'), "has 2 numbers; expected 3 numbers"),
    "huge number": (joint('pos="0 0 1e300"'), "pos='1e300' is beyond 1e"),
    "limit upside down": (
        joint('range="1 -1" limited="true"'),
        "joint 'j': range='1 -1'; expected lower < upper",
    ),
    "range without limited": (
        mjcf(
            '<body><joint name="j" range="-1 1"/></body>',
            before='<compiler autolimits="false"/>',
        ),
        "joint 'j': range without limited, and compiler autolimits='false'",
    ),
    "negative armature": (joint('armature="-1"'), "armature=-1; expected at least 0"),
    "joint on the world": (
        mjcf("<joint/>"),
        "worldbody joint: in the world body, which cannot move; expected it in "
        "another body",
    ),
    "inertial on the world": (mjcf("<inertial/>"), "in the world body; expected it in"),
    "free joint below": (
        mjcf(f'<body>{LINK}<body name="b"><freejoint/></body></body>'),
        "body 'b': a free joint is possible only in a child of the world",
    ),
    "seven freedoms": (
        mjcf('<body name="b"><freejoint/><joint/></body>'),
        "body 'b': more than 6 degrees of freedom in one body",
    ),
    "rotation after a ball": (
        mjcf('<body name="b"><joint type="ball"/><joint/></body>'),
        "body 'b': a rotation follows a ball joint in one body",
    ),
    "moving mocap": (
        mjcf('<body name="b" mocap="true"><joint/></body>'),
        "body 'b': a mocap body cannot have joints",
    ),
    "mocap below": (
        mjcf('<body><body name="b" mocap="true"/></body>'),
        "body 'b': mocap='true' is possible only in a child of the world",
    ),
    "zero quaternion": (
        mjcf('<body name="b" quat="0 0 0 0"/>'),
        "body 'b': quat='0 0 0 0': a zero quaternion has no direction",
    ),
    "parallel axes": (
        mjcf('<body name="b" xyaxes="1 0 0 2 0 0"/>'),
        "xyaxes='1 0 0 2 0 0': a zero vector has no direction",
    ),
    "two orientations": (
        mjcf('<body name="b" quat="1 0 0 0" euler="1 2 3"/>'),
        "body 'b': quat and euler are both given; expected one",
    ),
    "bad flag": (mjcf('<body mocap="yes"/>'), "mocap='yes'; expected 'true', 'false'"),
    "negative mass": (
        inertial('pos="0 0 0" mass="-1"'),
        "body 'a': inertial: mass=-1; expected at least 0",
    ),
    "inertial without pos": (inertial('mass="1"'), "no attribute 'pos'; it is requ"),
    "inertial without a position": (inertial('mass="1"'), "no attribute 'pos'; it is"),
    "two inertias": (
        inertial('pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 0" quat="1 0 0 0"'),
        "fullinertia and quat are given; expected one",
    ),
    "two inertials": (
        mjcf("<body><inertial/><inertial/></body>"),
        "a second inertial in this body; expected one",
    ),
    "negative geom mass": (
        geom('size=".1" mass="-1"'),
        "body 'a': geom: a negative mass or density; expected a positive one",
    ),
    "negative density": (geom('size=".1" density="-1"'), "a negative mass or density"),
    "size of zero": (
        geom('name="g" type="box" size="1 0 1"'),
        "geom 'g': size='1 0 1'; expected 3 positive numbers for a box",
    ),
    "no size": (geom('type="sphere"'), "size=''; expected 1 positive number for a sp"),
    "fromto of a sphere": (geom('size=".1" fromto="0 0 0 1 0 0"'), "fromto; expected"),
    "fromto and pos": (
        geom('type="box" size=".1" fromto="0 0 0 1 0 0" pos="1 0 0"'),
        "both pos and fromto are given; expected one",
    ),
    "fromto of a point": (
        geom('type="box" size=".1" fromto="1 0 0 1 0 0"'),
        "fromto: both points are the same; expected a segment",
    ),
    "unknown geom type": (geom('type="cone"'), "type='cone'; expected 'sphere'"),
    "broken group": (geom('size=".1" group="1.5"'), "group=1.5; expected a whole num"),
    "inertia from a mesh": (
        geom('name="shin" type="mesh" mesh="m"'),
        "m.xml:3: body 'a': takes its inertia from mesh geom 'shin' (line 3), but "
        "m.xml:3: geom 'shin': no mesh 'm' in the model; expected one of 0 known; add "
        "an <inertial> to the body",
    ),
    "inertia from a fitted mesh": (
        geom('type="box" mesh="m"'),
        "body 'a': takes its inertia from mesh geom 'm'",
    ),
    "inertia from a mesh by decree": (
        mjcf(
            """<body name="a"><joint/><inertial pos="0 0 0" mass="1"/>
            <geom type="mesh" mesh="m"/></body>""",
            before='<compiler inertiafromgeom="true"/>',
        ),
        "body 'a': takes its inertia from mesh geom 'm'",
    ),
    "total mass with a mesh": (
        mjcf(
            f'<body name="s"><geom type="mesh" mesh="m"/></body>{BODY}',
            before='<compiler settotalmass="1"/>',
        ),
        "body 's': takes its inertia from mesh geom 'm'",
    ),
    "total mass of nothing": (
        mjcf("<body/>", before='<compiler settotalmass="1"/>'),
        "settotalmass on a model without mass",
    ),
    "global coordinates": (
        mjcf(before='<compiler coordinate="global"/>'),
        "m.xml:2: compiler: coordinate='global'; expected 'local'",
    ),
    "Euler sequence": (
        mjcf(before='<compiler eulerseq="xyw"/>'),
        "eulerseq='xyw'; expected three of x y z X Y Z",
    ),
    "unknown class": (
        mjcf(
            '<body><geom class="lleg"/></body>',
            before='<default><default class="leg"/></default>',
        ),
        "geom: no default class 'lleg' in the model; expected 'leg'",
    ),
    "unknown childclass": (mjcf('<body childclass="x"/>'), "no default class 'x'"),
    "two classes of a name": (
        mjcf(before='<default><default class="a"/><default class="a"/></default>'),
        "duplicate default class 'a'; expected one",
    ),
    "a nameless class": (
        mjcf(before="<default><default/></default>"),
        "a nested default without a class; expected its name",
    ),
    "composite": (
        mjcf('<body><composite type="cable" count="9 1 1"/></body>'),
        "m.xml:3: worldbody body composite: <composite> makes bodies and is not supp",
    ),
    "flexcomp": (mjcf('<flexcomp name="f"/>'), "<flexcomp> makes bodies"),
    "attach": (mjcf('<attach model="m" prefix="p"/>'), "<attach> makes bodies"),
    "replicate without count": (mjcf("<replicate/>"), "no attribute 'count'; it is re"),
    "replicate of nothing": (
        mjcf('<replicate count="0"/>'),
        "count=0; expected 1 to 50000",
    ),
    "replicate of a joint": (
        mjcf('<body><replicate count="2"><joint/></replicate></body>'),
        "joint: directly in a replicate; expected a body around it",
    ),
    "replicate bomb": (many_replicates(6), "replicate makes over 50000 elements"),
    "include in a text": (
        mjcf(before='<include file="b.xml"/>'),
        "m.xml:2: include: file='b.xml' cannot be found, because the model was given",
    ),
    "equality of an unknown body": (
        equality('<connect body1="b" anchor="0 0 0"/>'),
        "equality connect: no body 'b' in the model; expected",
    ),
    "equality of an unknown site": (
        equality('<weld site1="s" site2="t"/>'),
        "equality weld: no site 's' in the model; expected one of 0 known",
    ),
    "equality of an unknown joint": (
        equality('<joint joint1="jj"/>'),
        "equality joint: no joint 'jj' in the model; expected 'j'",
    ),
    "connect without anchor": (equality('<connect body1="a"/>'), "no attribute 'anch"),
    "connect of a site and a body": (
        equality('<connect site1="s" body2="a"/>'),
        "site1 and body2; expected sites or bodies",
    ),
    "unknown equality": (equality("<distance/>"), "no equality 'distance' in the mod"),
    "two equalities of a name": (
        equality('<joint name="e" joint1="j"/><joint name="e" joint1="j"/>'),
        "duplicate equality 'e'",
    ),
    "equality of a free joint": (
        mjcf(
            '<body><freejoint name="f"/></body>',
            after='<equality><joint joint1="f"/></equality>',
        ),
        "joint 'f' must be a hinge or a slide joint",
    ),
    "short keyframe": (
        mjcf(after='<keyframe><key name="k" qpos="1 2"/></keyframe>'),
        "key 'k': qpos='1 2' has 2 numbers; expected 1 number",
    ),
    "two keys of a name": (
        mjcf(after='<keyframe><key name="k"/><key name="k"/></keyframe>'),
        "key 'k': duplicate key 'k'; expected one",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_model_is_refused_in_words(case: str) -> None:
    text, message = REFUSED[case]
    pattern = message if "|" in message else re.escape(message)
    with pytest.raises(ModelError, match=pattern):
        parse_mjcf(text, "m.xml", None)


WARNED = {
    "unphysical inertia": (
        inertial('pos="0 0 0" mass="1" diaginertia="1 1 3"'),
        "m.xml:3: body 'a': unphysical inertia: principal moments 1, 1, 3 (none may be "
        "negative or exceed the sum of the others)",
    ),
    "indefinite inertia": (
        inertial('pos="0 0 0" mass="1" fullinertia="1 1 1 2 0 0"'),
        "m.xml:3: body 'a': unphysical inertia: principal moments -1, 1, 3 (none may "
        "be negative or exceed the sum of the others)",
    ),
    "massless leaf": (
        mjcf('<body name="a"><joint/><body name="b"><joint/></body></body>'),
        "bodies 'a', 'b' can move, but neither they nor the bodies they carry have "
        "mass",
    ),
    "inertial without mass": (
        mjcf('<body name="a"><inertial pos="0 0 0" diaginertia="1 1 1"/></body>'),
        "m.xml:3: body 'a': inertial: no attribute 'mass'; treated as 0",
    ),
    "zero quaternion in a keyframe": (
        mjcf(
            f"<body><joint type='ball'/>{LINK}</body>",
            after='<keyframe><key name="k" qpos="0 0 0 0"/></keyframe>',
        ),
        "m.xml:3: key 'k': a zero quaternion in qpos counts as 1 0 0 0, as in MuJoCo: "
        "at 0",
    ),
    "range upside down": (
        joint('range="1 -1"'),
        "m.xml:3: joint 'j': range='1 -1' has lower >= upper and is ignored, as MuJoCo "
        "does",
    ),
    "range of a ball": (
        joint('type="ball" range="0 90"'),
        "m.xml:3: joint 'j': the range of a ball joint limits its rotation angle "
        "(1.5708 rad), not its coordinates; it is ignored",
    ),
    "polynomial damping": (
        joint('damping="1 2"'),
        "m.xml:3: joint 'j': damping is a polynomial; only its first coefficient, 1, "
        "is kept",
    ),
    "springdamper": (
        joint('springdamper="1 1"'),
        "m.xml:3: joint 'j': springdamper is ignored",
    ),
    "unknown attribute": (
        joint('axsi="1 0 0"'),
        "m.xml:3: joint 'j': unknown attribute 'axsi' is ignored; did you mean 'axis'?",
    ),
    "unknown attribute of a class": (
        mjcf(before='<default><geom density_="1"/></default>'),
        "m.xml:2: default geom: unknown attribute 'density_' is ignored; did "
        "you mean 'density'?",
    ),
    "mocap": (
        mjcf(f'<body name="a" mocap="true">{LINK}</body>'),
        "m.xml:3: body 'a': a mocap body; it stays where the file places it",
    ),
    "body plugin": (
        mjcf(f'<body name="a"><joint/>{LINK}<plugin plugin="p"/></body>'),
        "m.xml:3: body 'a': plugin: the forces of plugin 'p' are ignored",
    ),
    "aligned free joint": (
        mjcf(f'<body name="a"><freejoint name="f" align="true"/>{LINK}</body>'),
        "m.xml:3: freejoint 'f': align is ignored; the body keeps its own frame, "
        "although "
        "MuJoCo may move it to the center of mass",
    ),
    "fluid": (
        mjcf(before='<option density="1.2" wind="1 0 0"/>'),
        "m.xml:2: option: the fluid (density, wind) is ignored",
    ),
    "flex": (
        mjcf(after='<deformable><flex name="f"/></deformable>'),
        "m.xml:3: flex 'f': the elasticity of the flex is ignored",
    ),
    "inactive equality": (
        equality('<joint name="e" joint1="j" active="false"/>'),
        "m.xml:3: joint 'e': joint 'e' is inactive and ignored",
    ),
    "tendon equality": (
        equality('<tendon name="e" tendon1="t"/>'),
        "m.xml:3: tendon 'e': equality of type tendon is ignored",
    ),
}


@pytest.mark.parametrize("case", WARNED)
def test_what_is_left_out_is_named(case: str) -> None:
    text, message = WARNED[case]
    assert parse_mjcf(text, "m.xml", None).warnings == (message,)


def test_plain_model_has_no_warnings() -> None:
    text = mjcf(after='<actuator><motor joint="j" gear="3"/></actuator>')
    assert parse_mjcf(text, "m.xml", None).warnings == ()


def test_inactive_equality_is_no_loop() -> None:
    text = equality('<joint joint1="j" active="false"/><joint joint1="j"/>')
    assert len(parse_mjcf(text, "m.xml", None).loops) == 1


# ------------------------------------------------------------ includes

INCLUDES = {
    "itself": ({"main.xml": "main.xml"}, "file='main.xml' is already included"),
    "a cycle": (
        {"main.xml": "a.xml", "a.xml": "b.xml", "b.xml": "a.xml"},
        "b.xml:1: include: file='a.xml' is already included; expected it once",
    ),
    "a file outside": (
        {"main.xml": "../../secret.xml"},
        "main.xml:1: include: file='../../secret.xml' leads outside '",
    ),
    "an absolute path": (
        {"main.xml": "/etc/hostname"},
        "robots'; to allow it, load the model with include_directory= a directory that "
        "holds all its files",
    ),
    "no such file": (
        {"main.xml": "none.xml"},
        "main.xml:1: include: file='none.xml': no such file next to the model",
    ),
    "a path too long": ({"main.xml": "A" * 5000}, "AAA"),
}


@pytest.mark.parametrize("case", INCLUDES)
def test_bad_include_is_refused_in_words(case: str, tmp_path: Path) -> None:
    files, message = INCLUDES[case]
    folder = tmp_path / "robots" / "model"
    folder.mkdir(parents=True)
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    for name, target in files.items():
        text = f'<mujoco><include file="{target}"/></mujoco>'
        (folder / name).write_text(text)
    with pytest.raises(ModelError, match=re.escape(message)):
        parse_mjcf((folder / "main.xml").read_text(), "main.xml", folder)


def test_link_that_leads_outside_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "robots" / "model"
    folder.mkdir(parents=True)
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    try:
        (folder / "a.xml").symlink_to(tmp_path / "secret.xml")
    except OSError:
        pytest.skip("this system makes no symbolic links")
    with pytest.raises(ModelError, match=r"file='a\.xml' leads outside '.*robots'; to"):
        parse_mjcf('<mujoco><include file="a.xml"/></mujoco>', "main.xml", folder)


def test_included_files_may_be_anywhere_in_the_directory_allowed(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "robots" / "model"
    folder.mkdir(parents=True)
    link = '<mujoco><worldbody><body name="far"/></worldbody></mujoco>'
    (tmp_path / "link.xml").write_text(link)
    (tmp_path / "robots" / "near.xml").write_text(link.replace("far", "near"))
    main = folder / "main.xml"
    main.write_text('<mujoco><include file="../near.xml"/></mujoco>')
    assert load(main).body_names == ("near",)
    main.write_text('<mujoco><include file="../../link.xml"/></mujoco>')
    assert load(main, include_directory=tmp_path).body_names == ("far",)
    with pytest.raises(ModelError, match=r"file='../../link\.xml' leads outside '"):
        load(main)
    with pytest.raises(ModelError, match=r"leads outside '.*model'; to allow it, load"):
        load(main, include_directory=folder)


def test_include_directory_must_exist(tmp_path: Path) -> None:
    main = tmp_path / "main.xml"
    main.write_text("<mujoco/>")
    with pytest.raises(
        ModelError, match=r"include_directory is 'none'; expected an existing directory"
    ):
        load(main, include_directory="none")


def test_long_names_are_shortened_in_messages() -> None:
    name = "x" * 5000
    body = f'<body name="{name}"><joint/><geom size=".1"/></body>'
    assert load(mjcf(body)).body_names == (name,)
    with pytest.raises(ModelError, match=r"duplicate body 'x{100}\.\.\. \(5000 char"):
        load(mjcf(2 * body.replace("<joint/>", "")))
    with pytest.warns(ModelWarning, match=r"bodies 'x{100}\.\.\. \(5000 char") as seen:
        load(mjcf(f'<body name="{name}"><joint/></body>'))
    assert max(len(str(w.message)) for w in seen) < 400


def test_blank_numbers_count_as_not_written() -> None:
    text = mjcf(
        """<body name="a" pos=" " quat=""><joint range="" axis="" damping=""/>
        <geom size=".1" mass=""/></body>""",
        before='<option gravity=""/>',
    )
    (body,) = parse_mjcf(text, "m.xml", None).bodies
    (only,) = body.joints
    assert only.limits is None
    assert only.axis.tolist() == [0, 0, 1]
    assert body.inertial is not None
    assert body.inertial.mass == pytest.approx(4000 / 3 * math.pi * 0.1**3)


def test_joint_may_be_held_by_any_damping() -> None:
    model = parse_mjcf(joint('damping="1e11" stiffness="1e12"'), "m.xml", None)
    (held,) = (j for b in model.bodies for j in b.joints)
    assert (held.damping, held.stiffness) == (1e11, 1e12)


def test_broken_include_names_both_files(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<mujoco><body></mujoco>")
    with pytest.raises(ModelError, match=r"main\.xml:1: .*a\.xml:1:.* mismatched tag"):
        parse_mjcf('<mujoco><include file="a.xml"/></mujoco>', "main.xml", tmp_path)


def test_include_with_children_is_refused(tmp_path: Path) -> None:
    text = '<mujoco><include file="a.xml"><body/></include></mujoco>'
    with pytest.raises(ModelError, match="children inside; expected an empty <include"):
        parse_mjcf(text, "main.xml", tmp_path)


# ------------------------------------------------------------ fuzz

SEED = """<mujoco model="fuzz"><compiler angle="radian" eulerseq="zyx" boundmass=".1"/>
<option gravity="0 0 -9"><flag gravity="enable"/></option>
<default><joint axis="1 0 0" range="-1 1"/><geom size=".1 .2 .3"/>
  <default class="c"><geom type="box" euler="1 2 3"/></default></default>
<worldbody><frame pos="1 2 3" zaxis="1 1 1"><site name="w" fromto="0 0 0 1 0 0"/>
  <body name="a" pos="0 1 0" quat="1 2 3 4" childclass="c"><freejoint name="f"/><geom/>
    <inertial pos="0 0 1" mass="2" fullinertia="1 1 1 0 0 0"/>
    <body name="b" axisangle="1 0 0 2" gravcomp=".5">
      <joint name="j" ref=".5" pos="1 0 0"/>
      <geom type="capsule" fromto="0 0 0 1 1 1" mass="3" shellinertia="true"/>
      <replicate count="3" offset="1 0 0" euler="0 0 1" sep="-">
        <body name="r"><joint name="k" type="ball" armature="1"/><geom class="main"/>
        </body></replicate>
      <site name="s" xyaxes="1 0 0 0 1 0"/></body></body></frame></worldbody>
<tendon><fixed name="t" stiffness="1"><joint joint="j" coef="1"/></fixed></tendon>
<equality><connect body1="a" body2="b" anchor="1 0 0"/><weld site1="s" site2="w"/>
  <joint joint1="j" polycoef="0 1"/></equality>
<actuator><position name="p" joint="j"/></actuator>
<keyframe><key name="h" qpos="0 0 0 1 0 0 0 1 1 0 0 0 1 0 0 0 1 0 0 0"/></keyframe>
</mujoco>"""
ODD_NUMBERS = ("0", "-1", "1", "2", "1e10", "1e-9", "1e-320", "1e308", "nan", "1 2")
ODD_WORDS = (
    *("inf", "1_0", "", "x", "0 0 0", "0 0 0 0", "true", "mesh", "world", "auto", "<"),
    *("body", "geom", "joint", "site", "frame", "class", "pos", "main", "50000", ">"),
    *("\0", "\ud800", "&#0;", "&a;", "<!--", "<body>", "</body>", '"', "plane"),
)


def spans(pattern: str) -> st.SearchStrategy[tuple[int, int]]:
    return st.sampled_from([m.span() for m in re.finditer(pattern, SEED)])


Edit = tuple[tuple[int, int], str]
EDITS = st.one_of(
    st.tuples(spans(r'(?<=[" ])-?[\d.]+(?=[" ])'), st.sampled_from(ODD_NUMBERS)),
    st.tuples(spans(r'(?<=")[^"]*(?=")|\w+'), st.sampled_from(ODD_WORDS)),
    st.tuples(spans(r'<[^<>]*/>| \w+="[^"]*"|(?s:.{7})'), st.just("")),
    st.tuples(spans(r"(?<=/>)"), spans(r"<[^<>]*/>").map(lambda at: SEED[slice(*at)])),
)


def edited(edits: list[Edit]) -> str:
    text = SEED
    for (start, end), new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def test_the_seed_of_the_fuzz_loads() -> None:
    assert len(parse_mjcf(SEED, "m.xml", None).bodies) == 5


@settings(max_examples=500, deadline=1000, derandomize=True)
@given(st.lists(EDITS, min_size=1, max_size=3))
def test_mutated_model_loads_or_is_refused(edits: list[Edit]) -> None:
    try:
        outcome = f"m.xml: {len(parse_mjcf(edited(edits), 'm.xml', None).bodies)}"
    except Error as e:
        outcome = str(e)
    assert re.match(r"m\.xml(:\d+)*: \S", outcome)
