"""Events of other systems, taken in: a dbt, an Airflow and a Flink run beside Spark's on one lineage.

In: files of OpenLineage events. Out: rows of `imported_events` and `imported_lineage`, each exactly once.
"""
