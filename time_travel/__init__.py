"""Time Travel: versioned reads, UNDROP, CLONE, retention. Nothing is here yet: Delta's own forms work."""
