"""DDL as Spark and Delta plan it: `object_modified_by_ddl` by command, and what touches no data. No Spark."""

from __future__ import annotations

import pytest

from lineage.model import Column, Domain
from lineage.plan import ColumnChange, Leaf, Target
from tests.plan.trees import access, alias, attribute, equal, literal, node, project, table, target

T = table("t", a=1, b=2)
A, B = attribute("a", 1), attribute("b", 2)


def defined(found):
    """The operation, domain and name of a DDL, None where there is none."""
    ddl = found.object_modified_by_ddl
    return ddl and f"{ddl.operation_type} {ddl.domain.value} {ddl.name}"


def properties(found):
    """The properties of a DDL."""
    return found.object_modified_by_ddl.properties


@pytest.mark.parametrize(
    ("kind", "fields", "statement", "ddl"),
    [
        ("CreateTable", {}, "CREATE_TABLE", "CREATE Table c.s.x"),
        ("CreateDataSourceTableCommand", {}, "CREATE_TABLE", "CREATE Table c.s.x"),
        ("CreateTableLikeCommand", {}, "CREATE_TABLE", "CREATE Table c.s.x"),
        ("ReplaceTable", {}, "CREATE_TABLE", "REPLACE Table c.s.x"),
        ("CreateNamespace", {}, "CREATE_SCHEMA", "CREATE SCHEMA c.s.x"),
        ("DropDatabaseCommand", {}, "DROP_SCHEMA", "DROP SCHEMA c.s.x"),
        ("SetNamespaceProperties", {}, "ALTER_SCHEMA", "ALTER SCHEMA c.s.x"),
        ("DropTable", {}, "DROP_TABLE", "DROP Table c.s.x"),
        ("DropTableCommand", {"isView": True}, "DROP_VIEW", "DROP VIEW c.s.x"),
        ("DropView", {}, "DROP_VIEW", "DROP VIEW c.s.x"),
        ("AlterTableRenameCommand", {}, "RENAME_TABLE", "ALTER Table c.s.x"),
        ("AlterTableRenameCommand", {"isView": True}, "RENAME_VIEW", "ALTER VIEW c.s.x"),
        ("AddColumns", {}, "ALTER_TABLE", "ALTER Table c.s.x"),
        ("AlterTableSetPropertiesCommand", {"isView": True}, "ALTER_VIEW", "ALTER VIEW c.s.x"),
        ("SetViewProperties", {}, "ALTER_VIEW", "ALTER VIEW c.s.x"),
    ],
)
def test_a_command_is_one_operation_on_its_object(kind, fields, statement, ddl):
    """Statement types are those of Snowflake's QUERY_TYPE; a flag tells a view from a table."""
    found = access([node(kind, **fields)], target(kind, "x"))
    assert (found.statement_type, defined(found)) == (statement, ddl)
    assert (found.direct_objects_accessed, found.objects_modified) == ((), ())


@pytest.mark.parametrize(
    ("kind", "flag", "existed", "recorded"),
    [
        ("CreateTable", "ignoreIfExists", True, False),
        ("CreateTable", "ignoreIfExists", False, True),
        ("CreateTable", "ignoreIfExists", None, True),
        ("CreateNamespace", "ifNotExists", True, False),
        ("CreateNamespace", None, True, True),
        ("DropTable", "ifExists", False, False),
        ("DropTable", "ifExists", True, True),
        ("DropTable", None, False, True),
        ("DropDatabaseCommand", "ifExists", False, False),
    ],
)
def test_a_command_that_did_nothing_defines_nothing(kind, flag, existed, recorded):
    """IF [NOT] EXISTS: only creating or modifying an object is recorded; unknown is taken for done."""
    fields = {flag: True} if flag else {}
    found = access([node(kind, **fields)], target(kind, "x", existed=existed))
    assert (found.object_modified_by_ddl is not None) is recorded


def test_a_new_table_adds_its_columns_with_their_ids():
    """The access-history document: column name, column identifier, subOperationType ADD."""
    goal = target("CreateTable", "x", "a", "b")
    assert properties(access([node("CreateTable")], goal)) == {
        "columns": {"a": {"subOperationType": "ADD"}, "b": {"subOperationType": "ADD"}}
    }
    numbered = Leaf("CreateTable", name="c.s.x", columns=(Column("a", "int", 7),))
    found = access([node("CreateTable")], Target(numbered))
    assert properties(found) == {"columns": {"a": {"objectId": {"value": 7}, "subOperationType": "ADD"}}}


@pytest.mark.parametrize(
    ("kind", "more", "expected"),
    [
        (
            "AddColumns",
            {"changes": (ColumnChange("ADD", "n"), ColumnChange("ADD", "m"))},
            {"columns": {"n": {"subOperationType": "ADD"}, "m": {"subOperationType": "ADD"}}},
        ),
        (
            "DropColumns",
            {"changes": (ColumnChange("DROP", "n"),)},
            {"columns": {"n": {"subOperationType": "DROP"}}},
        ),
        (
            "RenameColumn",
            {"changes": (ColumnChange("ALTER", "n"),), "new_name": "m"},
            {"columns": {"n": {"subOperationType": "ALTER", "objectName": {"value": "m"}}}},
        ),
        ("RenameTable", {"new_name": "y"}, {"objectName": {"value": "c.s.y"}}),
        ("RenameTable", {"new_name": "r.y"}, {"objectName": {"value": "c.r.y"}}),
        ("RenameTable", {"new_name": "d.r.y"}, {"objectName": {"value": "d.r.y"}}),
        (
            "CreateTableLikeCommand",
            {"source": "c.s.t"},
            {
                "creationMode": {"value": "LIKE"},
                "creationSource": {"objectName": "c.s.t", "objectDomain": "Table"},
            },
        ),
        ("SetTableProperties", {}, {}),
    ],
)
def test_properties_say_what_was_changed(kind, more, expected):
    """Columns with their operation, the new name of a column or a table, the source of LIKE."""
    assert properties(access([node(kind)], target(kind, "x", **more))) == expected


@pytest.mark.parametrize("kind", ["DropTable", "DropNamespace", "CreateNamespace", "SetNamespaceLocation"])
def test_drops_and_schemas_have_no_properties(kind):
    """The access-history document: "Snowflake does not record properties for these operations"."""
    goal = target(kind, "x", "a", changes=(ColumnChange("ADD", "a"),))
    assert properties(access([node(kind)], goal)) == {}


def test_a_ddl_whose_object_nobody_names_is_partial():
    """It is of its type, and says that its target is not known."""
    found = access([node("DropTable")], full=False)
    assert (found.statement_type, found.analysis) == ("DROP_TABLE", "partial")
    assert found.reason == "DropTable: its target is not known"


def test_an_external_table_of_another_format_has_its_own_domain():
    """An external Delta table has its own log, and is a table."""
    leaf = Leaf("DropTable", name="c.s.x", external=True)
    assert defined(access([node("DropTable")], Target(leaf))) == "DROP EXTERNAL TABLE c.s.x"
    delta = Leaf("DropTable", name="c.s.x", external=True, table_id="f00")
    assert defined(access([node("DropTable")], Target(delta))) == "DROP Table c.s.x"


# -- views -------------------------------------------------------------------------------------


QUERY = [project([A], alias("z", 9, B)), node("Filter", 1, condition=equal(B, literal("1"))), T]


@pytest.mark.parametrize(
    ("kind", "fields", "ddl"),
    [
        ("CreateViewCommand", {"plan": QUERY, "replace": False}, "CREATE VIEW c.s.v"),
        ("CreateViewCommand", {"plan": QUERY, "replace": True}, "REPLACE VIEW c.s.v"),
        ("AlterViewAsCommand", {"query": QUERY}, "ALTER VIEW c.s.v"),
    ],
)
def test_a_view_is_defined_and_reads_nothing(kind, fields, ddl):
    """What its query would read stands in the definition alone."""
    found = access([node(kind, **fields)], target(kind, "v"))
    assert defined(found) == ddl
    assert (found.direct_objects_accessed, found.base_objects_accessed, found.objects_modified) == (
        (),
        (),
        (),
    )
    assert list(properties(found)["columns"]) == ["a", "z"]
    assert [item.name for item in found.defines.base_objects] == ["c.s.t"]
    assert {c.name: [r.column_name for r in c.base_sources] for c in found.defines.view.columns} == {
        "a": ["a"],
        "z": ["b"],
    }
    assert [ref.column_name for ref in found.defines.view.base_indirect] == ["b"]


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ({}, {"temporary": True}),
        ({"allowExisting": True}, {"existed": True}),
        ({"ifNotExists": True}, {"existed": True}),
    ],
    ids=["temporary", "CreateViewCommand", "CreateView"],
)
def test_a_view_that_is_temporary_or_was_there_is_not_recorded(fields, more):
    """Its outputs are known all the same."""
    found = access(
        [node("CreateViewCommand", plan=QUERY, **fields)], target("CreateViewCommand", "v", **more)
    )
    assert (found.object_modified_by_ddl, found.defines) == (None, None)
    assert [column.name for column in found.columns] == ["a", "z"]


def test_a_view_without_a_name_is_partial():
    """Its columns are known all the same."""
    found = access([node("CreateViewCommand", plan=QUERY)], full=False)
    assert found.reason == "CreateViewCommand: the view's name is not known"
    assert (found.object_modified_by_ddl, [c.name for c in found.columns]) == (None, ["a", "z"])


# -- clones, TRUNCATE, RESTORE -----------------------------------------------------------------


def test_a_clone_reads_and_writes_all_columns_of_its_source():
    """It is read at the version that the clone has, and recorded as the creation source."""
    source = Leaf(
        "CloneSource", name="c.s.t", columns=(Column("a", "int", 5), Column("b", "int", 6)), version=3
    )
    found = access(
        [node("CreateDeltaTableCommand")], target("CreateDeltaTableCommand", "x"), leaves=(source,)
    )
    (read,), (made,) = found.direct_objects_accessed, found.objects_modified
    assert (read.name, read.version, [c.name for c in read.columns]) == ("c.s.t", 3, ["a", "b"])
    assert found.base_objects_accessed == found.direct_objects_accessed
    assert (made.name, made.overwrites) == ("c.s.x", True)
    assert [(c.name, c.direct_sources[0].column_id) for c in made.columns] == [("a", 5), ("b", 6)]
    assert properties(found)["creationMode"] == {"value": "CLONE"}
    assert properties(found)["creationSource"] == {"objectName": "c.s.t", "objectDomain": "Table"}


def test_a_clone_of_an_unknown_source_is_partial():
    """Nobody has collected what is cloned."""
    found = access([node("CloneTableCommand")], target("CloneTableCommand", "x"), full=False)
    assert found.reason == "CloneTableCommand: the source of the clone is not known"


@pytest.mark.parametrize(
    ("kind", "statement", "overwrites"),
    [
        ("TruncateTableCommand", "TRUNCATE", True),
        ("TruncateDeltaTableCommand", "TRUNCATE", True),
        ("TruncatePartition", "TRUNCATE", False),
        ("RestoreTableCommand", "RESTORE", False),
    ],
)
def test_a_truncate_and_a_restore_write_the_table_as_a_whole(kind, statement, overwrites):
    """TRUNCATE leaves no row, of a partition it leaves the others; RESTORE keeps what both versions have."""
    found = access([node(kind)], target(kind, "x", "a"))
    (written,) = found.objects_modified
    assert (found.statement_type, found.object_modified_by_ddl) == (statement, None)
    assert (written.name, written.columns, written.overwrites) == ("c.s.x", (), overwrites)


# -- what touches no data ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "statement"),
    [
        ("ShowTablesCommand", "SHOW_TABLES"),
        ("SetCommand", "SET"),
        ("ExplainCommand", "EXPLAIN"),
        ("OptimizeTableCommand", "OPTIMIZE_TABLE"),
        ("VacuumTableCommand", "VACUUM_TABLE"),
        ("DescribeDeltaHistory", "DESCRIBE_DELTA_HISTORY"),
        ("CreateVariable", "CREATE_VARIABLE"),
    ],
)
def test_a_command_on_metadata_touches_nothing(kind, statement):
    """Its type is the name of its class."""
    found = access([node(kind, 1), T])
    assert found == type(found)(statement)


@pytest.mark.parametrize(
    ("kind", "field", "statement"),
    [
        ("CacheTableAsSelect", "plan", "CACHE"),
        ("CacheTable", "table", "CACHE"),
        ("SetVariable", "sourceQuery", "SET_VARIABLE"),
    ],
)
def test_a_command_that_runs_a_query_at_once_reads(kind, field, statement):
    """CACHE TABLE and SET VAR access what their query reads; they have no outputs."""
    found = access([node(kind, **{field: QUERY})])
    assert (found.statement_type, found.columns) == (statement, ())
    assert [(o.name, [c.name for c in o.columns]) for o in found.direct_objects_accessed] == [
        ("c.s.t", ["a", "b"])
    ]


def test_a_query_that_the_json_lacks_reads_nothing():
    """A command of which the plan was lost is no error."""
    assert access([node("CacheTableAsSelect")]).direct_objects_accessed == ()


def test_the_domain_of_a_view_is_that_of_its_target():
    """A DROP of what the session knows to be a view is of a view."""
    found = access([node("DropTable")], target("DropTable", "v", view=True))
    assert found.object_modified_by_ddl.domain is Domain.VIEW
