"""Why a robot's code is this fast: its sparsity, the counts, and what was chosen."""

from ramify.explain.data import Explanation, explain
from ramify.explain.page import page

__all__ = ["Explanation", "explain", "page"]
