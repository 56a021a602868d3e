"""Fixture files of pairs: a statement, and what it accesses, written as lines of text.

In: `fixtures/*.sql`. Out: cases. A case is a block of comment lines (`-- rule:`, `-- source:`), the
statement, a line `-->`, and the expectation as comment lines. Blocks are parted by empty lines. Sources
are written `direct` or, where base differs, `direct => base`; names stand without `spark_catalog`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lineage import Access, ColumnRef, MemoryCatalog
from lineage.model import AccessedObject, Column, Function

FOLDER = Path(__file__).parent / "fixtures"
CATALOG = "spark_catalog."


@dataclass(frozen=True)
class Case:
    """One pair: `rule` and `source` say why it holds."""

    name: str
    rule: str
    source: str
    sql: str
    expected: tuple[str, ...]


def catalog() -> MemoryCatalog:
    """The world that every fixture lives in."""
    return MemoryCatalog(
        tables={
            "s.t": {
                "a": "int",
                "b": "int",
                "c": "int",
                "st": "struct<x:int,y:struct<z:int>>",
                "m": "map<string,int>",
                "arr": "array<struct<p:int,q:int>>",
            },
            "s.u": {"a": "int", "x": "int", "k": "int"},
            "s.w": {"id": "int", "v": "int"},
            "s.`odd.tab`": {"weird.col": "int", "Ünïcode": "string"},
            "s.MixedCase": {"Id": "int", "Full Name": "string"},
        },
        views={
            "s.v1": "SELECT a, b + c AS bc FROM s.t WHERE c > 1",
            "s.v2": "SELECT * FROM v1",
            **{f"s.deep{n}": f"SELECT * FROM deep{n - 1}" for n in range(1, 11)},
            "s.deep0": "SELECT id, v FROM w",
        },
        temp_views={"tv": "SELECT a AS aa, bc FROM v2"},
        functions={
            "s.f": Function("f", parameters=(Column("n", "INT"),), data_type="INT"),
            "s.g": Function(
                "g", parameters=(Column("n", "INT"),), data_type="INT", body="SELECT n + max(x) FROM u"
            ),
            "s.h": Function("h", parameters=(Column("n", "INT"),), data_type="INT", body="f(n) + 1"),
        },
        paths={"/data/w": "s.w"},
        current_schema="s",
    )


def cases(name: str) -> list[Case]:
    """The cases of one fixture file."""
    found: list[Case] = []
    for block in (FOLDER / name).read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.strip().splitlines() if line]
        if "-->" not in lines:
            continue
        cut = lines.index("-->")
        head = {key: text for key, _, text in (line[3:].partition(": ") for line in lines[:2])}
        sql = "\n".join(lines[2:cut])
        expected = tuple(line[3:] for line in lines[cut + 1 :])
        found.append(Case(f"{name}:{len(found) + 1}", head["rule"], head["source"], sql, expected))
    return found


def rendered(access: Access) -> tuple[str, ...]:
    """An access as lines of a fixture."""
    lines = [f"{access.statement_type} {access.analysis}" + (f": {access.reason}" if access.reason else "")]
    lines += [f"direct {_object(o)}" for o in access.direct_objects_accessed]
    if access.base_objects_accessed != access.direct_objects_accessed:
        lines += [f"base {_object(o)}" for o in access.base_objects_accessed]
    for column in access.columns:
        by = _refs(column.indirect_sources)
        lines.append(
            f"out {column.name} <- {_sources(column.direct_sources, column.base_sources)}"
            + (f" by {by}" if by else "")
        )
    for item in access.objects_modified:
        lines.append(f"write {item.domain.value} {_short(item.name)}")
        lines += [f"  {c.name} <- {_sources(c.direct_sources, c.base_sources)}" for c in item.columns]
    ddl = access.object_modified_by_ddl
    if ddl is not None:
        properties = json.dumps(_without_ids(ddl.properties), ensure_ascii=False)
        lines.append(f"ddl {ddl.operation_type} {ddl.domain.value} {_short(ddl.name)} {properties}")
    return tuple(line.rstrip() for line in lines)


def _short(name: str) -> str:
    return name.removeprefix(CATALOG)


def _object(item: AccessedObject) -> str:
    extra = item.argument_signature or "(" + ", ".join(c.name for c in item.columns) + ")"
    version = "" if item.version is None else f" version {item.version}"
    return f"{item.domain.value} {_short(item.name)}{extra}{version}"


def _refs(refs: Iterable[ColumnRef]) -> str:
    return ", ".join(".".join((_short(r.object_name), r.column_name, *r.field_path)) for r in refs)


def _sources(direct: tuple[ColumnRef, ...], base: tuple[ColumnRef, ...]) -> str:
    return _refs(direct) if direct == base else f"{_refs(direct)} => {_refs(base)}"


def _without_ids(value: object) -> object:
    # Ids are hashes of names here: a test of their own holds them.
    if isinstance(value, dict):
        return {k: "id" if k == "objectId" else _without_ids(v) for k, v in value.items()}
    return value
