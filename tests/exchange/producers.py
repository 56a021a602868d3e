"""Runs of dbt, Airflow and Flink as their integrations tell them: the shapes that they document.

dbt-ol: a START and a COMPLETE for each model, tables in the namespace of the profile's connection, columns
by its SQL parser, the facet `dbt_model`. Airflow's provider: a START and a COMPLETE for each task,
`dag.task`, with the run of the DAG as parent. Flink 2: a START when the job is submitted, RUNNING while it
goes on, topics with the table that Flink SQL calls them as symlink.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
SPEC = "https://openlineage.io/spec"
THRIFT, KAFKA, SHOP = "spark://thrift:10001", "kafka://broker:9092", "postgres://shop-db:5432"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
FLINK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/flink"
NAMESPACES = f"{THRIFT}=spark_catalog, hive://metastore:9083=spark_catalog"


def event(kind: str, at: str, run: str, job: tuple[str, str], producer: str, **more: Any) -> Json:
    """An event with the facets that all have."""
    integration, processing, job_type = more.pop("ran")
    job_facets = {
        "jobType": {
            "_producer": producer, "_schemaURL": f"{SPEC}/facets/2-0-3/JobTypeJobFacet.json",
            "integration": integration, "processingType": processing, "jobType": job_type,
        },
        **more.pop("job_facets", {}),
    }  # fmt: skip
    return {
        "eventTime": at,
        "eventType": kind,
        "producer": producer,
        "schemaURL": f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": more.pop("run_facets", {})},
        "job": {"namespace": job[0], "name": job[1], "facets": job_facets},
        "inputs": more.pop("inputs", []),
        "outputs": more.pop("outputs", []),
    }


def dataset(namespace: str, name: str, **facets: Any) -> Json:
    """A dataset."""
    return {"namespace": namespace, "name": name, "facets": facets}


def input_field(namespace: str, name: str, field: str, *steps: tuple[str, str]) -> Json:
    """Where a column comes from."""
    found = {"namespace": namespace, "name": name, "field": field}
    return (
        {**found, "transformations": [{"type": kind, "subtype": sub} for kind, sub in steps]}
        if steps
        else found
    )


AIRFLOW_RUN, DBT_RUN, FLINK_RUN = (f"0197a1b2-0000-7000-8000-00000000000{n}" for n in (1, 2, 3))
DAG_RUN = "0197a1b2-0000-7000-8000-000000000009"


def airflow(at: str = "2026-11-20T09:00:0{}.123456Z") -> list[Json]:
    """A task that copies a table of a shop to a bucket; it names its inputs and outputs at its end."""
    parent = {
        "parent": {
            "run": {"runId": DAG_RUN},
            "job": {"namespace": "airflow", "name": "shop_to_lake"},
        }
    }
    job = ("airflow", "shop_to_lake.copy_orders")
    ran = ("AIRFLOW", "BATCH", "TASK")
    sql = {"sql": {"query": "SELECT * FROM orders WHERE token = 'sk_live_0123456789abcdef0123456789abcdef'"}}
    said = {"ran": ran, "run_facets": parent, "job_facets": sql}
    return [
        event("START", at.format(0), AIRFLOW_RUN, job, AIRFLOW, **dict(said)),
        event("COMPLETE", at.format(5), AIRFLOW_RUN, job, AIRFLOW, **dict(said),
              inputs=[dataset(SHOP, "shop.public.orders")],
              outputs=[dataset("s3://lake", "raw/orders")]),
    ]  # fmt: skip


def dbt(at: str = "2026-11-20T10:00:0{}.000000+00:00") -> list[Json]:
    """A model over a table that Spark has loaded, through the Thrift server."""
    source, model = (THRIFT, "clean.orders"), (THRIFT, "mart.revenue")
    lineage = {
        "fields": {
            "day": {
                "inputFields": [input_field(*source, "day")],
                "transformationType": "",
                "transformationDescription": "",
            },
            "revenue": {"inputFields": [input_field(*source, "price")]},
        }
    }
    ran, job = ("DBT", "BATCH", "MODEL"), ("dbt", "mart.shop.revenue")
    named = {"processing_engine": {"name": "dbt", "version": "1.10.2"}}
    made = dataset(*model, columnLineage=lineage, dbt_model={"config": {"materialized": "table"}},
                   schema={"fields": [{"name": "day"}, {"name": "revenue"}]})  # fmt: skip
    return [
        event("START", at.format(0), DBT_RUN, job, DBT, ran=ran, run_facets=named,
              inputs=[dataset(*source)], outputs=[made]),
        event("COMPLETE", at.format(9), DBT_RUN, job, DBT, ran=ran, run_facets=named,
              inputs=[dataset(*source)], outputs=[made]),
    ]  # fmt: skip


def flink(day: int = 20) -> list[Json]:
    """A job of Flink SQL that writes what Spark has made to a topic, and goes on."""
    ran = ("FLINK", "STREAMING", "JOB")
    job = ("flink", "insert-into_default_catalog.default_database.revenue_topic")
    link = {"identifiers": [{"namespace": KAFKA, "name": "default_catalog.default_database.revenue_topic",
                             "type": "TABLE"}]}  # fmt: skip
    table = {"identifiers": [{"namespace": "hive://metastore:9083", "name": "mart.by_day", "type": "TABLE"}]}
    said = {
        "ran": ran,
        "inputs": [dataset("file", "/warehouse/by_day", symlinks=table)],
        "outputs": [dataset(KAFKA, "revenue", symlinks=link)],
    }
    return [
        event("START", f"2026-11-{day}T12:00:00Z", FLINK_RUN, job, FLINK, **dict(said)),
        event("RUNNING", f"2026-11-{day}T12:10:00Z", FLINK_RUN, job, FLINK, **dict(said)),
    ]
