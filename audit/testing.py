"""For tests of jobs: the records of a session, without waiting for Delta tables.

In: an audited session. Out: the rows that ingest would write, as PySpark rows. A flush commits to four Delta
tables, in seconds; this reads the spool, in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import ArrayType, DataType, Row, StructType, TimestampType

from audit import attached_sessions
from audit.core.errors import AttachError, IngestError
from audit.record.logging_event import LOGGING_EVENTS
from audit.spark.sessions import require_session
from audit.spool import read_segment
from audit.spool.layout import Layout
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one statement.

    Attributes:
        query: its row of query_history.
        access: its rows of access_history: none where it did not succeed, one otherwise, two for a SWAP.
    """

    query: Row
    access: tuple[Row, ...]


def records(spark: SparkSession) -> list[Record]:
    """The records of this application that ingest has not taken in, by start time, then by query id.

    Attach with `ingest="external"`, and these are all records since the attach.

    Args:
        spark: an audited session; records of other sessions on its root are among those returned.

    Returns:
        A record for each statement that has ended.

    Raises:
        AttachError: it is no session, has been stopped, or is not audited.
        IngestError: the statements are not analysed yet.
        SpoolUnavailableError: the spool cannot be written.
    """
    audited = attached_sessions.find(require_session(spark))
    if audited is None:
        raise AttachError("this SparkSession is not audited", "call audit.attach(spark) first")
    recorder = audited.recorder
    if not recorder.worker.drain():
        raise IngestError("the records were not made within a minute", "ask again when Spark is less busy")
    recorder.spool.sync()
    layout = Layout(recorder.spool.path)
    query, access = _schema(QUERY_HISTORY), _schema(ACCESS_HISTORY)
    found = [
        Record(
            _row(query, entry.payload["query"]),
            tuple(_row(access, one) for one in entry.payload.get("access", ())),
        )
        # A segment is sealed when it is large or when ingest asks for it; until then its records are in an
        # open one.
        for path in (*layout.sealed_segments(), *layout.open_segments())
        for entry in read_segment(path).entries
        # As ingest does: a gap is a row of query_history, too. What happens to the logging is no statement.
        if entry.kind in ("R", "G") and entry.payload["query"]["query_type"] not in LOGGING_EVENTS
    ]
    return sorted(found, key=lambda record: (record.query["start_time"], record.query["query_id"]))


def _schema(table: AuditTable) -> StructType:
    schema = StructType.fromDDL(table.row_schema)
    assert isinstance(schema, StructType)  # noqa: S101 - of a list of columns it is
    return schema


def _row(kind: StructType, values: dict[str, Any]) -> Row:
    return Row(**{field.name: _value(field.dataType, values.get(field.name)) for field in kind.fields})


def _value(kind: DataType, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, StructType):
        return _row(kind, value)
    if isinstance(kind, ArrayType):
        return [_value(kind.elementType, one) for one in value]
    if isinstance(kind, TimestampType):
        # As PySpark gives timestamps: without a zone, in the zone of this process.
        return datetime.fromisoformat(value.replace("Z", "+00:00")).astimezone().replace(tzinfo=None)
    return value
