"""SQL views over the audit tables, for people."""
