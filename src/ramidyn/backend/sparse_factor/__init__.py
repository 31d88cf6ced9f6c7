"""Native loops over matrices that are sparse along a tree."""
