"""The hash of a record: what shows that a row of the audit was altered by hand.

In: a row, as written to the spool or as read back from the Delta table. Out: SHA-256 in hex, the
same for both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from typing import Any

from audit.core.clock import to_iso, to_micros
from audit.core.json_text import to_json

EXCLUDED = frozenset({"record_hash", "query_date"})
"""Top-level columns outside the hash: itself, and the column that Delta generates."""


def record_hash(row: Mapping[str, Any]) -> str:
    """SHA-256, hex, over the canonical JSON of a row.

    Canonical JSON: keys sorted by code point, no whitespace, UTF-8, characters not escaped but for
    what JSON demands. Fields that are None are left out, at every depth, since a table cannot tell a
    missing field from a null; empty strings, lists and structs stay, and so does None inside a list.
    Timestamps are ISO 8601 in UTC with six digits and Z; one without a zone is taken in the process'
    zone, as PySpark's `collect` gives it. Dates are ISO 8601. `record_hash` and `query_date` are left out.

    Args:
        row: a dict with dicts, lists, PySpark Rows, strings, integers, booleans, times and None.

    Example:
        >>> from audit.core.clock import to_datetime
        >>> written = {"query_id": "q1", "at": "2022-01-25T16:17:47.388000Z", "user_name": None}
        >>> read = {"query_id": "q1", "at": to_datetime(1_643_127_467_388_000), "record_hash": "x"}
        >>> record_hash(written) == record_hash(read)
        True
        >>> record_hash(written)[:8]
        '1eba1033'

    Raises:
        TypeError: a value of another type.
    """
    kept = {key: value for key, value in row.items() if key not in EXCLUDED}
    return hashlib.sha256(to_json(_canonical(kept), sort_keys=True)).hexdigest()


# The hash is made of what a reader of the Delta table sees, so that anybody can verify it.
def _canonical(value: Any) -> Any:
    if value is None or isinstance(value, (str, int)):
        return value
    # Before the test for sequences: PySpark's Row is a tuple.
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, Mapping):
        return {key: _canonical(item) for key, item in value.items() if item is not None}
    # Before the test for dates: a datetime is a date in Python.
    if isinstance(value, datetime):
        return to_iso(to_micros(value.astimezone(timezone.utc)))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_canonical(item) for item in value]
    # A float has many texts, and the JSON writer takes further types (UUID, dataclasses) that a table lacks.
    raise TypeError(f"a record holds no {type(value).__name__}: {value!r}")
