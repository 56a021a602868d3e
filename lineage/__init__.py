"""Lineage from SQL text and from Spark's analyzed plans; imports no Spark."""
