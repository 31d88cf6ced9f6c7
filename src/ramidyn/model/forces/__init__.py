"""Force elements as data."""
