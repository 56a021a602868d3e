"""Writers of DataFrames and Delta's API: their commits carry the query id, as those of SQL do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from delta.tables import DeltaTable
from pyspark.sql import Observation
from pyspark.sql.functions import col, count, lit, udf

from audit.testing import records

pytestmark = pytest.mark.spark


def rows(session, sql):
    """The first column, in order."""
    return sorted(row[0] for row in session.sql(sql).collect())


def marks(session, table):
    """What the commits of a table carry, the oldest first."""
    history = session.sql(f"DESCRIBE HISTORY {table}").orderBy("version").collect()
    return [row.userMetadata for row in history]


def recorded(session, *actions):
    """The query ids on record of these actions, in order."""
    return [record.query.query_id for record in records(session) if record.query.action in actions]


def before(session, table, version):
    """The rows before the statement that made a version."""
    return rows(session, f"SELECT id FROM {table} BEFORE (STATEMENT => '{marks(session, table)[version]}')")


def test_writers(session, schema):
    """saveAsTable, insertInto, writeTo: BEFORE (STATEMENT) of each is the state before it."""
    one = session.range(1)
    one.write.saveAsTable("t")
    one.write.mode("append").saveAsTable("t")
    one.write.insertInto("t")
    one.writeTo("t").append()
    one.writeTo("t").overwrite(lit(True))  # noqa: FBT003  Spark's literal
    assert [len(before(session, "t", version)) for version in (1, 2, 3, 4)] == [1, 2, 3, 4]
    session.range(2).writeTo("u").using("delta").create()
    one.writeTo("u").createOrReplace()
    assert before(session, "u", 1) == [0, 1]
    assert marks(session, "t") + marks(session, "u") == recorded(
        session, *(f"DataFrameWriter.{name}" for name in ("saveAsTable", "insertInto")),
        *(f"DataFrameWriterV2.{name}" for name in ("append", "overwrite", "create", "createOrReplace")),
    )  # fmt: skip


def test_by_path(session, schema, tmp_path):
    """save, with the format and the mode as arguments: the writer keeps them, as PySpark's does."""
    writer = session.range(2).write
    writer.save(f"{tmp_path}/t", format="delta", mode="append")
    writer.save(f"{tmp_path}/t")
    table = f"delta.`{tmp_path}/t`"
    assert before(session, table, 1) == [0, 1]
    writer.option("userMetadata", "mine").save(f"{tmp_path}/t")
    assert marks(session, table)[2] == "mine"
    session.conf.set("spark.databricks.delta.commitInfo.userMetadata", "ours")
    try:
        session.sql(f"DELETE FROM {table}")
    finally:
        session.conf.unset("spark.databricks.delta.commitInfo.userMetadata")
    assert marks(session, table)[3] == "ours"


@pytest.mark.slow("every builder of Delta's")
def test_delta_tables(session, schema):
    """update, delete, merge, restore and optimize of a DeltaTable; its conditions may be columns."""
    session.range(3).write.saveAsTable("t")
    table = DeltaTable.forName(session, "t")
    table.update(col("id") == 2, {"id": lit(20)})
    table.delete("id = 1")
    source = session.range(5, 6).alias("s")
    merge = table.alias("t").merge(source, "t.id = s.id").whenNotMatchedInsertAll()
    merge.whenMatchedUpdate(set={"id": col("s.id")}).execute()
    table.restoreToVersion(0)
    assert [before(session, "t", version) for version in (1, 2, 3, 4)] == [
        [0, 1, 2], [0, 1, 20], [0, 20], [0, 5, 20],
    ]  # fmt: skip
    source.mergeInto("t", col("t.id") == col("s.id")).whenNotMatched().insertAll().merge()
    assert before(session, "t", 5) == [0, 1, 2]
    table.optimize().executeCompaction()
    assert len(set(marks(session, "t"))) == len(marks(session, "t"))
    assert rows(session, "SELECT id FROM t") == [0, 1, 2, 5]
    assert sorted(row.id for row in table.toDF().collect()) == [0, 1, 2, 5]


def test_the_frame_stays_what_it_is(session, schema, tmp_path):
    """What is cached is not computed again, what is observed is told, functions and views are there."""
    session.sql("CREATE TEMPORARY VIEW numbers AS SELECT id FROM range(4)")
    calls = session.sparkContext.accumulator(0)

    def plus_one(number):
        calls.add(1)
        return number + 1

    plus = udf(plus_one, "bigint").asNondeterministic()
    cached = session.table("numbers").select(plus("id").alias("id")).persist()
    cached.count()
    observation = Observation("seen")
    cached.observe(observation, count(lit(1)).alias("rows")).write.save(f"{tmp_path}/t")
    assert (calls.value, observation.get) == (4, {"rows": 4})
    assert rows(session, f"SELECT id FROM delta.`{tmp_path}/t`") == [1, 2, 3, 4]
    assert marks(session, f"delta.`{tmp_path}/t`") == recorded(session, "DataFrameWriter.save")[-1:]
    cached.unpersist()
    session.sql("DROP VIEW numbers")


def test_threads_do_not_mix(session, schema):
    """Writers of one session at once: each commit has its own id."""
    tables = [f"t{number}" for number in range(4)]

    def write(table):
        session.range(1).write.saveAsTable(table)
        DeltaTable.forName(session, table).delete()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, tables))
    found = [mark for table in tables for mark in marks(session, table)]
    assert sorted(found) == sorted(recorded(session, "DataFrameWriter.saveAsTable", "DeltaTable.delete")[-8:])
    assert len(set(found)) == 8


def test_other_formats_are_left_alone(session, schema):
    """A table of another format is written by the very session, which knows what it has cached of it."""
    session.range(1).write.format("parquet").saveAsTable("p")
    assert rows(session, "SELECT id FROM p") == [0]
    session.range(1, 2).write.insertInto("p")
    assert rows(session, "SELECT id FROM p") == [0, 1]


def test_a_writers_table_made_again(session, schema):
    """A table that a writer makes lies where no other does: its name can be taken again, and undropped."""
    for value in (1, 2):
        session.range(value).write.saveAsTable("again")
        session.sql("DROP TABLE again")
    session.range(3).writeTo("again").using("delta").create()
    session.sql("ALTER TABLE again RENAME TO newest")
    for value in (2, 1):
        session.sql("UNDROP TABLE again")
        assert session.table("again").count() == value
        session.sql(f"ALTER TABLE again RENAME TO again_{value}")
    writer = session.range(4).write
    writer.saveAsTable("first")
    writer.saveAsTable("second")
    assert session.table("first").count() == session.table("second").count() == 4


def test_a_builders_table_made_again(session, schema):
    """So does a DeltaTableBuilder's; its commits, and those of what it returns, know their statements."""
    builder = DeltaTable.create(session).tableName("again").addColumn("id", "BIGINT")
    for value in (1, 2):
        made = builder.execute()
        session.range(value).write.insertInto("again")
        made.delete("id < 0")
        made.delete("id = 0")
        assert made.toDF().count() == value - 1
        assert len(set(marks(session, "again"))) == 3
        session.sql("DROP TABLE again")
    DeltaTable.createOrReplace(session).tableName("again").addColumn("id", "BIGINT").property(
        "a", "b"
    ).execute()
    DeltaTable.replace(session).tableName("again").addColumn("id", "STRING").execute()
    assert marks(session, "again") == recorded(session, "DeltaTableBuilder.execute")[-2:]
    session.sql("ALTER TABLE again RENAME TO newest")
    for value in (2, 1):
        session.sql("UNDROP TABLE again")
        assert session.table("again").count() == value - 1
        session.sql(f"ALTER TABLE again RENAME TO again_{value}")


def test_a_builder_that_says_where(session, schema, tmp_path):
    """Its table lies there, by a name and by a path alone."""
    DeltaTable.create(session).tableName("t").location(f"{tmp_path}/t").addColumn("id", "INT").execute()
    DeltaTable.createIfNotExists(session).location(f"{tmp_path}/u").addColumn("id", "INT").execute()
    DeltaTable.createIfNotExists(session).tableName("t").addColumn("id", "INT").execute()
    assert session.sql("DESCRIBE DETAIL t").first().location.endswith(f"{tmp_path}/t")
    assert rows(session, f"SELECT id FROM delta.`{tmp_path}/u`") == []
