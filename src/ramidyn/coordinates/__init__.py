"""q and its velocities: layout, integration, labels, limits."""
