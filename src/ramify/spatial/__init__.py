"""Spatial algebra over symbols, in compact classes: angular part first."""
