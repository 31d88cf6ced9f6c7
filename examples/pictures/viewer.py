"""Take the pictures of docs/viewing.md with Chromium: the viewer, and a run played.

python examples/pictures/viewer.py docs/images/viewer.jpg docs/images/playing.jpg
"""

import base64
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from websockets.sync.client import connect

import ramidyn

FLAGS = (
    *("--headless=new", "--no-sandbox", "--window-size=1280,720", "--no-first-run"),
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    "--remote-debugging-port=0",
)
NO_WARNING = """[...document.querySelectorAll('div')].filter(
  x => x.className.includes('Notification-root')).forEach(x => x.remove())"""


def photograph(url: str, path: str, prepare: Callable[[], None]) -> None:
    """Write the page at an address as a picture; prepare it once it is open."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("this needs Chromium")
    with tempfile.TemporaryDirectory() as home:
        command = [program, *FLAGS, f"--user-data-dir={home}", url]
        browser = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert browser.stderr is not None
            line = next(x for x in browser.stderr if "DevTools listening on" in x)
            with connect(line.split()[-1], max_size=None) as devtools:
                time.sleep(8)  # software rendering is slow
                prepare()
                time.sleep(8)
                Path(path).write_bytes(_screenshot(devtools))
        finally:
            browser.terminate()
            browser.wait()
            assert browser.stderr is not None
            browser.stderr.close()


def _screenshot(devtools: Any) -> bytes:
    def call(method: str, **parameters: Any) -> Any:
        message = {"id": 1, "method": method, "params": parameters, **session}
        devtools.send(json.dumps(message))
        while (answer := json.loads(devtools.recv())).get("id") != 1:
            continue
        return answer["result"]

    session: dict[str, str] = {}
    targets = call("Target.getTargets")["targetInfos"]
    page = next(t["targetId"] for t in targets if t["type"] == "page")
    found = call("Target.attachToTarget", targetId=page, flatten=True)
    session["sessionId"] = found["sessionId"]
    call("Runtime.evaluate", expression=NO_WARNING)
    time.sleep(1)
    picture = call("Page.captureScreenshot", format="jpeg", quality=75)
    return base64.b64decode(picture["data"])


def main() -> None:
    """Write both pictures, or the first one."""
    car = ramidyn.robots.hmmwv(suspension=True, tires=True, steering=True)
    with car.show() as viewer:
        select: Any = viewer._panel.select  # a click in the tree
        photograph(viewer.url, sys.argv[1], lambda: select("left_front_wheel"))
    if sys.argv[2:]:
        q, qd = np.tile(car.neutral(), (4, 1)), np.zeros((4, car.nv))
        q[:, 2] += np.linspace(0.0, 0.6, 4)
        qd[:, 0] = 2.0
        steering = {"control": np.zeros((4, 800, 1))}
        run = car.rollout(q, qd, dt=1e-3, steps=800, inputs=steering)
        with run.play(trails=["left_front_wheel"]) as viewer:
            player: Any = viewer._player  # the time slider
            player._playing.value = False
            set_time = lambda: setattr(player._clock, "value", 0.4)  # noqa: E731
            photograph(viewer.url, sys.argv[2], set_time)


if __name__ == "__main__":
    main()
