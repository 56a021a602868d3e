"""The columnLineage facet of what a statement wrote.

In: rows of column_lineage about what the statement names. Out: the facet, of version 1-2-0: DIRECT where a
value went into a column, INDIRECT where a column shaped one (`fields`) or all of them (`dataset`).
"""

from __future__ import annotations

from collections.abc import Iterator

from audit.exchange.history import RecordedStatement, Row
from audit.exchange.names import DatasetNames
from audit.exchange.openlineage.facets import Json, facet

_MASKS = "MASKING_POLICY"


def column_lineage(statement: RecordedStatement, target: str, names: DatasetNames) -> Json | None:
    """The facet of one target; None where no column of it has a source.

    Args:
        statement: as recorded.
        target: its name on record.
        names: gives the datasets.
    """
    rows = [row for row in statement.columns if row["target_object_name"] == target]
    if not rows:
        return None
    masked = frozenset(_masked(statement))
    fields: dict[str, dict[tuple[str, str, str], Json]] = {}
    whole: dict[tuple[str, str, str], Json] = {}
    for row in rows:
        column = row["target_column_name"]
        inputs = whole if column is None else fields.setdefault(column, {})
        _add(inputs, row, names, is_masked=_key(row) in masked)
    body: Json = {
        "fields": {column: {"inputFields": list(inputs.values())} for column, inputs in fields.items()}
    }
    if whole:
        body["dataset"] = list(whole.values())
    return facet("ColumnLineageDatasetFacet", **body)


def _add(inputs: dict[tuple[str, str, str], Json], row: Row, names: DatasetNames, *, is_masked: bool) -> None:
    named = names.dataset(row["source_object_name"])
    key = (named.namespace, named.name, row["source_column_name"])
    made = {"namespace": key[0], "name": key[1], "field": key[2], "transformations": []}
    steps = inputs.setdefault(key, made)["transformations"]
    if row["is_indirect"]:
        # Whether it filters, joins or sorts is not on record; the subtype may be left out.
        step: Json = {"type": "INDIRECT", "masking": is_masked}
    else:
        step = {"type": "DIRECT", "subtype": row["transformation"], "masking": is_masked}
    if step not in steps:
        steps.append(step)


def _key(row: Row) -> tuple[str, str]:
    """Policies are on columns; of a struct's field the column is the first part."""
    return row["source_object_name"], row["source_column_name"]


def _masked(statement: RecordedStatement) -> Iterator[tuple[str, str]]:
    """The columns whose values a masking policy has changed, or may have."""
    for access in statement.accesses:
        for one in access.get("policies_referenced") or ():
            for column in one["columns"] or ():
                policies = column["policies"] or ()
                if any(p["policyKind"] == _MASKS and p["changedResult"] is not False for p in policies):
                    yield one["objectName"], column["columnName"]
