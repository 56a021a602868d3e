"""COPY INTO, both ways: Spark has no such statement, so it is run as a read and a write of Spark's.

In: a parsed COPY INTO of Snowflake's or Databricks' form. Out: a DataFrame of one row (path, status,
rows), after the files have been loaded or unloaded. Nothing is run that was not understood whole.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from audit.core.errors import CopyError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lineage import Statement

# Sources of Spark 4.2 itself, Delta, and avro, which needs the package spark-avro.
_FORMATS = frozenset({"csv", "json", "parquet", "orc", "avro", "xml", "text", "delta"})
COLUMNS = "path STRING, status STRING, rows BIGINT"
# These files have no column names of their own; a header is optional.
_BY_POSITION = frozenset({"csv", "text"})
# Snowflake's file format options, and the options of Spark's CSV and JSON sources that do the same.
_OPTIONS = {
    "FIELD_DELIMITER": "sep",
    "FIELD_OPTIONALLY_ENCLOSED_BY": "quote",
    "ESCAPE": "escape",
    "NULL_IF": "nullValue",
    "COMPRESSION": "compression",
    "DATE_FORMAT": "dateFormat",
    "TIMESTAMP_FORMAT": "timestampFormat",
    "ENCODING": "encoding",
    "HEADER": "header",
    "MULTI_LINE": "multiLine",
}


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """What the parameters of a COPY INTO say: format, Spark's options, files, overwrite."""

    format: str = "csv"
    options: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    overwrite: bool = False


def run_copy(spark: SparkSession, statement: Statement) -> DataFrame:
    """Load or unload.

    Returns:
        One row: `path`, `status` (LOADED or UNLOADED) and `rows` (null where Spark does not count).

    Raises:
        CopyError: a parameter or a source that Spark cannot do; nothing has run.
    """
    tree = statement.tree
    assert isinstance(tree, exp.Copy)  # noqa: S101 - the caller chose it by its type
    options = read_parameters(tree)
    files = tree.args.get("files") or []
    if len(files) != 1:
        raise CopyError("COPY INTO needs one source", "name one path, table or query after FROM")
    if statement.statement_type == "UNLOAD":
        return _unload(spark, tree, files[0], options)
    return _load(spark, tree, files[0], options)


def read_parameters(tree: exp.Copy) -> CopyOptions:
    """The parameters of a COPY INTO.

    >>> import lineage
    >>> read_parameters(lineage.parse("COPY INTO t FROM '/p' FILE_FORMAT = (TYPE = JSON)").tree).format
    'json'

    Raises:
        CopyError: a parameter that has no counterpart in Spark.
    """
    found: dict[str, Any] = {"options": {}}
    for parameter in tree.args.get("params") or []:
        name = parameter.name.upper()
        if name in ("FILE_FORMAT", "FORMAT_OPTIONS", "COPY_OPTIONS"):
            if parameter.args.get("expression") is not None:
                raise CopyError(
                    f"COPY INTO cannot do {name} = {_text(parameter.args['expression'])} on Spark",
                    f"write its options in brackets: {name} = (TYPE = CSV)",
                )
            for one in parameter.expressions:
                # Snowflake takes a comma between options, which sqlglot (30) gives as an option of its own.
                if not isinstance(one, exp.SequenceProperties):
                    _take_option(found, name, one)
        elif name in ("FILEFORMAT", "OVERWRITE", "HEADER", "FILES"):
            _take_parameter(found, name, parameter)
        else:
            raise CopyError(
                f"COPY INTO cannot do {name} on Spark",
                "leave it out; known are FILE_FORMAT, FILEFORMAT, FORMAT_OPTIONS, FILES, HEADER, OVERWRITE",
            )
    return CopyOptions(**found)


def _take_parameter(found: dict[str, Any], name: str, parameter: exp.Expr) -> None:
    value = parameter.args.get("expression")
    if name == "FILEFORMAT":
        found["format"] = _format(_text(value))
    elif name == "OVERWRITE":
        found["overwrite"] = _text(value).upper() == "TRUE"
    elif name == "HEADER":
        found["options"]["header"] = _text(value).lower()
    elif value is not None:
        found["files"] = tuple(_text(one) for one in value.expressions or [value.this])


def _take_option(found: dict[str, Any], parameter: str, one: exp.Expr) -> None:
    key, value = _pair(one)
    if parameter == "COPY_OPTIONS":
        raise CopyError(f"COPY INTO cannot do the copy option {key} on Spark", "leave it out")
    if parameter == "FORMAT_OPTIONS":
        found["options"][key] = value
    elif key.upper() == "TYPE":
        found["format"] = _format(value)
    # Spark's option `header` skips one line; there is none for several (Spark 4.2).
    elif key.upper() == "SKIP_HEADER" and value in ("0", "1"):
        found["options"]["header"] = "true" if value == "1" else "false"
    elif key.upper() in _OPTIONS:
        found["options"][_OPTIONS[key.upper()]] = value
    else:
        raise CopyError(
            f"COPY INTO cannot do the file format option {key} = {value} on Spark",
            f"leave it out, or give Spark's own in FORMAT_OPTIONS; known are {', '.join(sorted(_OPTIONS))}",
        )


def _pair(one: exp.Expr) -> tuple[str, str]:
    value = one.args.get("value") or one.args.get("expression")
    return one.this.name if isinstance(one.this, exp.Expr) else str(one.this), _text(value)


def _text(value: exp.Expr | None) -> str:
    if isinstance(value, exp.Paren):
        return _text(value.this)
    if isinstance(value, exp.Boolean):
        return "true" if value.this else "false"
    # Of any other expression `name` gives a part, or nothing.
    if isinstance(value, (exp.Literal, exp.Var, exp.Identifier, exp.Column)):
        return value.name
    raise CopyError(
        f"COPY INTO cannot read the value {'' if value is None else value.sql('spark')!r}",
        "write one number, word or text in quotes",
    )


def _format(name: str) -> str:
    if name.lower() not in _FORMATS:
        raise CopyError(
            f"COPY INTO does not know the format {name}", f"use one of {', '.join(sorted(_FORMATS))}"
        )
    return name.lower()


def _load(spark: SparkSession, tree: exp.Copy, source: exp.Expr, options: CopyOptions) -> DataFrame:
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    table = target.sql(dialect="spark", identify=True)
    columns = _columns(spark, table, tree.this)
    if isinstance(source, exp.Subquery):
        path, rows = _staged(spark, source, options)
        # By position: `$1` has no name.
        rows = rows.toDF(*[field.name for field in columns])
    elif isinstance(source, exp.Literal):
        path = source.name
        rows = _read(spark, path, options, columns)
    else:
        raise CopyError(
            f"COPY INTO {table} cannot load from {source.sql()}", "name a path in quotes, or a query over one"
        )
    seen = Observation()
    # Counted while they are written: a count of its own would read the files again. DataFrameWriterV2 matches
    # columns by name (Spark 4.2).
    rows.observe(seen, f.count(f.lit(1)).alias("rows")).writeTo(table).append()
    return _result(spark, path, "LOADED", int(seen.get["rows"]))


def _columns(spark: SparkSession, table: str, target: exp.Expr) -> list[Any]:
    """The fields of the target that are loaded: those listed, else all."""
    fields = {field.name.lower(): field for field in spark.table(table).schema}
    listed = [i.name.lower() for i in target.expressions] if isinstance(target, exp.Schema) else list(fields)
    missing = [name for name in listed if name not in fields]
    if missing:
        raise CopyError(f"the table {table} has no column {missing[0]}", f"it has {', '.join(fields)}")
    return [fields[name] for name in listed]


def _read(spark: SparkSession, path: str, options: CopyOptions, columns: list[Any]) -> DataFrame:
    from pyspark.sql.types import StructType

    reader = spark.read.format(options.format).options(**options.options)
    # A Delta table has its schema in its log, and refuses another one (Delta 4.4).
    if options.format != "delta":
        reader = reader.schema(StructType(columns))
    files = [f"{path.rstrip('/')}/{name}" for name in options.files] or path
    rows = reader.load(files)
    return rows.select(*[f"`{c.name}`" for c in columns]) if options.format not in _BY_POSITION else rows


def _staged(spark: SparkSession, source: exp.Subquery, options: CopyOptions) -> tuple[str, DataFrame]:
    """The rows of `(SELECT … FROM 'path')`; `$1` is the first column of the files."""
    query = source.this.copy()
    stages = [t for t in query.find_all(exp.Table) if not t.args.get("db") and "/" in t.name]
    if len(stages) != 1:
        raise CopyError("COPY INTO needs one path in its query", "write FROM 'path' once")
    path = stages[0].name
    files = [f"{path.rstrip('/')}/{name}" for name in options.files] or path
    rows = spark.read.format(options.format).options(**options.options).load(files)
    for column in list(query.find_all(exp.Column)):
        # `lineage.parse` gives `$1` as a column of that name.
        sign, number = column.name[:1], column.name[1:]
        if sign == "$" and number.isdecimal() and number[0] != "0":
            column.replace(exp.column(_nth(rows, path, int(number)), quoted=True))
    # A random name: threads share the temporary views of a session.
    view = f"stage_{uuid.uuid4().hex}"
    stages[0].set("this", exp.to_identifier(view))
    rows.createTempView(view)
    try:
        return path, spark.sql(query.sql(dialect="spark"))
    finally:
        # `spark.sql` has analyzed the query, and the plan does not look the view up again.
        spark.catalog.dropTempView(view)


def _nth(rows: DataFrame, path: str, number: int) -> str:
    if number > len(rows.columns):
        raise CopyError(f"there is no ${number} in {path}", f"its files have {len(rows.columns)} columns")
    return rows.columns[number - 1]


def _unload(spark: SparkSession, tree: exp.Copy, source: exp.Expr, options: CopyOptions) -> DataFrame:
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    path = tree.this.name
    if isinstance(source, exp.Subquery):
        rows = spark.sql(source.this.sql(dialect="spark"))
    else:
        rows = spark.table(source.sql(dialect="spark", identify=True))
    seen = Observation()
    writer = rows.observe(seen, f.count(f.lit(1)).alias("rows")).write.format(options.format)
    writer.options(**options.options).mode("overwrite" if options.overwrite else "errorifexists").save(path)
    return _result(spark, path, "UNLOADED", int(seen.get["rows"]))


def _result(spark: SparkSession, path: str, status: str, rows: int) -> DataFrame:
    return spark.createDataFrame([(path, status, rows)], COLUMNS)
