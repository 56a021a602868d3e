"""Storage of Delta tables by purpose: active, Time Travel, Fail-safe, retained for clones, purgeable.

In: existing and dropped tables, each with its periods. Out: bytes, files and rows by the time of their
addition and removal. One Spark job reads the logs of all tables, and no data. The purpose of a file at any
moment, also a future one, follows from the periods.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from audit.core.file_paths import FILE_SCHEME, with_one_slash
from audit.spark.delta.log_errors import unreadable
from audit.spark.java_errors import JVM_ERRORS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from audit.time_travel.dropped.drop_registry import ObjectEvent
    from audit.time_travel.retention.periods import Retention

# The largest BIGINT of Spark: every time is earlier.
FOREVER = (1 << 63) - 1
_VECTOR = (
    "deletionVector STRUCT<storageType: STRING, pathOrInlineDv: STRING, offset: INT, sizeInBytes: INT,"
    " cardinality: BIGINT>"
)
_ACTION = (
    f"add STRUCT<path: STRING, size: BIGINT, modificationTime: BIGINT, stats: STRING, {_VECTOR}>,"
    f" remove STRUCT<path: STRING, size: BIGINT, deletionTimestamp: BIGINT, {_VECTOR}>"
)
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def _vector_file() -> str:
    """The path of a deletion vector's file, as an expression: kind p has a path, kind u an encoded UUID.

    "<random prefix - optional><base85 encoded uuid>" (Delta's protocol, deletion vector descriptor schema).
    """
    alphabet = _Z85.replace("{", "{{").replace("}", "}}")
    groups = []
    # Z85 encodes 4 bytes in 5 characters; a UUID is 4 such groups.
    for group in range(4):
        digits = (
            f"(instr('{alphabet}', substr(dv.pathOrInlineDv, -{20 - 5 * group - digit}, 1)) - 1L)"
            f" * {85 ** (4 - digit)}"
            for digit in range(5)
        )
        groups.append(f"lpad(lower(hex({' + '.join(digits)})), 8, '0')")
    dashes = "'(.{{8}})(.{{4}})(.{{4}})(.{{4}})', '$1-$2-$3-$4-'"
    uuid = f"regexp_replace(concat({', '.join(groups)}), {dashes})"
    folder = "substr(dv.pathOrInlineDv, 1, length(dv.pathOrInlineDv) - 20)"
    own = f"concat({folder}, IF({folder} = '', '', '/'), 'deletion_vector_', {uuid}, '.bin')"
    return f"CASE dv.storageType WHEN 'p' THEN dv.pathOrInlineDv WHEN 'u' THEN {own} END"


_VECTOR_FILE = _vector_file()
_COMPACTED = re.compile(r"\d{20}\.(\d{20})\.compacted\.json$")
# A path in Delta's log is relative to the table, or an absolute URI (a clone's file); both are
# percent-encoded (Delta's protocol, add file).
_PLAIN = f"regexp_replace(url_decode(replace({{}}, '+', '%2B')), '{FILE_SCHEME}', 'file:')"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A Delta table that exists, or was dropped and is not purged.

    Attributes:
        name: catalog, schema, table.
        location: of its files.
        periods: their retention.
        log: the description of `TableFiles.java`.
        facts: the catalog's, at the drop for a dropped table.
        dropped: the event of its drop; None for an existing one.
        has_retention: this system retains it; other tables are Delta's alone.
        purged: files replaced before the first moment were deleted at the second, UTC microseconds.
    """

    name: tuple[str, ...]
    location: str
    periods: Retention
    log: Mapping[str, Any] = field(repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    dropped: ObjectEvent | None = None
    has_retention: bool = True
    purged: tuple[int, int] = (-1, -1)

    @property
    def root(self) -> str:
        """The location as a full, normalised URI."""
        return with_one_slash(str(self.log["root"]))

    def horizons(self, at: int) -> tuple[int, int]:
        """Files replaced before these moments have left Time Travel, and Fail-safe; UTC microseconds."""
        return self.periods.horizon(at), self.periods.kept_horizon(at)


@dataclass(frozen=True, slots=True)
class FileSpan:
    """Files of one table that were added and removed at the same times.

    Attributes:
        came: when they were added, UTC microseconds; 0 if the log no longer tells.
        went: when a newer version removed them; None for files of the newest version.
        others: until when a clone needs them, UTC microseconds; `FOREVER` while one has them in its newest
            version, 0 for none.
        size: bytes.
    """

    came: int
    went: int | None
    others: int
    size: int


@dataclass(frozen=True, slots=True)
class StorageBytes:
    """The bytes of a table by purpose.

    Attributes:
        active: the newest version.
        time_travel: removed or dropped, within retention: they can be read or restored.
        fail_safe: past retention: the administrator can recover them.
        retained_for_clone: past Fail-safe, but a clone needs them.
        purgeable: `audit purge` deletes them.
    """

    active: int = 0
    time_travel: int = 0
    fail_safe: int = 0
    retained_for_clone: int = 0
    purgeable: int = 0

    @property
    def total(self) -> int:
        """All bytes on disk."""
        return self.active + self.time_travel + self.fail_safe + self.retained_for_clone + self.purgeable


@dataclass(frozen=True, slots=True)
class TableContents:
    """The files of a table's newest version, those in other folders included.

    Attributes:
        rows: None if a file has no statistics.
        files: their number.
        bytes: their size.
    """

    rows: int | None = 0
    files: int = 0
    bytes: int = 0


def bytes_at(
    table_stored: StoredTable, spans: Iterable[FileSpan], at: int, *, is_past: bool = False
) -> StorageBytes:
    """The bytes of a table by purpose at a moment, from today's log.

    Args:
        table_stored: the table.
        spans: those of its files.
        at: UTC microseconds; a future one as if nothing were written until then.
        is_past: ignore files that were added later. For the present all count, as writers' clocks may differ.
    """
    readable, kept = table_stored.horizons(at)
    found = dict.fromkeys(("active", "time_travel", "fail_safe", "retained_for_clone", "purgeable"), 0)
    gone = table_stored.dropped.time if table_stored.dropped is not None else None
    for span in spans:
        if is_past and span.came > at:
            continue
        # A DROP removes all files that no version has removed before.
        went = min((m for m in (span.went, gone) if m is not None), default=None)
        if went is None or went > at:
            state = "active"
        elif went > readable:
            state = "time_travel"
        elif went > kept:
            state = "fail_safe"
        elif span.others > at:
            state = "retained_for_clone"
        elif went > table_stored.purged[0]:
            state = "purgeable"
        else:
            continue
        found[state] += span.size
    return StorageBytes(**found)


FileSpans = Mapping[int, Sequence[FileSpan]]
"""Spans by the number of the table in whose folder the files lie."""


def measure(
    own: SparkSession, stored_tables: Sequence[StoredTable]
) -> tuple[FileSpans, dict[int, TableContents]]:
    """The files of all tables, from their logs.

    A clone's file lies in the folder of its source: it is in the source's spans once, and in the contents of
    both tables.

    Args:
        own: a session of the system's own.
        stored_tables: the tables; their numbers are the places here.

    Warns:
        UserWarning: a table has a damaged log; it counts as empty.
    """
    try:
        return _measured(own, stored_tables)
    except JVM_ERRORS:
        bad = unreadable_tables(own, stored_tables)
        if not bad:
            raise
    for number, error in bad.items():
        one = stored_tables[number]
        warnings.warn(str(unreadable(one.location, error, one.name)), stacklevel=2)
    rest = [number for number in range(len(stored_tables)) if number not in bad]
    spans, contents = _measured(own, [stored_tables[number] for number in rest])
    found = {number: spans[place] for place, number in enumerate(rest)}
    return {number: found.get(number, []) for number in range(len(stored_tables))}, {
        rest[place]: one for place, one in contents.items()
    }


def _measured(
    own: SparkSession, stored_tables: Sequence[StoredTable]
) -> tuple[FileSpans, dict[int, TableContents]]:
    spans: dict[int, list[FileSpan]] = {number: [] for number in range(len(stored_tables))}
    if not stored_tables:
        return spans, {}
    # Two queries read it, and each would read all logs.
    uses = _uses(own, stored_tables).persist()
    try:
        rows = own.sql(
            """SELECT owner, coalesce(came, 0) AS came, went, others, sum(size) AS size
               FROM {fates} WHERE owner IS NOT NULL
               GROUP BY owner, came, went, others""",
            fates=_file_lifetimes(own, stored_tables, uses),
        ).collect()
        contents = own.sql(
            """SELECT no, count(*) AS files, sum(size) AS size,
                      IF(count(*) = count(rows), sum(rows), NULL) AS rows
               FROM {uses} WHERE active AND NOT is_vector GROUP BY no""",
            uses=uses,
        ).collect()
    finally:
        # Spark keeps a persisted frame until the session ends.
        uses.unpersist()
    for row in rows:
        spans[row.owner].append(_span(row))
    return spans, {row.no: TableContents(row.rows, row.files, row["size"]) for row in contents}


def _span(row: Any) -> FileSpan:
    return FileSpan(
        row.came * 1000,
        None if row.went is None else row.went * 1000,
        FOREVER if row.others == FOREVER else row.others * 1000,
        row["size"],
    )


def unreadable_tables(
    own: SparkSession, stored_tables: Sequence[StoredTable], first: int = 0
) -> dict[int, Exception]:
    """The tables with damaged logs, by number; found by bisection, as one Spark job reads all logs."""
    if not stored_tables:
        return {}
    try:
        # The noop sink reads all rows and writes none.
        _uses(own, stored_tables).write.format("noop").mode("overwrite").save()
    except JVM_ERRORS as error:
        if len(stored_tables) == 1:
            return {first: error}
        middle = len(stored_tables) // 2
        above = unreadable_tables(own, stored_tables[middle:], first + middle)
        return unreadable_tables(own, stored_tables[:middle], first) | above
    return {}


def file_lifetimes(own: SparkSession, stored_tables: Sequence[StoredTable]) -> DataFrame:
    """One row for each file in a log.

    Returns:
        file (its path in full), owner (a number, null for a folder of no table here), came, went (of the
        owner; null while it has the file; 0 where it no longer tells of it), others (until when another
        table needs it; 0 for none), size. Times in milliseconds.
    """
    return _file_lifetimes(own, stored_tables, _uses(own, stored_tables))


def _file_lifetimes(own: SparkSession, stored_tables: Sequence[StoredTable], uses: DataFrame) -> DataFrame:
    return own.sql(
        f"""WITH owned AS (
              SELECT /*+ BROADCAST(o) */ u.*, IF(u.is_own, u.no, o.no) AS owner
              FROM {{uses}} u
              LEFT JOIN {{tables}} o ON NOT u.is_own AND startswith(u.file, concat(o.root, '/'))
            ), needed AS (
              SELECT /*+ BROADCAST(t) */ owned.*,
                     CASE WHEN t.gone IS NULL AND active THEN {FOREVER}
                          ELSE greatest(t.gone + t.days_ms, array_min(transform(
                            filter(t.periods, p -> went + p.days <= p.until),
                            p -> greatest(p.begin, went + p.days)))) + t.safe_ms
                     END AS until
              FROM owned JOIN {{tables}} t ON owned.no = t.no
            )
            SELECT file, owner, min(came) AS came, max(size) AS size,
                   CASE WHEN NOT max(no = owner) THEN 0
                        WHEN NOT max(no = owner AND active) THEN max(IF(no = owner, went, 0)) END AS went,
                   coalesce(max(IF(no = owner, 0, until)), 0) AS others
            FROM needed GROUP BY file, owner""",  # noqa: S608  a number of our own
        uses=uses,
        tables=_tables(own, stored_tables),
    )


def _tables(own: SparkSession, stored_tables: Sequence[StoredTable]) -> DataFrame:
    """By table: when it was dropped, and its periods; a shorter one lets nothing go at once."""
    rows = [
        (
            number, one.root, None if one.dropped is None else one.dropped.time // 1000,
            _millis(one.periods.days), _millis(one.periods.fail_safe),
            [
                (begin // 1000, FOREVER if until is None else until // 1000, _millis(days))
                for begin, until, days in one.periods.in_turn()
            ],
        )
        for number, one in enumerate(stored_tables)
    ]  # fmt: skip
    return own.createDataFrame(
        rows,
        "no INT, root STRING, gone BIGINT, days_ms BIGINT, safe_ms BIGINT,"
        " periods ARRAY<STRUCT<begin: BIGINT, until: BIGINT, days: BIGINT>>",
    )


def _millis(days: float) -> int:
    return round(days * 86_400_000)


def _uses(own: SparkSession, stored_tables: Sequence[StoredTable]) -> DataFrame:
    """Each file that a table has or had, once; is_own: it lies in the table's own folder."""
    return own.sql(
        f"""WITH entries AS (
              SELECT l.no, l.root, l.version, add.path IS NOT NULL AS active,
                     coalesce(add.path, remove.path) AS path,
                     coalesce(add.size, remove.size) AS size, remove.deletionTimestamp AS went,
                     add.modificationTime AS came, coalesce(add.deletionVector, remove.deletionVector) AS dv,
                     CAST(get_json_object(add.stats, '$.numRecords') AS BIGINT)
                       - coalesce(add.deletionVector.cardinality, 0) AS rows
              FROM {{actions}} a JOIN {{logs}} l ON l.file = a.file
              WHERE add.path IS NOT NULL OR remove.path IS NOT NULL
            ), named AS (SELECT *, {_VECTOR_FILE} AS dv_file FROM entries
            ), latest AS (
              SELECT no, root, path, dv.storageType AS dv_kind, dv_file,
                     concat_ws(':', dv.storageType, dv.pathOrInlineDv, dv.offset) AS dv,
                     max_by(struct(active, size, went, rows, dv.sizeInBytes AS dv_size), version) AS last,
                     min(came) AS came
              FROM named GROUP BY no, root, path, dv.storageType, dv_file,
                   concat_ws(':', dv.storageType, dv.pathOrInlineDv, dv.offset)
            ), files AS (
              SELECT no, root, path, max(last.active) AS active, max(last.size) AS size,
                     max(last.went) AS went, min(came) AS came, sum(IF(last.active, last.rows, NULL)) AS rows,
                     path RLIKE '^([A-Za-z][A-Za-z0-9+.-]*:|/)' AS is_full, false AS is_vector
              FROM latest GROUP BY no, root, path
              UNION ALL
              SELECT no, root, dv_file, max(last.active), sum(last.dv_size), max(last.went), min(came), 0L,
                     max(dv_kind) = 'p', true
              FROM latest WHERE dv_kind IN ('u', 'p') GROUP BY no, root, dv_file
            )
            SELECT no, concat(IF(is_full, '', concat(root, '/')),
                              IF(is_vector AND NOT is_full, path, {_PLAIN.format("path")})) AS file,
                   NOT is_full AS is_own, is_vector, active, size, went, came, rows
            FROM files""",  # noqa: S608  texts of our own
        actions=_actions(own, stored_tables),
        logs=_logs(own, stored_tables),
    )


def _logs(own: SparkSession, stored_tables: Sequence[StoredTable]) -> DataFrame:
    rows = []
    for number, one in enumerate(stored_tables):
        # A checkpoint has the state at its version, not the versions at which the files came.
        base = int(one.log["checkpoint_version"])
        rows += [(with_one_slash(path), number, one.root, _version(path)) for path in one.log["commits"]]
        rows += [(with_one_slash(path), number, one.root, base) for path in one.log["checkpoint_json"]]
        rows += [(with_one_slash(path), number, one.root, base) for path in one.log["checkpoint_parquet"]]
    return own.createDataFrame(rows, "file STRING, no INT, root STRING, version BIGINT")


def _actions(own: SparkSession, stored_tables: Sequence[StoredTable]) -> DataFrame:
    json = [path for one in stored_tables for path in (*one.log["commits"], *one.log["checkpoint_json"])]
    parquet = [path for one in stored_tables for path in one.log["checkpoint_parquet"]]
    # Literal paths: Spark expands glob characters in a path, and a table's path may contain them.
    # FAILFAST: a truncated commit must be an error, as it may be the one that needs a file.
    reader = own.read.option("__globPaths__", "false").option("mode", "FAILFAST").schema(_ACTION)
    columns = ("add", "remove", _PLAIN.format("_metadata.file_path") + " AS file")
    frames = [reader.json(json).selectExpr(*columns)] if json else []
    if parquet:
        frames.append(reader.parquet(*parquet).selectExpr(*columns))
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def _version(path: str) -> int:
    """The version of a commit; of a compacted file the last one.

    >>> _version("file:/t/_delta_log/00000000000000000007.json")
    7
    >>> _version("file:/t/_delta_log/00000000000000000003.00000000000000000005.compacted.json")
    5
    """
    compacted = _COMPACTED.search(path)
    return int(compacted[1] if compacted else path.rpartition("/")[2][:20])
