"""The quantities that can be computed for a robot."""
