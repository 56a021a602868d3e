"""Which records may be one row together with others that are alike: reads of tables in constant use.

In: a record, and the tables that `aggregated_tables` names. Out: the record with a mark, the same for calls
that differ in time, in literals and in what they cost alone. The ingest makes one row of each mark in a batch
(`audit.ingest.aggregates`): a million short look-ups become a few rows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from audit.core.json_text import to_json
from lineage.names import quote_name, split_recorded
from lineage.sql.redaction.rules import RedactionRules
from lineage.sql.redaction.sql_text import redact_sql

MARK = "aggregate"
"""The field of a record that holds the mark: `key`, and `text`, the statement without its literals."""
_OF_A_CALL = frozenset((
    "query_id", "root_query_id", "start_time", "end_time", "total_elapsed_time", "rows_produced",
    "bytes_scanned", "bytes_written", "query_text", "query_hash", "objects_tried", "query_start_time",
    "record_hash",
))  # fmt: skip
"""What calls that are alike may differ in."""
_HOUR = len("2026-01-31T23")
_TABLES = frozenset({"Table", "EXTERNAL TABLE"})
# Spark (4.2) numbers the attributes of each plan anew.
_EXPRESSION_ID = re.compile(r"#\d+L?")
_LITERALS = RedactionRules(literals=True)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The tables whose reads are aggregated.

    Attributes:
        patterns: names as records have them, with or without the catalog, in lower case; `*` stands for
            any characters.
    """

    patterns: tuple[str, ...] = ()

    @staticmethod
    def of(text: str) -> Aggregation:
        """The tables of `aggregated_tables`.

        >>> Aggregation.of("shop.Sessions, cache.*").patterns
        ('shop.sessions', 'cache.*')
        """
        return Aggregation(tuple(one.strip().lower() for one in text.split(",") if one.strip()))

    def marked(self, row: dict[str, Any]) -> dict[str, Any]:
        """The record, with its mark where it may be aggregated.

        A query may, where it succeeded, was analysed in full, ran alone, and read aggregated tables only.
        What writes, fails or is denied has a row of its own, whatever it reads.

        Args:
            row: of `build_row`.
        """
        if not self.patterns or not self._covers(row):
            return row
        query, access = row["query"], row["access"][0]
        text = _generic(query)
        same = {
            "hour": query["start_time"][:_HOUR],
            "text": None if "query_parameterized_hash" in query else text,
            "query": _without(query),
            "access": _without(access),
        }
        key = hashlib.sha256(to_json(same, sort_keys=True)).hexdigest()[:32]
        return {**row, MARK: {"key": key, "text": text}}

    def _covers(self, row: Mapping[str, Any]) -> bool:
        if row["query"].get("parent_query_id") or row.get("edges") or len(row["access"]) != 1:
            return False
        access = row["access"][0]
        read = access.get("base_objects_accessed") or ()
        if access["analysis"] != "full" or access.get("objects_modified"):
            return False
        if not read or "object_modified_by_ddl" in access:
            return False
        return all(one["objectDomain"] in _TABLES and self._names(one["objectName"]) for one in read)

    def _names(self, table: str) -> bool:
        return any(fnmatchcase(name, one) for name in _spellings(table) for one in self.patterns)


def _generic(query: Mapping[str, Any]) -> str:
    r"""The text of all calls that are alike: a DataFrame action has its plan, without ids of the call.

    >>> _generic({"query_text": "DataFrame.count()\n- Relation s.t[id#15612L,name#15613]"})
    'DataFrame.count()\n- Relation s.t[id,name]'
    """
    if "query_parameterized_hash" in query:
        return redact_sql(query["query_text"], _LITERALS).text
    return _EXPRESSION_ID.sub("", query["query_text"])


def _without(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in _OF_A_CALL}


@lru_cache(maxsize=1000)
def _spellings(table: str) -> tuple[str, ...]:
    """The name of a table as a pattern may write it.

    >>> _spellings("spark_catalog.shop.Sessions")
    ('spark_catalog.shop.sessions', 'shop.sessions')
    """
    name = table.lower()
    return name, quote_name(split_recorded(name)[1:])
