"""Object files and libraries of other systems: their symbols, read byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

UNDEFINED = 0


def undefined_symbols(data: bytes) -> set[str]:
    """Return what an object needs from outside."""
    return {name for name, section in _symbols(data) if section == UNDEFINED}


def _symbols(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield the name of each symbol and its section, 0 if it is defined elsewhere."""
    if data[:4] == b"\x7fELF":
        return _elf_symbols(data)
    is_macho = data[:4] == b"\xcf\xfa\xed\xfe"
    return _macho_symbols(data) if is_macho else _coff_symbols(data)


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _elf_symbols(data: bytes) -> Iterator[tuple[str, int]]:
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", data, start + k * size) for k in range(count)
    ]
    for kind, at, length, link in ((s[1], s[4], s[5], s[6]) for s in sections):
        if kind == 2:  # a table of symbols; the first is empty
            for k in range(1, length // 24):
                name, _, _, section = struct.unpack_from("<IBBH", data, at + 24 * k)
                yield _text(data, sections[link][4] + name), section


def _macho_symbols(data: bytes) -> Iterator[tuple[str, int]]:
    for kind, at in _macho_commands(data):
        if kind == 2:  # LC_SYMTAB
            table, count, texts = struct.unpack_from("<III", data, at + 8)
            for k in range(count):
                name, flags, section = struct.unpack_from("<IBB", data, table + 16 * k)
                if not flags & 0xE0:  # not for debuggers
                    yield _text(data, texts + name), section


def _macho_commands(data: bytes) -> Iterator[tuple[int, int]]:
    (count,) = struct.unpack_from("<I", data, 16)
    at = 32
    for _ in range(count):
        kind, size = struct.unpack_from("<II", data, at)
        yield kind, at
        at += size


def _coff_symbols(data: bytes) -> Iterator[tuple[str, int]]:
    table, count = struct.unpack_from("<II", data, 8)
    texts, k = table + 18 * count, 0
    while k < count:
        raw, _, section, _, _, further = struct.unpack_from(
            "<8sIhHBB", data, table + 18 * k
        )
        short, at = struct.unpack("<II", raw)
        name = _text(raw + b"\0", 0) if short else _text(data, texts + at)
        yield name, section
        k += 1 + further


# ------------------------------------------------------------ libraries


def exported_names(data: bytes) -> set[str]:
    """Return the functions that a DLL or a dylib shows."""
    return _dll_exports(data) if data[:2] == b"MZ" else _dylib_exports(data)


def _dylib_exports(data: bytes) -> set[str]:
    """Return the names of the tree that the loader reads, without C's underscore."""
    for kind, at in _macho_commands(data):
        if kind == 0x80000022:  # LC_DYLD_INFO_ONLY
            start, size = struct.unpack_from("<II", data, at + 40)
            tree = data[start : start + size]
            return {name.removeprefix("_") for name in _leaves(tree, 0, "")}
    raise ValueError("no tree of exports")


def _leaves(tree: bytes, at: int, name: str) -> Iterator[str]:
    size, at = _number(tree, at)
    if size:
        yield name
    at += size
    children, at = tree[at], at + 1
    for _ in range(children):
        part = _text(tree, at)
        place, at = _number(tree, at + len(part) + 1)
        yield from _leaves(tree, place, name + part)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and where it ends."""
    value, shift = 0, 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


def _dll_exports(data: bytes) -> set[str]:
    (head,) = struct.unpack_from("<I", data, 60)
    sections, options = struct.unpack_from("<H", data, head + 6)[0], head + 24
    (size_of_options,) = struct.unpack_from("<H", data, head + 20)
    places: list[Any] = [
        struct.unpack_from("<IIII", data, options + size_of_options + 40 * k + 8)
        for k in range(sections)
    ]

    def at(address: int) -> int:
        for size, start, length, offset in places:
            if start <= address < start + max(size, length):
                return address - start + offset
        raise ValueError(hex(address))

    (table,) = struct.unpack_from("<I", data, options + 112)
    count, _, names = struct.unpack_from("<III", data, at(table) + 24)
    addresses = struct.unpack_from(f"<{count}I", data, at(names))
    return {_text(data, at(a)) for a in addresses}
