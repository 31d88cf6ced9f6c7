"""The viewer in the browser: its nodes are where the poses are, its page works."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify
from ramify import robots
from ramify.cli import main
from ramify.errors import ArgumentError, Error, ShapeError
from ramify.robot import Robot
from ramify.view.viewer import Viewer
from support.browser import Page, chromium
from support.paths import SHARED_ROBOTS

pytest.importorskip("viser", reason="viser is absent")

HOSTILE = "<img src=x onerror=alert(1)>/../a"
ARM = f"""<mujoco model="arm"><worldbody><geom type="plane" size="0 0 1"/>
<body name="{HOSTILE.replace("<", "&lt;").replace(">", "&gt;")}">
<joint name="swing" axis="0 1 0" range="-90 90"/>
<geom type="capsule" fromto="0 0 0 0 0 1" size=".05" rgba="1 0 0 1"/>
<body name="tip" pos="0 0 1"><joint name="slide" type="slide" axis="0 0 1"/>
<geom type="box" size=".1 .1 .1" rgba="0 0 1 1"/></body></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def arm() -> Robot:
    return ramify.load(ARM)


@pytest.fixture
def viewer(arm: Robot) -> Generator[Viewer]:
    with arm.show([0.3, 0.2], port=9310) as shown:
        yield shown


def placed(viewer: Viewer, body: str, copy: int = 0) -> np.ndarray:
    node: Any = viewer._bodies[copy][body]  # pyright: ignore[reportPrivateUsage]
    w, x, y, z = node.wxyz
    pose = ramify.Pose.from_quaternion((x, y, z, w), node.position, order="xyzw")
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = pose.R, pose.p
    return T


def test_nodes_are_where_the_poses_are(arm: Robot, viewer: Viewer) -> None:
    for q in ([0.3, 0.2], [-1.0, 0.5]):
        viewer.update(np.array(q))
        for body in arm.body_names:
            np.testing.assert_allclose(
                placed(viewer, body), arm.pose(q, body), atol=1e-6
            )


def test_two_viewers_have_two_ports(arm: Robot, viewer: Viewer) -> None:
    with arm.show(port=int(viewer.url.rsplit(":", 1)[1])) as other:
        assert other.url != viewer.url
        assert repr(other) == f"Viewer of 'arm' at {other.url}"


def test_copies_stand_side_by_side_and_play(arm: Robot) -> None:
    times = np.linspace(0, 1, 11)
    motion = np.zeros((2, 11, 2))
    motion[1, :, 0] = times
    with arm.show(motion[:, 0], port=9320) as viewer:
        viewer.play(times, motion, trails=["tip"])
        end = time.monotonic() + 20
        while viewer.q[1, 0] == 0 and time.monotonic() < end:
            time.sleep(0.02)
        assert viewer.q[1, 0] > 0  # the motion advances by itself
        viewer.update(motion[:, -1])
        np.testing.assert_allclose(
            placed(viewer, "tip", 1), arm.pose(motion[1, -1], "tip"), atol=1e-6
        )
        with pytest.raises(ShapeError, match=r"expected \(2, 11, 2\)"):
            viewer.play(times, motion[0])
        with pytest.raises(ArgumentError, match="times must be increasing"):
            viewer.play(times[::-1], motion)
        with pytest.raises(ArgumentError, match="trails has 'tap'; expected bodies"):
            viewer.play(times, motion, trails=["tap"])


def test_a_page_is_saved_without_a_server(
    arm: Robot, viewer: Viewer, tmp_path: Path
) -> None:
    still = viewer.save(tmp_path / "still.html")
    motion = viewer.save(
        tmp_path / "motion.html", np.array([0.0, 1.0]), np.zeros((2, arm.nq))
    )
    for path in (still, motion):
        text = path.read_text(encoding="utf-8")
        assert text.lstrip()[:15].lower().startswith("<!doctype html")
        assert "onerror=alert" not in text


def test_bad_input_is_named(arm: Robot, viewer: Viewer) -> None:
    with pytest.raises(ShapeError, match=r"q has shape \(3,\); expected \(2,\) or"):
        viewer.update(np.zeros(3))
    with pytest.raises(ShapeError, match=r"q has shape \(3,\); expected \(2,\) or"):
        arm.show(np.zeros(3))
    with pytest.raises(ArgumentError, match="layers has 'skin'; possible: 'visual'"):
        arm.show(layers=["skin"])
    for port in (700_000, -1):
        with pytest.raises(Error, match=f"the viewer cannot listen on port {port}: "):
            arm.show(port=port)


def test_the_command_saves_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robot, page = tmp_path / "arm.xml", tmp_path / "arm.html"
    robot.write_text(ARM)
    with pytest.raises(SystemExit) as end:
        main(["view", str(robot), "--save", str(page), "--port", "9340"])
    assert end.value.code in (0, None)
    assert page.stat().st_size > 100_000
    assert "wrote" in capsys.readouterr().out


# ------------------------------------------------------------ in a browser

SEEN: dict[str, Callable[[], Robot]] = {
    "arm": lambda: ramify.load(ARM),
    "humanoid30": robots.humanoid30,
    "hmmwv": robots.hmmwv,
    "cassie": lambda: ramify.load(SHARED_ROBOTS / "cassie/cassie.xml"),
    "g1_with_hands": lambda: ramify.load(
        SHARED_ROBOTS / "g1_with_hands/g1_with_hands.xml"
    ),
    "panda": lambda: ramify.load(SHARED_ROBOTS / "panda/panda.urdf"),
}


def colors(page: Page) -> int:
    """Return how many colors the page's picture has."""
    image: Any = pytest.importorskip("PIL.Image")
    return len(
        image.open(io.BytesIO(page.screenshot())).convert("RGB").getcolors(1 << 24)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ramify.errors.ModelWarning")
@pytest.mark.parametrize("name", SEEN)
def test_a_browser_shows_the_robot(name: str) -> None:
    robot = SEEN[name]()
    with robot.show(port=9350) as viewer, chromium() as page:
        page.open(viewer.url)
        page.wait_for("document.querySelector('canvas') !== null")
        page.wait_for("document.body.innerText.includes('Joints')")
        page.pause(4000)
        assert colors(page) > 200
        assert page.errors == []


@pytest.mark.slow
def test_a_slider_moves_its_link_and_a_motion_plays(arm: Robot) -> None:
    with arm.show([0.25, 0.0], port=9360) as viewer, chromium() as page:
        page.open(viewer.url)
        page.wait_for("document.body.innerText.includes('swing')")
        page.replace_input("0.25", "1")
        for _ in range(100):
            if abs(viewer.q[0] - 1) < 1e-6:
                break
            page.pause(100)
        np.testing.assert_allclose(viewer.q, [1, 0], atol=1e-6)
        np.testing.assert_allclose(
            placed(viewer, "tip"), arm.pose([1.0, 0.0], "tip"), atol=1e-6
        )
        before = page.screenshot()
        times = np.linspace(0, 5, 51)
        viewer.play(times, np.stack([np.sin(times), 0 * times], axis=1))
        page.wait_for("document.body.innerText.includes('speed')")
        page.pause(1500)
        assert page.screenshot() != before
        assert page.errors == []
