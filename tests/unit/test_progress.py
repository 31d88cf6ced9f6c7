"""Long work says what it does, where somebody looks."""

from __future__ import annotations

import io
import sys
import time

import pytest

import ramidyn
from ramidyn import progress
from ramidyn.progress import ProgressLine, announced


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def opened_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.delenv("RAMIDYN_PROGRESS", raising=False)
    return out


def test_work_is_announced_when_it_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = opened_terminal(monkeypatch)
    monkeypatch.setattr(progress, "LATE", 0.02)
    with announced("tracing pose of arm"):
        deadline = time.monotonic() + 30
        while not terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.005)
    shown = terminal.getvalue()
    assert shown.startswith("\rramidyn: tracing pose of arm ...")
    assert shown.endswith("\r")  # and wiped again


def test_short_work_is_not_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = opened_terminal(monkeypatch)
    with announced("tracing"):
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("way", ["a file", "switched off", "hidden"])
def test_nothing_is_shown_where_nobody_looks(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = opened_terminal(monkeypatch)
    monkeypatch.setattr(progress, "LATE", 0.0)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if way == "a file":
        monkeypatch.setattr(sys, "stderr", io.StringIO())
    elif way == "switched off":
        monkeypatch.setenv("RAMIDYN_PROGRESS", "off")
    else:
        monkeypatch.setattr(ProgressLine, "is_hidden", True)
    line = ProgressLine("compiling", "parts")
    with announced("tracing"):
        time.sleep(0.05)
        line(1, 2)
        line.percent(1, 2)
    assert terminal.getvalue() == ""


def test_a_compile_names_its_quantity_and_its_robot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    kept = progress.announced
    monkeypatch.setattr(
        "ramidyn.compilation.announced", lambda what: (said.append(what), kept(what))[1]
    )
    robot = ramidyn.robots.chain(2, "plain")
    ramidyn.count(ramidyn.inverse_dynamics, robot)
    assert f"tracing inverse_dynamics of {robot.name}" in said
