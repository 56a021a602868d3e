"""Every way in gives the same answer: that of a table whose values were masked and filtered beforehand.

A way is tried by three users over four kinds of protection. What each of them may see lies in plain tables,
made by hand; a query over the protected table has to give what the same query gives over the plain one.
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from itertools import cycle, product

import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions

import audit
from audit.policies.errors import AccessDeniedError
from tests.policies.random_queries import random_query

ROWS = (
    "VALUES (1, '111', 'eu', 10.00), (2, '222', 'us', 20.00), (3, '333', 'eu', 30.00), (4, NULL, NULL, 5.00)"
)
COLUMNS = "id INT NOT NULL, ssn STRING, region STRING, pay DECIMAL(10,2)"
USERS = ("hal", "sam", "eve")
MASKED = "id, if(ssn IS NULL, NULL, '***') ssn, region, pay"
# What each user sees of each kind: hal has role HR, sam SALES, eve none.
SEEN = {
    "mask": {"hal": "*", "sam": MASKED, "eve": MASKED},
    "rows": {"hal": "*", "sam": "* WHERE region = 'eu'", "eve": "* WHERE false"},
    "mapped": {
        "hal": "* WHERE region IN ('eu', 'us')", "sam": "* WHERE region = 'eu'", "eve": "* WHERE false",
    },
    "both": {"hal": "*", "sam": f"{MASKED} WHERE region = 'eu'", "eve": f"{MASKED} WHERE false"},
}  # fmt: skip
PROTECTIONS = {
    "mask": ["ALTER COLUMN ssn SET MASKING POLICY ssn_mask"],
    "rows": ["ADD ROW ACCESS POLICY regions ON (region)"],
    "mapped": ["ADD ROW ACCESS POLICY mapped ON (region)"],
    "both": ["ALTER COLUMN ssn SET MASKING POLICY ssn_mask", "ADD ROW ACCESS POLICY regions ON (region)"],
}


def _kinds(*kinds):
    """Kinds of protection as parameters: `both` masks and filters, the others are a part of it."""
    long = pytest.mark.long("`both` masks and filters at once; this kind is a part of it")
    return [kind if kind == "both" else pytest.param(kind, marks=long) for kind in kinds]


KINDS = _kinds(*SEEN)


@pytest.fixture(scope="module")
def walled(session):
    """The tables t_<kind>, behind policies, and <kind>_<user>, plain."""
    run = session.sql
    run("CREATE SCHEMA walled")
    run("USE walled")
    run("CREATE TABLE map (role STRING, area STRING)")
    run("INSERT INTO map VALUES ('HR', 'eu'), ('HR', 'us'), ('SALES', 'eu')")
    run("CREATE ROLE hr")
    run("CREATE ROLE sales")
    run("GRANT ROLE hr TO USER hal")
    run("GRANT ROLE sales TO USER sam")
    run(
        "CREATE MASKING POLICY ssn_mask AS (val STRING) RETURNS STRING ->"
        " CASE WHEN is_role_in_session('HR') OR val IS NULL THEN val ELSE '***' END"
    )
    run(
        "CREATE ROW ACCESS POLICY regions AS (r STRING) RETURNS BOOLEAN ->"
        " is_role_in_session('HR') OR (is_role_in_session('SALES') AND r = 'eu')"
    )
    run(
        "CREATE ROW ACCESS POLICY mapped AS (r STRING) RETURNS BOOLEAN ->"
        " EXISTS (SELECT 1 FROM map WHERE is_role_in_session(role) AND area = r)"
    )
    for kind, clauses in PROTECTIONS.items():
        run(f"CREATE TABLE t_{kind} ({COLUMNS})")
        run(f"INSERT INTO t_{kind} {ROWS}")
        for user, seen in SEEN[kind].items():
            columns, _, where = seen.partition(" WHERE ")
            run(
                f"CREATE TABLE {kind}_{user} AS SELECT {columns} FROM t_{kind}"
                + (f" WHERE {where}" if where else "")
            )
        for made in (f"t_{kind}", *(f"{kind}_{user}" for user in USERS)):
            run(f"CREATE VIEW v_{made} AS SELECT ssn AS s, region, pay FROM {made}")
            run(f"CREATE VIEW w_{made} AS SELECT count(*) n, max(s) m FROM v_{made}")
            run(
                f"CREATE FUNCTION f_{made}() RETURNS STRING RETURN"
                f" (SELECT concat_ws(',', sort_array(collect_list(ssn))) FROM walled.{made})"
            )
            run(
                f"CREATE FUNCTION g_{made}(least INT) RETURNS TABLE (s STRING, r STRING) RETURN"
                f" SELECT ssn, region FROM walled.{made} WHERE id >= least"
            )
        for clause in clauses:
            run(f"ALTER TABLE t_{kind} {clause}")
    yield "walled"
    run("USE default")
    run("DROP SCHEMA walled CASCADE")


QUERIES = [
    "SELECT * FROM {t}",
    "SELECT ssn FROM {t} WHERE ssn = '111'",
    "SELECT id FROM {t} WHERE ssn <> '***'",
    "SELECT ssn, count(*) FROM {t} GROUP BY ssn",
    "SELECT ssn, sum(pay) FROM {t} GROUP BY ROLLUP (ssn)",
    "SELECT count(*), count(ssn), min(ssn), max(ssn), min(id), max(region) FROM {t}",
    "SELECT count(*) FROM {t}",
    "SELECT DISTINCT region FROM {t} ORDER BY region LIMIT 1",
    "SELECT a.ssn, b.ssn FROM {t} a JOIN {t} b ON a.ssn = b.ssn",
    "SELECT a.id, b.id FROM {t} a JOIN {t} b USING (region)",
    "SELECT a.id, b.ssn FROM {t} a LEFT JOIN {t} b ON a.id = b.id AND b.ssn = '111'",
    "SELECT id FROM {t} LEFT SEMI JOIN (VALUES ('111'), ('***')) x(s) ON ssn = x.s",
    "SELECT id FROM {t} LEFT ANTI JOIN (VALUES ('111')) x(s) ON ssn = x.s",
    "SELECT * FROM (VALUES (1), (2)) x(i) WHERE EXISTS (SELECT 1 FROM {t} WHERE id = x.i AND ssn = '111')",
    "SELECT * FROM (VALUES ('111'), ('***')) x(s) WHERE s IN (SELECT ssn FROM {t})",
    "SELECT * FROM (VALUES ('111'), ('444')) x(s) WHERE s NOT IN (SELECT ssn FROM {t} WHERE ssn IS NOT NULL)",
    "SELECT (SELECT max(ssn) FROM {t}) m",
    "SELECT i, (SELECT max(ssn) FROM {t} WHERE id = x.i) m FROM (VALUES (1), (2)) x(i)",
    "SELECT * FROM (VALUES (1), (3)) x(i), LATERAL (SELECT ssn FROM {t} WHERE id = x.i)",
    "WITH c AS (SELECT ssn, id FROM {t}), d AS (SELECT * FROM c) SELECT * FROM d JOIN c USING (id)",
    "SELECT ssn FROM {t} UNION SELECT ssn FROM {t}",
    "SELECT ssn FROM {t} UNION ALL SELECT region FROM {t}",
    "SELECT ssn FROM {t} EXCEPT SELECT '***'",
    "SELECT ssn FROM {t} INTERSECT SELECT '111'",
    "SELECT id, rank() OVER (PARTITION BY ssn ORDER BY pay) r, lag(ssn) OVER (ORDER BY id) l FROM {t}",
    "SELECT * FROM (SELECT ssn, region, pay FROM {t}) PIVOT (sum(pay) FOR region IN ('eu', 'us'))",
    "SELECT * FROM (SELECT ssn, region FROM {t}) UNPIVOT (v FOR n IN (ssn, region))",
    "SELECT id, explode(split(ssn, '')) c FROM {t}",
    "SELECT struct(*) s FROM {t}",
    "SELECT to_json(struct(ssn, region)) j FROM {t}",
    "SELECT collect_set(ssn) OVER () c FROM {t}",
    "SELECT coalesce(ssn, 'none'), length(ssn), md5(ssn) FROM {t}",
    "SELECT id FROM {t} WHERE ssn LIKE '1%' OR ssn RLIKE '[23]'",
    "SELECT ssn FROM {t} GROUP BY ssn HAVING ssn > '200'",
    "SELECT max(struct(ssn, id)) m FROM {t}",
    "FROM {t} |> WHERE ssn = '111' |> SELECT id",
    "SELECT * FROM v_{t}",
    "SELECT * FROM w_{t}",
    "SELECT s FROM v_{t} WHERE s = '111'",
    "SELECT f_{t}() f",
    "SELECT * FROM g_{t}(2)",
    "SELECT i, s FROM (VALUES (1), (3)) x(i), LATERAL g_{t}(i) WHERE s <> '222'",
    "SELECT ssn FROM `walled`.`{t}`\u00a0",
    "SELECT\u3000`ssn` FROM {t} WHERE `SSN` <> '222'",
    "TABLE {t}",
    "SELECT * FROM IDENTIFIER('walled.' || '{t}')",
    "SELECT /* {t} */ `ssn` FROM `walled` . `{t}` -- AT (OFFSET => 0)\n WHERE `SSN` IS NOT NULL",
    "SELECT * FROM spark_catalog.walled.{t} TABLESAMPLE (100 PERCENT)",
    "EXECUTE IMMEDIATE 'SELECT ssn FROM {t} WHERE id = ?' USING 1",
    "EXECUTE IMMEDIATE 'SELECT ssn FROM ' || 'walled.{t}'",
    "BEGIN DECLARE found STRING; SET found = (SELECT max(ssn) FROM walled.{t}); SELECT found; END",
    "BEGIN FOR r AS SELECT ssn FROM walled.{t} WHERE id = 1 DO SELECT r.ssn; END FOR; SELECT 1; END",
]


PAIRS = list(product(SEEN, USERS))
OF_PAIRS = [
    pytest.param([pair for pair in PAIRS if pair[0] in ("mapped", "both")], id="short"),
    pytest.param(PAIRS, id="all", marks=pytest.mark.long("twice as many pairs; the matrix has all kinds")),
]


@pytest.mark.parametrize("part", range(4))
@pytest.mark.one_in(4, "52 queries; random ones of the same forms run with each change")
@pytest.mark.slow("13 queries over two tables, in a JVM that is not warm")
def test_queries(session, walled, part):
    """Text in its many forms, each by one of the users over one kind of protection."""
    for query, (kind, user) in [*zip(QUERIES, cycle(PAIRS), strict=False)][part::4]:
        wanted = _answer(session, query.format(t=f"{kind}_{user}"))
        with audit.as_user(session, user):
            assert _answer(session, query.format(t=f"t_{kind}")) == wanted, (query, kind, user)


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.long("38 plans of 25 queries: five minutes; test_queries has each query once")
def test_every_query_of_every_user(session, walled, part):
    """All users over all kinds; many queries are parts of one, as each alone would take as long."""
    queries = [query for query in QUERIES if not query.startswith(("BEGIN", "EXECUTE"))][part::2]
    text = " UNION ALL ".join(
        f"SELECT {number} AS query, CAST(struct(*) AS STRING) AS row FROM ({query})"
        for number, query in enumerate(queries)
    )
    wanted = {}  # what a user sees of several kinds may be the same
    for kind, user in PAIRS:
        seen = SEEN[kind][user]
        if seen not in wanted:
            wanted[seen] = _answer(session, text.replace("{t}", f"{kind}_{user}"))
        with audit.as_user(session, user):
            assert _answer(session, text.replace("{t}", f"t_{kind}")) == wanted[seen], (kind, user)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(24), marks=pytest.mark.slow("many queries over the same tables"), id="short"),
        pytest.param(range(24, 600), marks=pytest.mark.long("576 queries: about ten minutes"), id="long"),
    ],
)
def test_random_queries(session, walled, seeds):
    """Whatever is asked answers as over what was masked and filtered beforehand."""
    compared = Counter()
    for seed, (kind, user) in zip(seeds, cycle(PAIRS), strict=False):
        query = random_query(seed)
        try:
            wanted = _answer(session, query.replace("@t", f"{kind}_{user}"))
        except (PySparkException, Py4JJavaError):
            continue  # a division by zero among the rows that are seen
        compared[kind, user] += 1
        with audit.as_user(session, user):
            assert _answer(session, query.replace("@t", f"t_{kind}")) == wanted, (seed, query)
    assert len(compared) == len(PAIRS)
    assert compared.total() > len(seeds) / 2


def _answer(session, query):
    return sorted(map(repr, (tuple(row) for row in session.sql(query).collect())))


def _frames(session, table):
    """DataFrames over a table, made in many ways."""
    location = session.sql(f"DESCRIBE DETAIL walled.{table}").first().location
    yield session.table(f"walled.{table}")
    yield session.read.table(f"walled.{table}")
    yield session.read.format("delta").load(location)
    yield session.read.load(location)
    yield session.sql(f"SELECT * FROM delta.`{location}`")
    yield DeltaTable.forName(session, f"walled.{table}").toDF()
    yield DeltaTable.forPath(session, location).toDF()
    yield session.table(f"walled.{table}").select("*").filter(functions.col("ssn").isNotNull()).distinct()
    yield session.table(f"walled.{table}").alias("a").crossJoin(session.table(f"walled.{table}").alias("b"))
    yield session.table(f"walled.{table}").groupBy("ssn").agg(functions.max("pay"), functions.first("ssn"))
    yield session.table(f"walled.{table}").withColumn("x", functions.expr("upper(ssn)")).select("x")
    yield session.sql("SELECT * FROM {t}", t=session.table(f"walled.{table}"))
    yield session.sql("SELECT ssn FROM walled." + table + " WHERE ssn = :s", args={"s": "111"})


ACTIONS = [
    lambda frame: sorted(map(repr, frame.collect())),
    lambda frame: frame.count(),
    lambda frame: sorted(map(repr, frame.toLocalIterator())),
    lambda frame: sorted(map(repr, frame.rdd.collect())),
    lambda frame: sorted(map(repr, frame.toPandas().astype(str).values.tolist())),
    lambda frame: sorted(map(repr, frame.take(100))),
    lambda frame: frame.isEmpty(),
]


@pytest.mark.long("13 frames times 7 actions; the next test does one of them to each frame")
def test_frames_by_each_action(session, walled):
    """DataFrames, however they are made, whatever is done with them."""
    plain = list(_frames(session, "both_sam"))
    with audit.as_user(session, "sam"):
        for number, frame in enumerate(_frames(session, "t_both")):
            for action in ACTIONS:
                assert action(frame) == action(plain[number]), number


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow("13 frames times 3 users")
def test_frames_of_each_user(session, walled, kind):
    """The same by all users over all kinds of protection, with one action each."""
    actions = cycle(ACTIONS)
    for user in USERS:
        plain = list(_frames(session, f"{kind}_{user}"))
        with audit.as_user(session, user):
            for number, frame in enumerate(_frames(session, f"t_{kind}")):
                action = next(actions)
                assert action(frame) == action(plain[number]), (user, number)


@pytest.mark.parametrize("kind", _kinds("mapped", "both"))
def test_a_frame_handed_from_one_to_another(session, walled, kind):
    """Each user sees what they may, whoever made the DataFrame, and whoever ran it before."""
    frame = session.table(f"walled.t_{kind}")
    view = f"handed_{kind}"
    frame.createOrReplaceTempView(view)
    for user in (*USERS, *reversed(USERS)):
        plain = session.table(f"walled.{kind}_{user}")
        with audit.as_user(session, user):
            for action in ACTIONS:
                assert action(frame) == action(plain), user
            assert _answer(session, f"SELECT * FROM {view}") == _answer(
                session, f"SELECT * FROM {kind}_{user}"
            )


@pytest.mark.parametrize("kind", KINDS)
def test_what_another_has_cached(session, walled, kind):
    """What is cached for one is not answered to another."""
    session.sql(f"CACHE TABLE t_{kind}")
    try:
        for user in USERS:
            wanted = _answer(session, f"SELECT * FROM {kind}_{user}")
            with audit.as_user(session, user):
                assert _answer(session, f"SELECT * FROM t_{kind}") == wanted
                frame = session.table(f"t_{kind}").cache()
                frame.count()
                assert _answer(session, f"SELECT * FROM t_{kind}") == wanted
            seen = sorted(map(repr, map(tuple, frame.collect())))
            assert seen == _answer(session, f"SELECT * FROM t_{kind}")
    finally:
        session.sql("CLEAR CACHE")


@pytest.mark.long("tests/jobs has caches, and test_enforced changes of policies")
def test_what_is_cached_sees_changes(session, walled):
    """A change by one user reaches what others have cached."""
    session.sql("CREATE TABLE cached AS SELECT * FROM both_hal")
    session.sql("ALTER TABLE cached ALTER COLUMN ssn SET MASKING POLICY ssn_mask")
    session.sql("ALTER TABLE cached ADD ROW ACCESS POLICY regions ON (region)")
    try:
        for user in ("hal", "sam"):
            with audit.as_user(session, user):
                session.table("cached").cache().count()
        changes = (
            "INSERT INTO cached VALUES (5, '555', 'eu', 50.00)",
            "UPDATE cached SET pay = 60 WHERE id = 5",
            "DELETE FROM cached WHERE id = 5",
        )
        for change, pays in zip(changes, ([50], [60], []), strict=True):
            with audit.as_user(session, "sam"):
                session.sql(change)
            for user in ("hal", "sam"):
                with audit.as_user(session, user):
                    found = session.table("cached").where("id = 5").collect()
                assert [int(row.pay) for row in found] == pays, (change, user)
    finally:
        session.sql("CLEAR CACHE")
        session.sql("DROP TABLE cached")


COPIES = [
    lambda session, kind: session.sql(f"CREATE TABLE copied AS SELECT * FROM t_{kind}"),
    lambda session, kind: session.sql(f"INSERT INTO copied SELECT * FROM t_{kind}"),
    lambda session, kind: session.table(f"t_{kind}").write.saveAsTable("copied"),
    lambda session, kind: session.sql(
        f"MERGE INTO copied USING t_{kind} s ON copied.id = s.id WHEN NOT MATCHED THEN INSERT *"
    ),
    lambda session, kind: session.table(f"t_{kind}").write.insertInto("copied"),
]


@pytest.mark.parametrize("pairs", OF_PAIRS)
@pytest.mark.slow("many ways to write")
def test_what_is_written_is_what_is_seen(session, walled, pairs):
    """A copy holds what its maker sees, over each kind of protection, in one of many ways."""
    for (kind, user), (number, copy) in zip(pairs, cycle(enumerate(COPIES)), strict=False):
        wanted = _answer(session, f"SELECT * FROM {kind}_{user}")
        with audit.as_user(session, user):
            if number not in (0, 2):
                session.sql(f"CREATE TABLE copied ({COLUMNS})")
            copy(session, kind)
        assert _answer(session, "SELECT * FROM copied") == wanted, (number, kind, user)
        session.sql("DROP TABLE copied")


@pytest.mark.parametrize("pairs", OF_PAIRS)
def test_clones_are_protected(session, walled, pairs):
    """A clone of any kind holds all of it, behind the same policies."""
    for (kind, user), clone in zip(
        pairs, cycle(["CLONE", "SHALLOW CLONE", "DEEP CLONE", "CLONE"]), strict=False
    ):
        wanted = _answer(session, f"SELECT * FROM {kind}_{user}")
        with audit.as_user(session, user):
            session.sql(f"CREATE TABLE cloned {clone} t_{kind}")
            assert _answer(session, "SELECT * FROM cloned") == wanted, (clone, kind, user)
        session.sql("DROP TABLE cloned")


@pytest.mark.long("test_clones_are_protected has a table")
def test_a_schema_of_clones(session, walled):
    """So do the clones of a schema."""
    session.sql("CREATE SCHEMA walled_too CLONE walled")
    try:
        for kind in SEEN:
            wanted = _answer(session, f"SELECT * FROM {kind}_sam")
            with audit.as_user(session, "sam"):
                assert _answer(session, f"SELECT * FROM walled_too.t_{kind}") == wanted
    finally:
        session.sql("DROP SCHEMA walled_too CASCADE")


def test_after_a_rename_and_a_return(session, walled):
    """Policies stay with a table that is renamed, dropped and brought back."""
    wanted = _answer(session, "SELECT * FROM both_sam")
    session.sql("ALTER TABLE t_both RENAME TO t_elsewhere")
    try:
        with audit.as_user(session, "sam"):
            assert _answer(session, "SELECT * FROM t_elsewhere") == wanted
        session.sql("DROP TABLE t_elsewhere")
        session.sql("UNDROP TABLE t_elsewhere")
        with audit.as_user(session, "sam"):
            assert _answer(session, "SELECT * FROM t_elsewhere") == wanted
    finally:
        session.sql("ALTER TABLE t_elsewhere RENAME TO t_both")


def test_another_name_for_the_same_place(session, walled):
    """A second name for its files leads to the same table."""
    location = session.sql("DESCRIBE DETAIL t_both").first().location
    wanted = _answer(session, "SELECT * FROM both_sam")
    with audit.as_user(session, "sam"):
        session.sql(f"CREATE TABLE alias USING delta LOCATION '{location}'")
        assert _answer(session, "SELECT * FROM alias") == wanted
    session.sql("DROP TABLE alias")


REFUSED = [
    "SELECT count(*) FROM parquet.`{place}`",
    "SELECT * FROM text.`{place}/_delta_log/*.json`",
    "SELECT * FROM binaryFile.`{place}`",
    "CREATE TABLE files USING parquet LOCATION '{place}'",
    "SELECT * FROM t_both VERSION AS OF 1",
    "SELECT * FROM t_both TIMESTAMP AS OF current_timestamp()",
    "SELECT * FROM t_both@v1",
    "SELECT * FROM t_both AT (OFFSET => 0)",
    "SELECT * FROM delta.`{place}@v1`",
    "SELECT * FROM table_changes('t_both', 1)",
    "DESCRIBE HISTORY t_both",
    "RESTORE TABLE t_both TO VERSION AS OF 0",
    "UPDATE t_both SET region = ssn",
    "UPDATE t_both SET ssn = concat(ssn, '!')",
    "MERGE INTO t_both t USING both_eve s ON false WHEN NOT MATCHED BY SOURCE THEN UPDATE SET region = t.ssn",
    "DELETE FROM t_mapped WHERE id = 1",
]  # fmt: skip


def test_what_cannot_be_governed_is_refused(session, walled):
    """Files, the past, and changes made of masked values: refused, and nothing has changed."""
    session.sql("ALTER TABLE t_both SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    place = session.sql("DESCRIBE DETAIL t_both").first().location
    before = _answer(session, "SELECT * FROM t_both")
    for text in REFUSED:
        with audit.as_user(session, "sam"), pytest.raises(AccessDeniedError):
            session.sql(text.format(place=place)).collect()
    assert _answer(session, "SELECT * FROM t_both") == before


def test_readers_that_are_refused(session, walled, tmp_path):
    """The same by readers, Delta's API and streams."""
    place = session.sql("DESCRIBE DETAIL t_both").first().location
    above = place.rpartition("/")[0]
    tries = [
        lambda: session.read.parquet(place).count(),
        lambda: session.read.option("recursiveFileLookup", "true").parquet(above).count(),
        lambda: session.read.text(f"{place}/_delta_log").count(),
        lambda: session.read.option("versionAsOf", 1).table("t_both").collect(),
        lambda: session.read.options(readChangeFeed=True, startingVersion=1).table("t_both").count(),
        lambda: DeltaTable.forName(session, "t_both").history().collect(),
        lambda: DeltaTable.forName(session, "t_both").restoreToVersion(0),
        lambda: session.readStream.table("t_both").writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path)).start(),
    ]  # fmt: skip
    with audit.as_user(session, "sam"):
        for attempt in tries:
            with pytest.raises(AccessDeniedError):
                attempt()
        # Delta's own clone is the statement, whose clone has the same policies.
        DeltaTable.forName(session, "t_both").clone("sneaked", isShallow=True)
        assert sorted(session.table("sneaked").collect()) == sorted(session.table("t_both").collect())
    session.sql("DROP TABLE sneaked")


@pytest.fixture
def past(session, walled):
    """A table with a mask, its place, and the statement that changed it last."""
    session.sql(f"CREATE TABLE past ({COLUMNS}) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    session.sql(f"INSERT INTO past {ROWS}")
    session.sql("ALTER TABLE past ALTER COLUMN ssn SET MASKING POLICY ssn_mask")
    session.sql("UPDATE past SET pay = 0 WHERE id = 1")
    audit.flush(session)
    statement = session.sql(
        "SELECT max(query_id) FROM account_usage.query_history WHERE query_text LIKE 'UPDATE past SET%'"
    ).first()[0]
    yield session.sql("DESCRIBE DETAIL past").first().location, statement
    session.sql("DROP TABLE past")


PAST = [
    "past VERSION AS OF 1",
    "past@v1",
    "past BEFORE (STATEMENT => '{statement}')",
    "past AT (STATEMENT => '{statement}')",
    "past AT (OFFSET => 0)",
    "past TIMESTAMP AS OF current_timestamp()",
    "delta.`{place}@v1`",
    "table_changes('past', 1, 1)",
]


@pytest.mark.slow("many ways to read the past")
def test_the_past_behind_a_mask(session, past):
    """Old versions and changes are read behind the mask of today, whatever is restored."""
    place, statement = past
    masked = [("***",)] * 3 + [(None,)]
    real = [("111",), ("222",), ("333",), (None,)]

    def read(user):
        with audit.as_user(session, user):
            for one in PAST:
                text = f"SELECT ssn FROM {one.format(place=place, statement=statement)}"
                yield [tuple(row) for row in session.sql(f"{text} ORDER BY ssn NULLS LAST").collect()]
            changes = session.read.options(readChangeFeed=True, startingVersion=1, endingVersion=1)
            for reader in (session.read.option("versionAsOf", 1), changes):
                frame = reader.table("past").select("ssn")
                yield [tuple(row) for row in frame.sort(functions.col("ssn").asc_nulls_last()).collect()]

    assert list(read("sam")) == [masked] * (len(PAST) + 2)
    assert list(read("hal")) == [real] * (len(PAST) + 2)
    with audit.as_user(session, "sam"):
        session.sql("RESTORE TABLE past TO VERSION AS OF 1")
        found = session.sql("SELECT ssn, pay FROM past WHERE id = 1").first()
    assert (found.ssn, int(found.pay)) == ("***", 10)


@pytest.mark.long("test_the_past_behind_a_mask has who may not see it")
def test_the_administrator_and_the_past(session, walled):
    """Versions, changes and RESTORE of a table with a row access policy."""
    session.sql(
        "CREATE TABLE told (id INT, region STRING) TBLPROPERTIES ('delta.enableChangeDataFeed'='true')"
    )
    session.sql("INSERT INTO told VALUES (1, 'eu'), (2, 'us')")
    session.sql("ALTER TABLE told ADD ROW ACCESS POLICY regions ON (region)")
    session.sql("GRANT ROLE hr TO USER ann")
    try:
        session.sql("DELETE FROM told WHERE id = 2")
        for text in ("told VERSION AS OF 1", "table_changes('told', 1, 1)"):
            assert _answer(session, f"SELECT id FROM {text}") == ["(1,)", "(2,)"], text
        session.sql("RESTORE TABLE told TO VERSION AS OF 1")
        assert _answer(session, "SELECT id FROM told") == ["(1,)", "(2,)"]
    finally:
        session.sql("REVOKE ROLE hr FROM USER ann")
        session.sql("DROP TABLE told")


@pytest.mark.parametrize("kind", KINDS)
def test_metadata_columns(session, walled, kind):
    """`_metadata` is there, of the rows that are seen; names of files by function as well."""
    for user in USERS:
        wanted = _answer(session, f"SELECT id, ssn, true FROM {kind}_{user}")
        for told in ("_metadata.file_path", "_metadata", "input_file_name()"):
            with audit.as_user(session, user):
                assert _answer(session, f"SELECT id, ssn, {told} IS NOT NULL FROM t_{kind}") == wanted, told


TELLING = [
    "SELECT CAST(ssn AS INT) FROM t_{kind} WHERE id = 1",
    "SELECT id FROM t_{kind} WHERE ssn > 100",
    "SELECT CAST(ssn AS DATE) FROM t_{kind}",
    "SELECT raise_error(ssn) FROM t_{kind} WHERE id = 1",
    "SELECT sum(CAST(ssn AS BIGINT)) FROM t_{kind}",
    "INSERT INTO told_{kind} SELECT ssn FROM t_{kind} WHERE id = 1",
]


@pytest.mark.parametrize("kind", _kinds("mask", "both"))
def test_errors_quote_what_is_shown(session, walled, kind):
    """An error about a masked value quotes the mask."""
    session.sql(f"CREATE TABLE told_{kind} (n INT)")
    for text in TELLING:
        with audit.as_user(session, "sam"), pytest.raises((PySparkException, Py4JJavaError)) as error:
            session.sql(text.format(kind=kind)).collect()
        assert re.findall("'(111|222|333)'", str(error.value)) == [], text
    session.sql(f"DROP TABLE told_{kind}")


def test_plans_tell_nothing(session, walled, capsys):
    """EXPLAIN shows the policies at work and none of the values; estimates are for who sees all."""
    text = "SELECT ssn, region FROM t_both"
    for mode in ("", "EXTENDED", "FORMATTED", "CODEGEN"):
        with audit.as_user(session, "sam"):
            plan = session.sql(f"EXPLAIN {mode} {text}").first()[0]
        assert "***" in plan or mode == "CODEGEN"
        assert re.findall("'?(111|222|333)'?", plan.partition("== Physical")[2]) == []
    frame = session.sql(text)
    with audit.as_user(session, "sam"):
        frame.explain()
        for asks in (lambda: session.sql(f"EXPLAIN COST {text}"), lambda: frame.explain(mode="cost")):
            with pytest.raises(AccessDeniedError, match=r"estimates of .*t_both tell what policies hide"):
                asks()
    assert "***" in capsys.readouterr().out
    with audit.as_user(session, "hal"):
        frame.explain("cost")
        assert "sizeInBytes" in session.sql(f"EXPLAIN COST {text}").first()[0]


def test_denied_is_on_record(session, walled):
    """Who was refused what."""
    with audit.as_user(session, "sam"), pytest.raises(AccessDeniedError):
        session.sql("DESCRIBE HISTORY t_both").collect()
    audit.flush(session)
    found = session.sql(
        "SELECT execution_status, error_code, user_name, get(objects_tried, 0)"
        " FROM account_usage.query_history"
        " WHERE query_text LIKE 'DESCRIBE HISTORY%' AND execution_status = 'DENIED'"
    ).first()
    assert tuple(found) == ("DENIED", "ACCESS_DENIED", "sam", "spark_catalog.walled.t_both")


def test_denied_readers_are_on_record(session, walled, tmp_path):
    """So are readers, DataFrames, streams and Delta's API, with what they would have read."""
    place = session.sql("DESCRIBE DETAIL t_both").first().location
    frame = session.read.option("versionAsOf", 1).table("t_both")
    checkpoint = str(tmp_path)
    tries = {
        "DataFrame.collect": frame.collect,
        "DataFrame.explain": lambda: session.table("t_both").explain("cost"),
        "DataFrameReader.parquet": lambda: session.read.parquet(place),
        "DataStreamWriter.start": session.readStream.table("t_both").writeStream.format("noop")
        .option("checkpointLocation", checkpoint).start,
        "DeltaTable.history": DeltaTable.forName(session, "t_both").history,
    }  # fmt: skip
    with audit.as_user(session, "nosy"):
        for attempt in tries.values():
            with pytest.raises(AccessDeniedError):
                attempt()
    audit.flush(session)
    found = session.sql(
        "SELECT query_text, execution_status, error_code, error_message, objects_tried"
        " FROM account_usage.query_history WHERE user_name = 'nosy' ORDER BY start_time, query_id"
    ).collect()
    assert [row.query_text.partition("(")[0] for row in found] == list(tries)
    assert {(row.execution_status, row.error_code) for row in found} == {("DENIED", "ACCESS_DENIED")}
    table = "spark_catalog.walled.t_both"
    assert [row.objects_tried and row.objects_tried[0].removeprefix("file:") for row in found] == [
        table, table, place.removeprefix("file:"), None, place.removeprefix("file:"),
    ]  # fmt: skip
    assert all(table in row.error_message for row in found)


# Capitals of the long s and small letters of the sign of Kelvin are those of s and k; nobody sees U+200B.
LOOK_ALIKE = [
    "SELECT `\u017fsn` FROM {t}",
    "SELECT ssn FROM {t} WHERE `s\u017fn` = '111'",
    "SELECT ssn FROM `wal\u017fed`.{t}",
    "SELECT `ss\u200bn` FROM {t}",
    "SELECT ssn FROM `{t}\u200b`",
    "SELECT `ssn\u00a0` FROM {t}",
    "SELECT `\uff53\uff53\uff4e` FROM {t}",
    "SELECT \u0455sn FROM {t}",
]


def test_look_alikes(session, walled):
    """A name that only looks like another leads nowhere; one that Spark takes for it, to the same answer."""
    with audit.as_user(session, "sam"):
        for text in LOOK_ALIKE:
            with pytest.raises(PySparkException, match=r"cannot be (resolved|found)|INVALID_IDENTIFIER"):
                session.sql(text.format(t="t_both"))
        wanted = _answer(session, "SELECT * FROM mask_sam")
        assert _answer(session, "SELECT * FROM `t_mas\u212a`") == wanted
        assert _answer(session, "SELECT * FROM spark_catalog.`WALLED`.`t_mas\u212a`") == wanted


def test_statistics_of_columns(session, walled):
    """Spark makes none of a Delta table, so nothing of theirs can tell."""
    for command in ("COMPUTE STATISTICS", "COMPUTE STATISTICS FOR ALL COLUMNS"):
        with pytest.raises(PySparkException, match="NOT_SUPPORTED_COMMAND_FOR_V2_TABLE"):
            session.sql(f"ANALYZE TABLE t_both {command}")


FAILING = [
    "SELECT id FROM {t} WHERE 1 / (pay - 20) > 0",
    "SELECT id FROM {t} WHERE cast(replace(region, 'eu', '1') AS INT) = 1",
    "SELECT a.id FROM {t} a JOIN (VALUES (1)) x(i) ON 1 / (a.pay - 20) > x.i - 1 AND 1 / (a.pay - 20) < 9",
    "SELECT id FROM (SELECT id, pay FROM {t}) WHERE id > 0 AND assert_true(pay <> 20) IS NULL",
]


@pytest.mark.parametrize("kind", _kinds("rows", "mapped", "both"))
def test_hidden_rows_make_nothing_fail(session, walled, kind):
    """An error would tell of a row that is hidden."""
    for query in FAILING:
        wanted = _answer(session, query.format(t=f"{kind}_sam"))
        with audit.as_user(session, "sam"):
            assert _answer(session, query.format(t=f"t_{kind}")) == wanted, query


def test_filters_still_reach_the_files(session, walled):
    """Partitions are pruned and columns filtered in the files as without policies."""
    session.sql(f"CREATE TABLE parted ({COLUMNS}) PARTITIONED BY (region)")
    session.sql(f"INSERT INTO parted {ROWS}")
    session.sql("ALTER TABLE parted ALTER COLUMN ssn SET MASKING POLICY ssn_mask")
    session.sql("ALTER TABLE parted ADD ROW ACCESS POLICY mapped ON (region)")
    with audit.as_user(session, "sam"):
        plan = session.sql("SELECT ssn FROM parted WHERE region = 'eu' AND pay > 15")._jdf.queryExecution()
        text = plan.executedPlan().toString()
    assert "PartitionFilters: [isnotnull(region" in text
    assert "PushedFilters: [IsNotNull(pay), GreaterThan(pay,15.00)]" in text
    session.sql("DROP TABLE parted")


JOINS = [
    (
        "SELECT a.ssn FROM {t} a, {t} b WHERE (a.id = b.id AND a.pay BETWEEN 1 AND 2)"
        " OR (a.id = b.id AND b.pay BETWEEN 4 AND 9)"
    ),
    "SELECT id FROM {t} a WHERE EXISTS (SELECT 1 FROM {t} b WHERE a.id = b.id AND a.region <> b.region)",
    "SELECT id FROM {t} WHERE id IN (SELECT id FROM {t} GROUP BY id HAVING sum(pay) > 3)",
    "SELECT id FROM {t} a WHERE pay < (SELECT 0.2 * avg(pay) FROM {t} b WHERE a.id = b.id)",
    "WITH s AS (SELECT id, sum(pay * 2) n FROM {t} GROUP BY 1) SELECT id FROM s WHERE n > 7",
]


@pytest.mark.parametrize("query", JOINS)
def test_what_cannot_fail_is_planned_as_by_hand(session, walled, query):
    """Conditions are joins, and go down to the files, as over a view that masks and filters."""
    with audit.as_user(session, "sam"):
        governed = session.sql(query.format(t="t_rows"))._jdf.queryExecution().optimizedPlan().toString()
    session.sql("CREATE OR REPLACE TEMP VIEW by_hand AS SELECT * FROM rows_hal WHERE region = 'eu'")
    by_hand = session.sql(query.format(t="by_hand"))._jdf.queryExecution().optimizedPlan().toString()

    def kinds(plan):
        return re.findall(r"Join \w+|Filter|Aggregate", plan)

    assert kinds(governed) == kinds(by_hand)


@pytest.mark.long("the matrix has UPDATE, DELETE and MERGE")
def test_changes_see_what_policies_show(session, walled):
    """UPDATE, DELETE and MERGE find what their user sees, and store what is there."""
    session.sql("CREATE TABLE changed AS SELECT * FROM both_hal")
    session.sql("ALTER TABLE changed ALTER COLUMN ssn SET MASKING POLICY ssn_mask")
    session.sql("ALTER TABLE changed ADD ROW ACCESS POLICY regions ON (region)")
    with audit.as_user(session, "sam"):
        session.sql("UPDATE changed SET pay = 0 WHERE ssn = '111'")  # masked: finds nothing
        session.sql("DELETE FROM changed WHERE ssn = '111'")
        session.sql(
            "MERGE INTO changed USING (SELECT '111' AS s) ON ssn = s WHEN MATCHED THEN UPDATE SET pay = 0"
        )
        session.sql(
            "MERGE INTO changed USING (SELECT 1 AS i) ON id = i"
            " WHEN MATCHED AND ssn = '111' THEN DELETE"
            " WHEN MATCHED AND ssn = '***' THEN UPDATE SET region = 'eu'"
        )
        session.sql("UPDATE changed SET pay = 1, ssn = ssn WHERE id IN (1, 2)")  # 2 is hidden
        session.sql("DELETE FROM changed WHERE id >= 2")  # 2 and 4 are hidden
        session.sql(
            "MERGE INTO changed USING (SELECT 1 i UNION SELECT 2) s ON id = s.i"
            " WHEN MATCHED THEN UPDATE SET pay = 7 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.i + 10)"
            " WHEN NOT MATCHED BY SOURCE THEN DELETE"
        )
    with audit.as_user(session, "hal"):
        found = _answer(session, "SELECT id, ssn, region, pay FROM changed")
    assert found == sorted(
        map(
            repr,
            _decimals(
                [(1, "111", "eu", 7), (2, "222", "us", 20), (4, None, None, 5), (12, None, None, None)]
            ),
        )
    )
    session.sql("DROP TABLE changed")


def _decimals(rows):
    return [(*row[:3], None if row[3] is None else Decimal(row[3]).quantize(Decimal("0.01"))) for row in rows]
