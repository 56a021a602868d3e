"""Which records are marked as parts of one row: what is alike, and what is not."""

from __future__ import annotations

import pytest

import lineage
from audit.core.config import load
from audit.record.access_record import Ended, Finding, ObjectVersion, Started, build_row
from audit.record.aggregation import MARK, Aggregation
from lineage import MemoryCatalog

NINE = 1_767_258_000_000_000  # 2026-01-01T09:00:00Z
SECOND = 1_000_000
TABLES = MemoryCatalog(
    {"s.sessions": {"id": "int", "user": "string"}, "s.orders": {"id": "int"}, "cache.a": {"id": "int"}},
    current_schema="s",
)
LOOK_UP = "SELECT user FROM sessions WHERE id = 5"


def record(text=LOOK_UP, *, at=NINE, status="SUCCESS", versions=(), query_id="q1", **started):
    """The record of a statement."""
    access = lineage.analyze(text, TABLES)
    who = {"user_name": "ann", "session_id": "one", "action": "SparkSession.sql"} | started
    begun = Started(
        query_id, at, query_text=text, query_type=lineage.parse(text).statement_type, is_sql=True, **who
    )
    finding = Finding(access, "text", versions) if status == "SUCCESS" else None
    return build_row(begun, Ended(status, at + SECOND), finding)


def mark(*args, tables="s.sessions", **kwargs):
    """The mark of such a record."""
    return Aggregation.of(tables).marked(record(*args, **kwargs)).get(MARK)


@pytest.mark.parametrize(
    "tables", ["s.sessions", " S.Sessions ,x.y", "spark_catalog.s.sessions", "s.*", "*sess*"]
)
def test_tables_are_named_as_records_name_them(tables):
    """With and without their catalog, in any case, by a pattern."""
    assert mark(tables=tables)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("SELECT * FROM orders", "SUCCESS"),
        ("SELECT * FROM sessions JOIN orders USING (id)", "SUCCESS"),
        ("INSERT INTO sessions VALUES (1, 'x')", "SUCCESS"),
        ("INSERT INTO orders SELECT id FROM sessions", "SUCCESS"),
        ("DELETE FROM sessions WHERE id = 1", "SUCCESS"),
        ("DROP TABLE sessions", "SUCCESS"),
        ("CREATE VIEW v AS SELECT * FROM sessions", "SUCCESS"),
        ("SELECT 1", "SUCCESS"),
        ("SELECT * FROM nowhere", "SUCCESS"),
        (LOOK_UP, "FAIL"),
        (LOOK_UP, "DENIED"),
        (LOOK_UP, "INCOMPLETE"),
    ],
)
def test_what_has_a_row_of_its_own(text, status):
    """All that is no successful read of such tables alone."""
    assert mark(text, status=status) is None


def test_a_part_of_another_statement_has_a_row_of_its_own():
    """Its parent names it."""
    assert mark(parent_query_id="q0") is None
    assert mark(tables="") is None


@pytest.mark.parametrize(
    "other",
    [
        {"text": "SELECT user FROM sessions WHERE id = 6"},
        {"text": "select user from SESSIONS where id = 'x' -- again"},
        {"at": NINE + 3599 * SECOND},
        {"query_id": "q2"},
    ],
    ids=["literal", "layout", "minute", "id"],
)
def test_calls_that_are_alike(other):
    """They differ in time, in literals and in layout alone."""
    assert mark(**other)["key"] == mark()["key"]


@pytest.mark.parametrize(
    "other",
    [
        {"text": "SELECT id FROM sessions WHERE id = 5"},
        {"text": "SELECT user FROM sessions WHERE id > 5"},
        {"at": NINE + 3600 * SECOND},
        {"user_name": "bob"},
        {"role_name": "auditor"},
        {"session_id": "two"},
        {"purpose": "billing"},
        {"client_address": "10.0.0.9"},
        {"action": "DataFrame.count"},
        {"versions": (ObjectVersion("spark_catalog.s.sessions", "read", 7, 1),)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_calls_that_are_not_alike(other):
    """Whatever else differs, the rows do."""
    assert mark(**other)["key"] != mark()["key"]


def test_the_text_of_a_mark_has_no_literals():
    """One call's values must not stand for the others'."""
    found = mark("SELECT user FROM sessions WHERE id = 5 AND user = 'eve'")["text"]
    assert "5" not in found
    assert "eve" not in found
    assert lineage.parse(found).query_parameterized_hash == record(found)["query"]["query_parameterized_hash"]


def test_plans_are_alike_without_their_ids():
    """A DataFrame action has no hash: those with the same plan are alike."""
    plan = "DataFrame.collect()\nFilter (id#{0}L = 3)\n+- Relation s.sessions[id#{0}L]"
    one, other, another = (
        Aggregation.of("s.*").marked(
            {**record(), "query": {**_without_hash(), "query_text": plan.format(number).replace("3", asked)}}
        )[MARK]
        for number, asked in (("11", "3"), ("22", "3"), ("11", "4"))
    )
    assert one == other != another


def _without_hash():
    return {name: value for name, value in record()["query"].items() if name != "query_parameterized_hash"}


def test_the_configuration_names_the_tables():
    """By default none."""
    assert load({"root": "/r", "user": "ann"}, environ={}).aggregated_tables == ""
