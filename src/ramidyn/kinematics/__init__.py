"""Inverse kinematics: goals, the damped step, the search, tracking."""
