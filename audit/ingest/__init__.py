"""From the spool to the audit tables."""
