"""Scalars as symbols, programs of them, and what they mean; no robots in it."""
