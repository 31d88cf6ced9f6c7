"""Closed loops: constraints between bodies of a tree, and dynamics that obey them."""

ALGORITHMS = (
    "joint_formulation",
    "loopwise",
    "constrained_aba",
    "cluster_aba",
    "cluster_ltdl",
)
"""candidates for algorithm="auto", chosen by operation count"""
BY_NAME_ONLY = ("proximal",)
"""other valid values"""
