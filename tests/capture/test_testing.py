"""`audit.testing.records`: the rows that ingest would write."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

import audit
from audit.core.errors import AttachError
from audit.testing import records
from tests.sessions import NO_TABLES, attached


def test_the_tables_get_what_it_gives(audited):
    """Column for column, nested ones and times too; what is taken in is among the records no longer."""
    audited.sql("CREATE TABLE kept (a INT) USING delta")
    audited.sql("INSERT INTO kept SELECT id FROM range(2)")
    with pytest.raises(AnalysisException):
        audited.sql("SELECT nothing FROM kept")
    made = records(audited)
    assert [record.query.execution_status for record in made] == ["SUCCESS", "SUCCESS", "FAIL"]
    assert [len(record.access) for record in made] == [1, 1, 0]
    audit.flush(audited)
    assert records(audited) == []
    with audit.suppress():
        queries = audited.table("account_usage.query_history").drop("query_date")
        # What has happened to the logging itself is no statement's record.
        queries = queries.where("NOT startswith(query_type, 'AUDIT_')").collect()
        access = audited.table("account_usage.access_history").drop("query_date").collect()
    assert sorted(queries) == sorted(record.query for record in made)
    by_id = {row.query_id: row for row in access}
    assert by_id == {row.query_id: row for record in made for row in record.access}
    audited.sql("DROP TABLE kept")


def test_without_ingest_all_records_stay(spark, tmp_path):
    """`ingest="external"`: a flush takes none away; a session that is not audited has none."""
    with attached(spark, tmp_path, **NO_TABLES) as session:
        session.sql("SELECT 1 AS one").collect()
        audit.flush(session)
        session.sql("SELECT 2 AS two").collect()
        texts = [record.query.query_text for record in records(session)]
        assert texts == ["SELECT 1 AS one", "SELECT 2 AS two"]
    with pytest.raises(AttachError, match="not audited"):
        records(spark)
