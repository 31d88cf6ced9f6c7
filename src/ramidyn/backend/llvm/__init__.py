"""Programs to machine code: schedule, emit, compile, cache."""
