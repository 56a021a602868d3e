"""Names bound to objects, columns traced to their sources."""
