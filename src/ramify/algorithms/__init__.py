"""The algorithms, one file each, reading like its paper."""
