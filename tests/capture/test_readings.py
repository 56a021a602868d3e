"""What text means depends on the session: its settings, its functions, its schemas."""

from __future__ import annotations

import pytest

from audit.testing import records
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES

pytestmark = pytest.mark.spark


def last(spark):
    """The newest row of access_history."""
    return [row for record in records(spark) for row in record.access][-1]


def read(objects):
    """Objects with their columns, as text."""
    return {
        f"{one.objectDomain} {one.objectName.removeprefix('spark_catalog.default.')}"
        + "".join(f" {column.columnName}" for column in one.columns or ())
        for one in objects
    }


@pytest.fixture
def settings(audited):
    """Sets settings for one test."""
    before = {}

    def change(name):
        before[name] = audited.conf.get(name)
        audited.conf.set(name, "true")

    yield change
    for name, value in before.items():
        audited.conf.set(name, value)


@pytest.mark.parametrize(
    ("setting", "table", "sql", "columns"),
    [
        ("spark.sql.caseSensitive", "a INT, A INT", "SELECT A FROM {} WHERE A > 0", "A"),
        ("spark.sql.ansi.doubleQuotedIdentifiers", "a INT, b INT", 'SELECT "b" FROM {}', "b"),
        ("spark.sql.parser.quotedRegexColumnNames", "a1 INT, a2 INT, b INT", "SELECT `a.` FROM {}", "a1 a2"),
    ],
)
def test_a_setting_that_changes_what_text_means_lets_the_plan_decide(
    audited, settings, setting, table, sql, columns
):
    """The record holds what Spark has read, not what the text says elsewhere."""
    settings(setting)
    name = f"reads_{setting.rpartition('.')[2].lower()}"
    audited.sql(f"CREATE TABLE {name} ({table}) USING parquet")
    audited.sql(sql.format(name)).collect()
    row = last(audited)
    assert (row.captured_by, row.analysis) == ("plan", "full")
    assert read(row.direct_objects_accessed) == {f"Table {name} {columns}"}


def test_a_temporary_sql_function_is_read_like_any_other(audited):
    """It is direct alone, and what its body reads, in the schema of whoever calls it, is base."""
    audited.sql("CREATE SCHEMA apart")
    for schema in ("apart", "default"):
        audited.sql(f"CREATE TABLE {schema}.rates (r INT) USING parquet")
    audited.sql(
        "CREATE TEMPORARY FUNCTION with_rate(n INT) RETURNS INT RETURN n + (SELECT max(r) FROM rates)"
    )
    audited.sql("USE apart")
    audited.sql("SELECT with_rate(1) AS x").collect()
    row = last(audited)
    audited.sql("USE default")
    assert (row.captured_by, row.analysis) == ("text", "full")
    assert read(row.direct_objects_accessed) == {"FUNCTION with_rate"}
    assert read(row.base_objects_accessed) == {"Table spark_catalog.apart.rates r"}


def stages(record):
    """The stages that a record reads and writes."""
    touched = [one for row in record.access for one in (*row.base_objects_accessed, *row.objects_modified)]
    return {one.objectName for one in touched if one.objectDomain == "STAGE"}


def test_a_folder_is_one_stage_whoever_names_it(audited, tmp_path):
    """Text, writers, readers and a stream over two files name the folder, and none of its files."""
    folder, before = tmp_path / "folder", len(records(audited))
    audited.sql(f"INSERT OVERWRITE DIRECTORY '{folder}' USING parquet SELECT 1 AS a")
    audited.sql("SELECT 2 AS a").write.mode("append").parquet(str(folder))
    audited.sql(f"SELECT a FROM parquet.`{folder}`").collect()
    audited.read.parquet(f"file://{folder}").collect()
    for place in (folder, f"{folder}/*.parquet"):
        stream = audited.readStream.schema("a INT").parquet(str(place)).writeStream.format("noop")
        stream = stream.trigger(availableNow=True).option(
            "checkpointLocation", str(tmp_path / f"c{len(str(place))}")
        )
        stream.start().awaitTermination()
    named = [found for one in records(audited)[before:] if (found := stages(one))]
    assert len(named) == 6
    assert named == [{f"file:{folder}"}] * 6
