"""The catalog in memory: what a name means, what changes it, and what it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage import LineageError, MemoryCatalog, analyze
from lineage.catalog.object_ids import object_id
from lineage.model import Column, Domain, Function, Policy, Relation

HOME = ("spark_catalog", "s")
NAMES = [("s", "t"), ("s", "u"), ("r", "t"), ("c2", "s", "t"), ("c2", "x", "v")]


def of(text):
    """A catalog of some names, each with one column that tells it from the others."""
    full = {parts if len(parts) == 3 else ("spark_catalog", *parts) for parts in NAMES}
    return MemoryCatalog(
        {".".join(parts): {f"in_{parts[0]}_{parts[1]}": text} for parts in full}, current_schema="s"
    )


@st.composite
def written(draw):
    """A name of one to three parts, in any case, and perhaps another current schema."""
    parts = [draw(st.sampled_from(["c2", "spark_catalog"])), draw(st.sampled_from(["s", "r", "x"])),
             draw(st.sampled_from(["t", "u", "v", "w"]))]  # fmt: skip
    kept = parts[3 - draw(st.integers(1, 3)) :]
    cased = tuple(part.upper() if draw(st.booleans()) else part for part in kept)
    return cased, draw(st.sampled_from([None, ("c2", "s"), ("c2", "x"), ("spark_catalog", "r")]))


@given(written())
def test_a_name_is_completed_by_the_current_catalog_and_schema(name):
    """One part: in the current schema; two: in the current catalog; three: as it stands; in any case."""
    parts, current = name
    full = (*(current or HOME)[: 3 - len(parts)], *(part.lower() for part in parts))
    found = of("int").relation(parts, current)
    there = {names if len(names) == 3 else ("spark_catalog", *names) for names in NAMES}
    assert (found is not None) == (full in there)
    if found is not None:
        assert found.name == ".".join(full)
        assert found.columns[0].name == f"in_{full[0]}_{full[1]}"


def test_a_temporary_view_hides_a_table_of_one_part():
    """A qualified name means the table all the same."""
    catalog = MemoryCatalog({"s.t": ["a"]}, temp_views={"T": "SELECT 1 AS z"}, current_schema="s")
    assert [c.name for c in catalog.relation(("t",)).columns] == ["z"]
    assert catalog.relation(("t",)).temporary
    assert [c.name for c in catalog.relation(("s", "t")).columns] == ["a"]


def test_a_global_temporary_view_is_in_its_own_schema():
    """Spark keeps it in global_temp, whatever schema is current."""
    catalog = MemoryCatalog(temp_views={"global_temp.g": "SELECT 1 AS z"}, current_schema="s")
    assert catalog.relation(("GLOBAL_TEMP", "g")).temporary
    assert catalog.relation(("g",)) is None


CHANGES = {
    "a table": lambda c: c.add_table(("n",), ["z"]),
    "a view": lambda c: c.add_view(("n",), "SELECT 1 AS z"),
    "a temporary view": lambda c: c.add_view(("n",), "SELECT 1 AS z", temporary=True),
    "a function": lambda c: c.add_function(("n",), Function("n")),
    "less": lambda c: c.remove(("t",)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_each_change_is_another_version(change):
    """Versions of two catalogs differ, too, however alike they are."""
    catalog, other = MemoryCatalog({"s.t": ["a"]}), MemoryCatalog({"s.t": ["a"]})
    before = catalog.version
    assert before == catalog.version != other.version
    change(catalog)
    assert catalog.version != before


@pytest.mark.parametrize("name", [("t",), ("s", "T"), ("spark_catalog", "S", "t")])
def test_what_is_removed_is_gone(name):
    """By any spelling of its name; to remove it twice is no error."""
    catalog = MemoryCatalog({"s.t": ["a"], "r.t": ["a"]}, current_schema="s")
    catalog.remove(name)
    catalog.remove(name)
    assert catalog.relation(("s", "t")) is None
    assert catalog.relation(("r", "t")) is not None


def test_a_table_takes_the_place_of_an_older_one():
    """The last definition counts; its id is that of the name."""
    catalog = MemoryCatalog({"s.t": ["a", "b"]}, current_schema="s")
    before = catalog.relation(("t",))
    after = catalog.add_table(("S", "t"), {"z": "int"})
    assert catalog.relation(("t",)) == after
    assert [c.name for c in after.columns] == ["z"]
    assert before.object_id == after.object_id == object_id("TABLE", "spark_catalog.s.t")


def test_a_relation_of_another_catalog_keeps_its_ids_under_the_name_that_it_is_given():
    """Its own name and domain do not count for the key."""
    given_one = Relation(
        "elsewhere.s.q", Domain.EXTERNAL_TABLE, 42, (Column("a", "int", 7), Column("b", "int"))
    )
    found = MemoryCatalog({"s.t": given_one}, current_schema="s").relation(("t",))
    assert (found.name, found.domain, found.object_id) == ("spark_catalog.s.t", Domain.EXTERNAL_TABLE, 42)
    assert found.columns[0] == Column("a", "int", 7)
    assert found.columns[1].column_id is not None


def test_a_views_columns_are_those_of_its_query():
    """With the types of plain columns; names in it are resolved in the schema where it was made."""
    catalog = MemoryCatalog(
        {"s.t": {"a": "int", "b": "string"}}, {"s.v": "SELECT b, a + 1 AS n FROM t"}, current_schema="s"
    )
    assert catalog.relation(("v",), ("spark_catalog", "r")) is None
    columns = catalog.relation(("s", "v"), ("spark_catalog", "r")).columns
    assert [(c.name, c.type) for c in columns] == [("b", "string"), ("n", "")]


def test_a_view_over_a_star_keeps_the_columns_that_it_was_given():
    """The table may have grown since: columns are matched by name."""
    catalog = MemoryCatalog({"s.t": ["new", "a", "b"]}, current_schema="s")
    catalog.add_view(("v",), "SELECT * FROM t", columns=["a", "b"])
    access = analyze("SELECT b FROM v", catalog)
    assert access.analysis == "full"
    assert [ref.column_name for ref in access.columns[0].base_sources] == ["b"]


def test_a_view_with_a_column_that_its_query_lost_is_partial():
    """The column is there, and comes from nowhere."""
    catalog = MemoryCatalog({"s.t": ["a"]}, current_schema="s")
    catalog.add_view(("v",), "SELECT * FROM t", columns=["a", "gone"])
    access = analyze("SELECT a, gone FROM v", catalog)
    assert (access.analysis, access.reason) == ("partial", "columns of view spark_catalog.s.v")
    assert [[ref.column_name for ref in c.base_sources] for c in access.columns] == [["a"], []]


@pytest.mark.parametrize("text", ["DROP TABLE t", "SELECT FROM WHERE", ""])
def test_a_view_without_a_query_is_partial(text):
    """Its name stands in the reason."""
    catalog = MemoryCatalog({"s.t": ["a"]}, current_schema="s")
    catalog.add_view(("v",), text, columns=["a"])
    access = analyze("SELECT a FROM v", catalog)
    assert access.analysis == "partial"
    assert "view spark_catalog.s.v" in access.reason


@pytest.mark.parametrize(
    ("schema", "there"),
    [(("s",), True), (("S",), True), (("spark_catalog", "s"), True), (("f",), True), (("empty",), True),
     (("x",), False), (("other", "s"), False), (("t",), False)],
)  # fmt: skip
def test_a_schema_is_there_if_it_holds_something_or_is_current(schema, there):
    """A temporary view makes none."""
    catalog = MemoryCatalog(
        {"s.t": ["a"]}, functions={"f.g": Function("g")}, temp_views={"t": "SELECT 1"}, current_schema="empty"
    )
    assert catalog.has_schema(schema) is there


@pytest.mark.parametrize("location", ["/data/t", "/data/t/", "/data/t///"])
def test_a_location_is_its_table_with_or_without_a_slash(location):
    """Any other location is a STAGE of its own name."""
    catalog = MemoryCatalog({"s.t": ["a"]}, paths={"/data/t/": "s.t", "/data/gone": "s.gone"})
    assert catalog.path("delta", location).name == "spark_catalog.s.t"
    for other in ("/data/t2", "/data", "/data/gone"):
        stage = catalog.path("parquet", other)
        assert (stage.name, stage.location, stage.domain) == (other, other, Domain.STAGE)
        assert stage.object_id == object_id("STAGE", other)


def test_functions_are_found_as_tables_are():
    """In the schema that is current where they are called; ids are those of their names, or their own."""
    functions = {"s.f": "CREATE FUNCTION any_name(n INT) RETURNS INT RETURN n", "r.f": Function("f", 9)}
    catalog = MemoryCatalog(functions=functions, current_schema="s")
    assert catalog.function(("F",)).name == "spark_catalog.s.f"
    assert catalog.function(("f",)).object_id == object_id("FUNCTION", "spark_catalog.s.f")
    assert catalog.function(("f",), ("spark_catalog", "r")).object_id == 9
    assert catalog.function(("x", "f")) is None
    assert MemoryCatalog().function(("f",)) is None


def test_a_policy_may_be_given_as_a_value():
    """It is known by the full name of its key, with that name's id."""
    policy = Policy("m", Domain.MASKING_POLICY, "'*'", (Column("v", "STRING"),))
    catalog = MemoryCatalog(
        {"s.t": {"a": "STRING"}},
        policies={"s.m": policy},
        attached=["ALTER TABLE s.t ALTER COLUMN a SET MASKING POLICY s.m"],
    )
    (attached,) = catalog.policies(catalog.relation(("s", "t")))
    assert (attached.policy.name, attached.columns) == ("spark_catalog.s.m", ("a",))
    assert catalog.governance_id(Domain.MASKING_POLICY, "SPARK_CATALOG.S.M") == attached.policy.policy_id


def test_changes_of_a_copied_governance_do_not_come_back():
    """A script works on a copy of the catalog's policies."""
    catalog = MemoryCatalog({"s.t": ["a"]}, current_schema="s")
    catalog.governance.define(("m",), Policy("m", Domain.MASKING_POLICY, "1"), HOME)
    assert catalog.governance_id(Domain.MASKING_POLICY, "spark_catalog.s.m") is None


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("s.`a.b`", "spark_catalog.s.`a.b`"),
        ("`s`.`t``x`", "spark_catalog.s.`t``x`"),
        ("s.Ünïcode", "spark_catalog.s.Ünïcode"),
        ("s.`with blank`", "spark_catalog.s.with blank"),
        ("s." + "n" * 1000, "spark_catalog.s." + "n" * 1000),
    ],
)
def test_a_name_may_hold_anything(name, full):
    """Back-ticks protect dots and back-ticks, in the key as in SQL."""
    catalog = MemoryCatalog({name: {"a": "int"}}, current_schema="s")
    access = analyze(f"SELECT a FROM {name}", catalog)
    assert (access.analysis, [o.name for o in access.direct_objects_accessed]) == ("full", [full])


@pytest.mark.parametrize("name", ["", ".", "s.", ".t", "s..t", "`s", " "])
@pytest.mark.parametrize("what", ["tables", "views", "functions", "temp_views"])
def test_what_is_no_name_is_refused(what, name):
    """The error has a code and says which name it is about."""
    with pytest.raises(LineageError) as caught:
        MemoryCatalog(**{what: {name: {"tables": ["a"], "functions": Function("f")}.get(what, "SELECT 1")}})
    assert (caught.value.code, caught.value.subject) == ("BAD_NAME", name)
