"""Ramify compiles robot dynamics: robot in, native SIMD code out."""
