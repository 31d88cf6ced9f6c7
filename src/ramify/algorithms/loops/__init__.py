"""Closed loops: constraints between bodies of a tree, and dynamics that obey them."""
