"""Programs as readable C99."""
