"""Checks the audit tables against the log of digests, without Spark where delta-rs reads them."""
