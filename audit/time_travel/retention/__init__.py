"""Retention periods, Fail-safe, storage, purge, VACUUM."""
