"""Stand-alone sparse factors of matrices along a tree."""
