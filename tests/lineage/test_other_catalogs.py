"""Catalogs that are no `MemoryCatalog`: plain ones, governed ones, and views over DataFrames."""

from __future__ import annotations

import pytest

from lineage import MemoryCatalog, analyze, analyze_script
from lineage.catalog.protocol import governed, schema_exists, version_of
from lineage.model import (
    Access,
    AccessedObject,
    Attachment,
    Column,
    ColumnRef,
    Domain,
    Function,
    OutputColumn,
    Policy,
    Relation,
)

T = Relation("c.s.t", columns=(Column("a", "int"), Column("b", "int"), Column("z", "int")))
U = Relation("c.s.u", columns=(Column("x", "int"),))


class Plain:
    """What the protocol asks for and no more: relations by their last name."""

    current = ("c", "s")

    def __init__(self, *relations, functions=()):
        self.relations = {one.name.rpartition(".")[2]: one for one in relations}
        self.functions = {one.name.rpartition(".")[2]: one for one in functions}

    def relation(self, parts, current=None):
        """By the last part."""
        del current
        return self.relations.get(parts[-1].lower())

    def path(self, provider, location):
        """Always a stage."""
        del provider
        return Relation(location, Domain.STAGE, location=location)

    def function(self, parts, current=None):
        """By the last part."""
        del current
        return self.functions.get(parts[-1].lower())


class Governed(Plain):
    """A catalog with policies of its own, such as a session's."""

    def __init__(self, *relations, attached=()):
        super().__init__(*relations)
        self.attached = dict(attached)

    def policies(self, relation):
        """By the name of the relation."""
        return self.attached.get(relation.name, ())

    def governance_id(self, domain, name):
        """One id for all that it knows."""
        known = {one.policy.name for all_of in self.attached.values() for one in all_of}
        return 77 if domain is not Domain.TAG and name in known else None

    def tagged(self, relation, column, tag):
        """It has no tags."""
        del relation, column, tag
        return False


def base(column):
    """The base sources of a column."""
    return [f"{ref.object_name}.{ref.column_name}" for ref in column.base_sources]


def test_a_plain_catalog_has_no_version_no_schemas_and_no_policies():
    """Each is asked for only where it is there."""
    assert version_of(Plain()) is governed(Plain()) is schema_exists(Plain(), ("s",)) is None
    memory = MemoryCatalog({"s.t": ["a"]})
    assert version_of(memory) is memory.version
    assert governed(memory) is memory
    assert schema_exists(memory, ("s",)) is True


def test_a_script_runs_over_a_plain_catalog():
    """Tables, views, functions and policies that it makes are known to later statements."""
    accesses = analyze_script(
        "CREATE TABLE n AS SELECT a FROM t; CREATE VIEW v AS SELECT a + 1 AS y FROM n;"
        "CREATE FUNCTION f(i INT) RETURNS INT RETURN i; CREATE SCHEMA IF NOT EXISTS other;"
        "CREATE MASKING POLICY hide AS (val INT) RETURNS INT -> 0;"
        "ALTER TABLE n ALTER COLUMN a SET MASKING POLICY hide; SELECT f(y) AS one FROM v",
        Plain(T),
    )
    assert [access.analysis for access in accesses] == ["full"] * 7
    assert accesses[3].object_modified_by_ddl.operation_type == "CREATE"
    last = accesses[-1]
    assert [o.name for o in last.direct_objects_accessed] == ["c.s.v", "c.s.f"]
    assert [o.name for o in last.base_objects_accessed] == ["c.s.n"]
    assert base(last.columns[0]) == []
    assert [p["objectName"] for p in last.policies_referenced] == ["c.s.n"]


MASK = Policy("c.p.mask", Domain.MASKING_POLICY, "val % 2", (Column("val", "INT"),), 5, "INT")
ROWS = Policy("c.p.rows", Domain.ROW_ACCESS_POLICY, "n > 1", (Column("n", "INT"),), 6, "BOOLEAN")


def test_a_clone_takes_the_policies_that_another_catalog_knows():
    """The masked column and the filtered rows of the source are those of the clone, too."""
    catalog = Governed(T, attached={"c.s.t": (Attachment(MASK, ("a",)), Attachment(ROWS, ("z",)))})
    *_, clone, source = analyze_script("CREATE TABLE n CLONE t; SELECT a, b FROM n; SELECT b FROM t", catalog)
    assert [(p["objectName"], "columns" in p, "policies" in p) for p in clone.policies_referenced] == [
        ("c.s.n", True, True)
    ]
    assert [[ref.column_name for ref in c.indirect_sources] for c in clone.columns] == [["z"], ["z"]]
    assert [(p["objectName"], "columns" in p) for p in source.policies_referenced] == [("c.s.t", False)]


def test_a_script_adds_to_the_policies_that_another_catalog_knows():
    """What was in force stays in force beside what the script sets."""
    catalog = Governed(T, attached={"c.s.t": (Attachment(ROWS, ("z",)),)})
    *_, read = analyze_script(
        "CREATE MASKING POLICY hide AS (val INT) RETURNS INT -> 0;"
        "ALTER TABLE t ALTER COLUMN a SET MASKING POLICY hide; SELECT a FROM t",
        catalog,
    )
    (entry,) = read.policies_referenced
    assert [p["policyName"] for p in entry["policies"]] == ["c.p.rows"]
    assert [p["policyName"] for c in entry["columns"] for p in c["policies"]] == ["c.s.hide"]


def test_a_policy_over_a_column_that_the_table_lacks_is_partial():
    """The reason names the column and the table."""
    catalog = Governed(T, attached={"c.s.t": (Attachment(ROWS, ("gone",)),)})
    access = analyze("SELECT a FROM t", catalog)
    assert (access.analysis, access.reason) == ("partial", "column gone of a policy on c.s.t")


def test_a_dropped_policy_is_asked_by_its_id():
    """IF NOT EXISTS of a policy that another catalog has does nothing."""
    catalog = Governed(T, attached={"c.s.t": (Attachment(ROWS, ("z",)),)})
    create = "CREATE ROW ACCESS POLICY IF NOT EXISTS {} AS (n INT) RETURNS BOOLEAN -> n > 1"
    assert analyze(create.format("p.rows"), catalog).object_modified_by_ddl is None
    assert analyze(create.format("p.other"), catalog).object_modified_by_ddl.operation_type == "CREATE"
    assert analyze("DROP ROW ACCESS POLICY p.rows", catalog).object_modified_by_ddl.object_id == 77


# -- views over DataFrames ---------------------------------------------------------------------


def frame(analysis="full", reason=None, **columns):
    """A temporary view over a DataFrame, its columns with their sources."""
    outs = tuple(
        OutputColumn(name, refs, refs, (ColumnRef("c.s.t", "z"),))
        for name, refs in (
            (n, tuple(ColumnRef(*path.rsplit(".", 1)) for path in p)) for n, p in columns.items()
        )
    )
    read = (AccessedObject("c.s.t", Domain.TABLE, columns=T.columns),)
    access = Access("SELECT", read, read, columns=outs, analysis=analysis, reason=reason)
    return Relation(
        "df", Domain.VIEW, columns=tuple(map(Column, columns)), view_access=access, temporary=True
    )


def test_a_view_over_a_dataframe_stands_for_its_sources():
    """What shaped its rows shapes the query's; an object that its record lacks is named all the same."""
    access = analyze("SELECT p + q AS s FROM df", Plain(frame(p=["c.s.t.a"], q=["c.s.other.k"])))
    assert access.analysis == "full"
    assert base(access.columns[0]) == ["c.s.t.a", "c.s.other.k"]
    assert [ref.column_name for ref in access.columns[0].indirect_sources] == ["z", "b"]
    assert [o.name for o in access.base_objects_accessed] == ["c.s.t", "c.s.other"]


@pytest.mark.parametrize(("reason", "said"), [("unknown operator X", "unknown operator X"), (None, "opaque")])
def test_a_view_over_a_dataframe_that_was_not_understood_is_partial(reason, said):
    """With the reason of its plan, and the view's name."""
    analysis = "partial" if reason else "opaque"
    access = analyze("SELECT p FROM df", Plain(frame(analysis, reason, p=["c.s.t.a"])))
    assert (access.analysis, access.reason) == ("partial", f"view df: {said}")


# -- functions ---------------------------------------------------------------------------------


def of_function(sql, **fields):
    """A query over a function f of two parameters."""
    function = Function("c.s.f", 9, (Column("n", "INT"), Column("m", "INT")), **fields)
    return analyze(sql, Plain(T, U, functions=[function]))


@pytest.mark.parametrize(
    ("body", "sources"),
    [
        ("n + m", ["c.s.t.a", "c.s.t.b"]),
        ("RETURN n", ["c.s.t.a"]),
        ("return m", ["c.s.t.b"]),
        ("f.n", ["c.s.t.a"]),
        ("(SELECT max(x) FROM u)", ["c.s.u.x"]),
        ("SELECT n + max(x) FROM u", ["c.s.t.a", "c.s.u.x"]),
        ("7", []),
    ],
)
def test_a_sql_function_is_made_of_what_its_body_reads(body, sources):
    """Its arguments are direct sources, the function is a direct object alone."""
    access = of_function("SELECT f(a, b) AS z FROM t", body=body)
    assert access.analysis == "full"
    assert base(access.columns[0]) == sources
    assert [ref.column_name for ref in access.columns[0].direct_sources] == ["a", "b"]
    assert [o.name for o in access.direct_objects_accessed] == ["c.s.t", "c.s.f"]
    assert "c.s.f" not in [o.name for o in access.base_objects_accessed]


def test_a_parameter_that_a_call_leaves_out_reads_nothing():
    """It has its default, which is a constant."""
    access = of_function("SELECT f(a) AS z FROM t", body="n + m")
    assert (access.analysis, base(access.columns[0])) == ("full", ["c.s.t.a"])


def test_a_body_that_is_no_sql_is_partial():
    """The reason names the function."""
    access = of_function("SELECT f(a, b) AS z FROM t", body="n + + (")
    assert (access.analysis, access.reason) == ("partial", "body of function c.s.f")


def test_a_function_that_calls_itself_ends():
    """With a reason, not with a crash."""
    assert of_function("SELECT f(a, b) AS z FROM t", body="f(n, m)").analysis in ("partial", "opaque")


def test_a_table_function_in_another_language_makes_each_column_of_each_argument():
    """RETURNS TABLE names its columns; it is a direct and a base object."""
    table = {"data_type": "struct<p:int,q:int>", "is_table": True}
    access = of_function("SELECT q, p FROM t, LATERAL f(a, b)", **table)
    assert access.analysis == "full"
    assert [(c.name, base(c)) for c in access.columns] == [
        ("q", ["c.s.t.a", "c.s.t.b"]),
        ("p", ["c.s.t.a", "c.s.t.b"]),
    ]
    for objects in (access.direct_objects_accessed, access.base_objects_accessed):
        assert [o.name for o in objects] == ["c.s.t", "c.s.f"]


def test_a_table_function_of_unknown_columns_is_partial():
    """Without a type nobody knows what it yields."""
    access = of_function("SELECT * FROM f(1, 2)", is_table=True)
    assert access.analysis == "partial"
    assert "table function f" in access.reason
