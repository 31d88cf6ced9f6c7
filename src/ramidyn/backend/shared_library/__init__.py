"""Native code as a shared library that C programs link."""
