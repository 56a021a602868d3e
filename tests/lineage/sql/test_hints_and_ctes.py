"""The positions of tables in a text: what stands there is the table's name, whatever else has that name."""

from __future__ import annotations

import pytest

from lineage import parse
from lineage.sql.table_places import tables_of

# The tables to be found are marked with brackets, which are taken out of the text before it is read.
MARKED = [
    "SELECT * FROM [s.t] JOIN [u] x",
    # A hint's argument is a name in the statement, no table; sqlglot counts its place within the hint.
    "WITH c AS (SELECT /*+ BROADCAST(t) */ * FROM [t] JOIN [u]) SELECT * FROM c",
    "SELECT /*+ MERGE(t, u), REPARTITION(3, t) */ * FROM [t] JOIN [u]",
    # A CTE is in scope in those after it and in the query; in itself where it is recursive.
    "WITH t AS (SELECT * FROM [t]) SELECT * FROM t",
    "WITH a AS (SELECT * FROM [b]), b AS (SELECT * FROM a) SELECT * FROM a JOIN b",
    "WITH a AS (WITH a AS (SELECT * FROM [a]) SELECT * FROM a) SELECT * FROM a",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r JOIN [t]) SELECT * FROM R",
    "SELECT * FROM (WITH t AS (SELECT * FROM [u]) SELECT * FROM t) JOIN [t]",
    "WITH t AS (SELECT 1 AS a) SELECT * FROM t JOIN [s.t] WHERE a IN (SELECT a FROM `t`)",
    "SELECT * FROM explode(array(1)) AS t JOIN [t]",
]


@pytest.mark.parametrize("marked", MARKED)
def test_places_are_those_of_the_tables(marked):
    """A table that a hint or a CTE shares its name with is found where it stands, and they are not."""
    text = marked.replace("[", "").replace("]", "")
    for place in sorted(tables_of(parse(text)), key=lambda place: place.first, reverse=True):
        assert text[place.first : place.stop] == ".".join(place.name)
        text = f"{text[: place.first]}[{text[place.first : place.stop]}]{text[place.stop :]}"
    assert text == marked
