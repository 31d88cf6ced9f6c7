"""Quantities of more states than memory holds: read, computed and written in chunks."""
