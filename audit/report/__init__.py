"""Reports for auditors: figures over the audit tables, each with its SQL, on one page that prints.

In: a root, the name of a report, a period. Out: a file of HTML, PDF, CSV or JSON. A report is data: `kinds/`
says which figures it has, `packs/` under which requirements of a norm they stand. DuckDB answers, so no Spark
starts. Whoever makes a report reads with the rights of the file system, as `audit query` does.
"""
