"""No expression of a user's is worked out over a hidden row, whatever Spark makes of the plan."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions
from pyspark.sql.types import IntegerType

import audit
from audit.core.errors import AuditError
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES

SHAPES = [
    "SELECT {e} FROM {t} INTERSECT SELECT 1",
    "SELECT 1 INTERSECT SELECT {e} FROM {t}",
    "SELECT {e} FROM {t} INTERSECT ALL SELECT 1",
    "SELECT {e} FROM {t} EXCEPT SELECT 1",
    "SELECT 1 EXCEPT SELECT {e} FROM {t}",
    "SELECT {e} FROM {t} EXCEPT ALL SELECT 1",
    "SELECT 1 EXCEPT ALL SELECT {e} FROM {t}",
    "SELECT {e} FROM {t} MINUS SELECT {e} FROM {t} WHERE id = 1",
    "FROM {t} |> SELECT {e} |> INTERSECT DISTINCT (SELECT 1)",
    "SELECT 1 |> EXCEPT DISTINCT (SELECT {e} FROM {t})",
    "SELECT id, {e} FROM {t} INTERSECT SELECT 1, 1",
    "(SELECT {e} FROM {t} UNION SELECT 7) INTERSECT SELECT 1",
    "SELECT x FROM (SELECT {e} AS x FROM {t}) JOIN VALUES (1) v(x) USING (x)",
    "SELECT a.x FROM (SELECT {e} AS x FROM {t}) a NATURAL JOIN VALUES (1) v(x)",
    "SELECT x FROM (SELECT {e} AS x FROM {t}) LEFT SEMI JOIN VALUES (1) v(y) ON x = y",
    "SELECT y FROM VALUES (1) v(y) LEFT ANTI JOIN (SELECT {e} AS x FROM {t}) ON x = y",
    "SELECT y FROM VALUES (1) v(y) WHERE y IN (SELECT {e} FROM {t})",
    "SELECT y FROM VALUES (1) v(y) WHERE y NOT IN (SELECT {e} FROM {t})",
    "SELECT x FROM (SELECT {e} AS x, count(*) FROM {t} GROUP BY 1) WHERE x = 1",
    "SELECT x FROM (SELECT {e} AS x, count(*) OVER (PARTITION BY {e}) n FROM {t}) WHERE x = 1",
    "SELECT DISTINCT {e} AS x FROM {t} WHERE {e} = 1",
    "WITH c AS (SELECT {e} AS x FROM {t}) SELECT a.x FROM c a JOIN c b ON a.x = b.x",
    "SELECT * FROM (SELECT {e} AS x, id FROM {t}) PIVOT (count(id) FOR x IN (1, 2))",
    "SELECT x FROM (SELECT {e} AS x, id FROM {t}) UNPIVOT (v FOR n IN (x, id)) WHERE v = 1",
    "SELECT id FROM {t} WHERE {e} = 1 ORDER BY {e} LIMIT 1",
    "SELECT (SELECT max(y) FROM VALUES (1) v(y) WHERE y = {e}) FROM {t}",
    "SELECT id FROM {t} WHERE 1 = (SELECT max(y) FROM VALUES (1) v(y) WHERE y = {e})",
    "SELECT id FROM {t} WHERE EXISTS (SELECT 1 FROM VALUES (1) v(y) WHERE y = {e})",
    "SELECT id FROM {t} WHERE NOT EXISTS (SELECT 1 FROM VALUES (1) v(y) WHERE y = {e}) AND {e} = 2",
    "SELECT id FROM {t} WHERE 1 IN (SELECT y FROM VALUES (1) v(y) WHERE y = {e})",
    "SELECT id, EXISTS (SELECT 1 FROM VALUES (1) v(y) WHERE y = {e}) FROM {t} WHERE id < 9",
    "SELECT max((SELECT max(y) FROM VALUES (1) v(y) WHERE y = {e})) FROM {t}",
    "SELECT id, y FROM {t}, LATERAL (SELECT y FROM VALUES (1) v(y) WHERE y = {e})",
    "SELECT id FROM {t} JOIN (SELECT 7) ON EXISTS (SELECT 1 FROM VALUES (1) v(y) WHERE y = {e})",
    "SELECT id FROM {t} b WHERE (SELECT max(id) FROM {t} c WHERE c.id = b.id AND {e} = 1) = 1",
    "SELECT id FROM {t} a WHERE EXISTS (SELECT {e} FROM {t} b WHERE b.id = a.id AND {e} = 1)",
]


@pytest.fixture(scope="module")
def fenced(session):
    """Tables with rows hidden from mallory by both kinds of policies, and what she sees, plain."""
    run = session.sql
    run("CREATE SCHEMA fence")
    run("USE fence")
    run("CREATE TABLE map (area STRING)")
    run("INSERT INTO map VALUES ('eu')")
    run("CREATE ROW ACCESS POLICY near AS (r STRING) RETURNS BOOLEAN -> r = 'eu'")
    run(
        "CREATE ROW ACCESS POLICY mapped AS (r STRING) RETURNS BOOLEAN ->"
        " EXISTS (SELECT 1 FROM map WHERE area = r)"
    )
    run("CREATE TABLE seen (id INT, region STRING, v VARIANT, m MAP<STRING, STRING>)")
    for kind in ("near", "mapped"):
        run(f"CREATE TABLE t_{kind} (id INT, region STRING, v VARIANT, m MAP<STRING, STRING>)")
        run(
            f"INSERT INTO t_{kind}"
            " SELECT col1, col2, parse_json(col3), from_json(col3, 'map<string, string>')"
            " FROM VALUES (1, 'eu', '{\"a\": 1}'), (2, 'eu', '{\"a\": 2}'), (3, 'us', '{\"a\": \"x\"}')"
        )
        run(f"ALTER TABLE t_{kind} ADD ROW ACCESS POLICY {kind} ON (region)")
    run("INSERT INTO seen SELECT * FROM t_near")
    yield
    run("USE default")
    run("DROP SCHEMA fence CASCADE")


def _answer(session, text):
    return sorted(map(str, session.sql(text).collect()))


def _result(call, table="t"):
    """What a call gives, or its error, as text; a table in it is called t."""
    try:
        return str(sorted(map(str, call())))
    except (PySparkException, Py4JJavaError, AuditError) as error:
        text = re.sub(r"calling o\d+", "calling o", str(error)).replace(f".{table}.", ".t.")
        return f"{type(error).__name__}: {text[:200]}"


def _told(session, text, table="t"):
    """An error may name the table that was asked, and nothing else of it."""
    return _result(lambda: session.sql(text).collect(), table)


EXPRESSIONS = {
    "error": "CAST(1 / (id - 3) * 0 AS INT) + id",
    "assert": "id + coalesce(CAST(assert_true(id <> 3) AS INT), 0)",
    "variant": "variant_get(v, '$.a', 'int')",
    "map": "CAST(element_at(m, 'a') AS INT)",
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param("mapped", "error", marks=pytest.mark.slow("26 queries over two tables")),
        *(
            pytest.param(kind, name, marks=pytest.mark.long("the same shapes of other expressions"))
            for kind in ("near", "mapped") for name in EXPRESSIONS if (kind, name) != ("mapped", "error")
        ),
    ],
)  # fmt: skip
def test_every_shape(session, fenced, kind, name):
    """A query answers as over the visible rows alone: an error would tell of a hidden one."""
    differing = []
    for shape in SHAPES:
        wanted = _told(session, shape.format(t="seen", e=EXPRESSIONS[name]), "seen")
        with audit.as_user(session, "mallory"):
            found = _told(session, shape.format(t=f"t_{kind}", e=EXPRESSIONS[name]), f"t_{kind}")
        if found != wanted:
            differing.append((shape, found, wanted))
    assert differing == []


@pytest.mark.parametrize("kind", ["near", "mapped"])
def test_variants(session, fenced, kind):
    """Spark reads a part of a variant in the files (PushVariantIntoScan): not where rows are hidden."""
    with audit.as_user(session, "mallory"):
        found = _answer(session, f"SELECT variant_get(v, '$.a', 'int') x FROM t_{kind}")
    assert found == ["Row(x=1)", "Row(x=2)"]


@pytest.mark.slow("a Python worker")
def test_python_functions(session, fenced, tmp_path):
    """A Python function is handed visible rows alone, wherever it stands."""
    told = tmp_path / "told"
    told.touch()
    place = str(told)

    def tell(number):
        with Path(place).open("a") as out:
            out.write(f"{number}\n")
        return number

    session.udf.register("tell", functions.udf(tell, IntegerType()))
    shapes = (
        "SELECT tell(id) FROM {t} INTERSECT SELECT 1",
        "SELECT 1 EXCEPT SELECT tell(id) FROM {t}",
        "SELECT id FROM {t} WHERE tell(id) = 1",
        "SELECT id FROM {t} JOIN VALUES (1) v(y) ON tell(id) = y",
        "SELECT y FROM VALUES (1) v(y) WHERE y IN (SELECT tell(id) FROM {t})",
    )
    with audit.as_user(session, "mallory"):
        for shape in shapes:
            for kind in ("near", "mapped"):
                session.sql(shape.format(t=f"t_{kind}")).collect()
    assert set(told.read_text().split()) == {"1", "2"}


def test_the_past_of_a_view(session, fenced):
    """The policy of a view holds whatever version the view is read at, or the read is refused."""
    run = session.sql
    run("CREATE MASKING POLICY hush AS (v STRING) RETURNS STRING -> '***'")
    run("CREATE TABLE below (ssn STRING, region STRING)")
    run("INSERT INTO below VALUES ('s111', 'eu'), ('s222', 'us')")
    run("CREATE VIEW v AS SELECT ssn, region FROM below")
    run("CREATE VIEW over AS SELECT ssn AS s FROM v")
    run("ALTER VIEW v ALTER COLUMN ssn SET MASKING POLICY hush")
    run("ALTER VIEW v ADD ROW ACCESS POLICY near ON (region)")
    run("CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT * FROM v")
    forms = [
        "{v} VERSION AS OF 1", "{v}@v1", "{v} AT (OFFSET => 0)", "{v} TIMESTAMP AS OF current_timestamp()",
        "{v} FOR VERSION AS OF 1", "(SELECT * FROM {v} VERSION AS OF 1)", "{v} AT (VERSION => 1) AS x",
    ]  # fmt: skip
    texts = [
        f"SELECT * FROM {form.format(v=view)}" for view in ("v", "over", "mine", "fence.v") for form in forms
    ]
    with audit.as_user(session, "mallory"):
        shown = {text: _told(session, text) for text in texts}
        for option in (("versionAsOf", 1), ("timestampAsOf", "2999-01-01")):
            shown[option] = _result(lambda o=option: session.read.option(*o).table("v").collect())
    assert {
        text: told for text, told in shown.items() if "s111" in told or "s222" in told or "'us'" in told
    } == {}
