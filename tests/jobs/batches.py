"""Batch jobs over Delta tables: upserts, slowly changing dimensions, overwrites, maintenance."""

from __future__ import annotations

from delta.tables import DeltaTable

from .job import Place, job

DELTA = "https://docs.delta.io/latest"
TARGET = """
    CREATE TABLE updates USING delta AS SELECT * FROM VALUES (1, 'new'), (2, 'b') AS t(id, v);
    CREATE TABLE target USING delta AS SELECT * FROM VALUES (1, 'old'), (3, 'c') AS t(id, v)
"""


@job(
    f"{DELTA}/delta-update.html#upsert-into-a-table-using-merge",
    "MERGE plan full; direct target(id) updates(id,v); writes target(v<-updates.v, id<-updates.id)",
    given=TARGET,
)
def upsert_by_api(at: Place) -> None:
    (
        DeltaTable.forName(at.spark, "target")
        .alias("t")
        .merge(at.spark.table("updates").alias("u"), "t.id = u.id")
        .whenMatchedUpdate(set={"v": "u.v"})
        .whenNotMatchedInsert(values={"id": "u.id", "v": "u.v"})
        .whenNotMatchedBySourceDelete("t.id > 100")
        .execute()
    )


@job(
    f"{DELTA}/delta-update.html#data-deduplication-when-writing-into-delta-tables",
    "MERGE text full; direct target(id) updates(id,v); writes target(id<-updates.id, v<-updates.v)",
    given=TARGET,
    long=True,
)
def deduplication_of_new_rows(at: Place) -> None:
    at.spark.sql("""
        MERGE INTO target t USING (SELECT DISTINCT id, v FROM updates) u ON t.id = u.id
        WHEN NOT MATCHED THEN INSERT *
    """)


@job(
    "Databricks: slowly changing dimension type 1, SQL over a view of a file",
    "UNLOAD plan full; direct updates(id,v); writes STAGE:csv(id<-updates.id, v<-updates.v)",
    "CREATE_VIEW text full",
    "UPDATE text full; direct STAGE:csv(id,v) target(id); writes target(v<-csv.v)",
    "INSERT text full; direct STAGE:csv(id,v) target(id); writes target(id<-csv.id, v<-csv.v)",
    given=TARGET,
    long=True,
)
def dimension_of_type_1(at: Place) -> None:
    at.spark.table("updates").write.option("header", "true").csv(at.path("csv"))
    at.spark.sql(f"""
        CREATE TEMPORARY VIEW incoming (id INT, v STRING) USING csv
        OPTIONS (path '{at.path("csv")}', header 'true')
    """)
    at.spark.sql("UPDATE target SET v = (SELECT v FROM incoming WHERE id = 1) WHERE id = 1")
    at.spark.sql("INSERT INTO target SELECT * FROM incoming WHERE id NOT IN (SELECT id FROM target)")


@job(
    f"{DELTA}/delta-update.html#slowly-changing-data-scd-type-2-operation-into-delta-tables",
    (
        "MERGE text full; direct customers(address,current,id) updates(address,id,since); writes "
        "customers(current, until<-updates.since, id<-updates.id, address<-updates.address, "
        "since<-updates.since)"
    ),
    given="""
        CREATE TABLE updates USING delta AS
            SELECT 1 AS id, 'new street' AS address, DATE'2024-02-01' AS since;
        CREATE TABLE customers USING delta AS SELECT 1 AS id, 'street' AS address, true AS current,
            DATE'2024-01-01' AS since, CAST(NULL AS DATE) AS until
    """,
    long=True,
)
def dimension_of_type_2(at: Place) -> None:
    at.spark.sql("""
        MERGE INTO customers c USING (
            SELECT id AS key, * FROM updates
            UNION ALL
            SELECT NULL, u.* FROM updates u JOIN customers c ON u.id = c.id
            WHERE c.current AND u.address <> c.address
        ) s ON c.id = s.key
        WHEN MATCHED AND c.current AND c.address <> s.address
            THEN UPDATE SET current = false, until = s.since
        WHEN NOT MATCHED
            THEN INSERT (id, address, current, since, until) VALUES (s.id, s.address, true, s.since, NULL)
    """)


@job(
    f"{DELTA}/delta-change-data-feed.html#read-changes-in-batch-queries",
    "INSERT text full; writes t(id, v)",
    "UPDATE text full; writes t(v)",
    "SELECT plan full; direct t(_change_type,id,v)",
    "SELECT plan full; direct t(_change_type,id)",
    long=True,
    given="CREATE TABLE t (id INT, v STRING) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)",
)
def changes_between_versions(at: Place) -> object:
    at.spark.sql("INSERT INTO t VALUES (1, 'a')")
    at.spark.sql("UPDATE t SET v = 'b'")
    found = at.spark.sql("SELECT id, v, _change_type FROM table_changes('t', 1)").collect()
    frame = at.spark.read.option("readChangeFeed", "true").option("startingVersion", 2).table("t")
    return sorted(map(str, found)), sorted(map(str, frame.select("id", "_change_type").collect()))


@job(
    f"{DELTA}/delta-batch.html#selective-overwrite",
    "REPLACE_TABLE_AS_SELECT plan full; writes target(id, v); ddl REPLACE Table target(id:ADD,v:ADD)",
    given=TARGET,
    long=True,
)
def overwrite_of_some_rows(at: Place) -> None:
    rows = at.spark.createDataFrame([(3, "z")], "id INT, v STRING")
    rows.write.mode("overwrite").option("replaceWhere", "id = 3").saveAsTable("target")


@job(
    f"{DELTA}/delta-batch.html#dynamic-partition-overwrites",
    "REPLACE_TABLE_AS_SELECT plan full; writes parts(a, d); ddl REPLACE Table parts(a:ADD,d:ADD)",
    long=True,
    given="CREATE TABLE parts PARTITIONED BY (d) AS SELECT * FROM VALUES (1, 'x'), (2, 'y') AS t(a, d)",
)
def overwrite_of_the_partitions_written(at: Place) -> None:
    rows = at.spark.createDataFrame([(9, "y")], "a INT, d STRING")
    rows.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").saveAsTable("parts")


@job(
    f"{DELTA}/delta-batch.html#automatic-schema-update",
    "INSERT plan full; writes target(id, v, w)",
    given=TARGET,
    long=True,
)
def new_columns_of_a_writer(at: Place) -> None:
    rows = at.spark.createDataFrame([(5, "e", 1.5)], "id INT, v STRING, w DOUBLE")
    rows.write.mode("append").option("mergeSchema", "true").saveAsTable("target")


@job(
    f"{DELTA}/delta-batch.html#schema-validation",
    "CREATE_TABLE_AS_SELECT FAIL DELTA_METADATA_MISMATCH",
    given=TARGET,
    long=True,
)
def a_column_that_does_not_fit(at: Place) -> None:
    at.spark.createDataFrame([(5, "e", 1.5)], "id INT, v STRING, w DOUBLE").write.mode("append").saveAsTable(
        "target"
    )


@job(
    f"{DELTA}/delta-constraints.html#check-constraint",
    "ALTER_TABLE text full; ddl ALTER Table target",
    "INSERT FAIL Py4JJavaError",
    given=TARGET,
    long=True,
)
def a_row_that_breaks_a_constraint(at: Place) -> None:
    at.spark.sql("ALTER TABLE target ADD CONSTRAINT positive CHECK (id > 0)")
    at.spark.sql("INSERT INTO target VALUES (-1, 'bad')")


@job(
    f"{DELTA}/delta-batch.html#use-generated-columns",
    "CREATE_TABLE plan full; ddl CREATE Table built(at:ADD,day:ADD,id:ADD)",
    "INSERT text full; writes built(id, at)",
    "SELECT plan full; direct built(at,day,id)",
    long=True,
)
def a_table_by_the_builder(at: Place) -> object:
    table = (
        DeltaTable.create(at.spark)
        .tableName("built")
        .addColumn("id", "INT")
        .addColumn("at", "TIMESTAMP")
        .addColumn("day", "DATE", generatedAlwaysAs="CAST(at AS DATE)")
        .property("delta.appendOnly", "false")
        .execute()
    )
    at.spark.sql("INSERT INTO built (id, at) VALUES (1, TIMESTAMP'2024-01-01 10:00:00')")
    return table.toDF()


@job(
    f"{DELTA}/delta-batch.html#query-an-older-snapshot-of-a-table-time-travel",
    "DELETE text full; direct target(id); writes target()",
    "SELECT plan full; direct target()",
    "SELECT text full; direct target()",
    "RESTORE text full; writes target()",
    "SELECT plan full; direct target()",
    given=TARGET,
    long=True,
)
def versions_of_before(at: Place) -> object:
    at.spark.sql("DELETE FROM target WHERE id = 1")
    old = at.spark.read.option("versionAsOf", 0).table("target").count()
    sql = at.spark.sql("SELECT count(*) FROM target VERSION AS OF 0").first()[0]
    at.spark.sql("RESTORE TABLE target TO VERSION AS OF 0").collect()
    return old, sql, at.spark.table("target").count()


@job(
    f"{DELTA}/optimizations-oss.html",
    "INSERT text full; writes target(id, v)",
    "OPTIMIZE text full",
    "SELECT plan full",
    given=TARGET,
    long=True,
)
def compaction(at: Place) -> object:
    at.spark.sql("INSERT INTO target VALUES (7, 'g')")
    at.spark.sql("OPTIMIZE target ZORDER BY (id)")
    return [row.numFiles for row in DeltaTable.forName(at.spark, "target").detail().collect()]


@job(
    f"{DELTA}/delta-utility.html#retrieve-delta-table-history",
    "INSERT plan full; writes target(id, v)",
    "INSERT text full; writes target(id, v)",
    "SELECT plan full",
    "SELECT plan full",
    given=TARGET,
    long=True,
)
def history_and_user_metadata(at: Place) -> object:
    rows = at.spark.createDataFrame([(8, "h")], "id INT, v STRING")
    rows.write.mode("append").option("userMetadata", "backfill").saveAsTable("target")
    at.spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", "nightly")
    at.spark.sql("INSERT INTO target VALUES (9, 'i')")
    history = DeltaTable.forName(at.spark, "target").history().orderBy("version")
    marks = [row.userMetadata for row in history.select("userMetadata").collect()]
    return marks, [row.operation for row in history.collect()]


@job(
    f"{DELTA}/delta-utility.html#convert-a-parquet-table-to-a-delta-table",
    "UNLOAD plan full; writes STAGE:files(id)",
    "CONVERT text full; writes STAGE:files()",
    "SELECT plan full; direct STAGE:files()",
    long=True,
)
def conversion_of_parquet_files(at: Place) -> object:
    at.spark.range(4).write.parquet(at.path("files"))
    DeltaTable.convertToDelta(at.spark, f"parquet.`{at.path('files')}`")
    return DeltaTable.isDeltaTable(at.spark, at.path("files")), at.spark.read.format("delta").load(
        at.path("files")
    ).count()


@job(
    f"{DELTA}/delta-clustering.html",
    (
        "CREATE_TABLE_AS_SELECT text full; direct target(id,v); writes clustered(id<-target.id, "
        "v<-target.v); ddl CREATE Table clustered(id:ADD,v:ADD)"
    ),
    "INSERT plan full; direct updates(id,v); writes clustered(id<-updates.id, v<-updates.v)",
    given=TARGET,
    long=True,
)
def a_clustered_copy(at: Place) -> None:
    at.spark.sql("CREATE TABLE clustered USING delta CLUSTER BY (id) AS SELECT * FROM target")
    at.spark.table("updates").writeTo("clustered").append()


@job(
    "https://docs.databricks.com/aws/en/sql/language-manual/sql-ref-scripting",
    "SCRIPT text full",
    "  DECLARE plan full",
    "  SCRIPT plan full",
    "  INSERT plan full; writes target(id, v)",
    "  SET plan full",
    "  SCRIPT plan full",
    "  INSERT plan full; writes target(id, v)",
    "  SET plan full",
    "  SCRIPT plan full",
    "  SELECT plan full; direct target()",
    given=TARGET,
    long=True,
)
def a_script_with_a_loop(at: Place) -> object:
    return at.spark.sql("""
        BEGIN
            DECLARE n INT DEFAULT 0;
            WHILE n < 2 DO
                INSERT INTO target VALUES (100 + n, 'loop');
                SET n = n + 1;
            END WHILE;
            SELECT count(*) FROM target;
        END
    """).collect()


@job(
    "https://docs.databricks.com/aws/en/sql/language-manual/sql-ref-syntax-aux-execute-immediate",
    "DECLARE text full",
    "SET text full",
    "EXECUTE_IMMEDIATE text full",
    "  SELECT plan full; direct updates(id,v)",
    given=TARGET,
)
def a_statement_of_variables(at: Place) -> object:
    at.spark.sql("DECLARE OR REPLACE VARIABLE name STRING DEFAULT 'target'")
    at.spark.sql("SET VAR name = 'updates'")
    return at.spark.sql("EXECUTE IMMEDIATE 'SELECT id, v FROM IDENTIFIER(name)'").collect()
