"""From a Program to native code, and the call from Python into it."""
