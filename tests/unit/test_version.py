"""The digest of our sources, which keys the disk cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from ramidyn import version


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(version, "__file__", str(tmp_path / "version.py"))
    (tmp_path / "inner" / "__pycache__").mkdir(parents=True)
    (tmp_path / "version.py").write_text("one")
    (tmp_path / "inner" / "emit.py").write_text("two")
    return tmp_path


def digest() -> str:
    return version.source_digest.__wrapped__()


def test_a_changed_source_changes_the_digest(root: Path) -> None:
    before = digest()
    assert digest() == before
    (root / "inner" / "emit.py").write_text("2wo")
    assert digest() != before


def test_a_source_in_another_place_changes_the_digest(root: Path) -> None:
    before = digest()
    (root / "inner" / "emit.py").rename(root / "emit.py")
    assert digest() != before


def test_bytecode_that_python_keeps_does_not_change_the_digest(root: Path) -> None:
    before = digest()
    (root / "inner" / "__pycache__" / "emit.cpython-311.pyc").write_bytes(b"three")
    (root / "inner" / "notes.txt").write_text("four")
    assert digest() == before


def test_bytecode_in_the_place_of_sources_counts(root: Path) -> None:
    for path in root.rglob("*.py"):
        path.unlink()
    digests = {digest()}
    for text in (b"one", b"two"):
        (root / "inner" / "emit.pyc").write_bytes(text)
        digests.add(digest())
    assert len(digests) == 3
