"""Program to Program: the same values by fewer operations."""
