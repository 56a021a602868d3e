"""Statements about backups, backup sets and backup policies: typed values and their readers."""
