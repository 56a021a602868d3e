"""Policies, tags, roles and grants as values."""
