"""``ramidyn map`` with two workers: formats, a killed worker, a killed client."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramidyn
from ramidyn.cli.arguments import RobotFile

zarr: Any = pytest.importorskip("zarr")
pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")

ROWS, CHUNK = 200_000, 1000
RAMIDYN = [sys.executable, "-c", "from ramidyn.cli import main; main()"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bulk")
    done = ramidyn_("sample", "humanoid30", "-n", str(ROWS), "-o", "s.zarr", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def ramidyn_(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RAMIDYN, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def mapping(output: str) -> list[str]:
    return ["map", "humanoid30", "s.zarr", "-o", output, "--chunk", str(CHUNK)]


def expected(folder: Path) -> np.ndarray:
    states = zarr.open_group(str(folder / "s.zarr"), mode="r")
    q, qd, qdd = (states[name][:] for name in ("q", "qd", "qdd"))
    robot = RobotFile("humanoid30").load()
    return ramidyn.compile(ramidyn.inverse_dynamics, robot)(q, qd, qdd)


def result(folder: Path, output: str) -> np.ndarray:
    return zarr.open_group(str(folder / output), mode="r")["inverse_dynamics"][:]


def started(folder: Path, output: str, least: int) -> subprocess.Popen[str]:
    """Start a mapping with two workers, and return it when some chunks are done."""
    process = subprocess.Popen(
        [*RAMIDYN, *mapping(output), "--workers", "2"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    journal = folder / f"{output}.progress"
    deadline = time.monotonic() + 120
    while len(finished(journal)) < least:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


def finished(journal: Path) -> dict[str, int]:
    """The finished chunks, and when they were finished."""
    if not journal.exists():
        return {}
    return {p.name: p.stat().st_mtime_ns for p in journal.iterdir() if p.name.isdigit()}


def workers_of(pid: int) -> list[int]:
    """The processes that workers run in: the children's children included."""
    found: list[int] = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(status.parent.name)
            command = (status.parent / "cmdline").read_bytes()
            if b"spawn_main" in command:
                found.append(child)
            found += workers_of(child)
    return found


def listening(pids: list[int]) -> set[str]:
    """The addresses, in hexadecimal, that processes listen on."""
    sockets: set[str] = set()
    for link in (x for pid in pids for x in Path(f"/proc/{pid}/fd").iterdir()):
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            target = os.readlink(link)
            if target.startswith("socket:["):
                sockets.add(target.removeprefix("socket:[").removesuffix("]"))
    found: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == "0A" and rest[5] in sockets:
                found.add(local.partition(":")[0])
    return found


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for sockets in /proc")
def test_worker_processes_listen_on_loopback_only(folder: Path) -> None:
    process = started(folder, "local.zarr", least=1)
    try:
        found = listening([process.pid, *workers_of(process.pid)])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert found == {"0100007F"}  # 127.0.0.1


def test_results_on_two_workers_equal_one_call(folder: Path) -> None:
    done = ramidyn_(*mapping("tau.zarr"), "--workers", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(result(folder, "tau.zarr"), expected(folder))


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_nothing_is_lost_when_a_worker_is_killed(folder: Path) -> None:
    process = started(folder, "killed.zarr", least=5)
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    np.testing.assert_array_equal(result(folder, "killed.zarr"), expected(folder))


def test_nothing_is_lost_or_repeated_when_the_client_is_killed(folder: Path) -> None:
    process = started(folder, "again.zarr", least=20)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = finished(folder / "again.zarr.progress")
    assert 20 <= len(before) < ROWS // CHUNK
    done = ramidyn_(*mapping("again.zarr"), "--workers", "2", "--resume", cwd=folder)
    assert done.returncode == 0, done.stderr
    after = finished(folder / "again.zarr.progress")
    assert len(after) == ROWS // CHUNK
    assert {k: after[k] for k in before} == before
    np.testing.assert_array_equal(result(folder, "again.zarr"), expected(folder))


def test_a_corrupt_truncated_or_missing_zarr_chunk_is_computed_again(
    folder: Path,
) -> None:
    assert ramidyn_(*mapping("bad.zarr"), cwd=folder).returncode == 0
    chunks = folder / "bad.zarr" / "inverse_dynamics" / "c"
    data = bytearray((chunks / "3" / "0").read_bytes())
    data[100] ^= 1
    (chunks / "3" / "0").write_bytes(data)
    (chunks / "4" / "0").write_bytes(data[:1000])
    (chunks / "5" / "0").unlink()
    (chunks / "6" / "0").write_bytes(b"something else")
    done = ramidyn_(*mapping("bad.zarr"), "--resume", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "4 chunks have changed since they were written" in done.stderr
    assert "again: 3, 4, 5, 6" in done.stderr
    np.testing.assert_array_equal(result(folder, "bad.zarr"), expected(folder))


def test_random_states_do_not_depend_on_workers(folder: Path) -> None:
    sampled = ("sample", "humanoid30", "-n", str(ROWS), "--chunk", "8192")
    done = ramidyn_(*sampled, "--workers", "2", "-o", "w.zarr", cwd=folder)
    assert done.returncode == 0, done.stderr
    one, two = (
        zarr.open_group(str(folder / n), mode="r") for n in ("s.zarr", "w.zarr")
    )
    for name in ("q", "qd", "qdd", "inverse_dynamics"):
        np.testing.assert_array_equal(one[name][:], two[name][:])


def test_parquet_goes_out_and_in(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    states = ("sample", "humanoid30", "-n", "20000", "-o", "s.parquet")
    assert ramidyn_(*states, "--chunk", "8192", cwd=folder).returncode == 0
    again = ("map", "humanoid30", "s.parquet", "-o", "t.parquet", "--chunk", "3000")
    done = ramidyn_(*again, cwd=folder)
    assert done.returncode == 0, done.stderr
    import pyarrow.parquet as pq  # noqa: PLC0415  may be absent

    ours, theirs = (
        np.concatenate(pq.read_table(folder / n)["inverse_dynamics"].to_numpy())
        for n in ("t.parquet", "s.parquet")
    )
    np.testing.assert_array_equal(ours, theirs)


def test_a_scheduler_that_does_not_answer_is_told_within_ten_seconds(
    folder: Path,
) -> None:
    start = time.monotonic()
    done = ramidyn_(*mapping("n.zarr"), "--scheduler", "tcp://127.0.0.1:1", cwd=folder)
    assert done.returncode == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in done.stderr
    assert time.monotonic() - start < 20  # 8 s, and the start of two processes
    assert not (folder / "n.zarr").exists()


def test_a_running_scheduler_is_used(client: Any, folder: Path) -> None:
    address = client.scheduler.address
    done = ramidyn_(*mapping("s2.zarr"), "--scheduler", address, cwd=folder)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(result(folder, "s2.zarr"), expected(folder))


def test_a_zarr_of_something_else_is_refused(folder: Path) -> None:
    (folder / "empty.zarr").mkdir()
    command = ["map", "humanoid30", "empty.zarr", "-o", "x.zarr"]
    done = ramidyn_(*command, cwd=folder)
    assert done.returncode == 2
    assert "empty.zarr: not a zarr group" in done.stderr
