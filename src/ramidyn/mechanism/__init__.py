"""Numeric work on closed loops: assemble, project, mobility, partition."""
