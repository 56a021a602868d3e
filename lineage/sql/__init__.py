"""SQL text to a typed statement."""
