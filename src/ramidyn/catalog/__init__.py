"""Robots of the papers, and trees of any shape."""
