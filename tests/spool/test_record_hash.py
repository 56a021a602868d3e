"""The record's hash: the same before and after the table."""

import os
import time
from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from audit.core.clock import to_datetime
from audit.record.record_hash import record_hash

MICROS = 1_643_127_467_388_001
ROW = {
    "query_id": "q1",
    "query_start_time": "2022-01-25T16:17:47.388001Z",
    "user_name": "",
    "objects": [{"objectName": "a.b.ü", "objectId": 2**62, "location": None, "columns": []}, None],
    "parent_query_id": None,
    "live": True,
}


def test_a_row_read_back_with_delta_rs_has_the_same_hash(tmp_path):
    """Written to Delta and read by delta-rs, nulls for what was missing included, the hash is the same."""
    columns = pa.list_(pa.struct([("columnName", pa.string())]))
    objects = [
        ("objectName", pa.string()),
        ("objectId", pa.int64()),
        ("location", pa.string()),
        ("columns", columns),
    ]
    schema = pa.schema(
        [
            ("query_id", pa.string()),
            ("query_start_time", pa.timestamp("us", "UTC")),
            ("user_name", pa.string()),
            ("objects", pa.list_(pa.struct(objects))),
            ("parent_query_id", pa.string()),
            ("live", pa.bool_()),
            ("added_later", pa.string()),
            ("query_date", pa.date32()),
            ("record_hash", pa.string()),
        ]
    )
    row = {
        **ROW,
        "query_start_time": to_datetime(MICROS),
        "query_date": date(2022, 1, 25),
        "record_hash": "x",
    }
    write_deltalake(str(tmp_path / "t"), pa.Table.from_pylist([row], schema=schema))
    (read,) = pa.table(DeltaTable(str(tmp_path / "t")).to_pyarrow_table()).to_pylist()
    assert record_hash(read) == record_hash(ROW)


def test_a_time_without_zone_is_the_process_own(monkeypatch):
    """PySpark's collect gives timestamps in the process' zone without saying so."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        local = datetime.fromtimestamp(MICROS // 1_000_000).replace(microsecond=MICROS % 1_000_000)  # noqa: DTZ006 - as PySpark
        assert local.hour == 1
        assert record_hash({"t": local}) == record_hash({"t": to_datetime(MICROS)})
    finally:
        monkeypatch.undo()
        time.tzset()
    assert os.environ.get("TZ") != "Asia/Tokyo"


def test_any_zone_gives_one_hash():
    """The moment counts, not the zone that it is told in."""
    there = to_datetime(MICROS).astimezone(timezone(timedelta(hours=-7)))
    assert record_hash({"t": there}) == record_hash({"t": "2022-01-25T16:17:47.388001Z"})


@pytest.mark.parametrize(
    "change",
    [
        {"user_name": None},
        {"query_id": "q2"},
        {"live": False},
        {"parent_query_id": ""},
        {"objects": []},
        {"objects": [{"objectName": "a.b.ü", "objectId": 2**62}, None]},
    ],
)
def test_every_change_shows(change):
    """An empty string, an empty list and a null are three things."""
    assert record_hash({**ROW, **change}) != record_hash(ROW)


def test_pyspark_rows_are_read_as_dicts():
    """Rows inside a row, as collect() gives them."""
    row = pytest.importorskip("pyspark.sql").Row
    assert record_hash({"a": [row(x=1, y=None)]}) == record_hash({"a": [{"x": 1}]})


def test_a_value_without_json_form_is_refused():
    """Bytes have no canonical form here."""
    with pytest.raises(TypeError):
        record_hash({"a": b"x"})
