"""What a log says of a file that was appended without Spark: bounds that leave out no row that is there."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.clock import to_datetime
from audit.spark.arrow import arrow_type
from audit.spark.delta.append_files import add_action, statistics
from audit.store.tables import AUDIT_TABLES

BOUNDS = ("minValues", "maxValues")
TIMES = st.integers(600_000_000_000_000, 4_000_000_000_000_000).map(to_datetime)


@given(st.lists(TIMES, min_size=1, max_size=5), st.sampled_from(("UTC", "Asia/Tokyo")))
def test_bounds_of_times(times, zone):
    """In milliseconds of UTC, outwards; whatever zone the column has."""
    found = statistics(pa.table({"t": pa.array(times, pa.timestamp("us", zone))}), ["t"])
    low, high = (datetime.fromisoformat(found[which]["t"].replace("Z", "+00:00")) for which in BOUNDS)
    assert low <= min(times)
    assert max(times) <= high
    assert min(times) - low < timedelta(milliseconds=1) > high - max(times)


@given(st.lists(st.none() | st.text(max_size=3), max_size=6))
def test_bounds_of_texts(texts):
    """In the order of their bytes; nulls are counted."""
    found = statistics(pa.table({"s": pa.array(texts, pa.string())}), ["s"])
    there = [text.encode() for text in texts if text is not None]
    assert found["numRecords"] == len(texts)
    assert found["nullCount"] == {"s": len(texts) - len(there)}
    for which, bound in zip(BOUNDS, (min, max), strict=True):
        assert found[which] == ({"s": bound(there).decode()} if there else {})


def test_a_long_text_has_no_bound():
    """It would be in each list of the table's files."""
    found = statistics(pa.table({"s": ["a", "x" * 5000], "n": [1, 2]}), ["s", "n"])
    assert [found[which] for which in BOUNDS] == [{"n": 1}, {"n": 2}]
    assert found["nullCount"] == {"s": 0, "n": 0}


def test_what_the_log_says():
    """Its statistics are a text of JSON."""
    said = add_action("query_date=2026-01-01/x", 7, pa.table({"a": [1]}), ["a"], {"query_date": "2026-01-01"})
    assert (said["path"], said["size"], said["dataChange"]) == ("query_date=2026-01-01/x", 7, True)
    assert said["partitionValues"] == {"query_date": "2026-01-01"}
    assert json.loads(said["stats"])["numRecords"] == 1


def test_each_column_has_a_type():
    """Of all audit tables; what none has is refused."""
    for table in AUDIT_TABLES:
        for _, kind, _ in table.columns:
            assert isinstance(arrow_type(kind), pa.DataType)
    with pytest.raises(KeyError):
        arrow_type("VARIANT")
