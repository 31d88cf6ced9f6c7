"""Where the shared robots are, if they are there: beside the repository."""

from __future__ import annotations

from pathlib import Path

SHARED_ROBOTS = Path(__file__).resolve().parents[3] / "shared" / "robots"
