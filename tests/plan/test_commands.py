"""UPDATE, DELETE, MERGE and writers as Spark and Delta plan them: what they write, and of what."""

from __future__ import annotations

import pytest

from tests.plan.brief import brief
from tests.plan.trees import access, alias, attribute, equal, literal, node, project, table, target

W = table("w", id=1, v=2)
T = table("t", a=11, b=12)
ID, V, A, B = attribute("id", 1), attribute("v", 2), attribute("a", 11), attribute("b", 12)
ONE = literal("1")


def written(found):
    """The written columns with their direct sources, by object."""
    return {
        item.name: {
            column.name: [ref.column_name for ref in column.direct_sources] for column in item.columns
        }
        for item in found.objects_modified
    }


def by(found):
    """The columns that shaped the rows of the one object that is written."""
    (item,) = found.objects_modified
    return sorted(f"{ref.object_name}.{ref.column_name}" for ref in item.direct_indirect)


# -- UPDATE and DELETE -------------------------------------------------------------------------


def test_an_update_writes_what_it_assigns():
    """A column that is assigned to itself, cast or not, is not written (Delta assigns every column)."""
    found = access(
        [
            node(
                "UpdateCommand",
                1,
                updateExpressions=[[ID], [node("Add", 2), V, ONE]],
                condition=equal(ID, ONE),
            ),
            W,
        ]
    )
    assert found.statement_type == "UPDATE"
    assert written(found) == {"c.s.w": {"v": ["v"]}}
    assert by(found) == ["c.s.w.id"]
    assert not found.objects_modified[0].overwrites
    cast = access([node("UpdateCommand", 1, updateExpressions=[[node("Cast", 1), ID], [ONE]]), W])
    assert written(cast) == {"c.s.w": {"v": []}}


def test_an_update_without_an_assignment_is_partial():
    """The JSON then lacks what was assigned."""
    found = access([node("UpdateCommand", 1, updateExpressions=[[ID], [V]]), W], full=False)
    assert found.reason == "UpdateCommand: no assignment found"


@pytest.mark.parametrize(
    ("fields", "overwrites", "shaped"),
    [
        ({}, True, []),
        ({"condition": [literal("true", "boolean")]}, True, []),
        ({"condition": equal(ID, ONE)}, False, ["c.s.w.id"]),
        ({"condition": [[equal(V, ID)]]}, False, ["c.s.w.id", "c.s.w.v"]),
    ],
)
def test_a_delete_empties_its_table_unless_it_has_a_condition(fields, overwrites, shaped):
    """DELETE names the object and no column of it; what its condition reads is accessed."""
    found = access([node("DeleteCommand", 1, **fields), W])
    assert written(found) == {"c.s.w": {}}
    assert (found.objects_modified[0].overwrites, by(found)) == (overwrites, shaped)
    assert {c.name for item in found.direct_objects_accessed for c in item.columns} == {
        name.rpartition(".")[2] for name in shaped
    }


@pytest.mark.parametrize("kind", ["DeleteFromTable", "UpdateTable"])
def test_a_target_of_the_facts_comes_before_the_one_that_is_scanned(kind):
    """A table that is read by its path is written under the name that the session knows."""
    fields = {"updateExpressions": [[ID], [ONE]]} if kind == "UpdateTable" else {"condition": equal(ID, ONE)}
    found = access([node(kind, 1, **fields), W], target(kind, "known", "id", "v"))
    assert [item.name for item in found.objects_modified] == ["c.s.known"]


# -- MERGE -------------------------------------------------------------------------------------


def clause(kind, *assigned, condition=None):
    """A branch of a MERGE: its condition and its assignments are its children."""
    children = [condition] if condition else []
    for column, *value in assigned:
        head = node("DeltaMergeAction", len(value[:1]), targetColNameParts=f"[{column}]")
        children.append([head, *value])
    return [node(kind, len(children)), *[item for child in children for item in child]]


def merge(matched=(), inserted=(), orphaned=()):
    """A MERGE INTO w USING t ON w.id = t.a."""
    head = node(
        "MergeIntoCommand",
        2,
        condition=equal(ID, A),
        matchedClauses=list(matched),
        notMatchedClauses=list(inserted),
        notMatchedBySourceClauses=list(orphaned),
    )
    return access([head, W, T])


def test_every_branch_of_a_merge_counts():
    """A column that several branches write has the sources of all of them."""
    found = merge(
        matched=[clause("DeltaMergeIntoMatchedUpdateClause", ("v", B))],
        inserted=[clause("DeltaMergeIntoNotMatchedInsertClause", ("id", A), ("v", A))],
        orphaned=[clause("DeltaMergeIntoNotMatchedBySourceUpdateClause", ("v", ID))],
    )
    assert found.statement_type == "MERGE"
    assert {k: set(v) for k, v in written(found)["c.s.w"].items()} == {"v": {"a", "b", "id"}, "id": {"a"}}
    assert by(found) == ["c.s.t.a", "c.s.w.id"]


def test_conditions_of_branches_shape_and_are_no_sources():
    """`WHEN MATCHED AND b = 1 THEN DELETE` writes no column."""
    found = merge(matched=[clause("DeltaMergeIntoMatchedDeleteClause", condition=equal(B, ONE))])
    assert written(found) == {"c.s.w": {}}
    assert by(found) == ["c.s.t.a", "c.s.t.b", "c.s.w.id"]


def test_a_merge_that_assigns_a_column_to_itself_leaves_it():
    """UPDATE SET id = id touches nothing, whatever the case of the name."""
    found = merge(matched=[clause("DeltaMergeIntoMatchedUpdateClause", ("ID", ID), ("v", B))])
    assert written(found) == {"c.s.w": {"v": ["b"]}}


@pytest.mark.parametrize("parts", ["[v]", ["v"], ["v", "field"]])
def test_an_assigned_column_is_named_in_both_forms_of_the_json(parts):
    """ToJSON writes a list of strings as a text, the compact form keeps it; of a field its column counts."""
    branch = [node("Clause", 1), node("DeltaMergeAction", 1, targetColNameParts=parts), B]
    assert written(merge(matched=[branch])) == {"c.s.w": {"v": ["b"]}}


def test_an_assignment_of_sparks_own_names_its_column_by_reference():
    """MergeIntoTable (data source V2) has Assignment(key, value)."""
    branch = [node("UpdateAction", 1), node("Assignment", 2), V, B]
    found = access([node("MergeIntoTable", 2, condition=equal(ID, A), matchedClauses=[branch]), W, T])
    assert written(found) == {"c.s.w": {"v": ["b"]}}


# -- writers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "known", "columns"),
    [
        ({}, ("id", "v"), {"id": ["a"], "v": ["b"]}),
        ({"isByName": True}, ("B", "A"), {"A": ["a"], "B": ["b"]}),
        ({"isByName": True}, ("v", "id"), {"a": ["a"], "b": ["b"]}),
        ({}, (), {"a": ["a"], "b": ["b"]}),
        ({}, ("id",), {"id": ["a"], "b": ["b"]}),
    ],
    ids=["by position", "by name", "names that the target lacks", "unknown target", "schema evolution"],
)
def test_a_writer_names_the_columns_of_its_target(fields, known, columns):
    """By position, or by name where the command says so; the target's spelling counts."""
    assert written(access([node("AppendData", 1, **fields), T], target("AppendData", "w", *known))) == {
        "c.s.w": columns
    }


def test_a_target_is_read_from_the_json_where_nobody_collected_facts():
    """By the catalog table of a V1 command, or by the relation that stands in it."""
    by_table = access([node("InsertIntoHiveTable", 1, table=W["catalogTable"]), T])
    assert written(by_table) == {"c.s.w": {"a": ["a"], "b": ["b"]}}
    by_relation = access([node("AppendData", 1, table=[W]), T])
    assert written(by_relation) == {"c.s.w": {"id": ["a"], "v": ["b"]}}


def test_a_target_that_nobody_names_is_partial():
    """What was read is on record all the same."""
    found = access([node("AppendData", 1), T], full=False)
    assert (found.reason, written(found)) == ("AppendData: its target is not known", {})
    assert [item.name for item in found.direct_objects_accessed] == ["c.s.t"]


def test_a_writer_without_its_query_is_partial():
    """A leaf node of a command has lost what it wrote."""
    found = access([node("WriteIntoDelta", 0)], target("WriteIntoDelta", "w", "a"), full=False)
    assert found.reason == "WriteIntoDelta: its query is not in the JSON"


def test_a_query_in_a_field_is_found_by_tree_by_index_or_as_the_last_child():
    """TreeNode.toJSON writes a child as its index among the children."""
    goal = target("AppendData", "w", "id", "v")
    plans = [
        [node("AppendData", 0, query=[T])],
        [node("AppendData", 2, query=1), table("other", z=21), T],
        [node("AppendData", 1, query=None), T],
    ]
    assert {str(brief(access(plan, goal))) for plan in plans} == {str(brief(access(plans[0], goal)))}


def test_the_function_of_a_foreach_batch_is_no_target():
    """What it writes are statements of their own."""
    kind = "WriteToMicroBatchDataSource"
    found = access([node(kind, 1), T], target(kind, None, provider="foreachBatch"))
    assert (found.objects_modified, [o.name for o in found.direct_objects_accessed]) == ((), ["c.s.t"])


def test_columns_of_one_name_are_united():
    """`df.write.save` of two columns of one name: the file's column is made of both."""
    query = [project(alias("x", 31, A), alias("x", 32, B)), T]
    found = access([node("SaveIntoDataSourceCommand", 1), *query], target("SaveIntoDataSourceCommand", "w"))
    assert written(found) == {"c.s.w": {"x": ["a", "b"]}}


@pytest.mark.parametrize(
    ("kind", "mode", "statement", "operation"),
    [
        ("CreateTableAsSelect", None, "CREATE_TABLE_AS_SELECT", "CREATE"),
        ("ReplaceTableAsSelect", None, "REPLACE_TABLE_AS_SELECT", "REPLACE"),
        ("CreateDataSourceTableAsSelectCommand", "Overwrite", "REPLACE_TABLE_AS_SELECT", "REPLACE"),
        ("CreateDataSourceTableAsSelectCommand", "ErrorIfExists", "CREATE_TABLE_AS_SELECT", "CREATE"),
        ("CreateDataSourceTableAsSelectCommand", "Append", "INSERT", None),
    ],
)
def test_a_writer_that_makes_its_table_defines_it(kind, mode, statement, operation):
    """A saveAsTable in the mode append plans the same command and defines nothing."""
    found = access([node(kind, 1), T], target(kind, "n", mode=mode))
    ddl = found.object_modified_by_ddl
    assert found.statement_type == statement
    assert (ddl and ddl.operation_type) == operation
    if ddl is not None:
        added = {"subOperationType": "ADD"}
        assert (ddl.name, ddl.properties) == ("c.s.n", {"columns": {"a": added, "b": added}})


# -- several commands, and CTEs around one -----------------------------------------------------


@pytest.mark.parametrize("head", ["Union", "MultiResult"])
def test_a_multi_insert_is_one_statement(head):
    """Each branch has its target, in order; what they read is listed once, with all its columns."""
    first = [node("AppendData", 1), project([A]), T]
    second = [node("AppendData", 1), project([B]), T]
    targets = target("AppendData", "w", "id"), target("AppendData", "u", "x")
    found = access([node(head, 2), *first, *second], *targets)
    assert found.statement_type == "INSERT"
    assert written(found) == {"c.s.w": {"id": ["a"]}, "c.s.u": {"x": ["b"]}}
    assert brief(found)["direct"] == ["c.s.t(a, b)"]


def test_what_one_branch_lacks_makes_the_whole_partial():
    """One reason is told once, whichever branches have it."""
    branch = [node("AppendData", 1), T]
    found = access([node("Union", 2), *branch, *branch], full=False)
    assert (found.analysis, found.reason) == ("partial", "AppendData: its target is not known")


def test_a_union_of_queries_is_a_query():
    """A Union is a multi-insert only where all of its branches are commands."""
    assert access([node("Union", 2), T, table("u", x=41, y=42)]).statement_type == "SELECT"


def test_facts_of_inner_commands_are_passed_over():
    """A command is matched to the next target of its own class."""
    inner = target("CreateTable", "inner")
    found = access([node("AppendData", 1), T], inner, target("AppendData", "w", "id", "v"))
    assert written(found) == {"c.s.w": {"id": ["a"], "v": ["b"]}}


def test_a_cte_around_a_command_is_read_before_it():
    """WITH c AS (…) INSERT: the definition stands beside the command."""
    definition = [node("CTERelationDef", 1, id=5), T]
    reference = node("CTERelationRef", cteId=5, output=[[attribute("a", 51)], [attribute("b", 52)]])
    plan = [node("WithCTE", 2), *definition, node("AppendData", 1), reference]
    found = access(plan, target("AppendData", "w", "id", "v"))
    assert written(found) == {"c.s.w": {"id": ["a"], "v": ["b"]}}
    assert [item.name for item in found.direct_objects_accessed] == ["c.s.t"]
