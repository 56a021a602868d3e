"""DEEP CLONE: a copy with all files, of which a second run copies only what is new."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlparse

import pytest

import audit
from audit.time_travel import errors
from audit.time_travel.clones.clone_table import clone_of
from lineage.sql.commands.time_travel.clone import CloneTable
from lineage.sql.parse import typed_of

pytestmark = pytest.mark.spark


@pytest.fixture
def source(session, schema):
    """A table of two versions with rows, a file each."""
    session.sql("CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO t VALUES (1, 'x y/z=1')")
    session.sql("INSERT INTO t VALUES (2, 'é%')")
    return {row.version: row.userMetadata for row in session.sql("DESCRIBE HISTORY t").collect()}


def rows(session, sql):
    """As tuples, in order."""
    return sorted(tuple(row) for row in session.sql(sql).collect())


def files(session, table):
    """The paths of the data files that a table has now, with when each was written."""
    found = (Path(urlparse(file).path) for file in session.table(table).inputFiles())
    return {file: file.stat().st_mtime_ns for file in found}


def folder(session, table):
    """Where a table lies."""
    return Path(urlparse(session.sql(f"DESCRIBE DETAIL {table}").collect()[0].location).path)


def cloned(session, sql):
    """Runs a DEEP CLONE: the files of the source, removed and copied."""
    (row,) = session.sql(sql).collect()
    assert (row.copied_files_size > 0) == (row.num_copied_files > 0)
    assert (row.removed_files_size > 0) == (row.num_removed_files > 0)
    return row.source_num_of_files, row.num_removed_files, row.num_copied_files


def test_needs_nothing_of_its_source(session, source, stored):
    """All bytes are its own: the source may be lost. Its history says what it was cloned from."""
    assert cloned(session, "CREATE TABLE c DEEP CLONE t") == (2, 0, 2)
    assert folder(session, "c").parent.name == "_tables"
    assert "36500" not in stored("c")["delta.deletedFileRetentionDuration"]
    shutil.rmtree(folder(session, "t"))
    assert rows(session, "SELECT a, p FROM c") == [(1, "x y/z=1"), (2, "é%")]
    assert rows(session, "SELECT a FROM c WHERE p = 'é%'") == [(2,)]
    session.sql("INSERT INTO c VALUES (3, 'x')")
    session.sql("DROP TABLE c")
    session.sql("UNDROP TABLE c")
    assert rows(session, "SELECT a FROM c") == [(1,), (2,), (3,)]
    first = session.sql("DESCRIBE HISTORY c").where("version = 0").collect()[0]
    assert (first.operation, first.operationParameters["sourceVersion"]) == ("CLONE", "2")


@pytest.mark.long("test_a_run_that_fails_is_run_again has a second run")
def test_a_second_run_copies_what_is_new(session, source):
    """What went is removed, what stayed is not written again; the clone's own rows are not of the source."""
    session.sql("CREATE OR REPLACE TABLE c DEEP CLONE t TBLPROPERTIES ('of.mine' = 'yes')")
    kept = files(session, "c")
    session.sql("INSERT INTO c VALUES (99, 'own')")
    assert cloned(session, "CREATE OR REPLACE TABLE c DEEP CLONE t") == (2, 1, 0)
    session.sql("INSERT INTO t VALUES (3, 'x')")
    session.sql("DELETE FROM t WHERE a = 1")
    session.sql("ALTER TABLE t ADD COLUMN b INT")
    assert cloned(session, "REPLACE TABLE c DEEP CLONE t") == (2, 1, 1)
    assert rows(session, "SELECT * FROM c") == [(2, "é%", None), (3, "x", None)]
    assert len(kept.items() & files(session, "c").items()) == 1
    assert rows(session, "SELECT a FROM c VERSION AS OF 0") == [(1,), (2,)]
    assert cloned(session, "CREATE OR REPLACE TABLE c DEEP CLONE t") == (2, 0, 0)


def test_at_a_point(session, source):
    """The version of then; back and forth copies nothing twice that the clone has."""
    assert cloned(session, f"CREATE TABLE c DEEP CLONE t AT (STATEMENT => '{source[1]}')") == (1, 0, 1)
    assert rows(session, "SELECT a FROM c") == [(1,)]
    assert cloned(session, "CREATE OR REPLACE TABLE c DEEP CLONE t") == (2, 0, 1)
    assert cloned(session, "CREATE OR REPLACE TABLE c DEEP CLONE t VERSION AS OF 1") == (1, 1, 0)
    assert rows(session, "SELECT a FROM c") == [(1,)]
    with pytest.raises(errors.BeforeCreationError):
        session.sql("CREATE TABLE d DEEP CLONE t AT (OFFSET => -86000)")
    assert not session.catalog.tableExists("d")


@pytest.mark.long("a rare layout; test_needs_nothing_of_its_source has the usual one")
def test_deletion_vectors_and_renamed_columns(session, schema):
    """Deleted rows stay deleted; a file of which more rows are deleted now is not copied again."""
    session.sql(
        "CREATE TABLE t TBLPROPERTIES ('delta.enableDeletionVectors' = 'true',"
        " 'delta.columnMapping.mode' = 'name') AS SELECT id AS a FROM range(0, 100, 1, 1)"
    )
    session.sql("ALTER TABLE t RENAME COLUMN a TO k")
    session.sql("DELETE FROM t WHERE k < 10")
    session.sql("CREATE TABLE shallow CLONE t")
    assert cloned(session, "CREATE TABLE c DEEP CLONE t") == (1, 0, 1)
    assert cloned(session, "CREATE TABLE of_shallow DEEP CLONE shallow") == (1, 0, 1)
    session.sql("DELETE FROM t WHERE k < 20")
    assert cloned(session, "CREATE OR REPLACE TABLE c DEEP CLONE t") == (1, 1, 0)
    for table in ("t", "shallow"):
        shutil.rmtree(folder(session, table))
    assert session.sql("SELECT count(k), min(k) FROM c").first() == (80, 20)
    assert session.sql("SELECT count(k), min(k) FROM of_shallow").first() == (90, 10)


def test_a_run_that_fails_is_run_again(session, source):
    """Readers see the old clone; what was copied by then is not copied once more."""
    session.sql("CREATE TABLE c DEEP CLONE t VERSION AS OF 0")
    first, second = sorted(files(session, "t"), key=lambda file: file.stat().st_mtime_ns)
    away = second.rename(second.with_name("away"))
    for _ in range(20):  # both are copied at once, and the failing one may stop the other
        with pytest.raises(Exception, match="FileNotFoundException"):
            session.sql("CREATE OR REPLACE TABLE c DEEP CLONE t")
        copies = [file for file in folder(session, "c").rglob("*.parquet") if file.name.endswith(first.name)]
        if copies:
            break
    assert len(copies) == 1
    assert rows(session, "SELECT a FROM c") == []
    away.rename(second)
    copies[0].write_bytes(copies[0].read_bytes()[:-100])  # as a crash leaves it where parts are seen
    assert cloned(session, "CREATE OR REPLACE TABLE c DEEP CLONE t") == (2, 0, 2)
    assert rows(session, "SELECT a FROM c") == [(1,), (2,)]


def test_a_place_of_choice(session, source, tmp_path):
    """By LOCATION, and by path."""
    assert cloned(session, f"CREATE TABLE c DEEP CLONE t LOCATION '{tmp_path}/c'") == (2, 0, 2)
    assert folder(session, "c") == tmp_path / "c"
    assert cloned(session, f"CREATE TABLE delta.`{tmp_path}/d` DEEP CLONE c") == (2, 0, 2)
    assert session.sql(f"SELECT sum(a) FROM delta.`{tmp_path}/d`").first()[0] == 3
    assert session.sql("CREATE TABLE IF NOT EXISTS c DEEP CLONE t").collect() == []


@pytest.mark.one_in(3, "each error")
@pytest.mark.parametrize(
    ("sql", "error", "text"),
    [
        ("CREATE TABLE t DEEP CLONE t", errors.ObjectExistsError, "t exists; CREATE OR REPLACE TABLE"),
        ("REPLACE TABLE d DEEP CLONE t", errors.UnknownObjectError, "no table d to replace"),
        ("CREATE TABLE d DEEP CLONE nothing", errors.UnknownObjectError, "no table nothing to clone"),
        ("CREATE TABLE d DEEP CLONE p", errors.NoHistoryError, "refused.p is a table of parquet"),
        ("CREATE OR REPLACE TABLE p DEEP CLONE t", errors.ObjectExistsError, "p exists and is no Delta"),
        ("CREATE OR REPLACE TABLE t DEEP CLONE t LOCATION '/x'", errors.ObjectExistsError, "not at /x"),
        ("CREATE TABLE d DEEP CLONE t WITH DATA", errors.BadClauseError, "with 'WITH DATA'"),
    ],
)
def test_refused(session, schema, sql, error, text):
    """Each with an error that names the object."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("CREATE TABLE p USING parquet AS SELECT 1 AS a")
    with pytest.raises(error, match=text):
        session.sql(sql)


def test_is_on_record(session, source):
    """As any clone: its source is read, it is written, and its commit carries the id."""
    session.sql("CREATE TABLE c DEEP CLONE t")
    (commit,) = session.sql("DESCRIBE HISTORY c").collect()
    audit.flush(session)
    (found,) = session.sql(
        "SELECT direct_objects_accessed AS read, objects_modified AS written, object_modified_by_ddl AS ddl"
        f" FROM account_usage.access_history WHERE query_id = '{commit.userMetadata}'"
    ).collect()
    assert [one.objectName for one in found.read] == ["spark_catalog.is_on_record.t"]
    assert [one.objectName for one in found.written] == ["spark_catalog.is_on_record.c"]
    assert '"CLONE"' in str(found.ddl)


def test_what_a_text_says():
    """Both orders of its clauses; a table named deep is cloned as any other."""
    text = "CREATE TABLE c DEEP CLONE t TBLPROPERTIES ('a' = 'b', c.d = true) LOCATION '/x'"
    pairs = (("a", "b"), ("c.d", "true"))
    assert typed_of(text) == CloneTable(("c",), ("t",), deep=True, location="/x", properties=pairs)
    assert clone_of(typed_of(text)).properties == {"a": "b", "c.d": "true"}
    assert typed_of("CREATE TABLE deep CLONE t") == CloneTable(("deep",), ("t",))
