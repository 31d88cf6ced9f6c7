"""What MuJoCo makes of small models, feature by feature, and ours beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ramidyn.description.description import Description
from ramidyn.description.formats.mjcf.parse import parse_mjcf
from support.close import assert_close
from support.mujoco_agreement import assert_agrees, compiled, mujoco
from support.random_mjcf import random_mjcf

LINK = '<geom type="box" size=".1 .2 .3"/>'


def mjcf(body: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{body}</worldbody>{after}</mujoco>"


def parse(text: str) -> Description:
    return parse_mjcf(text, "model.xml", None)


MODELS = {
    "one hinge": mjcf(f"<body><joint/>{LINK}</body>"),
    "every joint type": mjcf(
        f"""
        <body name="a" pos="1 2 3" quat="1 2 3 4"><freejoint name="root"/>{LINK}
          <body><joint type="ball" pos=".1 .2 .3"/>{LINK}
            <body pos="0 0 1"><joint type="slide" axis="1 2 2" ref=".3"/>{LINK}
              <body pos="0 1 0"><joint axis="0 -3 0" ref="30" pos="0 0 .2"/>{LINK}
        </body></body></body></body>"""
    ),
    "several joints on a body": mjcf(
        f"""
        <body pos="1 0 0" euler="10 20 30">
          <joint type="slide" axis="0 1 1" ref="1"/>
          <joint axis="0 0 1" pos=".1 .2 .3" ref="-20"/>
          <joint axis="1 1 0" pos=".3 .2 .1"/>
          <joint type="ball" pos="0 .2 0"/>{LINK}
        </body>"""
    ),
    "several trees and static bodies": mjcf(
        f"""
        <geom type="plane" size="1 1 1"/><site name="origin" pos="1 2 3"/>
        <body pos="1 0 0">{LINK}<body euler="0 90 0"><joint/>{LINK}</body></body>
        <body pos="2 0 0"><body pos="0 1 0"><body><joint/>{LINK}</body></body></body>
        <body><freejoint/>{LINK}</body>"""
    ),
    "nested default classes": mjcf(
        """
        <body childclass="leg"><joint/><geom/>
          <body><joint class="stiff"/><geom class="light" size=".5"/>
            <body childclass="main"><joint/><geom/></body>
        </body></body>""",
        before="""
        <default>
          <joint axis="1 0 0" armature=".1" damping="2"/><geom size=".2"/>
          <default class="leg">
            <joint type="slide" range="-1 2" frictionloss=".3"/>
            <default class="stiff"><joint stiffness="5" springref="2"/></default>
            <default class="light"><geom type="box" size="1 2 3"/></default>
          </default>
        </default>""",
    ),
    "defaults in two sections": mjcf(
        '<body><joint/><geom class="b"/></body>',
        before="""<default><geom type="box" size="1 1 1"/></default>
        <default><geom size="2"/><default class="b"/></default>""",
    ),
    "default orientation is replaced": mjcf(
        '<body><joint/><geom quat="0 1 0 1"/></body>',
        before='<default><geom type="box" size=".1 .2 .3" euler="90 0 0"/></default>',
    ),
    "frames": mjcf(
        f"""
        <frame pos="1 2 3" euler="10 0 20"><frame axisangle="1 1 0 40">
          <body pos="1 0 0" name="a">
            <frame pos="0 0 1" xyaxes="0 1 0 -1 0 0" childclass="slider">
              <joint pos=".1 .2 .3" axis="1 0 0"/><geom type="box" size=".1 .2 .3"/>
              <site name="tip" pos="1 1 1" zaxis="1 2 3"/>
              <body pos="0 .5 0" name="b"><joint/>{LINK}</body>
            </frame>
          </body></frame></frame>
        <body name="c"><joint/>
          <frame pos="1 0 0" euler="0 0 90">
            <inertial mass="1" pos="0 1 0" diaginertia="1 2 2.5"/>
          </frame></body>""",
        before="""<default><default class="slider"><joint type="slide"/></default>
        </default>""",
    ),
    "orientations": mjcf(
        "".join(
            f'<body pos="{i} 0 0" {o}><joint/><geom type="box" size=".1 .2 .3" {o}/>'
            f'<inertial mass="1" pos="0 0 1" diaginertia="1 2 2.5" {o}/></body>'
            for i, o in enumerate(
                (
                    'quat="3 -2 1 .5"',
                    'axisangle="1 2 3 70"',
                    'euler="10 20 30"',
                    'xyaxes="1 2 0 0 1 1"',
                    'zaxis="-1 0 2"',
                    'zaxis="0 0 -2"',
                )
            )
        )
    ),
    "radians": mjcf(
        """<body euler=".1 .2 .3"><joint range="-1 2" ref=".5" springref=".2"/>
        <geom type="box" size=".1 .2 .3" axisangle="1 0 0 1.5"/></body>""",
        before='<compiler angle="radian"/>',
    ),
    "fixed Euler axes": mjcf(
        f'<body euler="10 20 30"><joint/>{LINK}</body>',
        before='<compiler eulerseq="ZYX"/>',
    ),
    "mixed Euler axes": mjcf(
        f'<body euler="10 20 30"><joint/>{LINK}</body>',
        before='<compiler eulerseq="zYx"/>',
    ),
    "the last compiler wins": mjcf(
        f'<body euler="1 .2 .3"><joint/>{LINK}</body>',
        before='<compiler angle="degree" eulerseq="zyx"/>',
        after='<compiler angle="radian"/>',
    ),
    "fullinertia": mjcf(
        """<body><joint/><inertial pos="1 2 3" mass="2"
        fullinertia="3 4 5 .1 .2 .3"/></body>"""
    ),
    "primitives by density": mjcf(
        """<body><joint/>
        <geom size=".1"/><geom type="capsule" size=".1 .2" pos="1 0 0" euler="10 20 0"/>
        <geom type="cylinder" size=".1 .2" pos="0 1 0" density="20"/>
        <geom type="ellipsoid" size=".1 .2 .3" pos="0 0 1" euler="0 20 30"/>
        <geom type="box" size=".1 .2 .3" pos="1 1 1" quat="1 1 1 0"/></body>"""
    ),
    "primitives by mass": mjcf(
        "".join(
            f'<body><joint/><geom type="{t}" size=".1 .2 .3" mass="2"/></body>'
            for t in ("sphere", "capsule", "cylinder", "ellipsoid", "box")
        )
    ),
    "shells": mjcf(
        "".join(
            f'<body><joint/><geom type="{t}" size=".1 .2 .3" {m} shellinertia="true"/>'
            "</body>"
            for t in ("sphere", "capsule", "cylinder", "ellipsoid", "box")
            for m in ('mass="2"', 'density="7"')
        )
    ),
    "fromto": mjcf(
        "".join(
            f'<body><joint/><geom type="{t}" size=".1" fromto="1 2 3 {to}"/>'
            f'<site name="{t}{i}" type="{t}" fromto="1 2 3 {to}" size=".1"/></body>'
            for t in ("capsule", "cylinder", "ellipsoid", "box")
            for i, to in enumerate(("2 0 1", "1 2 0", "1 2 4"))
        )
    ),
    "geoms without mass": mjcf(
        """<body><geom size=".1" mass="0"/><geom size=".1" density="0"/></body>
        <body><joint/><geom size="1" mass="0" density="3" pos="1 0 0"/>
        <geom size=".1" mass="4" density="0" pos="0 1 0"/></body>"""
    ),
    "inertia groups": mjcf(
        '<body><joint/><geom size="1" group="2"/><geom size=".1" group="3"/></body>',
        before='<compiler inertiagrouprange="3 4"/>',
    ),
    "inertia always from geoms": mjcf(
        """<body><joint/><inertial pos="1 1 1" mass="3" diaginertia="1 1 1"/>
        <geom size=".1"/></body>
        <body><joint/><inertial pos="1 1 1" mass="3" diaginertia="1 1 1"/>
        <geom size=".1" mass="0"/></body>""",
        before='<compiler inertiafromgeom="true"/>',
    ),
    "inertia never from geoms": mjcf(
        """<body><geom size=".1"/>
        <body><joint/><inertial pos="1 1 1" mass="3" diaginertia="1 1 1"/></body></body>
        """,
        before='<compiler inertiafromgeom="false"/>',
    ),
    "bounds": mjcf(
        """<frame pos="1 1 1"><body pos="7 8 9" euler="10 20 30"><joint/></body></frame>
        <body><joint/><geom type="box" size=".01 .1 .3" euler="10 20 30"/></body>
        <body><joint/><inertial pos="1 2 3" mass=".01" diaginertia="1 2 2.5"
         euler="10 20 30"/></body>""",
        before='<compiler boundmass=".5" boundinertia=".1"/>',
    ),
    "balance": mjcf(
        """<body><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 2 4"/></body>
        <body><joint/><inertial pos="0 0 0" mass="1" diaginertia="2 2 3"/></body>""",
        before='<compiler balanceinertia="true"/>',
    ),
    "total mass": mjcf(
        f"<body>{LINK}<body><joint/>{LINK}</body></body>",
        before='<compiler settotalmass="2"/>',
    ),
    "total mass, nothing fused": mjcf(
        f"<body>{LINK}<body><joint/>{LINK}</body></body>",
        before='<compiler settotalmass="2" fusestatic="false"/>',
    ),
    "limits": mjcf(
        f"""<body><joint range="-10 20"/>{LINK}</body>
        <body><joint range="-10 20" limited="false" actuatorfrcrange="-3 7"/>{LINK}
        </body>
        <body><joint range="-10 20" limited="true" type="slide"/>{LINK}</body>
        <body><joint range="0 0"/>{LINK}</body>"""
    ),
    "no autolimits": mjcf(
        f'<body><joint range="-10 20" limited="true"/>{LINK}</body>',
        before='<compiler autolimits="false"/>',
    ),
    "replicate": mjcf(
        f"""<body name="hub"><joint/>{LINK}
          <replicate count="10" offset=".1 0 0" euler="0 10 30">
            <body name="a" pos="0 1 0"><joint name="j"/>{LINK}<site name="s"/></body>
            <geom size=".1" pos="0 0 1"/>
          </replicate></body>
        <frame euler="0 0 90"><replicate count="2" offset="1 0 0" sep="-">
          <replicate count="3" offset="0 1 0">
            <body name="b" pos="0 1 0"><joint name="k"/>{LINK}</body>
          </replicate></replicate></frame><body name="last"><joint/>{LINK}</body>"""
    ),
    "static bodies stay apart": mjcf(
        f'<body name="a"><joint/>{LINK}<body name="b" pos="0 0 1">{LINK}</body></body>',
        before='<compiler fusestatic="true"/>',
    ),
    "gravity compensation": mjcf(f'<body gravcomp=".5"><joint/>{LINK}</body>'),
    "free joint with defaults": mjcf(
        f'<body><joint type="free"/>{LINK}</body><body><freejoint/>{LINK}</body>',
        before="""<default><joint armature=".5" frictionloss="1" pos="1 2 3" ref="3"
        range="-1 1"/></default>""",
    ),
    "what is only seen": mjcf(
        f"""<light/><camera/><body><geom type="plane" size="1 1 1"/></body>
        <body><joint/>{LINK}<light/><camera name="eye"/></body>"""
    ),
    "a shape too small to weigh": mjcf(
        '<body><joint/><geom size="1e-6" mass="1"/><geom size=".1" mass="2"/></body>'
    ),
    "site named like its body": mjcf(
        f'<body name="a"><joint/>{LINK}<site name="a" pos="1 2 3"/></body>'
    ),
    "meshes beside an inertial": mjcf(
        """<body><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <geom type="mesh" mesh="m"/><geom type="sphere" mesh="m"/></body>
        <body><joint/><geom size=".1"/><geom type="mesh" mesh="m" mass="0"/></body>
        <body><geom type="mesh" mesh="m"/></body>""",
        before="""<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>""",
    ),
}


@pytest.mark.parametrize("model", MODELS)
def test_feature_agrees_with_mujoco(model: str, rng: np.random.Generator) -> None:
    text = MODELS[model]
    assert_agrees(parse(text), compiled(mujoco.MjSpec.from_string(text)), rng)


@pytest.mark.parametrize("seed", range(40))
def test_random_model_agrees_with_mujoco(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = random_mjcf(rng)
    assert_agrees(parse(text), compiled(mujoco.MjSpec.from_string(text)), rng)


TWO_BODIES = f"""
    <body name="a" pos="1 0 0" quat="1 1 0 0"><joint name="j" ref="30"/>{LINK}
      <site name="s" pos="1 2 3" euler="0 0 20"/></body>
    <body name="b" pos="0 1 0" euler="10 20 30"><freejoint/>{LINK}
      <body pos="1 2 3"><joint name="k" type="slide"/>{LINK}<site name="t"/></body>
    </body>"""


def test_loops_are_cut_where_mujoco_cuts_them() -> None:
    equality = """<equality>
        <connect name="c" body1="a" body2="b" anchor=".1 .2 .3"/>
        <connect body1="b" anchor="1 2 3"/>
        <weld name="w" body1="a" body2="b"/>
        <weld body1="a" body2="b" anchor=".1 .2 .3"/>
        <weld body1="a" body2="b" anchor=".1 .2 .3" relpose="1 2 3 1 1 0 0"/>
        </equality>"""
    text = mjcf(TWO_BODIES, after=equality)
    theirs = mujoco.MjModel.from_xml_string(text)
    loops = parse(text).loops
    assert [loop.name for loop in loops] == ["c", "connect1", "w", "weld3", "weld4"]
    assert [loop.type for loop in loops] == ["spherical"] * 2 + ["weld"] * 3
    for loop, data in zip(loops[:2], theirs.eq_data[:2], strict=True):
        assert_close(loop.placement_a.p, data[0:3], loop.name)
        assert_close(loop.placement_b.p, data[3:6], loop.name)
    for loop, data in zip(loops[2:], theirs.eq_data[2:], strict=True):
        assert_close(loop.placement_b.p, data[0:3], loop.name)
        assert_close(loop.placement_a.p, data[3:6], loop.name)
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, data[6:10])
        assert_close(loop.placement_a.R.ravel(), R, loop.name)
    assert (loops[1].body_a, loops[1].body_b) == ("b", None)


def test_sites_are_cuts_as_they_stand() -> None:
    equality = """<equality><connect site1="s" site2="t"/>
        <weld site1="t" site2="s"/></equality>"""
    robot = parse(mjcf(TWO_BODIES, after=equality))
    s, t = robot.frames
    connect, weld = robot.loops
    assert (connect.body_a, connect.body_b) == ("a", "body3")
    assert connect.placement_a is s.placement
    assert weld.placement_a is t.placement
    assert weld.type == "weld"


def test_joint_equalities_become_couplings() -> None:
    equality = """<equality><joint joint1="j" joint2="k" polycoef="1 2"/>
        <joint joint1="j" polycoef="3 4 5"/><joint joint1="k" joint2="j"/></equality>"""
    loops = parse(mjcf(TWO_BODIES, after=equality)).loops
    assert [loop.joints for loop in loops] == [("j", "k"), ("j",), ("k", "j")]
    assert loops[0].coefficients == (1, 2, 0, 0, 0)
    assert loops[1].coefficients == (3,)
    assert loops[2].coefficients == (0, 1, 0, 0, 0)


def test_keyframes_are_mujocos() -> None:
    keys = """<keyframe><key name="home"/><key qpos="1 2 3 4 2 0 0 0 5"/>
        <key name="up" qpos="1 0 0 0 1 1 1 1 2"/><key qpos="1 2 3 0 0 0 0 0 0"/>
        <key qpos="1 2 3 4e-15 3e-15 0 0 0 0"/><key qpos="0 0 0 1e-16 1e-16 0 0 0 0"/>
        </keyframe>"""
    text = mjcf(TWO_BODIES, after=keys)
    theirs = mujoco.MjModel.from_xml_string(text)
    ours = parse(text).keyframes
    names = ["home", "key1", "up", "key3", "key4", "key5"]
    assert list(ours) == ["qpos0", *names]
    assert_close(ours["qpos0"], theirs.qpos0, "qpos0")
    for i, name in enumerate(names):
        assert_close(ours[name], theirs.key_qpos[i], name)


def test_top_class_may_have_a_name() -> None:
    body = '<body><joint class="robot"/><joint/><geom size=".1"/></body>'
    robot = parse(
        mjcf(body, before='<default class="robot"><joint ref="90"/></default>')
    )
    assert [j.reference for j in robot.bodies[0].joints] == [np.pi / 2] * 2


def test_gravity_is_the_options() -> None:
    body = f"<body><joint/>{LINK}</body>"
    assert parse(mjcf(body)).gravity == (0, 0, -9.81)
    option = '<option gravity="1 2 3"/>'
    assert parse(mjcf(body, before=option)).gravity == (1, 2, 3)
    disabled = '<option gravity="1 2 3"><flag gravity="disable"/></option>'
    assert parse(mjcf(body, before=disabled)).gravity == (0, 0, 0)


def test_free_body_stands_where_qpos_says() -> None:
    robot = parse(mjcf(f'<body pos="1 2 3"><freejoint/>{LINK}</body>'))
    assert robot.bodies[0].placement.is_identity()
    assert robot.keyframes["qpos0"].tolist() == [1, 2, 3, 1, 0, 0, 0]


def test_the_nameless_get_their_numbers() -> None:
    robot = parse(
        mjcf(
            f"""<body name="body2"><joint name="joint1"/>{LINK}
            <body><joint/>{LINK}<body><joint/>{LINK}</body></body></body>"""
        )
    )
    assert [b.name for b in robot.bodies] == ["body2", "body2_", "body3"]
    assert [b.joints[0].name for b in robot.bodies] == ["joint1", "joint1_", "joint2"]
    assert [b.parent for b in robot.bodies] == [None, "body2", "body2_"]
    assert robot.name == "model"
    assert robot.format == "mjcf"


def test_site_frames_name_their_bodies() -> None:
    robot = parse(
        mjcf(f'<site name="w"/><body name="a"><joint/>{LINK}<site name="a"/></body>')
    )
    assert [(f.name, f.body) for f in robot.frames] == [("w", None), ("a_site", "a")]
    assert robot.warnings == (
        "model.xml: 1 site has the name of a body; called as frames: 'a_site'",
    )


def test_sites_with_names_of_bodies_are_one_line() -> None:
    bodies = "".join(
        f'<body name="b{k}"><joint/>{LINK}<site name="b{k}"/></body>' for k in range(14)
    )
    (text,) = parse(mjcf(bodies)).warnings
    assert text.startswith("model.xml: 14 sites have the name of a body; called as fra")
    assert text.endswith(" 'b7_site' and 6 more")


def test_a_chain_of_hundreds_of_bodies_loads() -> None:
    n = 900
    robot = parse(mjcf(f"<body><joint/>{LINK}" * n + "</body>" * n))
    assert len(robot.bodies) == n
    assert robot.bodies[-1].parent == f"body{n - 1}"


# ------------------------------------------------------------ includes


def write(folder: Path, files: dict[str, str]) -> Description:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return parse_mjcf(files["main.xml"], "main.xml", folder)


def test_includes_are_found_beside_the_model_then_beside_the_includer(
    tmp_path: Path,
) -> None:
    files = {
        "main.xml": mjcf('<body name="a"><include file="sub/link.xml"/></body>'),
        "sub/link.xml": """<mujocoinclude><joint name="j"/>
            <include file="geom.xml"/><include file="deep.xml"/></mujocoinclude>""",
        "geom.xml": f"<mujocoinclude>{LINK}</mujocoinclude>",
        "sub/geom.xml": "<mujocoinclude><joint name='wrong'/></mujocoinclude>",
        "sub/deep.xml": f'<mujoco><body name="b">{LINK}</body></mujoco>',
    }
    robot = write(tmp_path, files)
    theirs = compiled(mujoco.MjSpec.from_file(str(tmp_path / "main.xml")))
    assert_agrees(robot, theirs, np.random.default_rng(0))
    assert [b.name for b in robot.bodies] == ["a", "b"]


def test_included_sections_are_sections(tmp_path: Path) -> None:
    files = {
        "main.xml": '<mujoco model="m"><include file="a.xml"/></mujoco>',
        "a.xml": f"""<mujoco><compiler angle="radian"/><worldbody>
            <body euler="1 0 0"><joint/>{LINK}</body></worldbody></mujoco>""",
    }
    robot = write(tmp_path, files)
    theirs = compiled(mujoco.MjSpec.from_file(str(tmp_path / "main.xml")))
    assert_agrees(robot, theirs, np.random.default_rng(0))
    assert robot.name == "m"
