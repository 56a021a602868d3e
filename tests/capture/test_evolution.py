"""Columns that a target gains, and columns that only a function sees: read, written, governed on record."""

from __future__ import annotations

import pytest
from delta.tables import DeltaTable
from pyspark.sql.functions import udtf

import audit
from audit.testing import records
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
ON = "ON t.id = src.id WHEN NOT MATCHED THEN INSERT"
BY_SETTING = (
    f"MERGE INTO t USING src {ON} *",
    "MERGE INTO t USING src ON t.id = src.id WHEN MATCHED THEN UPDATE SET *",
    f"MERGE INTO t USING src {ON} (id, ssn) VALUES (src.id, src.ssn)",
    "INSERT INTO t BY NAME SELECT * FROM src",
)
BY_CALL = {
    "withSchemaEvolution": lambda s: (
        DeltaTable.forName(s, "t")
        .merge(s.table("src"), "t.id = src.id")
        .withSchemaEvolution()
        .whenNotMatchedInsertAll()
        .execute()
    ),
    "mergeSchema": lambda s: (
        s.table("src").write.mode("append").option("mergeSchema", "true").saveAsTable("t")
    ),
    "writeTo": lambda s: s.table("src").writeTo("t").option("mergeSchema", "true").append(),
}


def of_user(session, user):
    """The rows of access_history of a user."""
    return [row for one in records(session) if one.query.user_name == user for row in one.access]


def columns(objects, name):
    """The columns of an object."""
    return {c.columnName for one in objects if one.objectName.endswith(f".{name}") for c in one.columns}


@pytest.fixture
def masked(session, schema):
    """A table `src` with a masked column that `t` lacks."""
    session.sql("CREATE TABLE src (id INT, ssn STRING)")
    session.sql("INSERT INTO src VALUES (1, 'x')")
    session.sql("CREATE MASKING POLICY hide AS (v STRING) RETURNS STRING -> 'xxx'")
    session.sql("ALTER TABLE src MODIFY COLUMN ssn SET MASKING POLICY hide")
    yield session
    session.sql("ALTER TABLE src MODIFY COLUMN ssn UNSET MASKING POLICY")


def test_a_column_that_the_target_gains_is_on_record(masked):
    """By a setting, which is gone when the record is made, or by the call: read, written, its mask named."""
    for text in BY_SETTING:
        masked.sql("CREATE OR REPLACE TABLE t (id INT)")
        masked.conf.set(AUTO_MERGE, "true")
        with audit.as_user(masked, text):
            masked.sql(text).collect()
        masked.conf.unset(AUTO_MERGE)
    for name, call in BY_CALL.items():
        masked.sql("CREATE OR REPLACE TABLE t (id INT)")
        with audit.as_user(masked, name):
            call(masked)
    for name in (*BY_SETTING, *BY_CALL):
        (row,) = of_user(masked, name)
        assert row.analysis == "full", (name, row.analysis_reason)
        assert columns(row.base_objects_accessed, "src") == {"id", "ssn"}, name
        (target,) = row.objects_modified
        sources = {c.columnName: {s.columnName for s in c.baseSources} for c in target.columns}
        assert sources == {"id": {"id"}, "ssn": {"ssn"}}, name
        assert row.policies_referenced, name


def test_a_function_over_rows_reads_every_column(session, schema):
    """Whatever is done with what it returns, all columns of its input are accessed."""
    session.sql("CREATE TABLE src AS SELECT 1 AS id, 2 AS a, 3 AS b")
    session.sql("CREATE TABLE other AS SELECT 1 AS id, 5 AS c")

    @udtf(returnType="n: int")
    class Rows:
        def eval(self, row):
            yield (row["id"],)

    session.udtf.register("rows_of", Rows)
    src, other = session.table("src"), session.table("other")
    both = src.groupBy("id").cogroup(other.groupBy("id"))
    calls = {
        "mapInPandas": src.mapInPandas(lambda parts: (part[["id"]] for part in parts), "id int"),
        "mapInArrow": src.mapInArrow(lambda parts: parts, "id int, a int, b int"),
        "applyInPandas": src.groupBy("id").applyInPandas(lambda part: part[["id"]], "id int"),
        "applyInArrow": src.groupBy("id").applyInArrow(lambda part: part.select(["id"]), "id int"),
        "cogroup": both.applyInPandas(lambda one, _two: one[["id"]], "id int"),
        "TABLE argument": session.sql("SELECT n FROM rows_of(TABLE(src))"),
    }
    for name, frame in calls.items():
        with audit.as_user(session, name):
            frame.count()
            frame.write.mode("overwrite").option("overwriteSchema", "true").saveAsTable("made")
    for name in calls:
        count, write = of_user(session, name)
        for row in (count, write):
            assert row.analysis == "full", (name, row.analysis_reason)
            assert columns(row.base_objects_accessed, "src") == {"id", "a", "b"}, name
            assert columns(row.base_objects_accessed, "other") == (
                {"id", "c"} if name == "cogroup" else set()
            )
        for column in write.objects_modified[0].columns:
            assert {"id", "a", "b"} <= {source.columnName for source in column.directSources}, name
