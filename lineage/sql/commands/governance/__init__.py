"""Statements about policies, tags, roles and privileges: typed values and their readers."""
