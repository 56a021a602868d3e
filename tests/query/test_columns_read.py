"""The view columns_read against a model: what each record says, one row for each column."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta

import pytest

from audit.query.tables import opened

from .roots import make_root

NOON = datetime(2026, 11, 21, 12)  # noqa: DTZ001 - UTC, as all of the audit's


@pytest.fixture(scope="module")
def records():
    """Any accesses: objects on both sides, with the same columns or others, or none, or nothing at all.

    An object stands once in a list; a function may be called as a table is.
    """
    chance = random.Random(5)  # noqa: S311 - a test's own
    known = (("Table", "t"), ("Table", "u"), ("VIEW", "v"), ("FUNCTION", "t"))

    def objects():
        found = [
            {
                "objectDomain": domain,
                "objectId": None if name == "u" and chance.random() < 0.5 else ord(name),
                "objectName": name,
                "columns": chance.choice((
                    None, [], [{"columnId": 1, "columnName": "a"}],
                    [{"columnId": 1, "columnName": "a"}, {"columnId": None, "columnName": "b"}],
                    [{"columnId": None, "columnName": "b"}, {"columnId": 1, "columnName": "a"}],
                    [{"columnId": 2, "columnName": "a"}, {"columnId": 1, "columnName": "b"}],
                )),
                "location": chance.choice((None, None, "file:/x")),
            }
            for domain, name in chance.sample(known, chance.randint(0, len(known)))
        ]  # fmt: skip
        return found or chance.choice((None, []))

    return [
        {
            "query_id": f"q{number}", "user_name": "ann",
            "query_start_time": NOON + timedelta(seconds=number),
            "direct_objects_accessed": objects(), "base_objects_accessed": objects(),
        }
        for number in range(400)
    ]  # fmt: skip


def modelled(record):
    """The rows of a record: which sides have the column."""
    sides = {}
    for side in ("direct", "base"):
        for one in record[f"{side}_objects_accessed"] or ():
            known = (record["query_id"], one["objectDomain"], one["objectName"], one["objectId"])
            for column in one["columns"] or [{"columnName": None, "columnId": None}]:
                sides.setdefault((*known, column["columnName"], column["columnId"]), set()).add(side)
    return [(*key, "direct" in found, "base" in found) for key, found in sides.items()]


def test_a_row_for_each_column(tmp_path, records):
    """Once, with both flags, whatever else of the object differs on both sides."""
    root = make_root(tmp_path, {"access_history": records})
    with opened(root) as tables:
        found = tables.ask(
            "SELECT query_id, object_domain, object_name, object_id, column_name, column_id, is_direct,"
            " is_base FROM account_usage.columns_read", {},
        ).rows  # fmt: skip
    wanted = Counter(row for record in records for row in modelled(record))
    assert Counter(map(tuple, found)) == wanted
    assert {row[-2:] for row in wanted} == {(True, True), (True, False), (False, True)}
