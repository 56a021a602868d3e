"""A statement seen before gives the same answer without a second trace, and never a stale one."""

from __future__ import annotations

import pytest

from lineage import Access, MemoryCatalog, analyze, parse
from lineage.model import Function
from lineage.result_cache import cached_access
from lineage.statements.trace import trace


def _catalog(**more):
    return MemoryCatalog({"s.t": {"a": "int", "b": "int"}}, current_schema="s", **more)


def test_a_query_seen_before_is_the_same_value():
    """The second answer is the first one, not one like it."""
    catalog = _catalog()
    assert analyze("SELECT a FROM t", catalog) is analyze("SELECT a FROM t", catalog)


def test_an_output_is_named_as_the_text_spells_it():
    """The case of a name does not change the fingerprint, but it does change the output's name."""
    catalog = _catalog()
    one, two = analyze("SELECT a FROM t", catalog), analyze("SELECT A FROM t", catalog)
    assert parse("SELECT a FROM t").query_hash == parse("SELECT A FROM t").query_hash
    assert (one.columns[0].name, two.columns[0].name) == ("a", "A")


CHANGES = {
    "a table of other columns": lambda c: c.add_table(("t",), {"a": "int", "b": "int", "c": "int"}),
    "a temporary view that hides the table": lambda c: c.add_view(("t",), "SELECT 1 AS z", temporary=True),
    "a view in its place": lambda c: c.add_view(("t",), "SELECT 1 AS y"),
    "no table": lambda c: c.remove(("t",)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_after_a_change_the_answer_is_a_fresh_one(change):
    """DDL and temporary views change the catalog's version: nothing stale is answered."""
    catalog = _catalog()
    before = analyze("SELECT * FROM t", catalog)
    change(catalog)
    after = analyze("SELECT * FROM t", catalog)
    assert after != before
    assert after == trace(parse("SELECT * FROM t"), catalog)


def test_a_new_function_is_seen():
    """A built-in's name may become a user's function."""
    catalog = _catalog()
    before = analyze("SELECT f(a) FROM t", catalog)
    catalog.add_function(("f",), Function("f", data_type="INT"))
    after = analyze("SELECT f(a) FROM t", catalog)
    assert [o.name for o in before.direct_objects_accessed] == ["spark_catalog.s.t"]
    assert [o.name for o in after.direct_objects_accessed] == ["spark_catalog.s.t", "spark_catalog.s.f"]


def test_catalogs_do_not_answer_for_each_other():
    """Catalogs with the same names, and with another current schema, have versions of their own."""
    tables = {"s.t": {"a": "int"}, "r.t": {"a": "int"}}
    catalogs = [MemoryCatalog(tables, current_schema=schema) for schema in ("s", "r", "s")] * 3
    found = [analyze("SELECT a FROM t", c).base_objects_accessed[0].name for c in catalogs]
    assert found == ["spark_catalog.s.t", "spark_catalog.r.t", "spark_catalog.s.t"] * 3


def test_more_catalogs_than_are_kept_are_answered_right():
    """One statement in many sessions: what is forgotten is worked out again."""
    catalogs = [MemoryCatalog({"t": {f"c{n}": "int"}}) for n in range(9)]
    for _ in range(2):
        found = [analyze("SELECT * FROM t", catalog).columns[0].name for catalog in catalogs]
        assert found == [f"c{n}" for n in range(9)]


def test_each_user_has_an_answer_of_its_own():
    """Policies may depend on who asks."""
    statement, catalog, asked = parse("SELECT a AS of_users FROM t"), _catalog(), []

    def find(statement, catalog):
        asked.append(statement)
        return trace(statement, catalog)

    for user in ("ann", "bob", "ann"):
        cached_access(statement, catalog, user, find)
    assert len(asked) == 2


class _Unversioned:
    """A catalog that cannot tell whether it has changed."""

    def __init__(self, below):
        self.current, self.relation = below.current, below.relation
        self.path, self.function = below.path, below.function


def test_a_catalog_without_a_version_is_asked_each_time():
    """No version, no memory."""
    below = _catalog()
    catalog = _Unversioned(below)
    before = analyze("SELECT * FROM t", catalog)
    below.add_table(("t",), {"z": "int"})
    catalog.relation = below.relation
    assert [c.name for c in before.columns] == ["a", "b"]
    assert [c.name for c in analyze("SELECT * FROM t", catalog).columns] == ["z"]


def test_statements_that_change_something_are_traced_each_time():
    """Their records differ: IF NOT EXISTS does something once."""
    catalog = _catalog()
    text = "CREATE TABLE IF NOT EXISTS u (a INT)"
    assert analyze(text, catalog).object_modified_by_ddl is not None
    catalog.add_table(("u",), {"a": "int"})
    assert analyze(text, catalog).object_modified_by_ddl is None


def test_an_answer_too_large_to_keep_is_not_kept():
    """A short text over a wide table, each column shaped by all others."""
    catalog = MemoryCatalog({"wide": {f"c{n}": "int" for n in range(200)}})
    text = "SELECT * FROM wide GROUP BY ALL"
    one, two = analyze(text, catalog), analyze(text, catalog)
    assert one == two
    assert one is not two
    assert isinstance(one, Access)
    assert not parse(text).seen


def test_views_that_name_each_other_leave_nothing_wrong_behind():
    """What a view's columns were found with, while views were open, is not what its text means."""
    catalog = MemoryCatalog({"t": {"a": "int"}}, {"v": "SELECT * FROM w", "w": "SELECT * FROM v"})
    analyze("SELECT * FROM v", catalog)
    assert analyze("SELECT * FROM w", catalog) == trace(parse("SELECT * FROM w"), catalog)
