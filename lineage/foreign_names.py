"""Names of what lies outside of Spark's catalogs and file systems: tables behind JDBC, topics of Kafka.

In: the options of a source or a sink. Out: locations, as OpenLineage names such datasets ("Naming
Conventions"): `postgres://host:5432/db.schema.table`, `kafka://broker:9092/topic`. Other systems that read or
write the same thing name it so, too. No user and no password gets into a name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

Options = Mapping[str, str]
_JDBC = re.compile(
    r"jdbc:(?P<kind>[a-z0-9]+):(?:(?:thin|oci|loadbalance|mysql|replication|aurora):)?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_ADDRESS = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>\d+))?(?::(?P<database>.+))?")
_DATABASE = re.compile(r"[;?&](?:databaseName|database|db)=([^;&]*)", re.IGNORECASE)
_WITHOUT_SCHEMA = frozenset({"mysql", "mariadb", "clickhouse"})
"""There a database is what others call a schema."""


@dataclass(frozen=True, slots=True)
class _System:
    """A database system: its scheme, its port and schema where none is said, and sqlglot's dialect."""

    scheme: str
    port: int | None = None
    schema: str | None = None
    dialect: str | None = None


_SYSTEMS = {
    "postgresql": _System("postgres", 5432, "public", "postgres"),
    "mysql": _System("mysql", 3306, None, "mysql"),
    "mariadb": _System("mysql", 3306, None, "mysql"),
    "sqlserver": _System("mssql", 1433, "dbo", "tsql"),
    "oracle": _System("oracle", 1521, None, "oracle"),
    "redshift": _System("redshift", 5439, "public", "redshift"),
    "snowflake": _System("snowflake", None, "PUBLIC", "snowflake"),
    "db2": _System("db2", 50000),
    "teradata": _System("teradata", 1025, None, "teradata"),
    "clickhouse": _System("clickhouse", 8123, None, "clickhouse"),
    "trino": _System("trino", 8080, None, "trino"),
}


def foreign_locations(options: Options) -> tuple[str, ...]:
    """Where the data of a source or a sink lies; () where its options do not say.

    Args:
        options: those that name something, by their lower-case names, and `provider`: jdbc or kafka.

    >>> foreign_locations({"provider": "jdbc", "url": "jdbc:postgresql://h/shop?user=u", "dbtable": "orders"})
    ('postgres://h:5432/shop.public.orders',)
    >>> foreign_locations({"provider": "kafka", "kafka.bootstrap.servers": "b:9092", "subscribe": "a, c"})
    ('kafka://b:9092/a', 'kafka://b:9092/c')
    """
    if options["provider"] == "kafka":
        return tuple(dict.fromkeys(_topics(options)))
    return tuple(dict.fromkeys(_tables(options)))


def _topics(options: Options) -> Iterator[str]:
    """Those of a reader, or the one of a writer; the brokers alone where each row says its topic."""
    # Of several brokers the first one names the cluster, as OpenLineage's integrations have it.
    servers = options.get("kafka.bootstrap.servers", "").split(",")[0].strip()
    cluster = f"kafka://{servers}"
    named = options.get("subscribe") or options.get("topic") or ""
    topics = [one.strip() for one in named.split(",") if one.strip()]
    if "assign" in options:
        topics += json.loads(options["assign"])
    if "subscribepattern" in options:
        topics.append(options["subscribepattern"])
    yield from (f"{cluster}/{topic}" for topic in topics) if topics else (cluster,)


def _tables(options: Options) -> Iterator[str]:
    found = _JDBC.fullmatch(options.get("url", "").strip())
    if found is None:
        return
    kind = found["kind"].lower()
    system = _SYSTEMS.get(kind, _System(kind))
    server, database = _server(system, found["rest"])
    asked = options.get("dbtable", "")
    for parts in _asked_tables(asked, system):
        yield f"{server}/{'.'.join(_full(parts, database, system))}"


def _server(system: _System, rest: str) -> tuple[str, str]:
    """The namespace of a server, and the database that the URL names, or ""."""
    where, said = re.split("[;?]", rest)[0], _DATABASE.search(rest)
    if "@" in where:  # Oracle's, or with a user and a password
        where = "//" + where.rpartition("@")[2].removeprefix("//")
    if not where.startswith("//"):  # on this machine: an embedded database
        return f"{system.scheme}://{where}", ""
    address, _, database = where.removeprefix("//").partition("/")
    # Of several servers the first one names them all.
    found = _ADDRESS.fullmatch(address.split(",")[0])
    assert found is not None  # noqa: S101 - it matches any text without a line break
    port = found["port"] or system.port
    server = f"{system.scheme}://{found['host']}" + (f":{port}" if port else "")
    return server, said[1] if said else database.partition(":")[0].strip("/") or found["database"] or ""


def _asked_tables(asked: str, system: _System) -> list[tuple[str, ...]]:
    """The tables that are asked for, each as the parts of its name; those in a query, in its order."""
    is_query = asked.lstrip().startswith("(")  # Spark takes a name, or a query in brackets
    try:
        if not is_query:
            return [_parts(exp.to_table(asked, dialect=system.dialect))]
        query = sqlglot.parse_one(f"SELECT * FROM {asked}", dialect=system.dialect)  # noqa: S608 - it is not run
    except SqlglotError:
        return [()] if is_query else [(asked.strip(),)]  # the database alone, or the name as it is
    own = {one.alias_or_name for one in query.find_all(exp.CTE)}
    tables = [one for one in query.find_all(exp.Table, bfs=False) if one.name and one.name not in own]
    return [_parts(one) for one in tables] or [()]


def _parts(table: exp.Table) -> tuple[str, ...]:
    return tuple(part.name for part in table.parts)


def _full(parts: tuple[str, ...], database: str, system: _System) -> tuple[str, ...]:
    """A table's name with the schema and the database that go without saying."""
    if system.scheme in _WITHOUT_SCHEMA:
        return parts if len(parts) > 1 or not database else (database, *parts)
    if len(parts) == 1 and system.schema:
        parts = (system.schema, *parts)
    is_full = len(parts) > 2  # noqa: PLR2004 - database, schema and table
    return parts if is_full or not database else (database, *parts)
