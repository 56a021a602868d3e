"""What may be done with backups: from a statement, the state and privileges to events or a refusal."""
