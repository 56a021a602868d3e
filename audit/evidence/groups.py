"""Columns of the audit tables that repeat from row to row.

A statement that ran before reads the same objects. The text of a row has one hash for all of a group
(`audit.evidence.row_texts`), so that ingest makes and hashes once what repeats. Which they are stands in the
log with the columns; another choice is another COLUMNS entry.
"""

from __future__ import annotations

from audit.store.tables import ACCESS_HISTORY, LINEAGE_TABLES, QUERY_HISTORY

OF_STATEMENT = ("query_id", "query_start_time", "user_name", "query_type")
"""The columns of an edge that tell of its statement."""

GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    QUERY_HISTORY.name: {
        "text": (
            "query_text", "query_type", "role_name", "database_name", "schema_name", "query_hash",
            "query_parameterized_hash", "parent_query_id", "root_query_id", "objects_tried", "action",
            "session_id", "application_id", "query_tag", "purpose", "client_address", "client_host",
            "client_program", "client_version", "os_user",
        ),
    },
    ACCESS_HISTORY.name: {
        "objects": (
            "direct_objects_accessed", "base_objects_accessed", "objects_modified", "object_modified_by_ddl",
            "policies_referenced",
        ),
        "analysis": (
            "session_id", "application_id", "captured_by", "analysis", "analysis_reason", "object_versions",
        ),
    },
    **{
        table.name: {"edge": tuple(name for name, _, _ in table.columns if name not in OF_STATEMENT)}
        for table in LINEAGE_TABLES
    },
}  # fmt: skip
"""By table: the groups, in their order, with the columns of each."""
