"""Tables that are made when they are first needed, and not by ingest.

In: nothing. Out: their columns. `audit.expect` makes the one, `audit import` the two others.
"""

from __future__ import annotations

from audit.store.tables import DATA_QUALITY, AuditTable

IMPORTED_EVENTS = AuditTable(
    "imported_events",
    "event_time",
    (
        ("event_id", "STRING", "SHA-256 of the event: one that comes again is not taken in again"),
        ("event_time", "TIMESTAMP", "The time that it names (UTC, microseconds)"),
        ("event_type", "STRING", "START, COMPLETE, ...; JOB or DATASET for one that is of no run"),
        ("run_id", "STRING", "Its run"),
        ("job_namespace", "STRING", "The namespace of the job, as of a scheduler"),
        ("job_name", "STRING", "The job"),
        ("integration", "STRING", "DBT, AIRFLOW, FLINK, ..., where the event says it"),
        ("producer", "STRING", "What made the event"),
        ("parent_run_id", "STRING", "The run that started this one"),
        ("event", "STRING", "The event as JSON, its SQL without secrets"),
        ("imported_on", "TIMESTAMP", "When it was taken in (UTC)"),
        ("imported_by", "STRING", "Who took it in"),
    ),
)
"""Events of other systems; the first import makes it."""


def _told_side(side: str) -> tuple[tuple[str, str, str], ...]:
    return (
        (f"{side}_namespace", "STRING", f"The {side}: its namespace, as the event has it"),
        (f"{side}_dataset", "STRING", f"The {side}: its name there"),
        (f"{side}_object_name", "STRING", f"The {side}: its name on record"),
        (f"{side}_object_domain", "STRING", f"The {side}: Table, STAGE, or DATASET of another system"),
        (f"{side}_column_name", "STRING", f"The {side} column; null for the {side} as a whole"),
    )


IMPORTED_LINEAGE = AuditTable(
    "imported_lineage",
    "query_start_time",
    (
        ("edge_id", "STRING", "SHA-256 of the edge: one that is told again is not taken in again"),
        ("query_id", "STRING", "The run, as run_id in imported_events"),
        ("query_start_time", "TIMESTAMP", "When it started (UTC, microseconds)"),
        ("user_name", "STRING", "The job: its namespace and name"),
        ("query_type", "STRING", "OPENLINEAGE, or DROP_TABLE where the event says that it was dropped"),
        *_told_side("source"),
        *_told_side("target"),
        ("source_kind", "STRING", "direct: the event names it"),
        ("is_indirect", "BOOLEAN", "The source gave the target no value"),
        ("transformation", "STRING", "IDENTITY, TRANSFORMATION, AGGREGATION, INDIRECT; null: not said"),
        ("overwrites", "BOOLEAN", "Nothing stayed of what was in the target"),
    ),
)
"""What the events of other systems say about where data went; `audit lineage` reads it beside its own."""

LATER_TABLES = (DATA_QUALITY, IMPORTED_EVENTS, IMPORTED_LINEAGE)
"""All of them, in the order of docs/reference/tables.md."""
