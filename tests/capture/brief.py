"""A record in a line, so that a test can say what it expects and a person can read it."""

from __future__ import annotations

import json
from typing import Any

PREFIX = "spark_catalog."


def brief(row: Any) -> str:
    """`TYPE captured_by analysis; direct …; base …; writes …; ddl …`, what is empty left out."""
    parts = [f"{row.query_type} {row.captured_by} {row.analysis}"]
    parts += _listed("direct", [_object(o) for o in row.direct_objects_accessed or ()])
    if _names(row.base_objects_accessed) != _names(row.direct_objects_accessed):
        parts += _listed("base", [_object(o) for o in row.base_objects_accessed or ()])
    parts += _listed("writes", [_modified(o) for o in row.objects_modified or ()])
    if row.object_modified_by_ddl:
        parts.append(_ddl(row.object_modified_by_ddl))
    return "; ".join(parts)


def _listed(label: str, found: list[str]) -> list[str]:
    return [f"{label} {' '.join(sorted(found))}"] if found else []


def _names(objects: Any) -> set[str]:
    return {_object(o) for o in objects or ()}


def _name(name: str) -> str:
    return name.removeprefix(PREFIX).rsplit("/", 1)[-1] if "/" in name else name.removeprefix(PREFIX)


def _object(found: Any) -> str:
    columns = ",".join(sorted(c.columnName for c in found.columns or ()))
    domain = "" if found.objectDomain == "Table" else f"{found.objectDomain}:"
    return f"{domain}{_name(found.objectName)}({columns})"


def _modified(found: Any) -> str:
    columns = ", ".join(_column(c) for c in found.columns or ())
    domain = "" if found.objectDomain == "Table" else f"{found.objectDomain}:"
    return f"{domain}{_name(found.objectName)}({columns})"


def _column(found: Any) -> str:
    direct, base = _sources(found.directSources), _sources(found.baseSources)
    if not direct and not base:
        return found.columnName
    return f"{found.columnName}<-{direct}" + ("" if direct == base else f"<<{base or '-'}")


def _sources(found: Any) -> str:
    return "+".join(sorted(f"{_name(s.objectName)}.{s.columnName}" for s in found or ()))


def _ddl(found: Any) -> str:
    properties = json.loads(found.properties)
    columns = ",".join(
        f"{name}:{value.get('subOperationType')}"
        for name, value in sorted(properties.pop("columns", {}).items())
    )
    rest = f" {json.dumps(properties, sort_keys=True)}" if properties else ""
    return (
        f"ddl {found.operationType} {found.objectDomain} {_name(found.objectName)}"
        + (f"({columns})" if columns else "")
        + rest
    )
