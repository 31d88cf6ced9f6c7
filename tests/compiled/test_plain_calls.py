"""Where Python's objects are not as expected, calls go through Python, and agree."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ramidyn.backend.runtime import memory_layout as words
from support.processes import run_script

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize(
    "files",
    [
        ("test_native_calls_numbers.py", "test_native_calls_wrong.py"),
        pytest.param(
            ("test_native_calls.py", "test_native_calls_shared.py"),
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda files: files[-1],
)
def test_the_call_tests_pass_where_all_calls_are_plain(files: Sequence[str]) -> None:
    # The tests that take a call_path run plain already, and so do calls with anything.
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p"]
        + ["no:cacheprovider", "-k", "not streamed and not plain and not crash"]
        + [str(HERE / name) for name in files],
        env={**os.environ, "RAMIDYN_PLAIN_CALLS": "1"},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "all calls are plain in this process" in done.stdout
    assert " passed" in done.stdout


def test_robots_and_kernels_agree_where_all_calls_are_plain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digits = run_script("plain_calls.py")
    monkeypatch.setenv("RAMIDYN_PLAIN_CALLS", "1")
    plain = run_script("plain_calls.py")
    assert plain.splitlines()[0] == "calls are plain"
    assert plain.splitlines()[1:] == digits.splitlines()[1:]


def is_expected() -> bool:
    return words.objects_are_as_expected()


@pytest.mark.skipif(not is_expected(), reason="this interpreter is an unknown one")
class TestUnknownLayouts:
    """Each differs in one thing from what the emitted code was written for."""

    def test_another_interpreter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        other = SimpleNamespace(name="pypy")
        monkeypatch.setattr(words.sys, "implementation", other)
        assert not is_expected()

    def test_a_free_threaded_build(self, monkeypatch: pytest.MonkeyPatch) -> None:
        original: Any = sysconfig.get_config_var
        monkeypatch.setattr(
            words.sysconfig,
            "get_config_var",
            lambda name: 1 if name == "Py_GIL_DISABLED" else original(name),
        )
        assert not is_expected()

    def test_a_longer_head_of_objects(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(words, "HEAD", 3 * words.WORD)
        assert not is_expected()

    @pytest.mark.parametrize("field", list(words.ArrayField))
    def test_an_array_with_a_field_elsewhere(
        self, monkeypatch: pytest.MonkeyPatch, field: words.ArrayField
    ) -> None:
        places: dict[str, int] = {f.name: f.value for f in words.ArrayField}
        places[field.name] += words.WORD
        monkeypatch.setattr(words, "ArrayField", IntEnum("ArrayField", places))
        assert not is_expected()


@pytest.mark.parametrize(
    ("value", "is_plain"), [("", False), ("0", False), ("1", True)]
)
def test_the_environment_forces_plain_calls(
    monkeypatch: pytest.MonkeyPatch, value: str, is_plain: bool
) -> None:
    monkeypatch.setenv("RAMIDYN_PLAIN_CALLS", value)
    assert words.wants_plain_calls() is is_plain
