"""The days of the audit tables: which are kept, compacted, deleted, summed up."""
