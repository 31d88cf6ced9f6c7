"""A headless Chromium, driven through its own debugging protocol."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--hide-scrollbars", "--use-gl=angle"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
)


class Page:
    """One page of a browser."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._count = 0
        self.errors: list[str] = []
        """what the console reported as an error, and uncaught exceptions"""
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Return the result of a command."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        self._connection.send(json.dumps(message))
        while True:
            answer = json.loads(self._connection.recv(timeout=60))
            self._note(answer)
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def _note(self, answer: dict[str, Any]) -> None:
        given = answer.get("params", {})
        match answer.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(given["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if given["type"] == "error":
                self.errors.append(str(given["args"]))
            case "Log.entryAdded" if given["entry"]["level"] == "error":
                self.errors.append(str(given["entry"]))
            case _:
                pass

    def open(self, url: str) -> None:
        """Go to an address."""
        self.call("Page.navigate", url=url)

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return answer["result"].get("value")

    def wait_for(self, script: str, seconds: float = 60.0) -> Any:
        """Return an expression's value when it is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.evaluate(script)
            if value:
                return value
            time.sleep(0.2)
        raise AssertionError(f"{script} is not true after {seconds} s")

    def type_into(self, label: str, text: str) -> None:
        """Type another number into the field beside a label."""
        self.wait_for(
            "(() => { const label = [...document.querySelectorAll('label')]"
            f".find(x => x.textContent === {label!r}); if (!label) return false;"
            "let row = label; while (!row.querySelector('input[type=text]')) "
            "row = row.parentElement; const input = row.querySelector("
            "'input[type=text]'); input.focus(); input.select(); return true; })()"
        )
        self.call("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
            self.call("Input.dispatchKeyEvent", type=kind, **key)

    def click_button(self, text: str) -> None:
        """Click on the button with a text."""
        self.wait_for(
            "(() => { const button = [...document.querySelectorAll('button')]"
            f".find(x => x.textContent.trim() === {text!r});"
            "if (!button) return false; button.click(); return true; })()"
        )

    def click_at(self, x: int, y: int) -> None:
        """Click with the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.pause(500)
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": x, "y": y, "button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, **where)

    def wait_until_still(self, seconds: float = 60.0) -> None:
        """Wait until the page looks the same twice, two seconds apart."""
        end = time.monotonic() + seconds
        before = b""
        while (now := self.screenshot()) != before and time.monotonic() < end:
            before = now
            self.pause(2000)

    def pause(self, milliseconds: int) -> None:
        """Let the page run for a while."""
        script = f"new Promise(r => setTimeout(r, {milliseconds}))"
        self.call("Runtime.evaluate", expression=script, awaitPromise=True)

    def screenshot(self) -> bytes:
        """Return the page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])


@contextmanager
def chromium(width: int = 1280, height: int = 800) -> Generator[Page]:
    """Start a browser; skip the test where there is none."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium is absent")
    client: Any = pytest.importorskip("websockets.sync.client", reason="no websockets")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        command = [
            *(program, *FLAGS, f"--window-size={width},{height}"),
            *(f"--remote-debugging-port={port}", f"--user-data-dir={Path(home) / 'p'}"),
            "about:blank",
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            with client.connect(_address(port), max_size=None) as connection:
                yield Page(connection)
        finally:
            process.terminate()
            process.wait(timeout=20)


def _address(port: int) -> str:
    """Return the address of the first page, when the browser is up."""
    for _ in range(200):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                pages = [p for p in json.loads(answer.read()) if p["type"] == "page"]
            return pages[0]["webSocketDebuggerUrl"]
        except (OSError, IndexError):
            time.sleep(0.1)
    raise AssertionError("Chromium does not answer")
