"""The tables of lineage: what lands in them, what does not touch them, and roots older than they are."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from audit.core.errors import TableMissingError
from audit.core.origin import ORIGIN_FIELDS
from audit.ingest.folder import ingest_folder
from audit.query.digests.check_rows import ALTERED
from audit.query.tables import opened
from audit.query.verification import verify
from audit.record.record_hash import record_hash
from audit.store.commit_lock import commit_lock
from audit.store.made_tables import create_tables
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY
from lineage import MemoryCatalog, analyze
from lineage.model import Column, Function

from .helpers import WRITE, edges, read, recorded, statuses

pytestmark = pytest.mark.spark

LINEAGE = ("column_lineage", "table_lineage")


def take(spark, source, root):
    """Seal and ingest."""
    source.spool.rotate()
    return ingest_folder(spark, source.spool.path, str(root))


def faults(root):
    """What verification finds."""
    with opened(str(root)) as tables:
        return verify(tables).faults


def commits(root, table):
    """How many commits a table has."""
    return len([*(root / table / "_delta_log").glob("*.json")])


def test_edges_become_rows(spark, source, tmp_path):
    """A row for each edge and source kind; verification finds nothing, and then what was added by hand."""
    source.run()
    source.access = WRITE
    (query_id,) = source.run()
    take(spark, source, tmp_path)
    rows = read(spark, tmp_path, "column_lineage")
    assert {(row.query_id, row.user_name, str(row.query_date)) for row in rows} == {
        (query_id, "ann", "2026-01-01")
    }
    found = sorted(
        (row.source_column_name, row.target_column_name or "*", row.transformation, row.is_indirect)
        for row in rows
        if row.source_kind == "base"
    )
    assert found == [
        ("a", "*", "INDIRECT", True),
        ("a", "a", "IDENTITY", False),
        ("b", "x", "AGGREGATION", False),
        ("c", "*", "INDIRECT", True),
    ]
    assert {(row.source_object_name, row.target_object_name) for row in rows} == {
        ("spark_catalog.s.u", "spark_catalog.s.t")
    }
    tables = read(spark, tmp_path, "table_lineage")
    assert sorted((row.source_kind, row.is_indirect, row.overwrites) for row in tables) == [
        ("base", False, False),
        ("direct", False, False),
    ]
    assert faults(tmp_path) == ()
    more = f"INSERT INTO delta.`{tmp_path}/table_lineage` SELECT * FROM delta.`{tmp_path}/table_lineage`"
    spark.sql(more + " WHERE source_kind = 'base'")
    assert [(fault.query_id, fault.fault) for fault in faults(tmp_path)] == [
        (query_id, f"table_lineage: {ALTERED}")
    ]


def test_what_writes_nothing_does_not_touch_them(spark, source, tmp_path):
    """A batch of queries commits to the histories alone, and looks at no table of lineage."""
    for name in LINEAGE:
        shutil.move(tmp_path / name, tmp_path / f"{name}.aside")
    ids = source.run(3, "SELECT ',\"edges\":[{'")
    take(spark, source, tmp_path)
    assert statuses(spark, tmp_path) == dict.fromkeys(ids, "SUCCESS")
    assert [(tmp_path / name).exists() for name in LINEAGE] == [False, False]


def test_a_root_of_before_gains_them(spark, source, tmp_path):
    """Records of an older version go in as they are; the first edges make the tables, and none is lost."""
    for name in LINEAGE:
        shutil.rmtree(tmp_path / name)
    before = source.run(2)
    take(spark, source, tmp_path)
    assert faults(tmp_path) == ()
    source.access = WRITE
    after = source.run(2)
    take(spark, source, tmp_path)
    assert recorded(spark, tmp_path) == dict.fromkeys([*before, *after], 1)
    assert edges(spark, tmp_path) == dict.fromkeys(after, 8)
    assert [commits(tmp_path, name) for name in (*LINEAGE, "query_history")] == [2, 2, 3]


@pytest.mark.slow("rewrites an old root")
def test_a_root_of_before_functions_gains_their_fields(spark, source, tmp_path):
    """What an older version wrote stays as it was, and a function is on record among the sources."""
    shutil.rmtree(tmp_path / "access_history")
    signature = ", argumentSignature: STRING, dataType: STRING>"
    columns = [
        (name, kind.replace(f"objectName: STRING{signature}", "objectName: STRING>"), text)
        for name, kind, text in ACCESS_HISTORY.columns
    ]
    spark.sql(replace(ACCESS_HISTORY, columns=tuple(columns)).create_sql(str(tmp_path)))
    source.access = WRITE
    before = source.run()
    take(spark, source, tmp_path)
    assert faults(tmp_path) == ()
    function = Function("f", parameters=(Column("n", "INT"),), data_type="INT")
    catalog = MemoryCatalog({"s.t": {"a": "int"}}, functions={"s.f": function}, current_schema="s")
    source.access = analyze("INSERT INTO t SELECT f(a) FROM t", catalog)
    after = source.run()
    take(spark, source, tmp_path)
    assert faults(tmp_path) == ()
    assert recorded(spark, tmp_path) == dict.fromkeys([*before, *after], 1)
    (row,) = (row for row in read(spark, tmp_path, "access_history") if row.query_id in after)
    (column,) = row.objects_modified[0].columns
    said = [(one.objectDomain, one.columnName, one.argumentSignature) for one in column.directSources]
    assert said == [("Table", "a", None), ("FUNCTION", None, "(n INT)")]


def test_a_root_of_before_origins_gains_their_columns(spark, source, tmp_path):
    """What an older version wrote says nothing of where it came from; DuckDB and Spark read both."""
    shutil.rmtree(tmp_path / "query_history")
    added = {"query_tag", "purpose", *ORIGIN_FIELDS}
    columns = tuple(one for one in QUERY_HISTORY.columns if one[0] not in added)
    spark.sql(replace(QUERY_HISTORY, columns=columns).create_sql(str(tmp_path)))
    rows = spark.createDataFrame([("q", "SUCCESS")], "query_id STRING, execution_status STRING")
    rows = rows.selectExpr("*", "TIMESTAMP'2026-01-01 00:00:00' AS start_time")
    rows.write.format("delta").mode("append").save(f"{tmp_path}/query_history")
    source.run()
    take(spark, source, tmp_path)
    found = {row.query_id: row for row in read(spark, tmp_path)}
    assert {found["q"][name] for name in added} == {None}
    with opened(str(tmp_path)) as tables:
        said = tables.ask("SELECT query_id, os_user FROM account_usage.query_history ORDER BY query_id", {})
    assert sorted(said.rows) == sorted((key, row.os_user) for key, row in found.items())


OLD = {"policyName": "c.s.m", "policyId": 1, "policyKind": "MASKING_POLICY"}
NEW = {**OLD, "policyVersion": "ab", "changedResult": False}


def referenced(policy):
    """A mask and a row access policy, on record as a version knew them."""
    columns = [{"columnName": "a", "policies": [policy]}]
    return ({"columns": columns, "objectName": "c.s.t", "policies": [policy]},)


def test_a_root_of_before_versions_of_policies_gains_their_fields(spark, source, tmp_path):
    """Rows and spooled records of an older version keep what they say, and their hashes."""
    shutil.rmtree(tmp_path / "access_history")
    columns = [
        (name, kind.replace(", policyVersion: STRING, changedResult: BOOLEAN", ""), text)
        for name, kind, text in ACCESS_HISTORY.columns
    ]
    old = replace(ACCESS_HISTORY, columns=tuple(columns))
    spark.sql(old.create_sql(str(tmp_path)))
    row = {"query_id": "q", "policies_referenced": list(referenced(OLD))}
    row["record_hash"] = record_hash(row)
    rows = spark.createDataFrame([json.dumps(row)], "STRING").selectExpr(
        f"from_json(value, '{old.row_schema}') r"
    )
    rows.selectExpr("r.*").write.format("delta").mode("append").save(f"{tmp_path}/access_history")
    ids = ["q"]
    for policy in (OLD, NEW):
        source.access = replace(WRITE, policies_referenced=referenced(policy))
        ids += source.run()
    take(spark, source, tmp_path)
    found = {row.query_id: row for row in read(spark, tmp_path, "access_history")}
    said = [(found[query_id].policies_referenced[0]) for query_id in ids]
    there = [(one.policies[0].asDict(), one.columns[0].policies[0].asDict()) for one in said]
    nothing = {"policyVersion": None, "changedResult": None}
    assert there == [({**OLD, **nothing},) * 2, ({**OLD, **nothing},) * 2, (NEW, NEW)]
    assert [record_hash(row.asDict()) for row in found.values()] == [
        row.record_hash for row in found.values()
    ]


def test_a_deleted_one_is_named(spark, source, tmp_path):
    """Where the other one shows that it was there, it is not made anew in silence; its edges wait."""
    source.access = WRITE
    source.run()
    take(spark, source, tmp_path)
    shutil.rmtree(tmp_path / "table_lineage")
    (waiting,) = source.run()
    with pytest.raises(TableMissingError, match=f"{tmp_path}/table_lineage is not there"):
        take(spark, source, tmp_path)
    with commit_lock(spark, str(tmp_path)):
        create_tables(spark, str(tmp_path), recreate=True)
    take(spark, source, tmp_path)
    assert edges(spark, tmp_path, "table_lineage") == {waiting: 2}
