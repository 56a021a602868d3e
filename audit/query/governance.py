"""`object_governance` for DuckDB: the rows that Spark would write, as an Arrow table.

In: the events of governance. Out: the table, with the types that its columns have in Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from audit.policies.history.columns import COLUMNS
from audit.policies.history.rows import governance_rows
from lineage.types import element_type, struct_fields

if TYPE_CHECKING:
    from audit.policies.model.events import GovernanceEvent


def governance_table(events: Iterable[GovernanceEvent]) -> Any:
    """The rows of events, oldest first, as an Arrow table.

    >>> table = governance_table([])
    >>> table.column_names[:3], table.num_rows
    (['kind', 'created_on', 'deleted_on'], 2)

    Raises:
        GovernanceError: an event is of a newer version.
    """
    import pyarrow as pa

    # The two roles that every root has are rows in any case.
    columns = zip(*governance_rows(events), strict=True)
    arrays = [
        pa.array(values, arrow_type(kind)) for values, (_, kind, _) in zip(columns, COLUMNS, strict=True)
    ]
    return pa.table(arrays, names=[name for name, _, _ in COLUMNS])


def arrow_type(kind: str) -> Any:
    """The Arrow type of a type of Spark's SQL.

    >>> str(arrow_type("STRUCT<a: ARRAY<STRING>, b: TIMESTAMP>"))
    'struct<a: list<item: string>, b: timestamp[us, tz=UTC]>'
    """
    import pyarrow as pa

    if fields := struct_fields(kind):
        return pa.struct([(name, arrow_type(inner)) for name, inner in fields])
    element = element_type(kind)
    if element is not None:
        return pa.list_(arrow_type(element))
    plain = {
        "STRING": pa.string(), "BIGINT": pa.int64(), "INT": pa.int32(), "BOOLEAN": pa.bool_(),
        # Spark's TIMESTAMP is a moment; without a zone Arrow's would be none.
        "TIMESTAMP": pa.timestamp("us", "UTC"),
    }  # fmt: skip
    return plain[kind]
