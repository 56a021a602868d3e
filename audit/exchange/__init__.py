"""The history as other tools understand it, and theirs as this one does.

In: the audit tables of a root, or events of other systems. Out: OpenLineage events, DataHub's metadata, rows
of Snowflake's and Unity Catalog's shape; rows of `imported_events` and `imported_lineage`. No Spark.
"""
