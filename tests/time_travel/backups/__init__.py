"""Backups: rules, schedule, manifest and files, without Spark."""
