"""Statements of Time Travel: typed values and their readers."""
