"""The disk cache of object code: bytes under a hex digest, one file each.

A file is trusted only if all of it is right::

    magic 8, format u32, key length u32, payload length u64, SHA-256 32 | key | payload

and, on POSIX, if nobody but the user or root can have written it. Whatever is wrong
with a file, the folder or the disk, ``load`` gives None and ``store`` stores nothing:
code is compiled again, and a cache is never an error. Files are written aside and
renamed, so a reader sees a whole value or none, and a writer that dies leaves one file
that a later writer sweeps up.

``RAMIFY_CACHE_DIR`` moves the folder ("" or "off": no cache), ``RAMIFY_CACHE_SIZE_MB``
bounds it. A hit renews a file's time; at the bound the oldest go first. Each process
scans the folder at its first store and then once per 1/64 of the bound that it writes,
so n processes at once may exceed the bound by n/64 for a while.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAGIC: Final = b"ramify\r\n"  # a copy in text mode breaks the line end
FORMAT: Final = 1
HEADER: Final = struct.Struct("<8sIIQ32s")
SIZE_MB: Final = 512.0
STALE_SECONDS: Final = 60.0  # a write takes milliseconds
KEY: Final = re.compile(r"[0-9a-f]{1,128}")
ENTRY: Final = re.compile(r"[0-9a-f]{1,128}\.ramify")
UNFINISHED: Final = re.compile(r"\.[0-9a-f]{16}\.ramify-tmp")

# MemoryError: a length field of nonsense. ValueError: a path that cannot be one.
MISHAPS: Final = (OSError, MemoryError, ValueError)


@dataclass(slots=True)
class Account:
    """What this process knows of a folder's size, in bytes."""

    scanned: int
    written: int = 0


_accounts: dict[Path, Account] = {}


def directory() -> Path | None:
    """Return the cache's folder, which need not exist, or None if there is no cache."""
    moved = os.environ.get("RAMIFY_CACHE_DIR")
    if moved is not None and moved.strip().lower() in {"", "off"}:
        return None
    try:
        return _default_directory() if moved is None else Path(moved).expanduser()
    except RuntimeError:  # no home
        return None


def load(key: str) -> bytes | None:
    """Return the value stored under a key, or None."""
    folder = directory()
    if folder is None or not KEY.fullmatch(key):
        return None
    try:
        return _read(folder / f"{key}.ramify", key)
    except MISHAPS:
        return None


def store(key: str, data: bytes) -> None:
    """Keep a value under a key, if that is possible."""
    folder, bound = directory(), _bound()
    if folder is None or not KEY.fullmatch(key):
        return
    head = _header(key, data)
    size = len(head) + len(data)
    if size > bound:
        return
    with contextlib.suppress(*MISHAPS):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Before the write, or writers that die in their first would never sweep.
        _make_room(folder, bound, size)
        _write(folder, f"{key}.ramify", head, data)


def clear() -> None:
    """Remove every value; other files in the folder stay."""
    folder = directory()
    if folder is None:
        return
    _accounts.pop(folder, None)
    with contextlib.suppress(*MISHAPS), os.scandir(folder) as files:
        for file in files:
            if ENTRY.fullmatch(file.name) or UNFINISHED.fullmatch(file.name):
                _remove(file.path)


def _default_directory() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        base = Path(local) if local else Path.home() / "AppData" / "Local"
        return base / "ramify" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ramify"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    base = Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache"
    return base / "ramify"


def _bound() -> int:
    """Return the most bytes that the cache may hold."""
    try:
        return int(float(os.environ.get("RAMIFY_CACHE_SIZE_MB", SIZE_MB)) * 2**20)
    except (ValueError, OverflowError):  # not a number, nan, inf
        return int(SIZE_MB * 2**20)


def _header(key: str, data: bytes) -> bytes:
    digest = hashlib.sha256(data).digest()
    name = key.encode()
    return HEADER.pack(MAGIC, FORMAT, len(name), len(data), digest) + name


def _read(path: Path, key: str) -> bytes | None:
    """Return the value in a file if the whole file can be trusted."""
    if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
        return None
    # Non-blocking: a pipe in the file's place must not hold us.
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"):
        flags |= getattr(os, name, 0)
    with open(os.open(path, flags), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not _is_trusted(status):
            return None
        head = file.read(HEADER.size + len(key))
        length = status.st_size - len(head)
        if len(head) < HEADER.size or HEADER.unpack_from(head)[3] != length:
            return None
        data = file.read(length)
        # One comparison checks magic, format, key, length and checksum.
        if head != _header(key, data):
            return None
        with contextlib.suppress(*MISHAPS):
            now = time.time_ns()
            target = file.fileno() if os.utime in os.supports_fd else path
            os.utime(target, ns=(now, now))
    return data


def _is_trusted(status: os.stat_result) -> bool:
    """Tell whether this is a plain file that only the user or root can write."""
    if not stat.S_ISREG(status.st_mode):
        return False
    if os.name != "posix":
        return True
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    return status.st_uid in {os.geteuid(), 0}


def _write(folder: Path, name: str, *parts: bytes) -> None:
    """Write a file aside and put it in place at once."""
    aside = folder / f".{secrets.token_hex(8)}.ramify-tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"):
        flags |= getattr(os, flag, 0)
    descriptor = os.open(aside, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:
            for part in parts:
                file.write(part)
        now = time.time_ns()
        os.utime(aside, ns=(now, now))  # finer than the file system's own clock
        os.replace(aside, folder / name)
    except BaseException:
        _remove(aside)
        raise


def _make_room(folder: Path, bound: int, size: int) -> None:
    """Account for one more file, and scan the folder when that may matter."""
    account = _accounts.get(folder)
    if account is not None:
        account.written += size
        total = account.scanned + account.written
        if total <= bound and account.written <= bound // 64:
            return
    _accounts[folder] = Account(_sweep(folder, bound, size) + size)


def _sweep(folder: Path, bound: int, size: int) -> int:
    """Remove stale unfinished files, and the oldest values until size bytes more fit.

    Return the bytes left.
    """
    entries: list[tuple[int, int, str]] = []
    total = 0
    stale = time.time() - STALE_SECONDS
    with os.scandir(folder) as files:
        for file in files:
            unfinished = UNFINISHED.fullmatch(file.name) is not None
            if not unfinished and not ENTRY.fullmatch(file.name):
                continue
            try:
                status = file.stat(follow_symlinks=False)
            except OSError:  # another process was here first
                continue
            if unfinished and status.st_mtime < stale:
                _remove(file.path)
                continue
            total += status.st_size
            if not unfinished:
                entries.append((status.st_mtime_ns, status.st_size, file.path))
    if total + size > bound:
        # Some room to spare, or every store from now on would evict.
        for _, freed, path in sorted(entries):
            if total + size <= bound * 9 // 10:
                break
            if _remove(path):
                total -= freed
    return total


def _remove(path: str | Path) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
