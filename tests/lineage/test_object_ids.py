"""One function numbers objects and columns, offline and in a session alike."""

from dataclasses import replace

import lineage
from lineage.catalog.object_ids import column_id, object_id, with_ids
from lineage.model import Column, Domain, Relation

NAME = "spark_catalog.s.t"


def read(catalog, text="SELECT a FROM s.t"):
    """What a query has read: the object and its columns."""
    (found,) = lineage.analyze(text, catalog).direct_objects_accessed
    return found.object_id, {column.name: column.column_id for column in found.columns}


def test_an_offline_catalog_numbers_by_name():
    """Without more facts the id is that of the domain and the qualified name, as `identify` gives it."""
    identity = object_id(Domain.TABLE.value, NAME)
    assert read(lineage.MemoryCatalog({"s.t": ["a"]})) == (identity, {"a": column_id(identity, "a")})


def test_ids_of_another_catalog_are_kept():
    """A relation that a session has numbered keeps its ids: Delta's metadata id, column-mapping ids."""
    live = with_ids(Relation(NAME, columns=(Column("a", "int"), Column("b", "int"))), "f00-1", (7, None))
    identity = object_id("TABLE", "f00-1")
    ids = {"a": column_id(identity, 7), "b": column_id(identity, "b")}
    assert read(lineage.MemoryCatalog({"s.t": live}), "SELECT a, b FROM s.t") == (identity, ids)


def test_a_table_that_a_script_makes_is_numbered_by_name():
    """CREATE in a script leads to the id that the name has in any other catalog."""
    made = lineage.analyze_script("CREATE TABLE s.t (a INT); SELECT a FROM s.t", lineage.MemoryCatalog())
    (found,) = made[-1].direct_objects_accessed
    assert found.object_id == object_id(Domain.TABLE.value, NAME)
    assert [column.column_id for column in found.columns] == [column_id(found.object_id, "a")]


def test_views_functions_and_files_are_numbered_by_name():
    """Each by its domain and its name, wherever it was named."""
    catalog = lineage.MemoryCatalog(
        {"s.t": ["a"]}, {"s.v": "SELECT a FROM s.t"}, {"s.f": "CREATE FUNCTION f(x INT) RETURNS INT RETURN x"}
    )
    found = lineage.analyze("SELECT s.f(a) FROM s.v", catalog).direct_objects_accessed
    wanted = {one.name: object_id(one.domain.value, one.name) for one in found}
    assert {one.name: one.object_id for one in found} == wanted
    assert sorted(wanted) == ["spark_catalog.s.f", "spark_catalog.s.v"]
    assert catalog.path("csv", "/x/a.csv").object_id == object_id("STAGE", "/x/a.csv")


def test_ids_that_are_there_stay():
    """Numbering twice changes nothing, under a new name neither."""
    once = with_ids(Relation(NAME, columns=(Column("a"),)), "f00-1")
    assert with_ids(replace(once, name="spark_catalog.s.renamed")) == replace(
        once, name="spark_catalog.s.renamed"
    )


def test_any_text_has_an_id():
    """Spark reports names as Java writes them: half of a surrogate pair is no reason to fail."""
    assert object_id("TABLE", "a\ud800") != object_id("TABLE", "a")
