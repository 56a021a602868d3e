"""A table of events beside the audit tables, which is only ever appended to.

In: rows. Out: a commit for each `append`. A statement waits for it, so that no Spark job writes the few rows:
Arrow makes the file, and Delta's own transaction adds it to the table.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from audit.core.job_tags import SUPPRESS_TAG
from audit.spark import java_classes, jvm
from audit.spark.delta.append_files import add_action, new_name
from audit.spark.delta.conflicts import is_creation_conflict, retried
from audit.spark.pyspark_api.job_tags import tagged
from lineage.names import delta_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row, SparkSession

Columns = Sequence[tuple[str, str, str]]
"""Name, type (as `audit.spark.arrow` knows them) and meaning of each column."""


class HistoryTable:
    """The table at a location, once `create` has made it.

    Args:
        session: a session of the system's own, which is not audited.
        location: a Hadoop path.
        columns: of the table.
        ordered_by: a column that only grows; who reads what is new by it opens the new files alone.
        versions_days: how long older versions can be read.
    """

    def __init__(
        self,
        session: SparkSession,
        location: str,
        columns: Columns,
        ordered_by: str | None = None,
        versions_days: int = 3650,
    ) -> None:
        self._session = session
        self.location = location
        self._columns = columns
        self._ordered_by = ordered_by
        self._versions_days = versions_days
        self._java: Any = java_classes.instance(jvm.view(session.sparkContext), "capture.EventTable")

    def version(self) -> int:
        """The newest version; -1 where no table lies."""
        return int(self._java.version(self._session._jsparkSession, self.location))

    def is_newest(self, version: int) -> bool:
        """Whether nobody has written since a version: one look at the store."""
        newest: bool = self._java.isNewest(self._session._jsparkSession, self.location, version)
        return newest

    def rows(self, version: int | None = None, where: str = "true") -> list[Row]:
        """The rows, of a version or of now, as far as a condition holds; in order, where there is one."""
        reader = self._session.read.format("delta")
        asked = reader if version is None else reader.option("versionAsOf", version)
        found = asked.load(self.location).where(where)
        # Whoever's statement or attach needs them, it is the system that reads: no record tells of it.
        with tagged(self._session.sparkContext, SUPPRESS_TAG):
            return (found if self._ordered_by is None else found.orderBy(self._ordered_by)).collect()

    def added_since(self, version: int, newest: int) -> pa.Table | None:
        """The rows of files that commits behind a version have added, without a Spark job.

        Args:
            version: is not looked at.
            newest: the last that is.

        Returns:
            None where the log no longer has one of these commits.
        """
        import pyarrow as pa
        from pyarrow import parquet

        from audit.spark.arrow import arrow_type

        found = [pa.schema([(name, arrow_type(kind)) for name, kind, _ in self._columns]).empty_table()]
        for commit in range(version + 1, newest + 1):
            lines = self._read(f"_delta_log/{commit:020}.json")
            if lines is None:
                return None
            adds = [json.loads(line).get("add") for line in lines.splitlines()]
            for add in adds:
                # OPTIMIZE writes rows anew that are there already.
                if add and add["dataChange"]:
                    data = self._read(unquote(add["path"]))
                    if data is None:
                        return None
                    found.append(
                        parquet.ParquetFile(io.BytesIO(data))
                        .read(found[0].column_names)
                        .cast(found[0].schema)
                    )
        return pa.concat_tables(found)

    def _read(self, name: str) -> bytes | None:
        found = self._java.read(self._session._jsparkSession, self.location, name)
        return None if found is None else bytes(found)

    def append(self, rows: Sequence[tuple[Any, ...]], seen: int | None = None) -> int | None:
        """Add rows in one commit; they are on record when this returns.

        Args:
            rows: values as `Columns` orders them; moments with a time zone.
            seen: where others have written since this version, nothing is added. None: whoever has written.

        Returns:
            The version; None where others were faster.
        """
        from pyarrow import parquet

        table = self._arrow(rows)
        file = io.BytesIO()
        parquet.write_table(table, file, compression="zstd")
        name = new_name({})
        stats = () if self._ordered_by is None else (self._ordered_by,)
        added = add_action(name, file.tell(), table, stats, {})
        version = int(
            self._java.append(
                self._session._jsparkSession,
                self.location,
                name,
                file.getvalue(),
                json.dumps({"add": added}),
                -1 if seen is None else seen,
            )
        )
        return None if version < 0 else version

    def _arrow(self, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
        import pyarrow as pa

        from audit.spark.arrow import arrow_type

        arrays = {
            name: pa.array([row[number] for row in rows], arrow_type(kind))
            for number, (name, kind, _) in enumerate(self._columns)
        }
        return pa.table(arrays)

    def create(self) -> None:
        """Make the table where there is none; several may do it at once."""
        # A checkpoint takes seconds, which a statement would wait for: each tenth at the default.
        lines = ", ".join(f"{name} {kind} COMMENT '{text}'" for name, kind, text in self._columns)
        text = (
            f"CREATE TABLE IF NOT EXISTS {delta_path(self.location)} ({lines}) USING delta"
            " TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '100',"
            f" 'delta.logRetentionDuration' = 'interval {self._versions_days} days')"
        )
        retried(partial(self._session.sql, text), conflict=is_creation_conflict)
