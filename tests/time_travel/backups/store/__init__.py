"""Backups on an object store."""
