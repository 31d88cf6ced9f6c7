"""The algorithms, one file each, written like its paper."""
