"""The constraints of loops: their rows over symbols, closed samples, and their rank."""
