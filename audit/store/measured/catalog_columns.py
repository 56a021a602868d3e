"""The columns of `object_catalog`, the table below the views of the catalog.

In: nothing. Out: names, types of Spark's SQL, comments. A row is of one kind and has the struct of that kind.
"""

from __future__ import annotations

_RELATION = (
    "object_name: STRING, schema_name: STRING, object_domain: STRING, object_id: BIGINT,"
    " catalog_name: STRING, table_name: STRING, table_type: STRING, provider: STRING, owner: STRING,"
    " comment: STRING, created: TIMESTAMP, deleted: TIMESTAMP, location: STRING, view_definition: STRING"
)
_ATTRIBUTE = (
    "column_id: BIGINT, column_name: STRING, table_id: BIGINT, table_name: STRING, table_schema: STRING,"
    " table_catalog: STRING, ordinal_position: INT, column_default: STRING, is_nullable: STRING,"
    " data_type: STRING, numeric_precision: INT, numeric_scale: INT, comment: STRING"
)
_ROUTINE = (
    "function_id: BIGINT, function_name: STRING, function_schema: STRING, function_catalog: STRING,"
    " function_owner: STRING, argument_signature: STRING, data_type: STRING, function_language: STRING,"
    " function_definition: STRING, created: TIMESTAMP, deleted: TIMESTAMP, comment: STRING"
)
_DEPENDENCY = (
    "referenced_database: STRING, referenced_schema: STRING, referenced_object_name: STRING,"
    " referenced_object_id: BIGINT, referenced_object_domain: STRING, referencing_database: STRING,"
    " referencing_schema: STRING, referencing_object_name: STRING, referencing_object_id: BIGINT,"
    " referencing_object_domain: STRING, dependency_type: STRING"
)

COLUMNS = (
    ("kind", "STRING", "RELATION, ATTRIBUTE, ROUTINE or DEPENDENCY"),
    ("relation", f"STRUCT<{_RELATION}>", "Of a table or a view"),
    ("attribute", f"STRUCT<{_ATTRIBUTE}>", "Of a column"),
    ("routine", f"STRUCT<{_ROUTINE}>", "Of a function"),
    ("dependency", f"STRUCT<{_DEPENDENCY}>", "Of a view, and what it reads by name"),
    ("measured_at", "TIMESTAMP", "When this was found so; what has not changed is not written again"),
)
"""Name, type and meaning of each."""
