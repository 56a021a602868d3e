"""What the views say of themselves: the question, an example, each column with its type and its unit."""

from __future__ import annotations

import pytest

from audit.core.errors import QueryFailed
from audit.query.tables import opened
from audit.store.tables import AUDIT_TABLES
from audit.store.views import VIEWS, description
from docs._build.reference import view_types
from lineage.types import simple_type

from .roots import add_storage, make_root

TYPES = view_types()
UNITS = {
    "bytes": "bytes",
    "elapsed": "milliseconds",
    "duration_ms": "",
    "retention_time": "days",
    "days": "days",
    "percent": "percent",
    "duration": "seconds",
}
"""By a part of a column's name, the word of its meaning. `_ms` is one itself."""


@pytest.mark.parametrize("view", VIEWS)
def test_each_says_what_it_answers(view):
    """A question of one sentence, what a row is, and an example that asks it."""
    said = description(view)
    assert said.question.endswith("?")
    assert ". " not in said.question
    assert said.about.endswith(".")
    assert f"FROM account_usage.{view}" in said.example


@pytest.mark.parametrize("view", VIEWS)
def test_each_column_is_documented(view):
    """All of them, in their order; a time says its zone, an amount its unit."""
    columns = description(view).columns
    assert list(columns) == list(TYPES[view])
    for name, kind in TYPES[view].items():
        said = columns[name]
        if kind in {"timestamp", "date"}:
            assert "UTC" in said or "NULL" in said, name
        if kind in {"bigint", "int", "double"} and not said.startswith("NULL"):
            unit = next((one for part, one in UNITS.items() if part in name), "")
            assert unit in said.lower(), (name, said)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Nothing on record."""
    made = make_root(tmp_path_factory.mktemp("root"), {})
    add_storage(made, [])
    return made


def ask(root, text, schema="account_usage"):
    """The rows."""
    with opened(root, schema) as tables:
        return tables.ask(text, {}).rows


def test_describe(root):
    """As Spark says it, however it is written, in any schema."""
    found = ask(root, "DESCRIBE account_usage.tables")
    assert found[0] == ("table_id", "bigint", "As objectId in access_history; survives a rename")
    assert [(name, kind) for name, kind, _ in found] == [*TYPES["tables"].items()]
    assert ask(root, "describe table `other`.TABLES", "other") == found
    assert ask(root, "-- Which columns?\nDESCRIBE account_usage.tables") == found


def test_describe_a_table(root):
    """Types are those that Spark made it with."""
    for table in AUDIT_TABLES:
        found = {name: (kind, said) for name, kind, said in ask(root, f"DESC account_usage.{table.name}")}
        assert found.pop("query_date") == ("date", "Partition: the day (UTC)")
        assert found == {name: (simple_type(kind), said) for name, kind, said in table.columns}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DESCRIBE account_usage.table", "there is no table or view table .*near it: tables"),
        ("DESCRIBE account_usage.columns", "account_usage.columns is not there yet"),
        ("DESCRIBE elsewhere.tables", "DESCRIBE is no query"),
        (
            "DESCRIBE query_history",
            "query_history is in the schema account_usage; DESCRIBE account_usage.query_h",
        ),
        ("DESCRIBE other.account_usage.tables", "DESCRIBE is no query"),
        ("DESCRIBE FUNCTION account_usage.tables", "DESCRIBE is no query"),
        ("DESCRIBE HISTORY account_usage.tables", "DESCRIBE is no query"),
        ("DESCRIBE account_usage.tables WHERE", "mistake"),
    ],
)
def test_what_cannot_be_described(root, text, said):
    """It is named."""
    with pytest.raises(QueryFailed, match=said):
        ask(root, text)
