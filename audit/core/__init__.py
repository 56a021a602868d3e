"""Errors, clock, ids, identity, configuration: imports nothing else of this project."""
