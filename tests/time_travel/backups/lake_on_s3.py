"""A driver whose warehouse is a bucket, and whose backups go into another one: prints what it saw as JSON.

In: a root, an endpoint, jars, Spark settings. Out: a line of JSON. See test_lake_on_s3.
"""

from __future__ import annotations

import json
import sys
import time

import boto3

import audit
from audit.spark.embedded.spark import embedded
from audit.time_travel.backups.store.s3_store import S3Store

LAKE, KEPT = "lake", "kept"


def spark_on(root, endpoint, jars, conf):
    """The embedded Spark, with Hadoop's client of S3 and a warehouse in the bucket."""
    settings = {
        **conf,
        "spark.driver.extraClassPath": jars,
        "spark.sql.warehouse.dir": f"s3a://{LAKE}/warehouse",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    }
    return embedded(root, app_name="lake", master="local[2]", conf=settings)


def cover(s3, backup):
    """Put other bytes over all files of a backup."""
    for one in s3.list_objects_v2(Bucket=KEPT)["Contents"]:
        if backup in one["Key"]:
            s3.put_object(Bucket=KEPT, Key=one["Key"], Body=b"other")


class Killed(BaseException):
    """No `except Exception` takes it."""


def kill_before_the_log(run, statement):
    """Run a restore that is killed when all files of its table are there but the log."""
    real = S3Store.take

    def take(store, files, folder, done=lambda _: None):
        given = list(files)
        if any("_delta_log" in one.target for one in given):
            raise Killed
        return real(store, given, folder, done)

    S3Store.take = take
    try:
        run(statement)
    except Killed:
        return True
    finally:
        S3Store.take = real
    return False


def main(root, endpoint, jars, conf):
    """All that is asked of it; by name."""
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=LAKE)
    s3.create_bucket(Bucket=KEPT, ObjectLockEnabledForBucket=True)
    session = spark_on(root, endpoint, jars, conf).newSession()
    session.conf.set("spark.sql.sources.default", "delta")
    audit.attach(session, user="ann", root=root, durable=False, backup_location=f"s3a://{KEPT}/audit")

    def run(text):
        return [tuple(row) for row in session.sql(text).collect()]

    def place(table):
        return session.sql(f"DESCRIBE DETAIL {table}").first().location

    def add(name):
        run(f"ALTER BACKUP SET {name} ADD BACKUP")
        return session.sql(f"SHOW BACKUPS IN BACKUP SET {name}").collect()[-1].backup_id

    found = {}
    run("CREATE SCHEMA db")
    run("USE db")
    vectors = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    run(f"CREATE TABLE t (id BIGINT, p STRING) PARTITIONED BY (p) {vectors}")
    run("INSERT INTO t SELECT id, concat('a +', id % 2) FROM range(10)")
    run("DELETE FROM t WHERE id = 3")
    run("CREATE VIEW v AS SELECT count(*) AS n FROM t")
    run("CREATE BACKUP SET tables FOR TABLE t")
    backup = add("tables")
    run("CREATE BACKUP SET schemas FOR SCHEMA db")
    of_schema = add("schemas")
    run("INSERT OVERWRITE t VALUES (1, 'x')")
    cover(s3, backup)

    def restored(text):
        """Run a restore, and note from when to when it ran."""
        begin = time.time()
        run(text)
        found.setdefault("windows", []).append((begin, time.time()))

    restore = f"CREATE TABLE again FROM BACKUP SET tables IDENTIFIER '{backup}'"
    found["killed"] = (kill_before_the_log(run, restore), session.catalog.tableExists("again"))
    restored(restore)
    found["a new table"] = (place("again"), run("SELECT count(*), sum(id) FROM again"))
    run("INSERT INTO again VALUES (100, 'x')")
    found["is written on"] = run("SELECT count(*), sum(id) FROM again")

    restored(f"CREATE OR REPLACE TABLE t FROM BACKUP SET tables IDENTIFIER '{backup}'")
    found["in place"] = (place("t"), run("SELECT count(*), sum(id) FROM t"))
    found["its past"] = run(
        f"SELECT count(*), sum(id) FROM t VERSION AS OF {run('DESCRIBE HISTORY t')[0][0] - 1}"
    )
    restored(f"CREATE SCHEMA db2 FROM BACKUP SET schemas IDENTIFIER '{of_schema}'")
    found["a schema"] = (place("db2.t"), run("SELECT * FROM db2.v"))
    run(f"CREATE SCHEMA here LOCATION 'file:{root}/here'")
    run(f"CREATE TABLE here.again FROM BACKUP SET tables IDENTIFIER '{backup}'")
    found["on this machine"] = (place("here.again"), run("SELECT count(*), sum(id) FROM here.again"))
    audit.detach(session)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:4], json.loads(sys.argv[4]))) + "\n")
