"""SQL over the audit tables without a JVM: DuckDB reads their files, and delta-rs says which these are.

In: a root, and queries in Spark's SQL. Out: rows. The views of `views/sql/` are translated like any other
query, so they are written once. Who reads by this reads with the rights of the file system: no policy and no
grant of the audited catalog is asked.
"""
