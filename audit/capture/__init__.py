"""From a call on a PySpark object to a statement on record: the caller's side."""
