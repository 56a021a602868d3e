"""The commands that answer from the audit tables; each is a file of its own."""
