"""What a writer of DataFrames turns out to be on record."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from audit.testing import records
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES


def test_an_export_is_one_whether_it_succeeds_or_not(session, schema, tmp_path):
    """UNLOAD, as COPY INTO a path is; a Delta table by its path is a table that is written."""
    frame = session.range(2)
    frame.write.parquet(f"{tmp_path}/parquet")
    frame.write.format("json").save(f"{tmp_path}/json")
    frame.write.format("delta").save(f"{tmp_path}/delta")
    with pytest.raises(AnalysisException, match="PATH_ALREADY_EXISTS"):
        frame.write.parquet(f"{tmp_path}/parquet")
    found = [(r.query.query_type, r.query.execution_status) for r in records(session)]
    writes = [one for one in found if one[0] in ("UNLOAD", "INSERT", "CREATE_TABLE_AS_SELECT")]
    assert writes[:2] == [("UNLOAD", "SUCCESS"), ("UNLOAD", "SUCCESS")]
    assert writes[2][0] != "UNLOAD"
    assert writes[3:] == [("UNLOAD", "FAIL")]
