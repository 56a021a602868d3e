"""The audit tables: made, written, kept small, kept for their time, verified."""
