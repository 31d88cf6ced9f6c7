"""The disk cache: whole values or none, whatever happens to the files."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ramidyn
from ramidyn.backend.llvm import cache

posix = pytest.mark.skipif(os.name != "posix", reason="a matter of POSIX")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("RAMIDYN_CACHE_SIZE_MB", raising=False)
    return tmp_path / "cache"


def key_of(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


KEY = key_of("a kernel")
DATA = bytes(range(256)) * 40


def file_of(folder: Path, key: str = KEY) -> Path:
    return folder / f"{key}.ramidyn"


def entries(folder: Path) -> set[str]:
    return {f.stem for f in folder.glob("*.ramidyn")}


def unfinished(folder: Path) -> list[Path]:
    return [f for f in folder.iterdir() if f.name.endswith(".ramidyn-tmp")]


@pytest.mark.parametrize("size", [0, 1, 1000, 3_000_000])
def test_what_is_stored_is_loaded(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert cache.load(KEY) is None
    cache.store(KEY, data)
    assert cache.load(KEY) == data


def test_a_value_is_replaced_by_a_later_one() -> None:
    cache.store(KEY, b"old")
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA


def test_a_value_lies_only_under_its_own_key(folder: Path) -> None:
    cache.store(KEY, DATA)
    other = key_of("another kernel")
    assert cache.load(other) is None
    os.rename(file_of(folder), file_of(folder, other))
    assert cache.load(other) is None
    assert cache.load(KEY[:-1]) is None


@pytest.mark.parametrize(
    "key", ["", "../up", "a/b", "A" * 64, "0" * 129, "x" * 64, "ab\0", "ab\n", "é"]
)
def test_what_is_no_hex_digest_is_no_key(key: str, folder: Path) -> None:
    cache.store(key, DATA)
    assert cache.load(key) is None
    assert not folder.exists()


def test_clear_removes_the_values_and_nothing_else(folder: Path) -> None:
    for i in range(5):
        cache.store(key_of(i), DATA)
    (folder / "notes.txt").write_text("mine")
    (folder / "abc.ramidyn.bak").write_text("mine")
    cache.clear()
    assert {f.name for f in folder.iterdir()} == {"notes.txt", "abc.ramidyn.bak"}
    assert cache.load(key_of(0)) is None
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA


def test_clear_of_no_cache_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", "off")
    cache.clear()


# Where it is.


def test_the_environment_moves_the_folder_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(KEY, DATA)
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", str(tmp_path / "elsewhere" / "deep"))
    assert cache.directory() == tmp_path / "elsewhere" / "deep"
    assert cache.load(KEY) is None
    cache.store(KEY, b"there")
    assert cache.load(KEY) == b"there"


@pytest.mark.parametrize("word", ["", " ", "off", "OFF"])
def test_the_environment_turns_the_cache_off(
    word: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(KEY, DATA)
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", word)
    assert cache.directory() is None
    assert cache.load(KEY) is None
    cache.store(key_of(1), DATA)
    assert entries(folder) == {KEY}


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x/caches"}, "/x/caches/ramidyn"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/eve/.cache/ramidyn"),
        ("linux", {}, "/home/eve/.cache/ramidyn"),
        ("darwin", {}, "/home/eve/Library/Caches/ramidyn"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/ramidyn/cache"),
        ("win32", {}, "/home/eve/AppData/Local/ramidyn/cache"),
    ],
)
@posix
def test_each_system_has_its_own_place_for_caches(
    platform: str,
    variables: dict[str, str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("RAMIDYN_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/eve")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache.directory() == Path(expected)


@pytest.mark.parametrize("place", ["cache", "./cache", "../cache", "x/~"])
def test_a_relative_folder_is_refused(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", place)
    with pytest.raises(
        ramidyn.CompileError, match=r"a relative path.*Set it to an abs"
    ):
        cache.load(KEY)
    with pytest.raises(ramidyn.CompileError, match="RAMIDYN_CACHE_DIR is"):
        ramidyn.kernel(lambda x: x + 1.0, {"x": ()}).prepare()


def test_a_folder_in_the_users_home_is_absolute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", "~/of/ramidyn")
    assert cache.directory() == Path.home() / "of" / "ramidyn"


@posix
def test_without_a_home_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("RAMIDYN_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert cache.directory() is None
    assert cache.load(KEY) is None
    cache.store(KEY, DATA)


# What is wrong with a file.


def positions(length: int) -> Iterator[int]:
    head = cache.HEADER.size + len(KEY)
    yield from range(head)
    yield from range(head, length, 997)
    yield length - 1


def test_a_changed_byte_anywhere_is_seen(folder: Path) -> None:
    cache.store(KEY, DATA)
    good = file_of(folder).read_bytes()
    for at in positions(len(good)):
        for change in (0x01, 0x80):
            bad = bytearray(good)
            bad[at] ^= change
            file_of(folder).write_bytes(bad)
            assert cache.load(KEY) is None, f"byte {at}"
    file_of(folder).write_bytes(good)
    assert cache.load(KEY) == DATA


def test_a_file_cut_short_anywhere_is_seen(folder: Path) -> None:
    cache.store(KEY, DATA)
    good = file_of(folder).read_bytes()
    for length in positions(len(good)):
        file_of(folder).write_bytes(good[:length])
        assert cache.load(KEY) is None, f"{length} bytes"


@pytest.mark.parametrize("extra", [b"\0", b"more" * 1000])
def test_a_file_with_more_at_the_end_is_not_loaded(folder: Path, extra: bytes) -> None:
    cache.store(KEY, DATA)
    with file_of(folder).open("ab") as file:
        file.write(extra)
    assert cache.load(KEY) is None


@pytest.mark.parametrize(
    "text", [b"", b"\x7fELF" * 100, b"ramidyn\r\n", b"\xff" * 5000, b"\0" * 200]
)
def test_a_foreign_file_is_not_loaded_and_gives_way(folder: Path, text: bytes) -> None:
    folder.mkdir()
    file_of(folder).write_bytes(text)
    file_of(folder).chmod(0o600)
    assert cache.load(KEY) is None
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA


def test_another_format_is_not_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        later.setattr(cache, "FORMAT", cache.FORMAT + 1)
        cache.store(KEY, DATA)
        assert cache.load(KEY) == DATA
    assert file_of(folder).exists()
    assert cache.load(KEY) is None


def test_a_checksum_recomputed_without_the_secret_is_seen(folder: Path) -> None:
    cache.store(KEY, DATA)
    for secret in (b"", bytes(cache.SECRET_BYTES), b"guess"):
        forged = cache._header(KEY, b"other code", secret) + b"other code"
        file_of(folder).write_bytes(forged)
        assert cache.load(KEY) is None


@posix
@pytest.mark.parametrize("text", [b"", b"short", bytes(cache.SECRET_BYTES + 1)])
def test_a_damaged_secret_is_made_anew(folder: Path, text: bytes) -> None:
    cache.store(KEY, DATA)
    (folder / cache.SECRET).write_bytes(text)
    assert cache.load(KEY) is None
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    assert len((folder / cache.SECRET).read_bytes()) == cache.SECRET_BYTES


@posix
def test_every_cache_has_a_secret_of_its_own(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(KEY, DATA)
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", str(tmp_path / "other"))
    cache.store(key_of("else"), DATA)
    shutil.copy(file_of(folder), file_of(tmp_path / "other"))
    assert cache.load(KEY) is None
    assert cache.load(key_of("else")) == DATA


def test_on_windows_the_secret_is_in_the_users_profile(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    assert {f.name for f in folder.iterdir()} == {file_of(folder).name}
    profile = tmp_path / "local" / "ramidyn"
    assert {f.name for f in profile.iterdir()} == {cache.SECRET}
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "another user"))
    assert cache.load(KEY) is None


def test_a_header_that_claims_the_moon_costs_no_memory(folder: Path) -> None:
    cache.store(KEY, DATA)
    head = cache.HEADER.pack(cache.MAGIC, cache.FORMAT, 64, 2**62, b"\0" * 32)
    file_of(folder).write_bytes(head + KEY.encode() + DATA)
    assert cache.load(KEY) is None


def test_a_folder_in_the_place_of_a_file_is_left_alone(folder: Path) -> None:
    file_of(folder).mkdir(parents=True)
    assert cache.load(KEY) is None
    cache.store(KEY, DATA)
    assert cache.load(KEY) is None
    cache.clear()
    assert file_of(folder).is_dir()
    assert unfinished(folder) == []


@posix
def test_a_symbolic_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    cache.store(KEY, DATA)
    elsewhere = tmp_path / "elsewhere"
    os.rename(file_of(folder), elsewhere)
    file_of(folder).symlink_to(elsewhere)
    assert cache.load(KEY) is None
    cache.store(KEY, b"new")
    assert cache.load(KEY) == b"new"
    assert not file_of(folder).is_symlink()
    assert elsewhere.read_bytes().endswith(DATA)


@posix
def test_a_pipe_does_not_hold_the_reader(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(file_of(folder), 0o600)
    assert cache.load(KEY) is None


# Who may have written it.


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_can_write_is_not_trusted(folder: Path, mode: int) -> None:
    cache.store(KEY, DATA)
    file_of(folder).chmod(mode)
    assert cache.load(KEY) is None
    file_of(folder).chmod(0o644)
    assert cache.load(KEY) == DATA


@posix
def test_a_file_of_another_user_is_not_trusted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(KEY, DATA)
    me = os.geteuid()
    owner = file_of(folder).stat().st_uid
    assert owner == me
    if me == 0:
        os.chown(file_of(folder), 12345, -1)
        assert cache.load(KEY) is None
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert cache.load(KEY) == DATA
    else:
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
        assert cache.load(KEY) is None


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_secret_that_others_can_write_is_replaced(folder: Path, mode: int) -> None:
    cache.store(KEY, DATA)
    (folder / cache.SECRET).chmod(mode)
    assert cache.load(KEY) is None
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    assert stat.S_IMODE((folder / cache.SECRET).stat().st_mode) == 0o600


as_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can give files away"
)


@contextmanager
def another_user() -> Iterator[None]:
    """Run as another user: the kernel, not a mock, says what is permitted."""
    os.seteuid(12345)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of root's in a place that others can look into, unlike tmp_path."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        monkeypatch.setenv("RAMIDYN_CACHE_DIR", f"{place}/cache")
        yield Path(place) / "cache"


@as_root
def test_a_folder_left_by_root_is_one_warning_with_the_remedy(reachable: Path) -> None:
    cache.store(KEY, DATA)
    remedy = f"belongs to root, .*chown -R 12345 {reachable}.*RAMIDYN_CACHE_DIR"
    with another_user():
        with pytest.warns(RuntimeWarning, match=remedy):
            cache.store(KEY, DATA)
        cache.store(KEY, DATA)  # a second warning would be an error
        assert cache.load(KEY) is None


@as_root
def test_root_leaves_nothing_in_the_home_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 12345, -1)
    monkeypatch.delenv("RAMIDYN_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sys, "platform", "linux")
    expected = f"{home} belongs to user 12345, .* runs as root. Set RAMIDYN_CACHE_DIR"
    with pytest.warns(RuntimeWarning, match=expected):
        cache.store(KEY, DATA)
    cache.store(KEY, DATA)  # a second warning would be an error
    assert cache.load(KEY) is None
    assert list(home.iterdir()) == []


@as_root
def test_what_root_left_in_a_users_own_folder_gives_way(reachable: Path) -> None:
    cache.store(KEY, DATA)
    os.chown(reachable, 12345, -1)
    with another_user():
        assert cache.load(KEY) is None
        cache.store(KEY, DATA)
        assert cache.load(KEY) == DATA


@posix
def test_folder_and_files_are_the_users_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        cache.store(KEY, DATA)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file_of(folder).stat().st_mode) == 0o600


# What is wrong with the folder or the disk.


def test_a_file_in_the_place_of_the_folder_is_no_error(folder: Path) -> None:
    folder.write_text("in the way")
    cache.store(KEY, DATA)
    assert cache.load(KEY) is None
    cache.clear()
    assert folder.read_text() == "in the way"


@pytest.mark.parametrize("place", ["in the way/cache", "x" * 5000])
def test_a_folder_that_cannot_be_made_is_no_error(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in the way").write_text("")
    monkeypatch.setenv("RAMIDYN_CACHE_DIR", str(tmp_path / place))
    cache.store(KEY, DATA)
    assert cache.load(KEY) is None


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_read_only_folder_is_no_error(folder: Path) -> None:
    cache.store(KEY, DATA)
    folder.chmod(0o500)
    try:
        cache.store(key_of(1), DATA)
        assert cache.load(KEY) == DATA
        assert cache.load(key_of(1)) is None
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("step", ["mkdir", "open", "utime", "replace", "scandir"])
def test_a_step_that_is_refused_is_no_error(
    step: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as sick:
        sick.setattr(os, step, refuse)
        cache.store(KEY, DATA)
        assert cache.load(KEY) in {None, DATA}
    assert not folder.exists() or unfinished(folder) == []
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA


@posix
def test_a_full_disk_is_no_error_and_leaves_no_litter(folder: Path) -> None:
    script = """
import resource, sys
from ramidyn.backend.llvm import cache
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
cache.store(sys.argv[1], b"x" * 100_000)
assert cache.load(sys.argv[1]) is None
"""
    subprocess.run([sys.executable, "-c", script, KEY], check=True, timeout=60)
    assert {f.name for f in folder.iterdir()} == {cache.SECRET}


def test_a_folder_that_vanishes_is_made_again(folder: Path) -> None:
    cache.store(KEY, DATA)
    shutil.rmtree(folder)
    assert cache.load(KEY) is None
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA


# How much it holds.


def test_the_least_recently_used_go_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIDYN_CACHE_SIZE_MB", "1")
    block = b"x" * 100_000
    for i in range(10):
        cache.store(key_of(i), block)
    assert entries(folder) == {key_of(i) for i in range(10)}
    for i in (0, 3):
        assert cache.load(key_of(i)) == block
    cache.store(key_of(10), block)
    survivors = [i for i in range(11) if key_of(i) in entries(folder)]
    assert survivors == [0, 3, 4, 5, 6, 7, 8, 9, 10]


@pytest.mark.parametrize("size", [1_000, 30_000, 400_000])
def test_the_bound_holds_after_every_store(
    size: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIDYN_CACHE_SIZE_MB", "0.5")
    stores = 3 * 2**19 // size
    for i in range(min(stores, 800)):
        cache.store(key_of(i), bytes(size))
        assert cache.load(key_of(i)) is not None
        if i % 7 == 0 or size > 10_000:
            assert sum(f.stat().st_size for f in folder.iterdir()) <= 2**19


def test_a_value_larger_than_the_bound_is_not_stored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(KEY, DATA)
    monkeypatch.setenv("RAMIDYN_CACHE_SIZE_MB", "1")
    cache.store(key_of(1), bytes(2**20))
    assert entries(folder) == {KEY}


@pytest.mark.parametrize(
    ("text", "megabytes"),
    [("100", 100), ("0.5", 0.5), ("many", 512), ("nan", 512), ("inf", 512), ("0", 0)],
)
def test_the_bound_is_read_from_the_environment(
    text: str, megabytes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIDYN_CACHE_SIZE_MB", text)
    assert cache._bound() == megabytes * 2**20


def test_eviction_takes_none_but_our_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    (folder / "precious").write_bytes(bytes(2**20))
    os.utime(folder / "precious", (0, 0))
    monkeypatch.setenv("RAMIDYN_CACHE_SIZE_MB", "0.1")
    for i in range(20):
        cache.store(key_of(i), bytes(20_000))
    assert (folder / "precious").stat().st_size == 2**20
    assert 3 <= len(entries(folder)) <= 5


def test_few_stores_scan_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[object] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda f: (scans.append(f), scandir(f))[1])
    for i in range(200):
        cache.store(key_of(i), DATA)
        cache.load(key_of(i))
    assert len(scans) == 1
    assert len(entries(folder)) == 200


# Many at once, and sudden death.

WRITER = """
import hashlib, random, sys
from ramidyn.backend.llvm import cache
me, rounds = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(me)

def value(i, size):
    return hashlib.sha256(str((i, size)).encode()).digest() * size

for n in range(rounds):
    i = rng.randrange(30)
    key = hashlib.sha256(str(i).encode()).hexdigest()
    own = hashlib.sha256(str((me, n)).encode()).hexdigest()
    found = cache.load(key)
    if found is not None:
        assert found == value(i, len(found) // 32), "a torn value"
    cache.store(key, value(i, rng.randrange(1, 2000)))
    cache.store(own, value(n, 300))
    again = cache.load(own)
    assert again is None or again == value(n, 300), "a torn value"
"""


def start_writer(me: int, rounds: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(me), str(rounds)]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def test_four_processes_fill_one_cache(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIDYN_CACHE_SIZE_MB", "4")
    writers = [start_writer(me, 40) for me in range(4)]
    while any(w.poll() is None for w in writers):
        for i in range(30):
            found = cache.load(key_of(i))
            if found is not None:
                size = len(found) // 32
                digest = hashlib.sha256(str((i, size)).encode()).digest()
                assert found == digest * size
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors.decode()
    assert unfinished(folder) == []
    total = sum(f.stat().st_size for f in folder.iterdir())
    assert total <= 4 * 2**20 * (1 + 4 / 64)


VICTIM = """
import sys
from ramidyn.backend.llvm import cache
data = bytes(range(256)) * 20_000
print(flush=True)
while True:
    cache.store(sys.argv[1], data)
"""


@posix
def test_kill_9_during_a_write_leaves_whole_values_and_no_growing_litter(
    folder: Path,
) -> None:
    data = bytes(range(256)) * 20_000
    pause = random.Random(9)
    for _ in range(6):
        command = [sys.executable, "-c", VICTIM, KEY]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as victim:
            assert victim.stdout is not None
            victim.stdout.readline()
            time.sleep(pause.uniform(0, 0.03))
            victim.send_signal(signal.SIGKILL)
        if folder.exists():
            assert cache.load(KEY) in {None, data}
            for litter in unfinished(folder):
                os.utime(litter, (0, 0))  # as if it had lain there for long
            # Each victim sweeps before its first write; only its last can remain.
            assert len(unfinished(folder)) <= 1
    (folder / ".0123456789abcdef.ramidyn-tmp").write_bytes(b"half a val")
    for litter in unfinished(folder):
        os.utime(litter, (0, 0))
    cache.store(KEY, data)
    assert unfinished(folder) == []
    assert cache.load(KEY) == data


def test_the_unfinished_file_of_a_live_writer_is_not_swept(folder: Path) -> None:
    folder.mkdir()
    young = folder / ".0123456789abcdef.ramidyn-tmp"
    young.write_bytes(b"half a val")
    cache.store(KEY, DATA)
    assert young.exists()
