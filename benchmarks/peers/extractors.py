"""One extractor, run as a script in its own process by its own Python; asked line by line.

In: a line of JSON with the name of an extractor, the queries and the schemas; then lines `pass` and
`columns`. Out: a line of JSON each: how long a pass over all queries took, or what it found. It imports
nothing of this project but for ours, since a peer's environment has none of it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

Tables = dict[str, dict[str, str]]
Outputs = list[tuple[str, list[str]]]
"""Each output column's name, in order, with its base columns as `table.column`."""
Extract = Callable[[str], Any]
Extractor = tuple[Extract, Callable[[Any], Outputs] | None]
"""What is timed, and what reads its result, None for a floor that finds no columns."""


def ours(tables: Tables) -> Extractor:
    """`lineage.analyze`, each text parsed anew."""
    lineage, parse = import_module("lineage"), import_module("lineage.sql.parse")
    catalog = lineage.MemoryCatalog(tables)

    def extract(sql: str) -> Any:
        parse._cached.clear()  # statements seen before are measured apart
        return lineage.analyze(sql, catalog)

    def outputs(found: Any) -> Outputs:
        return [
            (
                column.name,
                [f"{ref.object_name.split('.')[-1]}.{ref.column_name}" for ref in column.base_sources],
            )
            for column in found.columns
        ]

    return extract, outputs


def datahub(tables: Tables) -> Extractor:
    """DataHub's parser, without its caches of trees and results."""
    parser = import_module("datahub.sql_parsing.sqlglot_lineage")
    utils = import_module("datahub.sql_parsing.sqlglot_utils")
    resolver = import_module("datahub.sql_parsing.schema_resolver").SchemaResolver(platform="spark")
    for name, columns in tables.items():
        resolver.add_raw_schema_info(_urn(name), columns)
    caches = (parser._sqlglot_lineage_cached, utils._parse_statement)  # as with ours

    def extract(sql: str) -> Any:
        for cache in caches:
            cache.cache_clear()
        return parser.sqlglot_lineage(sql, resolver, override_dialect="spark")

    def outputs(found: Any) -> Outputs:
        return [
            (one.downstream.column, [f"{up.table.split(',')[1]}.{up.column}" for up in one.upstreams])
            for one in found.column_lineage or ()
        ]

    return extract, outputs


def _urn(table: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:spark,{table},PROD)"


def sqllineage(tables: Tables) -> Extractor:
    """SQLLineage with its metadata; it follows columns of a query only where they are written somewhere."""
    os.environ["SQLLINEAGE_DEFAULT_SCHEMA"] = "main"  # without one it asks for no table's columns
    runner = import_module("sqllineage.runner").LineageRunner
    metadata = import_module("sqllineage.core.metadata.dummy").DummyMetaDataProvider
    known = metadata({f"main.{name}": list(columns) for name, columns in tables.items()})

    def extract(sql: str) -> Any:
        found = runner(f"INSERT INTO written {sql}", dialect="sparksql", metadata_provider=known)
        return found.get_column_lineage()

    def outputs(found: Any) -> Outputs:
        sources: dict[str, list[str]] = {}
        for path in found:
            name = str(path[-1]).rpartition(".")[2]
            source = str(path[0]).removeprefix("main.")
            # count(*) reads `t.*` to it: rows, no column.
            sources.setdefault(name, []).extend([] if source.endswith(".*") else [source])
        return list(sources.items())

    return extract, outputs


def openlineage(tables: Tables) -> Extractor:
    """OpenLineage's SQL parser; it takes no schema."""
    del tables
    parser = import_module("openlineage_sql")

    def extract(sql: str) -> Any:
        return parser.parse([sql], "spark")

    def outputs(found: Any) -> Outputs:
        return [
            (one.descendant.name, [f"{up.origin.name if up.origin else ''}.{up.name}" for up in one.lineage])
            for one in (found.column_lineage if found else ())
        ]

    return extract, outputs


def sqlglot_lineage(tables: Tables) -> Extractor:
    """`sqlglot.lineage` of all columns at once, its schema prepared: its fastest form."""
    lineage, schema = import_module("sqlglot.lineage").lineage, _schema(tables)

    def extract(sql: str) -> Any:
        return lineage(None, sql, schema, dialect="spark", trim_selects=False)

    def outputs(found: Any) -> Outputs:
        table = import_module("sqlglot.expressions").Table
        return [
            (
                name,
                [
                    f"{leaf.source.name}.{leaf.name.rpartition('.')[2]}"
                    for leaf in node.walk()
                    if not leaf.downstream and isinstance(leaf.source, table)
                ],
            )
            for name, node in found.items()
        ]

    return extract, outputs


def tokenize(tables: Tables) -> Extractor:
    """A floor: sqlglot's tokens."""
    del tables
    return import_module("sqlglot.dialects.spark").Spark().tokenize, None


def parse(tables: Tables) -> Extractor:
    """A floor: sqlglot's tree."""
    del tables
    return import_module("sqlglot.dialects.spark").Spark().parse, None


def qualify(tables: Tables) -> Extractor:
    """The floor of whoever builds on sqlglot's optimizer: its tree, names qualified, the schema prepared."""
    dialect, schema = import_module("sqlglot.dialects.spark").Spark(), _schema(tables)
    apply = import_module("sqlglot.optimizer.qualify").qualify
    qualified = functools.partial(
        apply, schema=schema, dialect="spark", validate_qualify_columns=False, identify=False
    )
    return lambda sql: qualified(dialect.parse(sql)[0]), None


def _schema(tables: Tables) -> Any:
    schema = import_module("sqlglot.schema").MappingSchema(dialect="spark")
    for name, columns in tables.items():
        schema.add_table(name, columns)
    return schema


EXTRACTORS: dict[str, Callable[[Tables], Extractor]] = {
    made.__name__: made
    for made in (ours, datahub, sqllineage, openlineage, sqlglot_lineage, tokenize, parse, qualify)
}


def _answer(found: Extractor, sql: str) -> Outputs | str:
    extract, outputs = found
    try:
        return outputs(extract(sql)) if outputs is not None else []
    except Exception as error:  # noqa: BLE001  a peer's failure is a result
        return f"{type(error).__name__}: {error}"


def _timed(work: Iterable[tuple[Extract, str]]) -> dict[str, Any]:
    gc.collect()
    each: list[float] = []
    clock, processor = time.perf_counter(), time.process_time()
    for extract, sql in work:
        began = time.perf_counter()
        with contextlib.suppress(Exception):  # `columns` says so; its time counts, too
            extract(sql)
        each.append(time.perf_counter() - began)
    return {
        "clock": time.perf_counter() - clock,
        "processor": time.process_time() - processor,
        "each": each,
    }


def main() -> None:
    """Answer until the input ends. What a library prints goes to the error stream."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = json.loads(sys.stdin.readline())
    made = {corpus: EXTRACTORS[job["extractor"]](tables) for corpus, tables in job["schemas"].items()}
    for line in sys.stdin:
        queries = [(made[corpus], sql) for corpus, sql in job["queries"].values()]
        if line.strip() == "pass":
            answer: Any = _timed([(found[0], sql) for found, sql in queries])
        else:
            answer = dict(zip(job["queries"], (_answer(*query) for query in queries), strict=True))
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
