"""Native loops of planners: the Riccati recursion, and the iterations around it."""
