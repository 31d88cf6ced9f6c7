"""Where files are: the golden ones, and the shared robots beside the repository."""

from __future__ import annotations

from pathlib import Path

SHARED_ROBOTS = Path(__file__).resolve().parents[3] / "shared" / "robots"
GOLDENS = Path(__file__).resolve().parents[1] / "goldens"
