"""Robot files: URDF and MJCF to a Description."""
