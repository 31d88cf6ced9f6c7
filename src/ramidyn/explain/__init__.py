"""Why a robot's code is this fast: its sparsity, the counts, and what was chosen."""

from ramidyn.explain.data import Explanation, explain
from ramidyn.explain.page import page

__all__ = ["Explanation", "explain", "page"]
