"""Bad input: one clear error that names the path and the way out, and every record when it is mended."""

from __future__ import annotations

import re
import shutil
import warnings

import pytest

import audit
from audit.core.config import load
from audit.core.errors import (
    IngestError,
    RecordLossWarning,
    SpoolUnavailableError,
    SpoolVersionError,
    TableAlteredError,
    TableMissingError,
)
from audit.ingest.adopt import salvage_all
from audit.ingest.folder import ingest_folder
from audit.spark.catalog.session_catalog import SessionCatalog
from audit.spark.plans.plan_facts import PlanFactsReader
from audit.store.commit_lock import commit_lock
from audit.store.made_tables import create_tables

from .helpers import Source, ingest_all, recorded, statuses

pytestmark = pytest.mark.spark


def take(spark, source, root):
    """Seal and ingest."""
    source.spool.rotate()
    return ingest_folder(spark, source.spool.path, str(root))


@pytest.mark.parametrize("place", ["file", "proc"])
def test_an_unwritable_root_is_named(spark, tmp_path, place):
    """A root that is a file, or lies in /proc: attach raises before anything runs unrecorded."""
    (tmp_path / "file").write_text("not a folder")
    root = {"file": str(tmp_path / "file"), "proc": "/proc/audit"}[place]
    with pytest.raises(SpoolUnavailableError, match=rf"{root}/spool cannot be used .*; .*root"):
        audit.attach(spark.newSession(), root=root)


def test_a_spool_of_another_version_is_kept(spark, source, tmp_path):
    """It is told by path and stays as it is, the other spools are taken in; its version reads it later."""
    other = Source(tmp_path)
    wanted = [*source.run(), *other.run()]
    for one in (source, other):
        one.spool.rotate()
        one.die()
    meta = source.spool.path / "meta.json"
    kept = meta.read_text()
    meta.write_text(re.sub(r'"version":\d+', '"version":99', kept))
    failed, done = sorted(ingest_all(spark, tmp_path), key=lambda one: one.error is None)
    assert isinstance(failed.error, SpoolVersionError)
    assert str(source.spool.path) in failed.error.problem
    assert "version that wrote it" in failed.error.way_out
    assert (done.error, list(statuses(spark, tmp_path))) == (None, wanted[1:])
    meta.write_text(kept)
    ingest_all(spark, tmp_path)
    assert sorted(statuses(spark, tmp_path)) == sorted(wanted)


def test_an_altered_table_is_named(spark, source, tmp_path):
    """A column dropped by hand: told by path, nothing written; all records arrive when it is restored."""
    wanted = source.run(2)
    table = f"delta.`{tmp_path}/query_history`"
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN user_name")
    with pytest.raises(TableAlteredError, match=r"the column user_name .*query_history is missing") as caught:
        take(spark, source, tmp_path)
    assert "RESTORE TABLE" in caught.value.way_out
    spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF 1")
    take(spark, source, tmp_path)
    assert sorted(statuses(spark, tmp_path)) == wanted
    assert recorded(spark, tmp_path) == dict.fromkeys(wanted, 1)


def test_a_column_of_another_type_is_named(spark, source, tmp_path):
    """A table that somebody wrote anew with another type is told by path, column and type."""
    path = f"{tmp_path}/query_history"
    frame = (
        spark.read.format("delta").load(path).selectExpr("* EXCEPT (rows_produced)", "'x' AS rows_produced")
    )
    shutil.rmtree(path)
    frame.limit(0).coalesce(1)
    empty = spark.createDataFrame([], frame.schema)
    empty.write.format("delta").partitionBy("query_date").save(path)
    source.run()
    with pytest.raises(TableAlteredError, match=f"rows_produced .*{path} is of type string, not bigint"):
        take(spark, source, tmp_path)


def test_a_deleted_table_is_named_and_begins_anew_when_asked(spark, source, tmp_path):
    """A table deleted underneath is not made anew in silence; when asked for, what waits arrives in it."""
    source.run()
    take(spark, source, tmp_path)
    shutil.rmtree(tmp_path / "query_history")
    waiting = source.run(2)
    for _ in range(2):
        with pytest.raises(TableMissingError, match=f"{tmp_path}/query_history is not there") as caught:
            take(spark, source, tmp_path)
    assert "audit ingest --create" in caught.value.way_out
    with commit_lock(spark, str(tmp_path)):
        with pytest.raises(TableMissingError):
            create_tables(spark, str(tmp_path))
        create_tables(spark, str(tmp_path), recreate=True)
    take(spark, source, tmp_path)
    assert sorted(statuses(spark, tmp_path)) == waiting


def test_a_table_that_cannot_be_written_keeps_the_records(spark, source, tmp_path):
    """A file where the table's files belong, as on a disk that refuses: one error, and all arrives later."""
    wanted = source.run(3)
    day = tmp_path / "query_history" / "query_date=2026-01-01"
    day.write_text("in the way")
    with pytest.raises(
        IngestError, match=f"the records of {source.spool.path} could not be taken into {tmp_path}"
    ):
        take(spark, source, tmp_path)
    day.unlink()
    take(spark, source, tmp_path)
    assert sorted(statuses(spark, tmp_path)) == wanted
    assert recorded(spark, tmp_path) == dict.fromkeys(wanted, 1)


def test_a_flipped_bit_costs_nothing(spark, source, tmp_path):
    """A corrupt record is set aside with its file and told; the rest is taken in, it is made again later."""
    wanted = source.run(3)
    source.spool.rotate()
    (segment,) = source.spool.sealed()
    data = bytearray(segment.read_bytes())
    line = data.index(b' R {"query_id":"' + wanted[1].encode())
    data[line + 60] ^= 4
    segment.write_bytes(bytes(data))
    done = ingest_folder(spark, source.spool.path, str(tmp_path))
    assert [path.name for path in done.damaged] == [segment.name]
    assert sorted(statuses(spark, tmp_path)) == [wanted[0], wanted[2]]
    source.die()
    ingest_all(spark, tmp_path)
    config = load({"root": str(tmp_path), "user": "tester"}, environ={})
    catalog = SessionCatalog(spark, PlanFactsReader(spark.sparkContext._jvm))
    assert list(salvage_all(catalog, config).values()) == [1]
    assert salvage_all(catalog, config) == {}
    assert statuses(spark, tmp_path) == dict.fromkeys(wanted, "SUCCESS")
    assert recorded(spark, tmp_path) == dict.fromkeys(wanted, 1)


def test_a_full_spool_blocks_or_warns(spark, tmp_path):
    """A disk without room for the start of a statement: blocked with one error, or run with one warning."""
    for mode in ("block", "warn"):
        root = tmp_path / mode
        session = spark.newSession()
        audit.attach(
            session, root=str(root), on_record_failure=mode, spool_max_bytes=1 << 20, schema=f"usage_{mode}"
        )
        text = f"SELECT 1 -- {'x' * (1 << 20)}"
        try:
            if mode == "block":
                with pytest.raises(
                    SpoolUnavailableError, match=rf"{root}/spool/.* takes no more.*; run `audit ingest`"
                ):
                    session.sql(text).collect()
                assert session.sql("SELECT 2 AS a").collect()
            else:
                with pytest.warns(RecordLossWarning, match="statements run unrecorded"):
                    assert session.sql(text).collect()
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RecordLossWarning)
                audit.detach(session)
            spark.sql(f"DROP SCHEMA IF EXISTS usage_{mode} CASCADE")
