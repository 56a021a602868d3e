"""Jobs as public pages document them: the registry, and all that can be seen of one run.

In: functions with `@job`. Out: `JOBS`, and a `Seen` for a run of a job. Two runs of one job are compared as
two values, so whatever attaching changes is a difference that names its field.
"""

from __future__ import annotations

import io
import json
import logging
import re
import shutil
import warnings
from collections import Counter
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from audit.core.job_tags import SUPPRESS_TAG
from audit.spark.pyspark_api.job_tags import tagged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import DataStreamWriter

ADDED_PROPERTIES = re.compile(
    r"timeTravel\..*|delta\.(deletedFileRetentionDuration|logRetentionDuration)"
    r"|delta\.(enableInCommitTimestamps|feature\.inCommitTimestamp|inCommitTimestamp.*)"
)
"""Table properties that Time Travel adds to a table and that `SHOW TBLPROPERTIES` shows: the one thing that
attaching changes besides the record. It is a fault of its own."""
ADDED_FEATURES = frozenset({"inCommitTimestamp", "appendOnly", "invariants"})
"""What these properties bring about in the protocol: a table with a feature lists the older ones, too."""
OF_ITS_PLACE = frozenset({"isManaged", "location"})
"""What a commit says of where its table lies: Time Travel gives each a place that outlives a DROP."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_VOLATILE = re.compile(r"_pyspark_[0-9a-f]{32}|#\d+L?|0x[0-9a-f]+|\d{4}-\d\d-\d\d[T ][\d:.]+Z?")


@dataclass(frozen=True, slots=True)
class Job:
    """A documented job.

    Attributes:
        run: does it, and returns what is to be compared.
        source: the public page that shows it: its address, or its title.
        records: a line a record, as `brief` has it; children stand below their parent, indented.
        given: statements that make what the job finds; they are not on record.
        long: whether it runs before a release alone.
        fails: why attaching changes the job or its record is not right, where that is known; else "".
        hive: why it needs a Hive metastore or generated code; "" where it does not.
        conf: settings of the session.
    """

    run: Callable[[Place], object]
    source: str
    records: tuple[str, ...]
    given: tuple[str, ...]
    long: bool
    fails: str
    hive: str
    conf: dict[str, str]

    @property
    def name(self) -> str:
        """Of the function."""
        return self.run.__name__


JOBS: list[Job] = []


def job(
    source: str,
    *records: str,
    given: str = "",
    long: bool = False,
    fails: str = "",
    hive: str = "",
    **conf: str,
) -> Callable[[Callable[[Place], object]], Callable[[Place], object]]:
    """Register a job.

    Args:
        source: the page that documents it.
        records: what is expected on record, see `Job`.
        given: statements with a semicolon between, see `Job`.
        long: see `Job`.
        fails: see `Job`.
        hive: see `Job`.
        conf: settings of the session, with `_` for `.`.
    """

    def registered(run: Callable[[Place], object]) -> Callable[[Place], object]:
        statements = tuple(one.strip() for one in given.split(";") if one.strip())
        settings = {name.replace("_", "."): value for name, value in conf.items()}
        JOBS.append(Job(run, source, records, statements, long, fails, hive, settings))
        return run

    return registered


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job runs: its session, with a schema of its own as the current one, and a folder of its own."""

    spark: SparkSession
    folder: Path

    def path(self, name: str) -> str:
        """A path in the folder."""
        return str(self.folder / name)

    def finish(self, writer: DataStreamWriter, name: str = "checkpoint", table: str = "") -> None:
        """Run a stream over what is there, to its end."""
        writer = writer.trigger(availableNow=True).option("checkpointLocation", self.path(name))
        (writer.toTable(table) if table else writer.start()).awaitTermination()


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of a Delta table."""

    operation: str
    parameters: dict[str, str]
    user_metadata: str | None


@dataclass(frozen=True, slots=True)
class SeenTable:
    """A table as a job has left it; of a Delta table by its log, which takes no job of Spark's to read."""

    provider: str
    schema: str
    rows: tuple[str, ...]
    properties: dict[str, str] = field(default_factory=dict)
    detail: dict[str, str] = field(default_factory=dict)
    commits: tuple[Commit, ...] = ()
    files: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Seen:
    """All that can be seen of a run."""

    result: object = None
    error: tuple[str, str] | None = None
    tables: dict[str, SeenTable] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    logged: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    printed: str = ""


class _Handler(logging.Handler):
    """Keeps what reaches the root logger."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = f" ({record.exc_info[1]!r})" if record.exc_info else ""
        self.texts.append(f"{record.levelname} {record.name}: {record.getMessage()}{error}")


def run_job(
    job: Job, plain: SparkSession, folder: Path, attach: Callable[[SparkSession], object] = lambda _: None
) -> Seen:
    """Run a job once, in a new session, and look at all that it leaves.

    Args:
        job: the job.
        plain: makes what the job finds, and looks at what it leaves; nothing of that is recorded.
        folder: emptied before.
        attach: called with the session before the job runs.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    session = plain.newSession()
    seen, place = Seen(), Place(session, folder)
    with unrecorded(plain):
        plain.sql(f"DROP SCHEMA IF EXISTS {job.name} CASCADE")
        plain.sql(f"CREATE SCHEMA {job.name}")
        plain.sql(f"USE {job.name}")
        plain.conf.set("spark.sql.sources.default", "delta")
        for statement in job.given:
            plain.sql(statement.replace("{folder}", str(folder)))
    for name, value in {"spark.sql.sources.default": "delta", **job.conf}.items():
        session.conf.set(name, value)
    session.catalog.setCurrentDatabase(job.name)
    attach(session)
    handler, printed = _Handler(), io.StringIO()
    logging.getLogger().addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(printed):
            warnings.simplefilter("always")
            try:
                seen.result = _plain(job.run(place))
            except Exception as error:  # noqa: BLE001  the same error is expected of both runs
                # Of an error that PySpark does not translate, the JVM's own text.
                text = str(getattr(error, "java_exception", error))
                seen.error = type(error).__name__, _stable(text, folder).partition("\n")[0]
    finally:
        logging.getLogger().removeHandler(handler)
    seen.logged = tuple(_stable(text, folder) for text in handler.texts)
    seen.warned = tuple(f"{one.category.__name__}: {_stable(str(one.message), folder)}" for one in caught)
    seen.printed = _stable(printed.getvalue(), folder)
    with unrecorded(plain):
        seen.tables = {name: _table(plain, name, folder) for name in _table_names(plain, job.name)}
    seen.files = dict(sorted(_files(folder).items()))
    return seen


@contextmanager
def unrecorded(plain: SparkSession) -> Iterator[None]:
    """A block whose executions are no statements: what the test itself does beside the job."""
    with tagged(plain.sparkContext, SUPPRESS_TAG):
        yield


def _table_names(plain: SparkSession, schema: str) -> list[str]:
    return sorted(row.tableName for row in plain.sql(f"SHOW TABLES IN {schema}").collect())


def _table(plain: SparkSession, name: str, folder: Path) -> SeenTable:
    told = {row.col_name: row.data_type for row in plain.sql(f"DESCRIBE EXTENDED {name}").collect()}
    provider, frame = told.get("Provider", told.get("Type", "")), plain.table(name)
    rows = tuple(sorted(map(str, frame.collect())))
    schema = frame.schema.simpleString()
    if provider != "delta":
        return SeenTable(provider, schema, rows)
    log = Path(told["Location"].removeprefix("file:")) / "_delta_log"
    actions = [
        json.loads(line)
        for path in sorted(log.glob("*.json"))
        for line in path.read_text().split("\n")
        if line
    ]
    meta = [one["metaData"] for one in actions if "metaData" in one][-1]
    protocol = [one["protocol"] for one in actions if "protocol" in one][-1]
    properties = {
        key: value for key, value in meta["configuration"].items() if not ADDED_PROPERTIES.fullmatch(key)
    }
    features = {*protocol.get("writerFeatures", ())} - ADDED_FEATURES
    detail = {"partitions": str(meta["partitionColumns"]), "features": str(sorted(features))}
    commits = tuple(_commit(one["commitInfo"], folder) for one in actions if "commitInfo" in one)
    files = Counter(kind for one in actions for kind in ("add", "remove", "cdc", "txn") if kind in one)
    return SeenTable(provider, schema, rows, properties, detail, commits, dict(files))


def _commit(info: dict[str, Any], folder: Path) -> Commit:
    parameters = {
        key: _stable(str(value), folder)
        for key, value in info.get("operationParameters", {}).items()
        if key not in {"properties", *OF_ITS_PLACE}  # properties are compared in the table's own
    }
    mark = info.get("userMetadata")
    # The id of the statement stands where the user has written nothing; a mark of the user's own stays.
    return Commit(info["operation"], parameters, None if mark is None or _UUID.fullmatch(mark) else mark)


def _files(folder: Path) -> Counter[str]:
    """How many files of a kind lie in which folder; those of checkpoints and logs go by their names."""
    found: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.endswith(".crc"):
            name = _UUID.sub("<id>", str(path.relative_to(folder)))
            found[re.sub(r"(part|rdd)-\d+", r"\1-n", name)] += 1
    return found


def _plain(value: object) -> object:
    """A value that can be compared: the rows of a DataFrame without their order."""
    if isinstance(value, DataFrame):
        return sorted(map(str, value.collect()))
    return value


def _stable(text: str, folder: Path) -> str:
    return _VOLATILE.sub("…", _UUID.sub("<id>", text.replace(str(folder), "<folder>")))


def lines(found: list[Any], line: Callable[[Any], str]) -> list[str]:
    """Records as lines, each below its parent and indented."""
    ids = {record.query.query_id for record in found}
    below: dict[str | None, list[Any]] = {}
    for record in found:
        parent = record.query.parent_query_id
        below.setdefault(parent if parent in ids else None, []).append(record)

    def of(parent: str | None, depth: int) -> Iterator[str]:
        for record in below.get(parent, ()):
            yield "  " * depth + _UUID.sub("<id>", line(record))
            yield from of(record.query.query_id, depth + 1)

    return list(of(None, 0))
