"""What can be computed of a robot: the words of the public API."""
