"""The disk cache of object code: bytes under a hex digest, one file each.

A file is trusted only if all of it is right::

    magic 8, format u32, key length u32, payload length u64, seal 32 | key | payload

The seal is an HMAC-SHA256 of all the rest, keyed with a secret that Ramidyn makes at
the first store: a file that somebody else resealed is detected. On POSIX the secret
lies in the cache's folder, and every file must be one that nobody but the user or root
can write. On Windows owners are not as easy to check; there the secret lies in the
user's profile, wherever the cache is.

Whatever is wrong with a file, the folder or the disk, ``load`` returns None and
``store`` stores nothing: code is compiled again, and a cache is never an error. A
folder that cannot be used because it belongs to somebody else causes one warning. Files
are written under another name and renamed, so a reader sees a whole value or none, and
a writer that dies leaves one file that a later writer removes.

``RAMIDYN_CACHE_DIR`` moves the folder ("" or "off": no cache),
``RAMIDYN_CACHE_SIZE_MB`` bounds it. A hit renews a file's time; at the bound the oldest
are removed. Each process scans the folder at its first store and then once per 1/64 of
the bound that it writes, so n processes at once may exceed the bound by n/64 for a
while.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import stat
import struct
import sys
import time
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final

from ramidyn.errors import CompileError

MAGIC: Final = b"ramidyn\r\n"  # a copy in text mode breaks the line end
FORMAT: Final = 2
HEADER: Final = struct.Struct("<8sIIQ32s")
SIZE_MB: Final = 512.0
SECRET: Final = "secret"
SECRET_BYTES: Final = 32
STALE_SECONDS: Final = 60.0  # a write takes milliseconds
KEY: Final = re.compile(r"[0-9a-f]{1,128}")
ENTRY: Final = re.compile(r"[0-9a-f]{1,128}\.ramidyn")
UNFINISHED: Final = re.compile(r"\.[0-9a-f]{16}\.ramidyn-tmp")

# MemoryError: a length field of nonsense. ValueError: a path that cannot be one.
MISHAPS: Final = (OSError, MemoryError, ValueError)


@dataclass(slots=True)
class Account:
    """What this process knows about a folder's size, in bytes."""

    scanned: int
    written: int = 0


_accounts: dict[Path, Account] = {}
_warned: set[Path] = set()


def directory() -> Path | None:
    """Return the cache's folder, which need not exist, or None if there is no cache."""
    moved = os.environ.get("RAMIDYN_CACHE_DIR")
    if moved is not None and moved.strip().lower() in {"", "off"}:
        return None
    try:
        folder = _default_directory() if moved is None else Path(moved).expanduser()
    except RuntimeError:  # no home
        return None
    if moved is not None and not folder.is_absolute():
        raise CompileError(
            f"RAMIDYN_CACHE_DIR is {moved!r}, a relative path: every working directory "
            "would have its own cache. Set it to an absolute path, or to 'off' for no "
            "cache"
        )
    return folder


def key(*parts: str) -> str:
    """Return the key of what is made from some parts, and from nothing else."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def load(key: str) -> bytes | None:
    """Return the value stored under a key, or None."""
    folder = directory()
    if folder is None or not KEY.fullmatch(key):
        return None
    try:
        secret = _secret(folder)
        return secret and _read(folder / f"{key}.ramidyn", key, secret)
    except MISHAPS:
        return None


def store(key: str, data: bytes) -> None:
    """Store a value under a key, if possible."""
    folder, bound = directory(), _bound()
    if folder is None or not KEY.fullmatch(key):
        return
    size = HEADER.size + len(key) + len(data)
    if size > bound:
        return
    with contextlib.suppress(*MISHAPS):
        place, owner = _nearest(folder)
        if not _may_try(folder, place, owner):
            _warn(folder, place, owner)
            return
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Before the write, or writers that die in their first would never sweep.
            _make_room(folder, bound, size)
            head = _header(key, data, _secret(folder) or _new_secret(folder))
            _write(folder, f"{key}.ramidyn", head, data)
        except PermissionError:
            if owner != _me():
                _warn(folder, place, owner)


def clear() -> None:
    """Remove every value; other files in the folder stay."""
    folder = directory()
    if folder is None:
        return
    _accounts.pop(folder, None)
    with contextlib.suppress(*MISHAPS), os.scandir(folder) as files:
        for file in files:
            if (
                ENTRY.fullmatch(file.name)
                or UNFINISHED.fullmatch(file.name)
                or file.name == SECRET
            ):
                _remove(file.path)


def _default_directory() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        base = Path(local) if local else Path.home() / "AppData" / "Local"
        return base / "ramidyn" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ramidyn"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore relative paths.
    base = Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache"
    return base / "ramidyn"


def _bound() -> int:
    """Return the maximum size of the cache in bytes."""
    try:
        return int(float(os.environ.get("RAMIDYN_CACHE_SIZE_MB", SIZE_MB)) * 2**20)
    except (ValueError, OverflowError):  # not a number, nan, inf
        return int(SIZE_MB * 2**20)


def _header(key: str, data: bytes, secret: bytes) -> bytes:
    name = key.encode()
    sealed = HEADER.pack(MAGIC, FORMAT, len(name), len(data), bytes(32)) + name
    seal = hmac.new(secret, sealed, "sha256")
    seal.update(data)
    return HEADER.pack(MAGIC, FORMAT, len(name), len(data), seal.digest()) + name


def _read(path: Path, key: str, secret: bytes) -> bytes | None:
    """Return the value in a file if the whole file can be trusted."""
    with _open_trusted(path) as file:
        head = file.read(HEADER.size + len(key))
        length = os.fstat(file.fileno()).st_size - len(head)
        if len(head) < HEADER.size or HEADER.unpack_from(head)[3] != length:
            return None
        data = file.read(length)
        # One comparison checks magic, format, key, length and seal.
        if not hmac.compare_digest(head, _header(key, data, secret)):
            return None
        with contextlib.suppress(*MISHAPS):
            now = time.time_ns()
            target = file.fileno() if os.utime in os.supports_fd else path
            os.utime(target, ns=(now, now))
    return data


@contextlib.contextmanager
def _open_trusted(path: Path) -> Generator[FileIO]:
    """Open a plain file that only the user or root can have written."""
    if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
        raise PermissionError(f"{path} is a symbolic link")
    # Non-blocking: a pipe in the file's place must not hold us.
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"):
        flags |= getattr(os, name, 0)
    with FileIO(os.open(path, flags), "r") as file:
        status = os.fstat(file.fileno())
        writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(status.st_mode) or (
            _has_owners() and (writable or status.st_uid not in {_me(), 0})
        ):
            raise PermissionError(f"{path} may belong to another user")
        yield file


# The secret.


def _secret(folder: Path) -> bytes | None:
    """Return the secret key that signs the values of a folder, if there is one."""
    try:
        with _open_trusted(_secret_path(folder)) as file:
            secret = file.read(SECRET_BYTES + 1)
    except OSError:
        return None
    return secret if len(secret) == SECRET_BYTES else None


def _new_secret(folder: Path) -> bytes:
    """Create a secret key if there is none that can be trusted."""
    path = _secret_path(folder)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret = os.urandom(SECRET_BYTES)
    _write(path.parent, path.name, secret)
    # If several processes do this at once, the last one wins.
    return _secret(folder) or secret


def _secret_path(folder: Path) -> Path:
    """Return where the secret is: with the values, if their owner can be checked."""
    return (folder if _has_owners() else _default_directory().parent) / SECRET


# Who owns what.


def _has_owners() -> bool:
    return sys.platform != "win32" and hasattr(os, "geteuid")


def _me() -> int:
    return os.geteuid() if _has_owners() else 0


def _nearest(folder: Path) -> tuple[Path, int]:
    """Return the folder, or the nearest above it that exists, and its owner."""
    for place in (folder, *folder.parents):
        with contextlib.suppress(FileNotFoundError, PermissionError):
            return place, os.stat(place).st_uid if _has_owners() else 0
    raise FileNotFoundError(folder)


def _may_try(folder: Path, place: Path, owner: int) -> bool:
    """Return whether to write: root could write anywhere, but should not."""
    return owner in {_me(), 0} or (place != folder and _me() != 0)


def _warn(folder: Path, place: Path, owner: int) -> None:
    """Warn once that nothing is cached, and say what to do."""
    if folder in _warned:
        return
    _warned.add(folder)
    remedy = ""
    if owner == 0:
        import shlex  # noqa: PLC0415  only for this message

        back = f"sudo chown -R {_me()} {shlex.quote(str(place))}"
        remedy = f"Take it back with `{back}`, or set"
    warnings.warn(
        f"Ramidyn cannot keep compiled code in {folder}: {place} belongs to "
        f"{_name(owner)}, and this process runs as {_name(_me())}. {remedy or 'Set'} "
        "RAMIDYN_CACHE_DIR to a folder of your own ('off' for no cache).",
        RuntimeWarning,
        stacklevel=2,
    )


def _name(user: int) -> str:
    import pwd  # noqa: PLC0415  (POSIX only, like the question)

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


# Files.


def _write(folder: Path, name: str, *parts: bytes) -> None:
    """Write a temporary file and move it into place atomically."""
    aside = folder / f".{os.urandom(8).hex()}.ramidyn-tmp"
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
    total = SECRET_BYTES
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
