"""Commits that know their statement: each write of Delta carries the query id in its `userMetadata`.

In: a session or a writer, and a query id. Out: a clone of the session, or the same writer in one, whose
commits are marked. The setting that marks them belongs to a session, and another thread may write through the
same one; so a clone carries it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark import java_classes, jvm
from lineage.names import split_name

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


_WRITERS = {
    "DataFrameWriter": ("_jwrite", "insertInto save saveAsTable"),
    "DataFrameWriterV2": ("_jwriter", "append create createOrReplace overwrite overwritePartitions replace"),
    "MergeIntoWriter": ("_jwriter", "merge"),
    "DeltaTable": ("_jdt", "delete restoreToTimestamp restoreToVersion update"),
    "DeltaMergeBuilder": ("_jbuilder", "execute"),
    "DeltaTableBuilder": ("_jbuilder", "execute"),
    "DeltaOptimizeBuilder": ("_jbuilder", "executeCompaction executeZOrderBy"),
}
"""What commits from Python: the attribute that holds the JVM's side, and the methods, by class."""
_JVM_FIELDS = {
    f"{name}.{method}": jvm_field
    for name, (jvm_field, methods) in _WRITERS.items()
    for method in methods.split()
}
_BUILT = "DeltaTableBuilder.execute"
# Position in `save(path, format, …)` and `saveAsTable(name, format, …)` of PySpark 4.2.
_FORMAT = 1
"""The place of `format` among the arguments of `save` and `saveAsTable`."""


@dataclass(frozen=True, slots=True)
class Destination:
    """What a writer writes to.

    Attributes:
        table: the parts of its name, () for a path.
        provider: the format that is asked for, "" for the session's own.
        is_delta: nothing else can be.
    """

    table: tuple[str, ...] = ()
    provider: str = ""
    is_delta: bool = False


class CommitTagging:
    """Clones of sessions, made by `MarkedSessions.java`."""

    def __init__(self, spark: SparkSession) -> None:
        self._sessions: Any = java_classes.instance(jvm.view(spark.sparkContext), "capture.MarkedSessions")

    def tagged_session(self, spark: SparkSession, query_id: str) -> SparkSession:
        """A clone whose commits carry a query id."""
        from pyspark.sql import SparkSession

        # cloneSession copies temporary views, settings and the current schema in 0.6 ms; newSession has none
        # of them.
        return SparkSession(spark.sparkContext, self._sessions.marked(spark._jsparkSession, query_id))

    def destination(
        self, writer: Any, action: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Destination | None:
        """What a call on a PySpark object writes to; None where it leaves no commit.

        Args:
            writer: a writer of PySpark, or a table of Delta's API.
            action: class and method.
            args: of the call.
            kwargs: of the call.
        """
        if action not in _JVM_FIELDS:
            return None
        owner, _, method = action.partition(".")
        if owner.startswith("Delta") and action != _BUILT:
            return Destination(is_delta=True)
        provider, _, table = self._sessions.target(getattr(writer, _JVM_FIELDS[action])).partition(" ")
        if owner == "DataFrameWriter" and method != "save":
            table = args[0] if args else kwargs.get("name") or kwargs["tableName"]
        if owner == "DataFrameWriter" and method != "insertInto":
            given = args[_FORMAT] if len(args) > _FORMAT else kwargs.get("format")
            provider = given or provider
        if action == _BUILT:
            provider = "delta"
        return Destination(split_name(table) if table else (), provider)

    def tagged_writer(self, writer: Any, action: str, query_id: str) -> Any:
        """The same writer, whose commits carry a query id."""
        jvm_field = _JVM_FIELDS[action]
        # A shallow copy: the user's writer keeps its JVM object, and may be used again.
        own = copy.copy(writer)
        setattr(own, jvm_field, self._sessions.writer(getattr(writer, jvm_field), query_id))
        return own

    def copy_save_mode(self, marked: Any, writer: Any, action: str) -> None:
        """PySpark's `save(mode=…)` sets the mode of its writer for good: the user's has it, too."""
        jvm_field = _JVM_FIELDS[action]
        self._sessions.giveBack(getattr(marked, jvm_field), getattr(writer, jvm_field))

    def in_user_session(self, made: Any, writer: Any, action: str) -> Any:
        """The table that a marked builder has made, in the session of the user's."""
        if action == _BUILT:
            jvm_field = _WRITERS["DeltaTable"][0]
            setattr(
                made,
                jvm_field,
                self._sessions.atHome(getattr(made, jvm_field), getattr(writer, _JVM_FIELDS[action])),
            )
        return made
