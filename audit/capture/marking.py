"""Commits that know their statement: each write of Delta carries the query id in its `userMetadata`.

In: a session and a query id. Out: a clone of the session whose commits are marked. The setting that marks
them belongs to a session, and another thread may write through the same one; so a clone carries it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lineage import Statement

_WRITES = (
    "INSERT", "MERGE", "UPDATE", "DELETE", "TRUNCATE", "CREATE_TABLE", "REPLACE_TABLE", "ALTER_TABLE",
    "RESTORE", "OPTIMIZE",
)  # fmt: skip


def leaves_a_commit(statement: Statement) -> bool:
    """Whether Delta may commit something for it, and nothing of it outlives it in the session."""
    return statement.statement_type.startswith(_WRITES) and not statement.temporary


class Marking:
    """Clones of sessions, made by `Sessions.java`."""

    def __init__(self, spark: SparkSession) -> None:
        self._sessions: Any = jvm.compiled(jvm.view(spark.sparkContext), "audit.capture", "Sessions")

    def marked(self, spark: SparkSession, query_id: str) -> SparkSession:
        """A clone whose commits carry a query id."""
        from pyspark.sql import SparkSession

        return SparkSession(spark.sparkContext, self._sessions.marked(spark._jsparkSession, query_id))
