"""Force elements over symbols."""
