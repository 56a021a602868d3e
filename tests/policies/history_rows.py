"""Rows of `object_governance` by the names of their columns, and as they were at a moment."""

from __future__ import annotations

from types import SimpleNamespace

from audit.core.clock import to_datetime
from audit.policies.history.columns import COLUMNS
from audit.policies.history.rows import governance_rows
from lineage.types import struct_fields


def all_rows(events, kind):
    """The rows of a kind, each with its fields, created_on and deleted_on."""
    place, of_kind = next((at, one[1]) for at, one in enumerate(COLUMNS) if one[0] == kind.lower())
    names = [name for name, _ in struct_fields(of_kind)]
    return [
        SimpleNamespace(
            **dict(zip(names, row[place], strict=True)), created_on=row[1], deleted_on=row[2]
        )
        for row in governance_rows(events)
        if row[0] == kind
    ]  # fmt: skip


def at(rows, moment):
    """Those that held at a moment, in UTC microseconds."""
    when = to_datetime(moment)
    return [
        row for row in rows if row.created_on <= when and (row.deleted_on is None or row.deleted_on > when)
    ]


def micros(row):
    """From when to when a row held; None for what still does."""
    begin, end = (one and round(one.timestamp() * 1_000_000) for one in (row.created_on, row.deleted_on))
    return begin, end
