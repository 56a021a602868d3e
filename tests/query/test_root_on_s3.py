"""A root in a bucket: delta-rs reads the files for DuckDB, with the credentials of the environment."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import boto3
import pytest
from deltalake import write_deltalake

from audit.query.tables import opened
from audit.store.tables import QUERY_HISTORY
from tests.s3_server import s3_server

from .roots import make_root, rows_of

NOON = datetime.fromisoformat("2026-11-20T12:00")
OBJECT = {
    "objectDomain": "Table", "objectId": 7, "objectName": "spark_catalog.s.t",
    "columns": [{"columnId": 1, "columnName": "a"}, {"columnId": 2, "columnName": "b"}],
}  # fmt: skip


@pytest.fixture
def bucket(monkeypatch):
    """A client of a server on loopback with one bucket; the environment has its address."""
    with s3_server() as (_, endpoint):
        there = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "a-key",
            "AWS_SECRET_ACCESS_KEY": "a-secret",
            "AWS_REGION": "us-east-1",
        }
        for name, value in there.items():
            monkeypatch.setenv(name, value)
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="lake")
        yield client


def test_the_answers_are_those_of_a_local_root(tmp_path, bucket):
    """Tables and views, a day asked for, times without a zone, a file that lacks columns."""
    done = {"user_name": "ann", "query_type": "SELECT", "execution_status": "SUCCESS"}
    query = [{"query_id": f"q{day}", "start_time": NOON - timedelta(days=day), **done} for day in range(2)]
    access = [{"query_id": "q0", "query_start_time": NOON, "direct_objects_accessed": [OBJECT]}]
    root = Path(make_root(tmp_path / "made", {"query_history": query, "access_history": access}))
    older = rows_of(QUERY_HISTORY, [{**query[0], "query_id": "older"}])
    lacks = older.select(["query_id", "start_time", "query_date"])
    write_deltalake(str(root / "query_history"), lacks, mode="append", schema_mode="merge")
    for file in root.rglob("*"):
        if file.is_file():
            bucket.upload_file(str(file), "lake", f"audit/{file.relative_to(root)}")
    asked = (
        "SELECT query_id, start_time, query_date, calls FROM account_usage.query_history ORDER BY 1",
        f"SELECT query_id FROM account_usage.query_history WHERE start_time < '{NOON - timedelta(hours=1)}'",
        "SELECT * FROM account_usage.columns_read ORDER BY ALL",
        "SELECT * FROM account_usage.statements ORDER BY ALL",
        "SELECT * FROM account_usage.top_readers",
        "SELECT count(*) FROM account_usage.column_lineage",
    )
    with opened(str(root)) as local, opened("s3://lake/audit") as remote:
        for text in asked:
            found = remote.ask(text, {})
            assert found == local.ask(text, {})
            assert found.rows
