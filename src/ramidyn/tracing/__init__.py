"""The engine of quantities: declarations, options, tracing, choice of algorithms."""
