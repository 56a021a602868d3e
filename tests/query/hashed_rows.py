"""Rows that a hash is made of, with whatever a row can hold."""

from __future__ import annotations

from datetime import datetime, timezone

from hypothesis import strategies as st

_COLUMNS = "ARRAY<STRUCT<name: STRING, a: BOOLEAN>>"
KINDS = {
    "query_id": "STRING",
    "at": "TIMESTAMP",
    "flag": "BOOLEAN",
    "small": "INT",
    "record_hash": "STRING",
    "Names": "ARRAY<STRING>",
    "objects": f"ARRAY<STRUCT<objectName: STRING, id: BIGINT, columns: {_COLUMNS}>>",
    "ddl": "STRUCT<text: STRING, n: STRUCT<x: BIGINT>>",
}
"""The columns of a row, with their types."""
_TEXT = st.none() | st.text(st.characters(codec="utf-8"), max_size=6)
_FLAG = st.none() | st.booleans()
_LONG = st.none() | st.integers(-(2**63), 2**63 - 1)
_COLUMN = st.none() | st.fixed_dictionaries({"name": _TEXT, "a": _FLAG})
_OBJECT = st.none() | st.fixed_dictionaries(
    {"objectName": _TEXT, "id": _LONG, "columns": st.none() | st.lists(_COLUMN, max_size=2)}
)
_INNER = st.none() | st.fixed_dictionaries({"x": _LONG})
_ROW = st.fixed_dictionaries(
    {
        "query_id": _TEXT,
        "at": st.none() | st.datetimes(timezones=st.just(timezone.utc)),
        "flag": _FLAG,
        "small": st.none() | st.integers(-(2**31), 2**31 - 1),
        "Names": st.none() | st.lists(_TEXT, max_size=3),
        "objects": st.none() | st.lists(_OBJECT, max_size=2),
        "ddl": st.none() | st.fixed_dictionaries({"text": _TEXT, "n": _INNER}),
    }
)
ROWS = st.lists(_ROW, min_size=1, max_size=5)
"""Any rows."""
_HOSTILE = {
    "query_id": "".join(map(chr, range(0x20))),
    "at": datetime(999, 1, 1, tzinfo=timezone.utc),
    "flag": False,
    "small": 0,
    "Names": ["", None, "\\", '"', "\\u001f\x1f", "\x7f\x80\u2028é\U0001f600", "{},[]:'`%"],
    "objects": [],
    "ddl": {"text": None, "n": {"x": None}},
}
HOSTILE = [
    _HOSTILE,
    dict.fromkeys(_HOSTILE),
    {**_HOSTILE, "Names": [], "ddl": {"text": "\t\\t", "n": None}, "objects": [None]},
]
"""Controls, quotes, back-slashes, nulls at every depth, empty lists, an early year."""
