"""What users read about each quantity: the docstring of the method of Robot.

`methods` fills it when Robot is defined, so that the text stands in one place and an
editor finds it there.
"""

from __future__ import annotations

DOCUMENTATION: dict[str, str] = {}
"""name of a quantity -> docstring"""
