"""Names of tables behind JDBC and of topics, as OpenLineage names them."""

import pytest

from lineage.foreign_names import foreign_locations

TABLES = [
    ("jdbc:postgresql://h:5433/shop", "public.orders", "postgres://h:5433/shop.public.orders"),
    ("jdbc:postgresql://h/shop", "orders", "postgres://h:5432/shop.public.orders"),
    ("jdbc:postgresql://h/shop", '"S"."T"', "postgres://h:5432/shop.S.T"),
    ("jdbc:postgresql://[::1]:5433/shop", "s.t", "postgres://[::1]:5433/shop.s.t"),
    ("jdbc:postgresql://a:1,b:2/shop", "s.t", "postgres://a:1/shop.s.t"),
    ("jdbc:mysql://h/db", "t", "mysql://h:3306/db.t"),
    ("jdbc:mysql:loadbalance://a:1,b:2/db", "t", "mysql://a:1/db.t"),
    ("jdbc:mariadb://h/db", "other.t", "mysql://h:3306/other.t"),
    ("jdbc:sqlserver://h:1444;databaseName=D;encrypt=true", "t", "mssql://h:1444/D.dbo.t"),
    ("jdbc:oracle:thin:@h:1521:ORCL", "S.T", "oracle://h:1521/ORCL.S.T"),
    ("jdbc:oracle:thin:@//h/service", "S.T", "oracle://h:1521/service.S.T"),
    ("jdbc:snowflake://a.snowflakecomputing.com/?db=D&schema=S", "t", "snowflake://a.snowflakecomputing.com/D.PUBLIC.t"),
    ("jdbc:derby:memory:x;create=true", "APP.T", "derby://memory:x/APP.T"),
    ("jdbc:sqlite:/tmp/x.db", "t", "sqlite:///tmp/x.db/t"),
    ("jdbc:other://h:9/x", "t", "other://h:9/x.t"),
]  # fmt: skip


@pytest.mark.parametrize(("url", "table", "name"), TABLES)
def test_a_table_behind_jdbc(url, table, name):
    """Server, database, schema and table, with what goes without saying."""
    assert foreign_locations({"provider": "jdbc", "url": url, "dbtable": table}) == (name,)


@pytest.mark.parametrize("url", [
    "jdbc:postgresql://ann:hunter2@h/shop", "jdbc:postgresql://h/shop?user=ann&password=hunter2",
    "jdbc:oracle:thin:ann/hunter2@//h/shop", "jdbc:oracle:thin:ann/hunter2@h:1521:shop",
    "jdbc:sqlserver://h;databaseName=shop;user=ann;password=hunter2",
    "jdbc:h2:mem:shop;USER=ann;PASSWORD=hunter2",
    "jdbc:mysql://ann:hunt@er2@h/shop", "jdbc:db2://h:50000/shop:user=ann;password=hunter2;",
])  # fmt: skip
def test_no_user_and_no_password_is_in_a_name(url):
    """Wherever a URL has them."""
    (name,) = foreign_locations({"provider": "jdbc", "url": url, "dbtable": "t"})
    assert "hunt" not in name
    assert "ann" not in name
    assert "shop" in name


@pytest.mark.parametrize(("asked", "names"), [
    ("(select a from orders o join s.people using (k)) q", ("shop.public.orders", "shop.s.people")),
    ("(with c as (select 1 from z) select * from c, d.e) q", ("shop.d.e", "shop.public.z")),
    ("(select 1) q", ("shop",)),
    ("(select ((( q", ("shop",)),
])  # fmt: skip
def test_a_query_reads_the_tables_that_it_names(asked, names):
    """The database alone where it names none, or cannot be parsed."""
    found = foreign_locations({"provider": "jdbc", "url": "jdbc:postgresql://h/shop", "dbtable": asked})
    assert set(found) == {f"postgres://h:5432/{name}" for name in names}


def test_a_url_of_another_form_has_no_name():
    """Nothing is made up."""
    assert foreign_locations({"provider": "jdbc", "url": "nonsense", "dbtable": "t"}) == ()


@pytest.mark.parametrize(("options", "names"), [
    ({"subscribe": "a"}, ("kafka://b:9092/a",)),
    ({"subscribe": "a, c"}, ("kafka://b:9092/a", "kafka://b:9092/c")),
    ({"subscribepattern": "or.*"}, ("kafka://b:9092/or.*",)),
    ({"assign": '{"a":[0,1]}'}, ("kafka://b:9092/a",)),
    ({"topic": "a"}, ("kafka://b:9092/a",)),
    ({}, ("kafka://b:9092",)),
])  # fmt: skip
def test_topics(options, names):
    """In the cluster of the first broker; the cluster alone where each row says its topic."""
    told = {"provider": "kafka", "kafka.bootstrap.servers": "b:9092,c:9092", **options}
    assert foreign_locations(told) == names
