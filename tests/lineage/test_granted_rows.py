"""BigQuery's row access policies, read from text."""

from __future__ import annotations

import pytest

import lineage
from lineage import MemoryCatalog
from lineage.model import Domain
from lineage.sql.commands.command import Change

CREATE = (
    "CREATE OR REPLACE ROW ACCESS POLICY IF NOT EXISTS p ON s.t"
    " GRANT TO ('user:a@b', 'group:g') FILTER USING (region IN ('us') AND (x > 1))"
)


def test_create():
    """Its table, those it is granted to, its filter."""
    command = lineage.parse(CREATE).command
    assert (command.kind, command.target, command.on) == ("CREATE_ROW_ACCESS_POLICY", ("p",), ("s", "t"))
    assert command.grantees == ("user:a@b", "group:g")
    assert command.policy.body == "region IN ('us') AND (x > 1)"
    assert (command.replace, command.if_clause) == (True, True)


def test_drop():
    """One, or all of a table's."""
    command = lineage.parse("DROP ROW ACCESS POLICY IF EXISTS p ON t").command
    assert (command.kind, command.on, command.if_clause) == ("DROP_ROW_ACCESS_POLICY", ("t",), True)
    command = lineage.parse("DROP ALL ROW ACCESS POLICIES ON t").command
    assert command.changes == (Change("DROP", Domain.ROW_ACCESS_POLICY),)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE ROW ACCESS POLICY p ON t",
        "CREATE ROW ACCESS POLICY p ON t GRANT TO () FILTER USING (true)",
        "CREATE ROW ACCESS POLICY p ON t FILTER USING (true) more",
        "CREATE ROW ACCESS POLICY a.p ON t FILTER USING (true)",
        "DROP ROW ACCESS POLICY p ON",
    ],
)
def test_half_a_statement_is_none(text):
    """Spark refuses it."""
    assert lineage.parse(text).command is None


def test_on_record():
    """The policy belongs to its table."""
    catalog = MemoryCatalog({"s.t": {"region": "string", "x": "int"}})
    ddl = lineage.trace(lineage.parse(CREATE.replace(" IF NOT EXISTS", "")), catalog).to_dict()
    ddl = ddl["object_modified_by_ddl"]
    assert (ddl["objectName"], ddl["operationType"]) == ("spark_catalog.s.t.p", "REPLACE")
    assert ddl["properties"]["grantees"]["group:g"] == {"subOperationType": "ADD"}


def test_filters_of_a_catalog():
    """A catalog is told them as DDL; what the filter reads shapes the rows, whoever they are granted to."""
    catalog = MemoryCatalog({"s.t": {"region": "string", "x": "int"}}, attached=[CREATE])
    access = lineage.analyze("SELECT count(*) FROM s.t", catalog)
    assert [one["policies"][0]["policyName"] for one in access.policies_referenced] == ["spark_catalog.s.t.p"]
    assert [one.column_name for one in access.columns[0].indirect_sources] == ["region", "x"]
