"""MJCF files."""
