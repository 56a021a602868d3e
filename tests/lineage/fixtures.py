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
from lineage.model import AccessedObject, Column, Domain, Function, Json, ModifiedColumn

FOLDER = Path(__file__).parent / "fixtures"
CATALOG = "spark_catalog."
PROTECTED = {
    "p.people": {"id": "INT", "ssn": "STRING", "mail": "STRING", "pay": "INT", "region": "STRING"},
    "p.tagged": {"id": "INT", "phone": "STRING", "age": "INT", "card": "STRING"},
    "p.rights": {"who": "STRING", "region": "STRING"},
    "p.staff": {"name": "STRING", "mail": "STRING"},
}
POLICIES = {
    "p.stars": "CREATE MASKING POLICY stars AS (val STRING) RETURNS STRING -> '*****'",
    "p.by_role": "CREATE MASKING POLICY by_role AS (val STRING, reg STRING) RETURNS STRING -> "
    "CASE WHEN current_user() = 'hr' THEN val WHEN reg = 'EU' THEN sha2(val, 256) ELSE '*' END",
    "p.by_right": "CREATE MASKING POLICY by_right AS (val INT) RETURNS INT -> "
    "CASE WHEN EXISTS (SELECT 1 FROM rights WHERE who = current_user()) THEN val ELSE 0 END",
    "p.numbers": "CREATE MASKING POLICY numbers AS (val INT) RETURNS INT -> val - val % 10",
    "p.own_region": "CREATE ROW ACCESS POLICY own_region AS (reg STRING) RETURNS BOOLEAN -> "
    "reg IN (SELECT region FROM rights WHERE who = current_user())",
    "p.adults": "CREATE ROW ACCESS POLICY adults AS (n INT) RETURNS BOOLEAN -> n > 17",
}
ATTACHED = (
    "ALTER TABLE p.people ALTER COLUMN ssn SET MASKING POLICY p.stars",
    "ALTER TABLE p.people ALTER COLUMN mail SET MASKING POLICY p.by_role USING (mail, region)",
    "ALTER TABLE p.people ALTER COLUMN pay SET MASKING POLICY p.by_right",
    "ALTER TABLE p.people ADD ROW ACCESS POLICY p.own_region ON (region)",
    "ALTER VIEW p.people_v ALTER COLUMN mail SET MASKING POLICY p.stars",
    "CREATE TAG p.pii ALLOWED_VALUES 'yes', 'no'",
    "ALTER TAG p.pii SET MASKING POLICY p.stars, MASKING POLICY p.numbers",
    "ALTER TABLE p.tagged SET TAG p.pii = 'yes'",
    "ALTER TABLE p.tagged ADD ROW ACCESS POLICY p.adults ON (age)",
    "ALTER TABLE p.tagged ALTER COLUMN card SET MASKING POLICY p.by_role USING (card, phone)",
)


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
            **PROTECTED,
            "account_usage.access_history": {"query_id": "string", "user_name": "string"},
        },
        views={
            "s.v1": "SELECT a, b + c AS bc FROM s.t WHERE c > 1",
            "s.v2": "SELECT * FROM v1",
            **{f"s.deep{n}": f"SELECT * FROM deep{n - 1}" for n in range(1, 11)},
            "s.deep0": "SELECT id, v FROM w",
            "s.uses_f": "SELECT f(a) AS fa, b FROM t",
            "p.people_v": "SELECT id, ssn, mail, pay FROM p.people",
            "p.people_vv": "SELECT id, ssn AS s2, mail FROM p.people_v",
            "account_usage.columns_read": "SELECT query_id FROM account_usage.access_history",
        },
        temp_views={"tv": "SELECT a AS aa, bc FROM v2"},
        functions={
            "s.f": Function("f", parameters=(Column("n", "INT"),), data_type="INT"),
            "s.g": Function(
                "g", parameters=(Column("n", "INT"),), data_type="INT", body="SELECT n + max(x) FROM u"
            ),
            "s.h": Function("h", parameters=(Column("n", "INT"),), data_type="INT", body="f(n) + 1"),
            "s.tf": "CREATE FUNCTION tf(lo INT) RETURNS TABLE (one INT, two INT) "
            "RETURN SELECT x, k FROM u WHERE a > lo",
            "s.py": "CREATE FUNCTION py(n INT, s STRING) RETURNS STRING LANGUAGE PYTHON AS $$return n$$",
            "s.run": Function("run", parameters=(Column("n", "INT"),), domain=Domain.PROCEDURE),
        },
        policies=POLICIES,
        attached=ATTACHED,
        system=("account_usage",),
        paths={"/data/w": "s.w"},
        current_schema="s",
    )


def cases(name: str) -> list[Case]:
    """The cases of one fixture file."""
    found: list[Case] = []
    for block in (FOLDER / name).read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.strip().splitlines() if line]
        if not lines:
            continue
        # Passed over, a case with a mistyped separator would be no case, and no test would tell.
        if "-->" not in lines[2:-1]:
            raise ValueError(f"{name}: no expectation behind a line --> in\n{block}")
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
        lines += [f"  {c.name} <- {_made_of(c)}" for c in item.columns]
    ddl = access.object_modified_by_ddl
    if ddl is not None:
        properties = json.dumps(_without_ids(ddl.properties), ensure_ascii=False)
        lines.append(f"ddl {ddl.operation_type} {ddl.domain.value} {_short(ddl.name)} {properties}")
    lines += [_referenced(item) for item in access.policies_referenced]
    return (
        *(line.rstrip() for line in lines),
        *(f"also {line}" for other in access.also for line in rendered(other)),
    )


def _referenced(item: Json) -> str:
    """`policies Table p.people: ssn p.stars; rows p.own_region`."""
    said = [(c["columnName"], c["policies"]) for c in item.get("columns", ())]
    said += [("rows", item["policies"])] if "policies" in item else []
    texts = [f"{what} {', '.join(_short(p['policyName']) for p in policies)}" for what, policies in said]
    return f"policies {item['objectDomain']} {_short(item['objectName'])}: {'; '.join(texts)}"


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


def _made_of(column: ModifiedColumn) -> str:
    if not (column.direct_functions or column.base_functions):
        return _sources(column.direct_sources, column.base_sources)
    kinds = (column.direct_sources, column.direct_functions), (column.base_sources, column.base_functions)
    sides = [_refs(refs).split(", ") * bool(refs) + [f"{_short(f.name)}()" for f in fs] for refs, fs in kinds]
    direct, base = map(", ".join, sides)
    return direct if direct == base else f"{direct} => {base}"


def _without_ids(value: object) -> object:
    # Ids are hashes of names here: a test of their own holds them.
    if isinstance(value, dict):
        return {k: "id" if k == "objectId" else _without_ids(v) for k, v in value.items()}
    return value
