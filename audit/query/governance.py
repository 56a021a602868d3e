"""`object_governance` for DuckDB: the rows that Spark would write, as JSON.

In: the events of governance. Out: the text that DuckDB's `from_json` reads, and the structure that it wants.
pyarrow (26) would import pandas for that, which takes longer than the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import orjson

from audit.policies.history.columns import COLUMNS
from audit.policies.history.rows import governance_rows
from lineage.types import element_type, struct_fields

if TYPE_CHECKING:
    from audit.policies.model.events import GovernanceEvent

_PLAIN = {
    "STRING": "VARCHAR", "BIGINT": "BIGINT", "INT": "INTEGER", "BOOLEAN": "BOOLEAN",
    # Spark's TIMESTAMP is a moment; DuckDB's without a zone is none.
    "TIMESTAMP": "TIMESTAMPTZ",
}  # fmt: skip


def governance_json(events: Iterable[GovernanceEvent]) -> str:
    """The rows that events lead to, oldest first: a list of objects.

    >>> governance_json([])[:42]
    '[{"kind":"ROLE","created_on":"1970-01-01T0'

    Raises:
        GovernanceError: an event is of a newer version.
    """
    fields = {name: [field for field, _ in struct_fields(kind)] for name, kind, _ in COLUMNS}
    rows = [
        {
            name: dict(zip(fields[name], value, strict=True)) if fields[name] and value is not None else value
            for (name, _, _), value in zip(COLUMNS, row, strict=True)
        }
        for row in governance_rows(events)
    ]
    return orjson.dumps(rows).decode()


def structure() -> str:
    """The structure of these rows, in DuckDB's types.

    >>> structure()[:55]
    '[{"kind":"VARCHAR","created_on":"TIMESTAMPTZ","deleted_'
    """
    return orjson.dumps([{name: _structure(kind) for name, kind, _ in COLUMNS}]).decode()


def _structure(kind: str) -> Any:
    if fields := struct_fields(kind):
        return {name: _structure(inner) for name, inner in fields}
    element = element_type(kind)
    return _PLAIN[kind] if element is None else [_structure(element)]
