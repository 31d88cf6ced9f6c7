"""Plans: trajectories of least cost."""
