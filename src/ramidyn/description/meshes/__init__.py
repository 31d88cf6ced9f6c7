"""Triangle meshes: their files, convex hulls and inertias."""
