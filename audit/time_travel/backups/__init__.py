"""Backups: policies, backup sets, backups, retention lock and legal hold. What is here starts no Spark."""
