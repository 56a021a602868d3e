"""Delta tables: their catalog entries, logs and files."""
