"""From a robot description to a Tree."""
