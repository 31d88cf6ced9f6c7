"""What compiler fusestatic changes: which masses count, and whose inertia is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ramidyn.loading import load

mujoco: Any = pytest.importorskip("mujoco", reason="MuJoCo, the oracle, is absent")
pytestmark = pytest.mark.oracle


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keep MuJoCo from writing of deprecated settings to a file."""
    mujoco.set_mju_user_warning(lambda _: None)
    yield
    mujoco.set_mju_user_warning(None)


MODEL = """<mujoco><compiler fusestatic="true" settotalmass="3"/><worldbody>{world}
  <body name="still" pos="1 0 0"><geom size=".1" mass="4"/><site name="s"/>{still}
    <body name="arm"><joint name="j" type="slide"/><geom size=".1" mass="1"/>
      <body name="tip" pos="0 0 1"><geom size=".1" mass="2"/></body></body></body>
  <body name="table"><geom size=".1" mass="8"/></body></worldbody>{after}</mujoco>"""

REFERENCES = {
    "nothing": {},
    "a camera on it": {"still": "<camera/>"},
    "a camera that follows it": {"world": '<camera mode="targetbody" target="still"/>'},
    "a sensor of its site": {"after": '<sensor><gyro site="s"/></sensor>'},
    "a sensor of the body": {
        "after": '<sensor><framepos objtype="body" objname="still"/></sensor>'
    },
    "a reference of a sensor": {
        "after": '<sensor><framepos objtype="site" objname="s" reftype="xbody" '
        'refname="still"/></sensor>'
    },
    "a subtree": {"after": '<sensor><subtreecom body="still"/></sensor>'},
    "an exclusion": {
        "after": '<contact><exclude body1="still" body2="arm"/></contact>'
    },
    "a loop": {
        "after": '<equality><connect body1="still" body2="arm" anchor="0 0 0"/>'
        "</equality>"
    },
    "a body fixed to one that is kept": {
        "still": '<body name="more"><geom size=".1" mass="16"/></body>',
        "after": '<sensor><subtreecom body="still"/></sensor>',
    },
    "a mocap body": {"world": '<body mocap="true"><geom size="1" mass="5"/></body>'},
}


@pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning")
@pytest.mark.parametrize("reference", REFERENCES)
def test_total_mass_counts_what_is_not_fused_with_the_world(reference: str) -> None:
    parts = {"world": "", "still": "", "after": ""} | REFERENCES[reference]
    text = MODEL.format(**parts)
    robot = load(text)
    ours = robot.masses["arm"] + robot.masses["tip"]
    theirs = mujoco.MjModel.from_xml_string(text).body("arm").mass[0]
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_inertia_without_mass_is_lost_in_what_it_is_fused_with() -> None:
    text = """<mujoco><compiler boundinertia=".5" fusestatic="true"/><worldbody>
      <body name="arm"><joint/><geom size=".1" mass="1"/><body name="tip"/></body>
      </worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    assert theirs.dof_M0[0] == pytest.approx(0.5)
    assert load(text).mass_matrix([0.0])[0, 0] == pytest.approx(0.5)
    kept = re.sub("fusestatic.*?/>", "/>", text)
    assert load(kept).mass_matrix([0.0])[0, 0] == pytest.approx(1.0)


def test_a_model_that_is_all_world_has_no_mass_to_scale() -> None:
    text = """<mujoco><compiler fusestatic="true" settotalmass="3"/><worldbody>
      <body name="table"><geom size=".1" mass="8"/></body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    assert (theirs.nv, theirs.body_mass.sum()) == (0, 0.0)
    assert load(text).nv == 0
