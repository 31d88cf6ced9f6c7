"""The viewer in the browser: its nodes are where the poses are, its page works."""

from __future__ import annotations

import io
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import ramidyn
from ramidyn import contacts, forces, robots
from ramidyn.builder import Body, Inertia, Joint, RobotBuilder
from ramidyn.cli import main
from ramidyn.cli.view_ import reach
from ramidyn.errors import ArgumentError, Error, ShapeError, UnknownName
from ramidyn.robot import Robot
from ramidyn.view.nodes import quaternions
from ramidyn.view.own_page import start_for_own_page
from ramidyn.view.viewer import Viewer
from support.browser import Page, chromium
from support.paths import SHARED_ROBOTS

pytest.importorskip("viser", reason="viser is absent")

HOSTILE = "<img src=x onerror=window.hacked=1>/../a"
ARM = f"""<mujoco model="arm"><option><flag contact="disable"/></option><worldbody>
<geom type="plane" size="0 0 1"/>
<body name="{HOSTILE.replace("<", "&lt;").replace(">", "&gt;")}">
<joint name="swing" axis="0 1 0" range="-90 90"/>
<geom type="capsule" fromto="0 0 0 0 0 1" size=".05" rgba="1 0 0 1"/>
<body name="tip" pos="0 0 1"><joint name="slide" type="slide" axis="0 0 1"/>
<geom type="box" size=".1 .1 .1" rgba="0 0 1 1"/></body></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def arm() -> Robot:
    return ramidyn.load(ARM)


@pytest.fixture
def viewer(arm: Robot) -> Generator[Viewer]:
    with arm.show([0.3, 0.2], port=9310) as shown:
        yield shown


def settle(viewer: Viewer) -> None:
    """Draw what is wanted now; a thread does it otherwise."""
    viewer._draw(viewer._wanted)


def placed(viewer: Viewer, body: str, copy: int = 0) -> np.ndarray:
    node: Any = viewer._copies[copy]._bodies[body]
    w, x, y, z = node.wxyz
    pose = ramidyn.Pose.from_quaternion((x, y, z, w), node.position, order="xyzw")
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = pose.R, pose.p
    return T


def test_nodes_are_where_the_poses_are(arm: Robot, viewer: Viewer) -> None:
    slight = 5e-6  # viser alone would not send so small a change
    for q in ([0.3, 0.2], [-1.0, 0.5], [-1.0 + slight, 0.5 + slight]):
        viewer.update(q)
        settle(viewer)
        for body in arm.body_names:
            np.testing.assert_allclose(
                placed(viewer, body), arm.pose(q, body), atol=1e-6
            )


def test_quaternions_are_those_of_the_rotations(rng: np.random.Generator) -> None:
    four = rng.normal(size=(200, 4))
    four[:3] = np.eye(4)[1:]  # half turns
    four /= np.linalg.norm(four, axis=1, keepdims=True)
    R = np.array(
        [ramidyn.Pose.from_quaternion(x, (0, 0, 0), order="wxyz").R for x in four]
    )
    found = quaternions(R)
    signs = np.sign(np.sum(found * four, axis=1, keepdims=True))
    np.testing.assert_allclose(found, signs * four, atol=1e-12)


def test_two_viewers_have_two_ports(arm: Robot, viewer: Viewer) -> None:
    with arm.show(port=int(viewer.url.rsplit(":", 1)[1])) as other:
        assert other.url != viewer.url
        assert repr(other) == f"Viewer of 'arm' at {other.url}"


def wait_until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_true() and time.monotonic() < end:
        time.sleep(0.02)
    assert is_true()


def test_copies_stand_side_by_side_and_play(arm: Robot) -> None:
    times = np.linspace(0, 1, 11)
    motion = np.zeros((2, 11, 2))
    motion[1, :, 0] = times
    with arm.show(motion[:, 0], port=9320) as viewer:
        roots = [nodes._add.get_handle_by_name(nodes.root) for nodes in viewer._copies]
        assert np.linalg.norm(roots[1].position - roots[0].position) > 1
        viewer.play(times, motion, trails=["tip"])
        wait_until(lambda: viewer.q[1, 0] > 0)  # the motion advances by itself
        viewer._player._playing.value = False
        time.sleep(0.1)
        viewer.update(motion[:, -1])
        settle(viewer)
        np.testing.assert_allclose(
            placed(viewer, "tip", 1), arm.pose(motion[1, -1], "tip"), atol=1e-6
        )
        viewer.update(motion[1, 5])  # one for all
        assert viewer.q.shape == (2, 2)
        with pytest.raises(ShapeError, match=r"expected \(2, 11, 2\)"):
            viewer.play(times, motion[0])
        with pytest.raises(ArgumentError, match="times must be increasing"):
            viewer.play(times[::-1], motion)
        with pytest.raises(UnknownName, match="no frame 'tap' in robot 'arm'"):
            viewer.play(times, motion, trails=["tap"])
        with pytest.raises(ArgumentError, match="'world', which does not move"):
            viewer.play(times, motion, trails=["world"])


def test_the_player_ends_repeats_and_changes_its_speed(viewer: Viewer) -> None:
    t = np.linspace(0, 1, 11)
    viewer.play(t, np.stack([t, 0 * t], axis=1))
    player: Any = viewer._player
    with viewer._lock:  # the viewer's thread waits
        player._clock.value, player._speed.value = 0.0, 2.0
        state = player.advance(0.2)
        np.testing.assert_allclose(state[0], [[0.4, 0]])
        assert player.advance(0.0) is None
        player._repeat.value = False
        np.testing.assert_allclose(player.advance(5.0)[0], [[1, 0]])
        assert not player._playing.value
        player._playing.value = player._repeat.value = True
        np.testing.assert_allclose(player.advance(5.0)[0], [[0, 0]])
        np.testing.assert_allclose(player.at(0.56)[0], [[0.6, 0]])


def test_a_state_that_is_not_finite_does_not_move_its_robot(arm: Robot) -> None:
    with arm.show(np.zeros((2, 2)), port=9325) as viewer:
        viewer.update([[np.nan, 0], [0.5, 0]])
        settle(viewer)
        np.testing.assert_allclose(placed(viewer, "tip", 0), arm.pose([0, 0], "tip"))
        expected = arm.pose([0.5, 0], "tip")
        np.testing.assert_allclose(placed(viewer, "tip", 1), expected, atol=1e-6)


def test_an_update_leaves_drawing_to_another_thread(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing: list[int] = []
    original = Viewer._draw

    def draw(self: Viewer, wanted: Any) -> None:
        drawing.append(threading.get_ident())
        original(self, wanted)

    monkeypatch.setattr(Viewer, "_draw", draw)
    q = np.zeros(2)
    for k in range(1000):
        q[0] = 1e-3 * k
        viewer.update(q)
    assert viewer.q[0] == 0.999
    assert threading.get_ident() not in drawing
    settle(viewer)
    assert drawing[-1] == threading.get_ident()  # what was counted is what draws


def test_a_click_selects_in_the_tree_and_the_tree_in_the_scene(viewer: Viewer) -> None:
    panel: Any = viewer._panel
    axes, label = viewer._copies[0]._marks["tip"]
    (mesh, own), *_ = viewer._copies[0]._colored["tip"]
    viewer._click("tip")
    assert panel.selected == "tip"
    assert panel._buttons["tip"].color == (255, 170, 40)
    assert axes.visible
    assert label.visible
    assert tuple(mesh.color) != own
    assert "slide prismatic" in panel._details.content
    panel._pressed("tip")(None)  # once more: nothing is selected
    assert panel.selected is None
    assert not axes.visible
    assert tuple(mesh.color) == own
    panel._pressed(HOSTILE)(None)
    assert panel.selected == HOSTILE
    assert "<img" not in panel._details.content


def test_force_elements_and_loops_are_drawn_and_follow() -> None:
    robot = ramidyn.load(ARM)
    robot = robot.add_force(
        forces.PointSpring("world", "tip", stiffness=9.0, point_a=(1, 0, 0)), name="s"
    ).add_force(forces.PointContact("tip", 1e3), name="c")
    robot = robot.add_loop(
        "world", "tip", joint="distance", placement_a=(1, 0, 0), placement_b=(0, 0, 0)
    )
    q = np.array([0.4, 0.1])
    with robot.show(q, port=9328) as viewer:
        nodes: Any = viewer._copies[0]
        tip = robot.pose(q, "tip")[:3, 3]
        for own, _, handle in nodes._lines:
            for ends in (handle.points[[0, -1], [0, 1]],) if own else ():
                np.testing.assert_allclose(ends, [[1, 0, 0], tip], atol=1e-6)
        assert [len(own) for own, _, _ in nodes._lines] == [1, 0, 0, 1]
        assert len(nodes.layers["forces"]) == 3 + 1
        viewer._panel._set_arrows(True)
        settle(viewer)
        points = nodes._arrows.points
        weight = float(robot.mass * 9.81)
        pull = 9.0 * (np.array([1, 0, 0]) - tip) / weight * nodes._size
        np.testing.assert_allclose(points[0], [tip, tip + pull], rtol=1e-5)
        assert len(points) == 1  # the contact is above the ground


def test_a_run_plays_with_its_forces() -> None:
    ball = ramidyn.load(
        """<mujoco model="ball"><worldbody><body name="ball" pos="0 0 1"><freejoint/>
        <geom size=".1"/></body></worldbody></mujoco>""",
        conventions="pinocchio",
    )
    foot = forces.SphereContact("ball", 0.1, 1e5, dissipation=0.5)
    ball = ball.add_force(foot, name="ground")
    q = np.tile(ball.neutral(), (20, 1))
    q[:, 2] = np.linspace(0.09, 1, 20)
    run = ball.rollout(q, dt=1e-3, steps=100, every=20)
    with run.play(port=9329, trails=["ball"]) as viewer:
        assert viewer.q.shape == (16, 7)
        assert viewer._player.t.shape == (7,)  # of rows every 20 ms, 60 a second
        wait_until(lambda: viewer._copies[0]._arrows is not None)
        assert len(viewer._trails) == 16
        start, end = viewer._copies[0]._arrows.points[0]
        np.testing.assert_allclose(end[:2], start[:2], atol=1e-6)
        assert end[2] > start[2]
    with pytest.raises(UnknownName, match="no frame 'foot'"):
        run.play(port=9329, trails=["foot"])
    assert not [t for t in threading.enumerate() if t.name == "ramidyn viewer"]
    with pytest.raises(Error, match="play needs the robot, and this run was loaded"):
        replace(run, robot=None).play()


def test_a_run_plays_with_recorded_forces_of_contacts() -> None:
    builder = RobotBuilder("ball")
    ball = Body("ball", Inertia.from_sphere(2.0, 0.1))
    builder.add(ball, joint=Joint.floating(), placement=(0, 0, 0.1))
    robot = builder.robot().add_contact(contacts.ContactSphere("ball", 0.1), "floor")
    run = robot.rollout(robot.neutral(), steps=50, every=25, record=["contact_forces"])
    with run.play(port=9331) as viewer:
        wait_until(lambda: viewer._copies[0]._arrows is not None)
        viewer._player._playing.value = False
        viewer._player._clock.value = 0.05
        settle(viewer)
        nodes: Any = viewer._copies[0]
        (start, end), size = nodes._arrows.points[0], nodes._size
        with pytest.raises(ShapeError, match=r"contact_forces has shape \(3, 2, 3\); "):
            viewer.play(run.times, run.q, contact_forces=np.zeros((3, 2, 3)))
    np.testing.assert_allclose(start, 0.0, atol=1e-5)
    np.testing.assert_allclose(end, [0.0, 0.0, size], atol=1e-3)  # its weight


def test_a_page_is_saved_without_a_server(
    arm: Robot, viewer: Viewer, tmp_path: Path
) -> None:
    still = viewer.save(tmp_path / "still.html")
    t = np.linspace(0, 2, 101)
    viewer.play(t, np.stack([np.sin(t), 0 * t], axis=1))
    motion = viewer.save(tmp_path / "motion.html")
    assert motion.stat().st_size > still.stat().st_size
    for path in (still, motion):
        text = path.read_text(encoding="utf-8")
        assert text.lstrip()[:15].lower().startswith("<!doctype html")
        assert "__VISER_EMBED_DATA__" in text
    assert arm.nq == 2


def test_nothing_is_left_after_closing(arm: Robot) -> None:
    before = set(threading.enumerate())
    viewer = arm.show(port=9330)
    t = np.linspace(0, 1, 11)
    viewer.play(t, np.zeros((11, 2)))
    port = int(viewer.url.rsplit(":", 1)[1])
    viewer.close()
    viewer.close()
    wait_until(lambda: set(threading.enumerate()) <= before)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
    assert repr(viewer) == "Viewer of 'arm' closed"
    for use in (
        lambda: viewer.update(np.zeros(2)),
        lambda: viewer.play(t, np.zeros((11, 2))),
        lambda: viewer.save("never.html"),
    ):
        with pytest.raises(Error, match=r"the viewer is closed; robot.show\(\) opens"):
            use()


def test_a_script_that_forgets_to_close_ends(tmp_path: Path) -> None:
    script = tmp_path / "forgets.py"
    script.write_text(
        "import ramidyn\n"
        "viewer = ramidyn.robots.chain(2).show(port=9335)\n"
        "viewer.update([0.1, 0.2])\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=60, check=True
    )
    assert "Traceback" not in done.stderr


def test_bad_input_is_named(
    arm: Robot, viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ShapeError, match=r"q has shape \(3,\); expected \(2,\)"):
        viewer.update(np.zeros(3))
    with pytest.raises(ShapeError, match=r"qd has shape \(3,\); expected \(2,\)"):
        viewer.update(np.zeros(2), np.zeros(3))
    with pytest.raises(ShapeError, match=r"q has shape \(3,\); expected \(2,\) or"):
        arm.show(np.zeros(3))
    with pytest.raises(ArgumentError, match="100 robots are too many to show; at most"):
        arm.show(np.zeros((100, 2)))
    with pytest.raises(ArgumentError, match="layers has 'skin'; possible: 'visual'"):
        arm.show(layers=["skin"])
    for port in (700_000, -1):
        with pytest.raises(Error, match=f"the viewer cannot listen on port {port}: "):
            arm.show(port=port)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(Error, match=r"cannot listen on port 80: .*Permission denied"):
        arm.show(port=80)
    assert np.isfinite(arm.forward_dynamics(*np.zeros((3, 2)))).all()


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
    "arm": lambda: ramidyn.load(ARM),
    "chain": lambda: robots.chain(4),
    "humanoid30": robots.humanoid30,
    "hmmwv": lambda: robots.hmmwv(suspension=True, tires=True, steering=True),
    "cassie": lambda: ramidyn.load(SHARED_ROBOTS / "cassie/cassie.xml"),
    "g1_with_hands": lambda: ramidyn.load(
        SHARED_ROBOTS / "g1_with_hands/g1_with_hands.xml"
    ),
    "panda": lambda: ramidyn.load(SHARED_ROBOTS / "panda/panda.urdf"),
}


def canvas(page: Page) -> np.ndarray:
    """Return the picture between the two panels, without the warning on top."""
    image: Any = pytest.importorskip("PIL.Image")
    whole = np.asarray(image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    return whole[160:, 270:940]


def colors(picture: np.ndarray) -> int:
    return len(np.unique(picture.reshape(-1, 3), axis=0))


def changed(before: np.ndarray, after: np.ndarray) -> int:
    """Return how many pixels differ."""
    apart = np.abs(before.astype(int) - after.astype(int)).max(axis=2)
    return int(np.count_nonzero(apart > 8))


def carried(robot: Robot, joint: str) -> set[str]:
    """Return the bodies that a joint moves."""
    found: set[str] = set()
    for body in robot.description.bodies:
        names = {j.name for j in body.joints}
        if joint in names or body.parent in found:
            found.add(body.name)
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ramidyn.errors.ModelWarning")
@pytest.mark.parametrize("name", SEEN)
def test_a_browser_shows_the_robot_moves_and_plays_it(name: str) -> None:
    robot = SEEN[name]()
    joint = next(j for j in robot.model.joints if j.nq == 1)
    q = robot.neutral()
    with robot.show(q, port=9350) as viewer, chromium() as page:
        page.open(viewer.url)
        page.wait_for("document.querySelector('canvas') !== null")
        page.wait_for("document.body.innerText.includes('Joints')")
        page.wait_until_still()
        before = canvas(page)
        assert colors(before) > 200
        poses = viewer._poses(q[None])[0]
        page.type_into(joint.name, "0.3")
        wait_until(lambda: abs(viewer.q[joint.q_index] - 0.3) < 1e-6)
        expected = q.copy()
        expected[joint.q_index] = 0.3
        np.testing.assert_allclose(viewer.q, expected, atol=1e-9)
        page.wait_until_still()
        assert changed(before, canvas(page)) > 50
        now = np.array([placed(viewer, body) for body in robot.body_names])
        is_moved = np.abs(now - poses).max(axis=(1, 2)) > 1e-6
        moved = {b for b, m in zip(robot.body_names, is_moved, strict=True) if m}
        assert moved
        assert moved <= carried(robot, joint.name)
        for body in robot.body_names:
            T = robot.pose(viewer.q, body)
            np.testing.assert_allclose(placed(viewer, body), T, atol=1e-6)
        still = canvas(page)
        times = np.linspace(0, 60, 61)
        motion = np.tile(q, (61, 1))
        motion[:, joint.q_index] = 0.5 + np.linspace(0, 1, 61)
        viewer.play(times, motion)
        page.wait_for("document.body.innerText.includes('speed')")
        first = viewer._player._clock.value
        page.pause(3000)
        assert viewer._player._clock.value > first
        assert changed(still, canvas(page)) > 50
        assert page.errors == []


@pytest.mark.slow
def test_clicks_select_and_names_stay_text(arm: Robot, tmp_path: Path) -> None:
    robot = arm.add_force(forces.JointSpring("swing", 5.0), name=HOSTILE)
    with robot.show([0.0, 0.0], port=9360) as viewer, chromium() as page:
        page.open(viewer.url)
        page.wait_for("document.body.innerText.includes('swing')")
        page.wait_until_still()
        page.click_button("tip")
        wait_until(lambda: viewer._panel.selected == "tip")
        page.click_at(605, 420)  # the middle of the canvas: the capsule
        wait_until(lambda: viewer._panel.selected == HOSTILE)
        page.wait_for("document.body.innerText.includes('onerror=')")
        page.pause(1000)
        assert page.evaluate("window.hacked") is None
        t = np.linspace(0, 20, 601)
        viewer.play(t, np.stack([np.sin(0.2 * t), 0 * t], axis=1))
        saved = viewer.save(tmp_path / "motion.html")
        assert page.errors == []
    with chromium() as page:  # the server is gone, and there is no network
        page.call("Network.enable")
        page.call(
            "Network.emulateNetworkConditions",
            **dict.fromkeys(("latency", "downloadThroughput", "uploadThroughput"), 0),
            offline=True,
        )
        page.open(f"file://{saved}")
        page.wait_for("document.querySelector('canvas') !== null")
        page.pause(6000)
        first = canvas(page)
        assert colors(first) > 200
        page.pause(4000)
        assert changed(first, canvas(page)) > 50  # it plays
        assert page.evaluate("window.hacked") is None
        assert page.errors == []


# ------------------------------------------------------------ other pages


def handshake(viewer: Viewer, origin: str | None, host: str | None = None) -> int:
    """Return the status with which a WebSocket of a page is answered."""
    address = viewer.url.removeprefix("http://")
    port = int(address.rpartition(":")[2])
    lines = [
        "GET / HTTP/1.1",
        f"Host: {host or address}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: viser-v1.1.1",
        *([] if origin is None else [f"Origin: {origin}"]),
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as found:
        found.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(found.recv(100).split()[1])


def test_other_pages_cannot_open_the_viewer(viewer: Viewer) -> None:
    port = viewer.url.rpartition(":")[2]
    for own in (None, viewer.url):
        assert handshake(viewer, own) == 101
    assert handshake(viewer, f"http://localhost:{port}", f"localhost:{port}") == 101
    assert handshake(viewer, "http://localhost:9", "localhost:9") == 101  # forwarded
    for other in (
        "https://example.com",
        "http://127.0.0.1:1",
        f"http://127.0.0.1:{port}.example.com",
        f"http://example.com:{port}",
        "null",
        "http://[",
        "",
    ):
        assert handshake(viewer, other) == 403, other
    rebound = f"example.com:{port}"  # a name that leads to this machine
    assert handshake(viewer, f"http://{rebound}", rebound) == 403


def test_a_viewer_that_cannot_check_pages_does_not_start() -> None:
    message = "cannot check which pages use it with this version of viser"
    server = Mock()
    with pytest.raises(Error, match=message):
        start_for_own_page(lambda: server)
    server.stop.assert_called_once()


def test_a_dragged_frame_is_followed(viewer: Viewer, monkeypatch: Any) -> None:
    handles: list[Any] = []
    scene = viewer._server.scene
    add = scene.add_transform_controls

    def added(*arguments: Any, **options: Any) -> Any:
        handles.append(add(*arguments, **options))
        monkeypatch.setattr(handles[-1], "on_update", Mock())
        return handles[-1]

    monkeypatch.setattr(scene, "add_transform_controls", added)
    asked: list[Any] = []

    def solve(T: Any, q: Any) -> Any:
        asked.append((T, q))
        return [0.1, 0.4]

    viewer.drag("tip", solve)
    (handle,) = handles
    np.testing.assert_allclose(handle.position, placed(viewer, "tip")[:3, 3], atol=1e-6)
    (dragged,) = handle.on_update.call_args.args
    half = np.sqrt(0.5)
    dragged(Mock(target=Mock(wxyz=(half, 0, 0, half), position=(1.0, 2.0, 3.0))))
    ((T, q),) = asked
    np.testing.assert_allclose(T[:3, 3], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(T[:3, :3] @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    np.testing.assert_array_equal(q, [0.3, 0.2])
    np.testing.assert_array_equal(viewer.q, [0.1, 0.4])
    with pytest.raises(ArgumentError, match="drag got 'world', which does not move"):
        viewer.drag("world", solve)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--hold", "tip"], "--hold is for --ik, which says what is dragged"),
        (["--ik", "tip", "--hold", "tap"], "no frame 'tap'"),
    ],
)
def test_wrong_frames_to_drag_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    with pytest.raises(SystemExit):
        main(["view", str(path), *words])
    assert message in capsys.readouterr().err


def test_the_command_reaches_where_a_frame_is_dragged(arm: Robot) -> None:
    q = np.array([0.3, 0.2])
    T = arm.pose(np.array([0.5, 0.1]), "tip")
    np.testing.assert_allclose(reach(arm, "tip", (), T, q), [0.5, 0.1], atol=1e-4)
