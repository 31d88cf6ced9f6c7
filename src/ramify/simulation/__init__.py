"""Integrate the motion of a robot over time."""
