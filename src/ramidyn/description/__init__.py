"""Robots as data: bodies, joints, loops, forces, shapes; files and a builder."""
