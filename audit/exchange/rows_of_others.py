"""The history as rows of Snowflake's and Unity Catalog's own tables, for programs that read those.

In: the audit tables of a root, some days. Out: dicts, each a JSON document. Sources: Snowflake,
"ACCESS_HISTORY view"; Databricks, "Lineage system tables reference".
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import orjson

from audit.exchange.history import Days, Row, rows_of
from audit.query.answer import Source
from audit.store.tables import ACCESS_HISTORY

Json = dict[str, Any]
_COLUMNS = (
    "query_id", "query_start_time", "user_name", "direct_objects_accessed", "base_objects_accessed",
    "objects_modified", "object_modified_by_ddl", "policies_referenced", "parent_query_id", "root_query_id",
    "event_source", "additional_properties", "invoker_identity", "agents_info",
)  # fmt: skip
"""Snowflake's, in its order; the last four have no meaning here and are null."""
_LISTS = frozenset(
    {"direct_objects_accessed", "base_objects_accessed", "objects_modified", "policies_referenced"}
)
_OURS = frozenset({"policyVersion", "changedResult"})
"""Fields of a policy that Snowflake does not have."""
_VIEWS = {
    "table_lineage": "system_access_table_lineage",
    "column_lineage": "system_access_column_lineage",
}


def snowflake_rows(source: Source, days: Days) -> Iterator[Json]:
    """Rows of ACCESS_HISTORY, with the columns and the nested fields that Snowflake has.

    A field that says nothing is left out, a list without entries is empty, as there.
    """
    for row in rows_of(source, ACCESS_HISTORY.name, ACCESS_HISTORY.time, days):
        yield {name.upper(): _snowflake(name, row.get(name)) for name in _COLUMNS}


def unity_rows(source: Source, table: str, days: Days) -> Iterator[Json]:
    """Rows of system.access.table_lineage, or of system.access.column_lineage.

    Args:
        source: the audit tables.
        table: the one or the other, by its last name.
        days: which.
    """
    for row in rows_of(source, _VIEWS[table], "event_time", days):
        yield {name: _unity(value) for name, value in row.items() if name != "query_date"}


def _snowflake(name: str, value: Any) -> Any:
    if name in _LISTS:
        return [_kept(one) for one in value or ()]
    if name == "object_modified_by_ddl":
        return None if value is None else _ddl(value)
    if isinstance(value, datetime):
        # TIMESTAMP_LTZ_OUTPUT_FORMAT by default, with all six digits.
        return f"{value.isoformat(' ', 'microseconds')} +0000"
    return value


def _kept(value: Any) -> Any:
    """Nested values without nulls and without what Snowflake does not have."""
    if isinstance(value, dict):
        return {name: _kept(one) for name, one in value.items() if one is not None and name not in _OURS}
    return [_kept(one) for one in value] if isinstance(value, list) else value


def _ddl(value: Row) -> Json:
    """The properties, which the table has as text, as what they are."""
    found: Json = _kept(dict(value))
    return {**found, "properties": orjson.loads(value["properties"] or "{}")}


def _unity(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value.isoformat(timespec='microseconds')}Z"
    return value.isoformat() if isinstance(value, date) else value
