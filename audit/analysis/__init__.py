"""From a statement that has run to its record: the worker's side."""
