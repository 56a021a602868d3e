"""Other extractors of column lineage, each in a process and an environment of its own."""
