"""The call from Python into native code."""
