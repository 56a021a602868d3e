"""What the files of Delta tables are kept for: the present, Time Travel, Fail-safe, a clone, nothing.

In: tables that are there and tables that were dropped, each with its periods. Out: bytes, files and rows, by
when they came and when they went. One Spark job reads the logs of all tables, and no data. What holds at a
moment follows from the periods alone, for a moment to come as well.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from time_travel.damage import JVM_ERRORS, unreadable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from time_travel.registry import Event
    from time_travel.retention import Retention

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
    """The file of a deletion vector, as an expression: of kind p it is named, of u by an encoded UUID.

    "<random prefix - optional><base85 encoded uuid>" (Delta's protocol, deletion vector descriptor schema).
    """
    alphabet = _Z85.replace("{", "{{").replace("}", "}}")
    groups = []
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
# A path of a log is relative to its table, or a URI of its own (a clone's file); either is percent-encoded.
_PLAIN = "regexp_replace(url_decode(replace({}, '+', '%2B')), '^file:/+', 'file:/')"


@dataclass(frozen=True, slots=True)
class Holding:
    """A Delta table that is there, or was dropped and is not purged yet.

    Attributes:
        name: catalog, schema, table.
        location: where its files lie.
        periods: how long they are kept.
        log: what `Logs.described` says of it.
        facts: what the catalog knows, or knew, of it.
        dropped: how it was dropped; None for one that is there.
        is_under_rule: this system keeps its past; of others Delta alone does.
        purged: what was replaced by this moment is deleted, UTC microseconds, and when that was done.
    """

    name: tuple[str, ...]
    location: str
    periods: Retention
    log: Mapping[str, Any] = field(repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    dropped: Event | None = None
    is_under_rule: bool = True
    purged: tuple[int, int] = (-1, -1)

    @property
    def root(self) -> str:
        """The location in full, in one spelling."""
        return re.sub(r"^file:/+", "file:/", str(self.log["root"]))

    def horizons(self, at: int) -> tuple[int, int]:
        """What was replaced by these moments has left Time Travel, and Fail-safe; UTC microseconds."""
        return self.periods.horizon(at), self.periods.kept_horizon(at)


@dataclass(frozen=True, slots=True)
class Span:
    """Files of one table with one fate.

    Attributes:
        came: when they were written, UTC microseconds; 0 where the log no longer tells.
        went: when a newer version replaced them; None for those of the newest.
        others: until when a clone needs them, UTC microseconds; `FOREVER` while one has them in its newest
            version, 0 for none.
        size: bytes.
    """

    came: int
    went: int | None
    others: int
    size: int


@dataclass(frozen=True, slots=True)
class Bytes:
    """The bytes of a table by what they are kept for.

    Attributes:
        active: the newest version.
        time_travel: replaced or dropped, and can be read or brought back.
        fail_safe: past that, and can be recovered by the administrator.
        retained_for_clone: past that, too, and a clone needs them.
        purgeable: nothing needs them: `audit purge` frees them.
    """

    active: int = 0
    time_travel: int = 0
    fail_safe: int = 0
    retained_for_clone: int = 0
    purgeable: int = 0

    @property
    def total(self) -> int:
        """All that lies on disk."""
        return self.active + self.time_travel + self.fail_safe + self.retained_for_clone + self.purgeable


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a table's newest version, wherever the files lie.

    Attributes:
        rows: None where a file has no statistics.
        files: how many.
        bytes: of these.
    """

    rows: int | None = 0
    files: int = 0
    bytes: int = 0


def bytes_at(holding: Holding, spans: Iterable[Span], at: int, *, is_past: bool = False) -> Bytes:
    """What the files of a table are kept for at a moment, on the log of today.

    Args:
        holding: the table.
        spans: those of its files.
        at: UTC microseconds; in the future: if nothing is written until then.
        is_past: what was written later was not there. Now all is, whatever the writers' clocks said.
    """
    readable, kept = holding.horizons(at)
    found = dict.fromkeys(("active", "time_travel", "fail_safe", "retained_for_clone", "purgeable"), 0)
    gone = holding.dropped.time if holding.dropped is not None else None
    for span in spans:
        if is_past and span.came > at:
            continue
        went = min((m for m in (span.went, gone) if m is not None), default=None)
        if went is None or went > at:
            state = "active"
        elif went > readable:
            state = "time_travel"
        elif went > kept:
            state = "fail_safe"
        elif span.others > at:
            state = "retained_for_clone"
        elif went > holding.purged[0]:
            state = "purgeable"
        else:
            continue
        found[state] += span.size
    return Bytes(**found)


Spans = Mapping[int, Sequence[Span]]
"""By the number of the table in whose folder they lie; an empty list for one without files."""


def measure(own: SparkSession, holdings: Sequence[Holding]) -> tuple[Spans, dict[int, Contents]]:
    """The files of all tables, by one look at their logs.

    A clone's file lies in the folder of its source: among the spans it counts there, once; among the contents
    it counts for both.

    Args:
        own: a session of the system's own.
        holdings: the tables; their numbers are the places here.

    Warns:
        UserWarning: about a table whose log is damaged; it counts as empty.
    """
    try:
        return _measured(own, holdings)
    except JVM_ERRORS:
        bad = damaged(own, holdings)
        if not bad:
            raise
    for number, error in bad.items():
        one = holdings[number]
        warnings.warn(str(unreadable(one.location, error, one.name)), stacklevel=2)
    rest = [number for number in range(len(holdings)) if number not in bad]
    spans, contents = _measured(own, [holdings[number] for number in rest])
    found = {number: spans[place] for place, number in enumerate(rest)}
    return {number: found.get(number, []) for number in range(len(holdings))}, {
        rest[place]: one for place, one in contents.items()
    }


def _measured(own: SparkSession, holdings: Sequence[Holding]) -> tuple[Spans, dict[int, Contents]]:
    spans: dict[int, list[Span]] = {number: [] for number in range(len(holdings))}
    if not holdings:
        return spans, {}
    uses = _uses(own, holdings).persist()
    try:
        rows = own.sql(
            """SELECT owner, coalesce(came, 0) AS came, went, others, sum(size) AS size
               FROM {fates} WHERE owner IS NOT NULL
               GROUP BY owner, came, went, others""",
            fates=_fates(own, holdings, uses),
        ).collect()
        contents = own.sql(
            """SELECT no, count(*) AS files, sum(size) AS size,
                      IF(count(*) = count(rows), sum(rows), NULL) AS rows
               FROM {uses} WHERE active AND NOT is_vector GROUP BY no""",
            uses=uses,
        ).collect()
    finally:
        uses.unpersist()
    for row in rows:
        spans[row.owner].append(_span(row))
    return spans, {row.no: Contents(row.rows, row.files, row["size"]) for row in contents}


def _span(row: Any) -> Span:
    return Span(
        row.came * 1000,
        None if row.went is None else row.went * 1000,
        FOREVER if row.others == FOREVER else row.others * 1000,
        row["size"],
    )


def damaged(own: SparkSession, holdings: Sequence[Holding], first: int = 0) -> dict[int, Exception]:
    """The tables whose logs cannot be read, by their numbers; found by halves."""
    if not holdings:
        return {}
    try:
        _uses(own, holdings).write.format("noop").mode("overwrite").save()
    except JVM_ERRORS as error:
        if len(holdings) == 1:
            return {first: error}
        middle = len(holdings) // 2
        above = damaged(own, holdings[middle:], first + middle)
        return damaged(own, holdings[:middle], first) | above
    return {}


def fates(own: SparkSession, holdings: Sequence[Holding]) -> DataFrame:
    """One row for each file that a log tells of.

    Returns:
        file (its path in full), owner (a number, null for a folder of no table here), came, went (of the
        owner; null while it has the file; 0 where it no longer tells of it), others (until when another
        table needs it; 0 for none), size. Times in milliseconds.
    """
    return _fates(own, holdings, _uses(own, holdings))


def _fates(own: SparkSession, holdings: Sequence[Holding], uses: DataFrame) -> DataFrame:
    return own.sql(
        f"""WITH owned AS (
              SELECT /*+ BROADCAST(o) */ u.*, IF(u.is_own, u.no, o.no) AS owner
              FROM {{uses}} u
              LEFT JOIN {{tables}} o ON NOT u.is_own AND startswith(u.file, concat(o.root, '/'))
            ), needed AS (
              SELECT /*+ BROADCAST(t) */ owned.*,
                     CASE WHEN NOT active THEN went + t.keep_ms
                          WHEN t.gone IS NOT NULL THEN t.gone + t.keep_ms
                          ELSE {FOREVER} END AS until
              FROM owned JOIN {{tables}} t ON owned.no = t.no
            )
            SELECT file, owner, min(came) AS came, max(size) AS size,
                   CASE WHEN NOT max(no = owner) THEN 0
                        WHEN NOT max(no = owner AND active) THEN max(IF(no = owner, went, 0)) END AS went,
                   coalesce(max(IF(no = owner, 0, until)), 0) AS others
            FROM needed GROUP BY file, owner""",  # noqa: S608  a number of our own
        uses=uses,
        tables=_tables(own, holdings),
    )


def _tables(own: SparkSession, holdings: Sequence[Holding]) -> DataFrame:
    rows = [
        (
            number, one.root, None if one.dropped is None else one.dropped.time // 1000,
            round((one.periods.days + one.periods.fail_safe) * 86_400_000),
        )
        for number, one in enumerate(holdings)
    ]  # fmt: skip
    return own.createDataFrame(rows, "no INT, root STRING, gone BIGINT, keep_ms BIGINT")


def _uses(own: SparkSession, holdings: Sequence[Holding]) -> DataFrame:
    """Each file that a table has, or has had, once: is_own for those in its own folder."""
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
        actions=_actions(own, holdings),
        logs=_logs(own, holdings),
    )


def _logs(own: SparkSession, holdings: Sequence[Holding]) -> DataFrame:
    rows = []
    for number, one in enumerate(holdings):
        base = int(one.log["checkpoint_version"])
        rows += [(_spelt(path), number, one.root, _version(path)) for path in one.log["commits"]]
        rows += [(_spelt(path), number, one.root, base) for path in one.log["checkpoint_json"]]
        rows += [(_spelt(path), number, one.root, base) for path in one.log["checkpoint_parquet"]]
    return own.createDataFrame(rows, "file STRING, no INT, root STRING, version BIGINT")


def _actions(own: SparkSession, holdings: Sequence[Holding]) -> DataFrame:
    json = [path for one in holdings for path in (*one.log["commits"], *one.log["checkpoint_json"])]
    parquet = [path for one in holdings for path in one.log["checkpoint_parquet"]]
    # As they are: a path may hold what would be a pattern.
    # And whole: a commit that is cut off may be the one that needs a file.
    reader = own.read.option("__globPaths__", "false").option("mode", "FAILFAST").schema(_ACTION)
    columns = ("add", "remove", _PLAIN.format("_metadata.file_path") + " AS file")
    frames = [reader.json(json).selectExpr(*columns)] if json else []
    if parquet:
        frames.append(reader.parquet(*parquet).selectExpr(*columns))
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def _spelt(path: str) -> str:
    """A path as `_metadata.file_path` has it once decoded."""
    return re.sub(r"^file:/+", "file:/", path)


def _version(path: str) -> int:
    """The version of a commit, the last one of several that are in one file.

    >>> _version("file:/t/_delta_log/00000000000000000007.json")
    7
    >>> _version("file:/t/_delta_log/00000000000000000003.00000000000000000005.compacted.json")
    5
    """
    compacted = _COMPACTED.search(path)
    return int(compacted[1] if compacted else path.rpartition("/")[2][:20])
